(* Sums, products, whole powers and inner products; what ranges.py and gram.py write. *)
Open Scope R_scope.
(* Sums and products over whole numbers from a to b; without a term 0 and 1. *)
Fixpoint sum_terms (f : R -> R) (a : R) (n : nat) : R :=
  match n with O => 0 | S m => sum_terms f a m + f (a + INR m) end.
Fixpoint product_terms (f : R -> R) (a : R) (n : nat) : R :=
  match n with O => 1 | S m => product_terms f a m * f (a + INR m) end.
Definition terms_between (a b : R) : nat := Z.to_nat (Int_part (b - a) + 1).
Definition sum_of (f : R -> R) (a b : R) : R := sum_terms f a (terms_between a b).
Definition product_of (f : R -> R) (a b : R) : R := product_terms f a (terms_between a b).
(* The power to a whole exponent, of any base that is not zero, and of zero to an exponent of at least zero. *)
Definition whole_power (b x : R) : R := powerRZ b (Int_part x).

Lemma dp_Int_part_IZR : forall k : Z, Int_part (IZR k) = k.
Proof.
  intros k. assert (A := base_Int_part (IZR k)). destruct A as [A B].
  assert (Int_part (IZR k) <= k)%Z by (apply le_IZR; exact A).
  assert (k - 1 < Int_part (IZR k))%Z by (apply lt_IZR; rewrite minus_IZR; lra). lia.
Qed.
Lemma dp_terms_none : forall a : R, integer a -> terms_between a (a - 1) = 0%nat.
Proof.
  intros a [k ->]. unfold terms_between. replace (IZR k - 1 - IZR k) with (IZR (-1)) by (simpl; ring).
  rewrite dp_Int_part_IZR. reflexivity.
Qed.
Lemma dp_terms_next : forall a b : R, integer a -> integer b -> a <= b ->
  terms_between a b = S (terms_between a (b - 1)) /\ a + INR (terms_between a (b - 1)) = b.
Proof.
  intros a b [k ->] [l ->] H. apply le_IZR in H. unfold terms_between.
  replace (IZR l - 1 - IZR k) with (IZR (l - k - 1)) by (rewrite !minus_IZR; ring).
  replace (IZR l - IZR k) with (IZR (l - k)) by (rewrite !minus_IZR; ring).
  rewrite !dp_Int_part_IZR. split; [ lia | ].
  rewrite INR_IZR_INZ, Z2Nat.id by lia. rewrite <- plus_IZR. f_equal. lia.
Qed.
Lemma dp_sum_none : forall f a, integer a -> sum_of f a (a - 1) = 0.
Proof. intros f a H. unfold sum_of. rewrite dp_terms_none by assumption. reflexivity. Qed.
Lemma dp_sum_last : forall f a b, integer a -> integer b -> a <= b -> sum_of f a b = sum_of f a (b - 1) + f b.
Proof.
  intros f a b A B H. unfold sum_of. destruct (dp_terms_next a b A B H) as [E F]. rewrite E. simpl. rewrite F. reflexivity.
Qed.
Lemma dp_product_none : forall f a, integer a -> product_of f a (a - 1) = 1.
Proof. intros f a H. unfold product_of. rewrite dp_terms_none by assumption. reflexivity. Qed.
Lemma dp_product_last : forall f a b, integer a -> integer b -> a <= b -> product_of f a b = product_of f a (b - 1) * f b.
Proof.
  intros f a b A B H. unfold product_of. destruct (dp_terms_next a b A B H) as [E F]. rewrite E. simpl. rewrite F. reflexivity.
Qed.
Lemma dp_induction : forall (P : R -> Prop) (m b : R), integer m -> integer b -> m <= b -> P m ->
  (forall t : R, integer t -> m + 1 <= t <= b -> P (t - 1) -> P t) -> P b.
Proof.
  intros P m b [k ->] [l ->] H A S. apply le_IZR in H.
  assert (G : forall n : nat, (k + Z.of_nat n <= l)%Z -> P (IZR (k + Z.of_nat n))).
  { induction n as [ | n I ]; intros L.
    - rewrite Z.add_0_r. exact A.
    - apply S; [ eexists; reflexivity | | ].
      + replace (IZR k + 1) with (IZR (k + 1)) by (rewrite plus_IZR; reflexivity). split; apply IZR_le; lia.
      + replace (IZR (k + Z.of_nat (Datatypes.S n)) - 1) with (IZR (k + Z.of_nat n)); [ apply I; lia | ].
        replace (k + Z.of_nat (Datatypes.S n))%Z with (k + Z.of_nat n + 1)%Z by lia. rewrite (plus_IZR _ 1). ring. }
  replace l with (k + Z.of_nat (Z.to_nat (l - k)))%Z by lia. apply G. lia.
Qed.
Lemma dp_integer_less : forall x : R, integer x -> integer (x - 1).
Proof. intros x [k ->]. exists (k - 1)%Z. rewrite minus_IZR. reflexivity. Qed.
Lemma dp_sum_below : forall (f F : R -> R) (a b : R), integer a -> integer b -> a - 1 <= b ->
  (forall t : R, integer t -> a <= t <= b -> f t <= F t - F (t - 1)) -> sum_of f a b <= F b - F (a - 1).
Proof.
  intros f F a b A B H S.
  assert (G : integer (a - 1)) by (apply dp_integer_less; exact A).
  apply (dp_induction (fun t => sum_of f a t <= F t - F (a - 1)) (a - 1) b G B H).
  - rewrite dp_sum_none by exact A. lra.
  - intros t T L I. rewrite dp_sum_last; [ | exact A | exact T | lra ]. assert (E := S t T ltac:(lra)). lra.
Qed.
Lemma dp_sum_opposite : forall (f : R -> R) (a b : R), sum_of (fun t => - f t) a b = - sum_of f a b.
Proof.
  intros f a b. unfold sum_of. induction (terms_between a b) as [ | n I ]; simpl; [ ring | rewrite I; ring ].
Qed.
Lemma dp_sum_above : forall (f F : R -> R) (a b : R), integer a -> integer b -> a - 1 <= b ->
  (forall t : R, integer t -> a <= t <= b -> F t - F (t - 1) <= f t) -> F b - F (a - 1) <= sum_of f a b.
Proof.
  intros f F a b A B H S.
  assert (E := dp_sum_below (fun t => - f t) (fun t => - F t) a b A B H).
  rewrite dp_sum_opposite in E. cbv beta in E.
  assert (- sum_of f a b <= - F b - - F (a - 1)); [ apply E | lra ].
  intros t T L. assert (G := S t T L). lra.
Qed.
Lemma dp_sum_closed : forall (f F : R -> R) (a b : R), integer a -> integer b -> a - 1 <= b ->
  (forall t : R, integer t -> a <= t <= b -> f t = F t - F (t - 1)) -> sum_of f a b = F b - F (a - 1).
Proof.
  intros f F a b A B H S. apply Rle_antisym; [ apply dp_sum_below | apply dp_sum_above ]; try assumption;
    intros t T L; rewrite (S t T L); lra.
Qed.
Lemma dp_whole_power : forall (b : R) (n : nat), whole_power b (INR n) = b ^ n.
Proof. intros b n. unfold whole_power. rewrite INR_IZR_INZ, dp_Int_part_IZR. symmetry. apply pow_powerRZ. Qed.
Lemma dp_nat : forall x : R, integer x -> 0 <= x -> exists n : nat, x = INR n.
Proof.
  intros x [k ->] H. apply le_IZR in H. exists (Z.to_nat k). rewrite INR_IZR_INZ, Z2Nat.id by lia. reflexivity.
Qed.
Lemma dp_whole_power_next : forall b x : R, integer x -> 1 <= x -> whole_power b x = whole_power b (x - 1) * b.
Proof.
  intros b x I H. destruct (dp_nat (x - 1)) as [n E]; [ apply dp_integer_less; exact I | lra | ].
  replace x with (INR (S n)) by (rewrite S_INR; lra). replace (INR (S n) - 1) with (INR n) by (rewrite S_INR; ring).
  rewrite !dp_whole_power. simpl. ring.
Qed.
Lemma dp_whole_power_zero : forall b : R, whole_power b 0 = 1.
Proof. intros b. change 0 with (INR 0). rewrite dp_whole_power. reflexivity. Qed.
Lemma dp_whole_Rpower : forall b x : R, integer x -> 0 <= x -> 0 < b -> whole_power b x = Rpower b x.
Proof.
  intros b x I H P. destruct (dp_nat x I H) as [n ->]. rewrite dp_whole_power. symmetry. apply Rpower_pow. exact P.
Qed.
Lemma dp_whole_power_nonneg : forall b x : R, integer x -> 0 <= x -> 0 <= b -> 0 <= whole_power b x.
Proof. intros b x I H B. destruct (dp_nat x I H) as [n ->]. rewrite dp_whole_power. apply pow_le. exact B. Qed.
Lemma dp_whole_power_exp : forall b x y : R, integer x -> 0 <= x -> 0 <= b -> b - 1 <= y -> whole_power b x <= exp (x * y).
Proof.
  intros b x y I H B L. destruct (dp_nat x I H) as [n ->]. rewrite dp_whole_power, <- dp_exp_nat.
  apply pow_incr. split; [ exact B | ]. assert (E := exp_ineq1_le y). lra.
Qed.
Lemma dp_whole_power_linear : forall b x : R, integer x -> 0 <= x -> 0 <= b -> 1 + x * (b - 1) <= whole_power b x.
Proof.
  intros b x I H B. destruct (dp_nat x I H) as [n ->]. rewrite dp_whole_power. clear I H.
  induction n as [ | n J ]; [ simpl; lra | ]. rewrite S_INR. change (b ^ S n) with (b * b ^ n).
  assert (P := pos_INR n). assert (b * (1 + INR n * (b - 1)) <= b * b ^ n) by (apply Rmult_le_compat_l; assumption).
  assert (0 <= INR n * ((b - 1) * (b - 1))) by (apply Rmult_le_pos; [ exact P | apply Rle_0_sqr ]). lra.
Qed.


(* Sums and products: telescoping, and induction on the upper end. *)
Lemma dp_step_up : forall s r g h : R, s <= r -> r + g <= h -> s + g <= h.
Proof. intros; lra. Qed.
Lemma dp_step_down : forall s r g h : R, r <= s -> h <= r + g -> h <= s + g.
Proof. intros; lra. Qed.
Lemma dp_step_times : forall s r g h : R, s <= r -> 0 <= g -> r * g <= h -> s * g <= h.
Proof. intros s r g h A B C. apply Rle_trans with (2 := C). apply Rmult_le_compat_r; assumption. Qed.
Lemma dp_ln_gain : forall t : R, 1 < t -> / t <= ln t - ln (t - 1).
Proof.
  intros t H. assert (P : 0 < / t) by (apply Rinv_0_lt_compat; lra).
  assert (L : / t < 1) by (rewrite <- Rinv_1; apply Rinv_lt_contravar; lra).
  assert (A := dp_ln_above (1 - / t) ltac:(lra)).
  replace (1 - / t) with ((t - 1) * / t) in A by (field; lra).
  rewrite ln_mult, ln_Rinv in A by (first [ lra | exact P ]). replace ((t - 1) * / t) with (1 - / t) in A by (field; lra). lra.
Qed.
Lemma dp_ln_loss : forall t : R, 0 < t -> ln (1 + t) - ln t <= / t.
Proof.
  intros t H. assert (P : 0 < / t) by (apply Rinv_0_lt_compat; lra).
  assert (A := dp_ln_above ((1 + t) * / t) ltac:(apply Rmult_lt_0_compat; lra)).
  rewrite ln_mult, ln_Rinv in A by lra. replace ((1 + t) * / t) with (1 + / t) in A by (field; lra). lra.
Qed.
Lemma dp_root_gain : forall t : R, 1 <= t -> / sqrt t <= 2 * sqrt t - 2 * sqrt (t - 1).
Proof.
  intros t H. assert (A : sqrt t ^ 2 = t) by (apply pow2_sqrt; lra). assert (B : sqrt (t - 1) ^ 2 = t - 1) by (apply pow2_sqrt; lra).
  assert (C : 0 < sqrt t) by (apply sqrt_lt_R0; lra). assert (D := sqrt_pos (t - 1)).
  apply Rmult_le_reg_r with (sqrt t); [ exact C | ]. rewrite Rinv_l by lra. nra.
Qed.
Lemma dp_geometric : forall q T : R, integer T -> 1 <= T -> q <> 1 ->
  sum_of (fun t : R => whole_power q t) 0 (T - 1) = (1 - whole_power q T) / (1 - q).
Proof.
  intros q T I H N.
  apply (dp_induction (fun T => sum_of (fun t : R => whole_power q t) 0 (T - 1) = (1 - whole_power q T) / (1 - q)) 1 T);
    [ exists 1%Z; reflexivity | exact I | exact H | | ].
  - replace (1 - 1) with 0 by ring. assert (Z : integer 0) by (exists 0%Z; reflexivity).
    rewrite dp_sum_last by (assumption || lra). rewrite dp_sum_none by assumption.
    rewrite (dp_whole_power_next q 1) by (lra || (exists 1%Z; reflexivity)).
    replace (1 - 1) with 0 by ring. rewrite dp_whole_power_zero. field. lra.
  - intros t J [L U] E. assert (K := dp_integer_less t J). rewrite dp_sum_last; [ | exists 0%Z; reflexivity | exact K | lra ].
    rewrite E. rewrite (dp_whole_power_next q t) by (assumption || lra). field. lra.
Qed.
Lemma dp_integer_more : forall x y : R, integer x -> integer y -> integer (x + y).
Proof. intros x y [k ->] [l ->]. exists (k + l)%Z. rewrite plus_IZR. reflexivity. Qed.
Lemma dp_integer_times : forall x y : R, integer x -> integer y -> integer (x * y).
Proof. intros x y [k ->] [l ->]. exists (k * l)%Z. rewrite mult_IZR. reflexivity. Qed.
Lemma dp_integer_minus : forall x y : R, integer x -> integer y -> integer (x - y).
Proof. intros x y [k ->] [l ->]. exists (k - l)%Z. rewrite minus_IZR. reflexivity. Qed.
Ltac dp_whole :=
  first
    [ assumption
    | apply dp_integer_minus; dp_whole
    | apply dp_integer_more; dp_whole
    | apply dp_integer_times; dp_whole
    | match goal with |- integer (IZR ?k) => exists k; reflexivity end ].
Ltac dp_rpowers :=
  unfold Rminus;
  repeat match goal with
    | |- context [Rpower ?b (?x + ?y)] => rewrite (Rpower_plus x y b)
    | |- context [Rpower ?b (- ?x)] => rewrite (Rpower_Ropp b x)
    | |- context [Rpower ?b (-1)] => replace (Rpower b (-1)) with (/ Rpower b 1) by (rewrite <- Rpower_Ropp; f_equal; lra)
    | |- context [Rpower ?b 0] => rewrite (Rpower_O b) by dp_sign
    | |- context [Rpower ?b 1] => rewrite (Rpower_1 b) by dp_sign
    end.
Ltac dp_other_sign := repeat split; first [ dp_sign | apply Rlt_not_eq; lra | apply Rgt_not_eq; lra | apply Rgt_not_eq; dp_sign ].
Ltac dp_facts :=
  repeat match goal with
    | |- context [1 + (?t - 1)] => replace (1 + (t - 1)) with t by ring
    | |- context [?t - 1 + 1] => replace (t - 1 + 1) with t by ring
    end;
  try match goal with |- context [ln (1 + ?t)] => assert (ln (1 + t) - ln t <= / t) by (apply dp_ln_loss; lra) end;
  try match goal with |- context [ln (?t - 1)] => assert (/ t <= ln t - ln (t - 1)) by (apply dp_ln_gain; lra); assert (0 < / t) by (apply Rinv_0_lt_compat; lra) end;
  try match goal with |- context [sqrt (?t - 1)] => assert (/ sqrt t <= 2 * sqrt t - 2 * sqrt (t - 1)) by (apply dp_root_gain; lra) end.
Ltac dp_gain :=
  cbv beta; dp_forget;
  first
    [ lra
    | dp_facts; lra
    | solve [ right; field; dp_other_sign ]
    | solve [ dp_rpowers; first [ lra | right; field; dp_other_sign | field; dp_other_sign ] ]
    | dp_positive
    | dp_polynomial
    | dp_facts; dp_interval ].
Ltac dp_gain_equal := cbv beta; dp_forget; first [ field; dp_other_sign | dp_rpowers; field; dp_other_sign ].
Ltac dp_sum_ends :=
  repeat match goal with
    | |- context [1 - 1] => replace (1 - 1) with 0 by ring
    | |- context [2 - 1] => replace (2 - 1) with 1 by ring
    | |- context [3 - 1] => replace (3 - 1) with 2 by ring
    | |- context [4 - 1] => replace (4 - 1) with 3 by ring
    end.
Ltac dp_expand_terms :=
  repeat match goal with
    | |- context [sum_of ?f ?a (?a - 1)] => rewrite (dp_sum_none f a) by dp_whole
    | |- context [product_of ?f ?a (?a - 1)] => rewrite (dp_product_none f a) by dp_whole
    | |- context [sum_of ?f ?a (IZR ?k - 1)] => let l := eval compute in (k - 1)%Z in replace (IZR k - 1) with (IZR l) by lra
    | |- context [product_of ?f ?a (IZR ?k - 1)] => let l := eval compute in (k - 1)%Z in replace (IZR k - 1) with (IZR l) by lra
    | |- context [sum_of ?f ?a ?b] => rewrite (dp_sum_last f a b) by (first [ dp_whole | lra ])
    | |- context [product_of ?f ?a ?b] => rewrite (dp_product_last f a b) by (first [ dp_whole | lra ])
    end.
Ltac dp_interval_of_sum := rewrite ?Rplus_0_l; interval with (i_prec 64).
Ltac dp_base :=
  cbv beta; dp_expand_terms; rewrite ?sqrt_1, ?ln_1, ?exp_0;
  first [ lra | dp_interval | solve [ dp_interval_of_sum ] | dp_gain | solve [ rewrite ?Rmult_0_r, ?Rplus_0_r; match goal with |- _ <= exp ?x => assert (1 + x <= exp x) by apply exp_ineq1_le end; lra ] | unfold Rpower; dp_interval ].
Ltac dp_next :=
  cbv beta in *;
  match goal with
  | |- context [sum_of ?f ?a ?b] => rewrite (dp_sum_last f a b) by (first [ dp_whole | lra ])
  | |- context [product_of ?f ?a ?b] => rewrite (dp_product_last f a b) by (first [ dp_whole | lra ])
  end;
  match goal with
  | H : sum_of _ _ _ <= _ |- _ + _ <= _ => apply (dp_step_up _ _ _ _ H)
  | H : _ <= sum_of _ _ _ |- _ <= _ + _ => apply (dp_step_down _ _ _ _ H)
  | H : product_of _ _ _ <= _ |- _ * _ <= _ => apply (dp_step_times _ _ _ _ H); [ dp_sign | ]
  | H : sum_of _ _ _ = _ |- _ => rewrite H
  | H : product_of _ _ _ = _ |- _ => rewrite H
  end.
Ltac dp_exp_gain :=
  match goal with
  | |- exp ?a * (1 + ?u) <= exp ?b =>
      apply Rle_trans with (exp a * exp u);
      [ apply Rmult_le_compat_l; [ left; apply exp_pos | apply exp_ineq1_le ]
      | rewrite <- exp_plus; apply dp_exp_order ]
  end.
Ltac dp_by_induction T m :=
  pattern T; apply (dp_induction _ m);
  [ dp_whole | assumption | lra | dp_base
  | let t := fresh "t" in
    intros t ? [? ?] ?; dp_next;
    first
      [ dp_gain | dp_gain_equal
      | solve [ dp_exp_gain; assert (/ t <= ln t - ln (t - 1)) by (apply dp_ln_gain; lra); unfold Rdiv; nra ] ] ].
Ltac dp_telescoped H :=
  cbv beta in H;
  let E := fresh in
  match type of H with
  | (?P -> _) => assert (E : P); [ intros; first [ dp_gain_equal | dp_gain ] | specialize (H E); clear E ]
  end;
  first [ rewrite H | apply Rle_trans with (1 := H) | apply Rle_trans with (2 := H) ];
  rewrite ?Rminus_0_r; dp_sum_ends; first [ dp_gain | dp_gain_equal | dp_rpowers; dp_after ]
with dp_after :=
  repeat match goal with
    | |- context [Rpower ?b ?x] =>
        let p := fresh "power" in
        assert (0 < Rpower b x) by apply exp_pos; generalize dependent (Rpower b x); intros p; intros
    end;
  first [ dp_positive | dp_polynomial | dp_gain ].
(* Powers to a whole letter. *)
Ltac dp_exponent_equal := first [ right; f_equal; dp_forget; field; dp_other_sign | apply dp_exp_order; dp_forget; right; field; dp_other_sign ].
Ltac dp_base_nonneg :=
  dp_forget;
  first
    [ dp_sign
    | dp_positive
    | dp_polynomial
    | match goal with |- context [exp (- ?a)] => assert (exp (- a) <= exp 0) by (apply dp_exp_order; lra); rewrite exp_0 in *; lra end ].
Ltac dp_whole_powers :=
  repeat match goal with
    | |- context [sum_of (fun t : R => whole_power ?q t) 0 (?T - 1)] => rewrite (dp_geometric q T) by (first [ dp_whole | lra | apply Rlt_not_eq; lra ])
    end;
  match goal with
  | |- whole_power ?b ?x <= exp _ =>
      apply Rle_trans with (exp (x * (b - 1)));
      [ apply dp_whole_power_exp; [ dp_whole | dp_forget; first [ lra | dp_sign ] | dp_base_nonneg | lra ]
      | dp_exponent_equal ]
  | |- _ <= whole_power ?b ?x =>
      apply Rle_trans with (1 + x * (b - 1));
      [ dp_forget; first [ lra | right; field; dp_other_sign ]
      | apply dp_whole_power_linear; [ dp_whole | lra | dp_base_nonneg ] ]
  | |- _ =>
      repeat match goal with
        | |- context [whole_power ?b ?x] =>
            let w := fresh "power" in
            assert (0 <= whole_power b x) by (apply dp_whole_power_nonneg; [ dp_whole | lra | dp_base_nonneg ]);
            assert (1 + x * (b - 1) <= whole_power b x) by (apply dp_whole_power_linear; [ dp_whole | lra | dp_base_nonneg ]);
            generalize dependent (whole_power b x); intros w; intros
        end;
      dp_forget; first [ lra | dp_positive | dp_polynomial ]
  end.

(* Gram matrices of two vectors: p, q are squared norms, r the inner product. *)
Lemma dp_cauchy : forall p r q : R, (forall a b : R, 0 <= a * a * p + 2 * a * b * r + b * b * q) -> r ^ 2 <= p * q.
Proof.
  intros p r q H. assert (P := H 1 0). assert (B := H r (- p)). assert (0 <= p) by lra.
  destruct (Req_dec p 0) as [-> | N].
  - destruct (Req_dec r 0) as [-> | M]; [ lra | exfalso ].
    assert (C := H (- (q + 1) / (2 * r)) 1).
    replace (- (q + 1) / (2 * r) * (- (q + 1) / (2 * r)) * 0 + 2 * (- (q + 1) / (2 * r)) * 1 * r + 1 * 1 * q)
      with (-1) in C by (field; exact M). lra.
  - apply Rmult_le_reg_l with p; [ lra | ]. replace (p * (p * q)) with (p * p * q) by ring.
    replace (p * r ^ 2) with (r * r * p) by ring. lra.
Qed.
(* Vectors of a plane and more. *)
Lemma dp_cauchy_root : forall p r q : R, 0 <= p -> 0 <= q ->
  (forall a b : R, 0 <= a * a * p + 2 * a * b * r + b * b * q) -> r <= sqrt p * sqrt q.
Proof.
  intros p r q P Q H. assert (C := dp_cauchy p r q H). rewrite <- sqrt_mult by assumption.
  apply Rle_trans with (Rabs r); [ apply Rle_abs | ]. rewrite <- sqrt_Rsqr_abs. apply sqrt_le_1_alt. unfold Rsqr. lra.
Qed.
Lemma dp_root_below : forall x y : R, 0 <= y -> x <= y ^ 2 -> sqrt x <= y.
Proof.
  intros x y H L. rewrite <- (sqrt_pow2 y) by exact H. apply sqrt_le_1_alt. exact L.
Qed.
Ltac dp_vectors :=
  intros; dp_forget;
  match goal with
  | H : forall a b : R, 0 <= a * a * ?p + 2 * a * b * ?r + b * b * ?q |- _ =>
      assert (r <= sqrt p * sqrt q) by (apply dp_cauchy_root; assumption);
      assert (sqrt p ^ 2 = p) by (apply pow2_sqrt; assumption); assert (sqrt q ^ 2 = q) by (apply pow2_sqrt; assumption);
      assert (0 <= sqrt p) by apply sqrt_pos; assert (0 <= sqrt q) by apply sqrt_pos;
      first [ lra | apply dp_root_below; [ lra | nra ] | nra ]
  end.
Ltac dp_weight :=
  first
    [ dp_sign
    | dp_positive
    | dp_polynomial
    | match goal with
      | H : ?a <= ?c / ?l |- _ =>
          assert (a * l <= c) by (apply Rle_trans with (c / l * l); [ apply Rmult_le_compat_r; lra | right; field; lra ]);
          first [ nra | dp_polynomial ]
      | H : ?a <= / ?l |- _ =>
          assert (a * l <= 1) by (apply Rle_trans with (/ l * l); [ apply Rmult_le_compat_r; lra | right; field; lra ]);
          first [ nra | dp_polynomial ]
      end ].
