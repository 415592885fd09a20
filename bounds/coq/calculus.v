(* Calculus: slopes, tangents, tails of the normal distribution; what ladder.py and products.py write. *)
From Coq Require Import Lra Psatz.
Open Scope R_scope.
(* Calculus: a function is nonnegative by its slope. *)
Lemma dp_rises : forall (f g : R -> R) (a x : R),
  (forall y : R, a <= y <= x -> is_derive f y (g y)) -> (forall y : R, a < y < x -> 0 <= g y) ->
  0 <= f a -> a <= x -> 0 <= f x.
Proof.
  intros f g a x D S A [H | <-]; [ | exact A ].
  destruct (MVT_cor2 f g a x H) as [c [E I]]; [ intros y Hy; apply is_derive_Reals; apply D; exact Hy | ].
  assert (0 <= g c * (x - a)) by (apply Rmult_le_pos; [ apply S; exact I | lra ]). lra.
Qed.
Lemma dp_falls : forall (f g : R -> R) (x b : R),
  (forall y : R, x <= y <= b -> is_derive f y (g y)) -> (forall y : R, x < y < b -> 0 <= - g y) ->
  0 <= f b -> x <= b -> 0 <= f x.
Proof.
  intros f g x b D S A [H | ->]; [ | exact A ].
  destruct (MVT_cor2 f g x b H) as [c [E I]]; [ intros y Hy; apply is_derive_Reals; apply D; exact Hy | ].
  assert (0 <= - g c * (b - x)) by (apply Rmult_le_pos; [ apply S; exact I | lra ]). lra.
Qed.
Lemma dp_concave : forall (f g h : R -> R) (a b x : R),
  (forall y : R, a <= y <= b -> is_derive f y (g y)) -> (forall y : R, a <= y <= b -> is_derive g y (h y)) ->
  (forall y : R, a < y < b -> 0 <= - h y) -> 0 <= f a -> 0 <= f b -> a <= x <= b -> 0 <= f x.
Proof.
  intros f g h a b x D1 D2 S A B [Ha Hb].
  destruct (Rle_or_lt 0 (g x)) as [G | G].
  - apply (dp_rises f g a x); try assumption.
    + intros y Hy. apply D1. lra.
    + intros y Hy. apply Rle_trans with (1 := G).
      assert (0 <= g y - g x); [ | lra ].
      apply (dp_falls (fun z => g z - g x) h y x); try lra.
      * intros z Hz. replace (h z) with (minus (h z) 0) by (unfold minus, plus, opp; simpl; ring).
        apply (is_derive_minus g (fun _ => g x)). apply D2; lra. apply (is_derive_const (g x) z).
      * intros z Hz. apply S. lra.
  - apply (dp_falls f g x b); try assumption.
    + intros y Hy. apply D1. lra.
    + intros y Hy. assert (0 <= g x - g y); [ | lra ].
      apply (dp_rises (fun z => g x - g z) (fun z => - h z) x y); try lra.
      * intros z Hz. replace (- h z) with (minus 0 (h z)) by (unfold minus, plus, opp; simpl; ring).
        apply (is_derive_minus (fun _ => g x) g). apply (is_derive_const (g x) z). apply D2; lra.
      * intros z Hz. apply S. lra.
Qed.

Lemma dp_exp_nat : forall (y : R) (n : nat), exp y ^ n = exp (INR n * y).
Proof.
  intros y n. induction n as [ | n I ]; [ simpl; rewrite Rmult_0_l, exp_0; reflexivity | ].
  rewrite S_INR. simpl. rewrite I, <- exp_plus. f_equal. ring.
Qed.

Lemma dp_by : forall p a b : R, b - a = p -> 0 <= p -> a <= b.
Proof. intros; lra. Qed.
Lemma dp_sign_by : forall p q : R, q = p -> 0 <= p -> 0 <= q.
Proof. intros; lra. Qed.
Lemma dp_ln_trans : forall u v : R, 0 < u -> u - 1 <= v -> ln u <= v.
Proof. intros u v H L. assert (E := dp_ln_above u H). lra. Qed.
Lemma dp_ln_exp : forall u v : R, 0 < u -> u <= exp v -> ln u <= v.
Proof. intros u v H L. rewrite <- (ln_exp v). apply dp_ln_upper; assumption. Qed.
Ltac dp_inside := first [ lra | nra ].
Ltac dp_exps :=
  repeat match goal with
    | |- context [exp (?a + ?b)] => rewrite (exp_plus a b)
    | |- context [exp (?a - ?b)] => replace (exp (a - b)) with (exp a * exp (- b)) by (rewrite <- exp_plus; f_equal; ring)
    | |- context [exp (- ?a)] => rewrite (exp_Ropp a)
    | |- context [exp (2 * ?a)] => replace (exp (2 * a)) with (exp a ^ 2) by (rewrite dp_exp_nat; f_equal; simpl; ring)
    | |- context [exp (3 * ?a)] => replace (exp (3 * a)) with (exp a ^ 3) by (rewrite dp_exp_nat; f_equal; simpl; ring)
    | |- context [exp (4 * ?a)] => replace (exp (4 * a)) with (exp a ^ 4) by (rewrite dp_exp_nat; f_equal; simpl; ring)
    | |- context [exp 0] => rewrite exp_0
    end.
Ltac dp_sure :=
  first
    [ dp_sign
    | lazymatch goal with
      | |- 0 <= ?a + ?b => apply Rplus_le_le_0_compat; dp_sure
      | |- 0 <= ?a * ?b => apply Rmult_le_pos; dp_sure
      | |- 0 <= ?a / ?b => apply Rmult_le_pos; [ | apply dp_inv_nonneg ]; dp_sure
      | |- 0 <= / ?a => apply dp_inv_nonneg; nra
      | |- 0 <= ?a ^ 4 => replace (a ^ 4) with ((a ^ 2) ^ 2) by ring; apply pow2_ge_0
      | |- 0 <= ?a ^ 6 => replace (a ^ 6) with ((a ^ 3) ^ 2) by ring; apply pow2_ge_0
      end ].
Ltac dp_exp_facts :=
  repeat match goal with
    | |- context [exp ?a] =>
        match goal with H : 1 + a <= exp a |- _ => fail 1 | _ => assert (1 + a <= exp a) by apply exp_ineq1_le end
    end.
Ltac dp_nonzero :=
  repeat split;
  first
    [ apply Rgt_not_eq; apply exp_pos
    | apply Rlt_not_eq; lra
    | apply Rgt_not_eq; lra
    | dp_sign
    | dp_exp_facts; first [ apply Rgt_not_eq; lra | apply Rlt_not_eq; lra ]
    | apply Rgt_not_eq; nra
    | apply Rlt_not_eq; nra ].
Ltac dp_root_closing :=
  match goal with
  | |- context [sqrt ?a] =>
      let E := fresh in
      assert (E : sqrt a ^ 2 = a) by (apply pow2_sqrt; dp_sign);
      first
        [ field [E]; dp_nonzero
        | match goal with
          | |- context [sqrt ?b] =>
              let F := fresh in assert (F : sqrt b ^ 2 = b) by (apply pow2_sqrt; dp_sign); field [E F]; dp_nonzero
          end ]
  end.
Ltac dp_closing := first [ ring | field; dp_nonzero | dp_root_closing ].
(* An exponential as a product of powers of others. *)
Ltac dp_grows a p :=
  try
    (replace a with p
       by (apply ln_inv; [ dp_sign | dp_sign | dp_expand_logs; first [ ring | field; dp_nonzero ] ])).
Ltac dp_equal :=
  first
    [ dp_closing
    | dp_exps; dp_closing
    | dp_expand_logs; dp_closing
    | dp_expand_logs; dp_exps; dp_closing ].
(* A letter between zero and the root of a number. *)
Ltac dp_square_end :=
  match goal with
  | H : ?x <= ?c |- ?x ^ 2 <= ?q => replace q with (c ^ 2) by dp_root_closing; apply pow_incr; lra
  | H : ?c <= ?x |- ?x ^ 2 <= ?q => replace q with ((- c) ^ 2) by dp_root_closing; replace (x ^ 2) with ((- x) ^ 2) by ring; apply pow_incr; lra
  end.
Ltac dp_slope := auto_derive; [ repeat split; first [ dp_sign | dp_nonzero ] | first [ dp_equal | simpl pow; dp_equal ] ].
Ltac dp_parts :=
  first [ assumption | lazymatch goal with |- 0 <= _ * _ => apply Rmult_le_pos; dp_parts | |- _ => dp_sure end | dp_sure ].
Ltac dp_start :=
  repeat match goal with
    | |- context [exp ?a] => replace (exp a) with 1 by (rewrite <- exp_0; f_equal; solve [ ring | field; dp_side ])
    | |- context [ln ?a] => replace (ln a) with 0 by (rewrite <- ln_1; f_equal; solve [ ring | field; dp_side ])
    end;
  first [ lra | right; solve [ ring | field; dp_side ] | dp_sign | nra | dp_interval ].

(* Tails of the normal distribution. *)
Lemma dp_erf_slope : forall y : R, is_derive erf y (2 / sqrt PI * exp (- y ^ 2)).
Proof.
  intros y. apply (is_derive_ext (fun x => scal (2 / sqrt PI) (dp_G x))); [ intros; reflexivity | ].
  apply (is_derive_scal dp_G y (2 / sqrt PI)). apply dp_G_slope.
Qed.
Lemma dp_erf_zero : erf 0 = 0.
Proof. unfold erf. rewrite RInt_point. unfold zero; simpl. ring. Qed.
Lemma dp_root_pi : 0 < sqrt PI.
Proof. apply sqrt_lt_R0. apply PI_RGT_0. Qed.
Lemma dp_erf_linear : forall y : R, 0 <= y -> erf y <= 2 * y / sqrt PI.
Proof.
  intros y H. assert (Q := dp_root_pi).
  assert (G : 0 <= 2 / sqrt PI * y - erf y); [ | replace (2 * y / sqrt PI) with (2 / sqrt PI * y) by (field; lra); lra ].
  apply (dp_rises (fun y => 2 / sqrt PI * y - erf y) (fun y => 2 / sqrt PI * 1 - 2 / sqrt PI * exp (- y ^ 2)) 0 y); [ | | | exact H ].
  - intros z _. apply (is_derive_minus (fun y => 2 / sqrt PI * y) erf); [ | apply dp_erf_slope ].
    auto_derive; [ trivial | ring ].
  - intros z _. assert (exp (- z ^ 2) <= exp 0) by (apply dp_exp_order; assert (A := pow2_ge_0 z); lra).
    rewrite exp_0 in *. assert (0 < 2 / sqrt PI) by (apply Rdiv_lt_0_compat; lra). nra.
  - rewrite dp_erf_zero. lra.
Qed.
Lemma dp_no_less : forall h y : R, (forall z : R, y <= z -> 1 <= z -> - / z <= h) -> 0 <= h.
Proof.
  intros h y H. destruct (Rle_or_lt 0 h) as [L | L]; [ exact L | exfalso ].
  set (z := Rmax (Rmax y 1) (2 / - h)).
  assert (A : y <= z) by (unfold z; eapply Rle_trans; [ apply Rmax_l | apply Rmax_l ]).
  assert (B : 1 <= z) by (unfold z; eapply Rle_trans; [ apply Rmax_r | apply Rmax_l ]).
  assert (C : 2 / - h <= z) by (unfold z; apply Rmax_r).
  assert (D := H z A B).
  assert (E : / z <= - h / 2); [ | lra ].
  replace (- h / 2) with (/ (2 / - h)) by (field; lra).
  apply Rinv_le_contravar; [ apply Rdiv_lt_0_compat; lra | exact C ].
Qed.
Lemma dp_exp_below_inverse : forall z : R, 1 <= z -> exp (- z ^ 2) <= / z.
Proof.
  intros z H. rewrite exp_Ropp. apply Rinv_le_contravar; [ lra | ].
  assert (A := exp_ineq1_le (z ^ 2)). nra.
Qed.
Lemma dp_tail_above : forall (f g : R -> R) (y : R),
  (forall z : R, y <= z -> is_derive f z (g z)) -> (forall z : R, y <= z -> g z <= - (2 / sqrt PI * exp (- z ^ 2))) ->
  (forall z : R, y <= z -> 0 <= f z) -> 0 <= y -> erfc y <= f y.
Proof.
  intros f g y D S P H.
  assert (G : 0 <= f y - erfc y); [ | lra ].
  apply (dp_no_less _ y). intros z L M.
  assert (F : 0 <= (f y - erfc y) - (f z - erfc z)).
  { apply (dp_falls (fun u => (f u - erfc u) - (f z - erfc z)) (fun u => g u + 2 / sqrt PI * exp (- u ^ 2)) y z); [ | | lra | exact L ].
    - intros u U. replace (g u + 2 / sqrt PI * exp (- u ^ 2)) with (minus (minus (g u) (minus 0 (2 / sqrt PI * exp (- u ^ 2)))) 0)
        by (unfold minus, plus, opp; simpl; ring).
      apply (is_derive_minus (fun u => f u - erfc u) (fun _ => f z - erfc z)); [ | apply (is_derive_const (f z - erfc z) u) ].
      apply (is_derive_minus f erfc); [ apply D; lra | ].
      apply (is_derive_minus (fun _ => 1) erf); [ apply (is_derive_const 1 u) | apply dp_erf_slope ].
    - intros u U. assert (A := S u ltac:(lra)). lra. }
  assert (A := P z L). assert (B := dp_erfc_tail z ltac:(lra)). assert (C := dp_exp_below_inverse z M). lra.
Qed.
Lemma dp_tail_below : forall (f g : R -> R) (y : R),
  (forall z : R, y <= z -> is_derive f z (g z)) -> (forall z : R, y <= z -> - (2 / sqrt PI * exp (- z ^ 2)) <= g z) ->
  (forall z : R, y <= z -> 1 <= z -> f z <= / z) -> 0 <= y -> f y <= erfc y.
Proof.
  intros f g y D S P H.
  assert (G : 0 <= erfc y - f y); [ | lra ].
  apply (dp_no_less _ y). intros z L M.
  assert (F : 0 <= (erfc y - f y) - (erfc z - f z)).
  { apply (dp_falls (fun u => (erfc u - f u) - (erfc z - f z)) (fun u => - (2 / sqrt PI * exp (- u ^ 2)) - g u) y z); [ | | lra | exact L ].
    - intros u U. replace (- (2 / sqrt PI * exp (- u ^ 2)) - g u) with (minus (minus (minus 0 (2 / sqrt PI * exp (- u ^ 2))) (g u)) 0)
        by (unfold minus, plus, opp; simpl; ring).
      apply (is_derive_minus (fun u => erfc u - f u) (fun _ => erfc z - f z)); [ | apply (is_derive_const (erfc z - f z) u) ].
      apply (is_derive_minus erfc f); [ | apply D; lra ].
      apply (is_derive_minus (fun _ => 1) erf); [ apply (is_derive_const 1 u) | apply dp_erf_slope ].
    - intros u U. assert (A := S u ltac:(lra)). lra. }
  assert (A := P z L M). assert (B := dp_erfc_nonneg z ltac:(lra)). lra.
Qed.
Lemma dp_mills_upper : forall y : R, 0 < y -> erfc y <= exp (- y ^ 2) / (y * sqrt PI).
Proof.
  intros y H. assert (Q := dp_root_pi).
  apply (dp_tail_above (fun y => exp (- y ^ 2) / (y * sqrt PI)) (fun y => - ((2 + / y ^ 2) * exp (- y ^ 2) / sqrt PI)) y); [ | | | lra ].
  - intros z L. auto_derive; [ nra | simpl pow; generalize (exp (- (z * (z * 1)))); intros e; field; lra ].
  - intros z L. assert (0 <= / z ^ 2 * (exp (- z ^ 2) / sqrt PI)).
    { apply Rmult_le_pos; [ left; apply Rinv_0_lt_compat; nra | apply dp_div_nonneg; [ left; apply exp_pos | exact Q ] ]. }
    replace ((2 + / z ^ 2) * exp (- z ^ 2) / sqrt PI)
      with (2 / sqrt PI * exp (- z ^ 2) + / z ^ 2 * (exp (- z ^ 2) / sqrt PI)) by (field; lra). lra.
  - intros z L. apply dp_div_nonneg; [ left; apply exp_pos | nra ].
Qed.
Lemma dp_mills_lower : forall y : R, 0 <= y -> 2 * y * exp (- y ^ 2) / ((1 + 2 * y ^ 2) * sqrt PI) <= erfc y.
Proof.
  intros y H. assert (Q := dp_root_pi).
  assert (N : forall z, 0 < 1 + 2 * z ^ 2) by (intros z; assert (A := pow2_ge_0 z); lra).
  apply (dp_tail_below (fun y => 2 * y * exp (- y ^ 2) / ((1 + 2 * y ^ 2) * sqrt PI))
    (fun y => 2 / sqrt PI * exp (- y ^ 2) * (2 / (1 + 2 * y ^ 2) ^ 2 - 1)) y); [ | | | exact H ].
  - intros z L. assert (M := N z). auto_derive; [ simpl in M; nra | simpl pow in *; generalize (exp (- (z * (z * 1)))); intros e; field; split; lra ].
  - intros z L. assert (M := N z).
    assert (0 < 2 / sqrt PI * exp (- z ^ 2)) by (apply Rmult_lt_0_compat; [ apply Rdiv_lt_0_compat; lra | apply exp_pos ]).
    assert (0 < 2 / (1 + 2 * z ^ 2) ^ 2) by (apply Rdiv_lt_0_compat; [ lra | apply pow_lt; exact M ]). nra.
  - intros z L O. assert (M := N z). assert (E := dp_exp_below_inverse z O).
    assert (P : 1 < sqrt PI) by (rewrite <- sqrt_1; apply sqrt_lt_1_alt; assert (A := PI2_3_2); lra).
    apply Rle_trans with (exp (- z ^ 2) * 1); [ | lra ].
    replace (2 * z * exp (- z ^ 2) / ((1 + 2 * z ^ 2) * sqrt PI)) with (exp (- z ^ 2) * (2 * z / ((1 + 2 * z ^ 2) * sqrt PI))) by (field; split; lra).
    apply Rmult_le_compat_l; [ left; apply exp_pos | ].
    apply Rmult_le_reg_r with ((1 + 2 * z ^ 2) * sqrt PI); [ nra | ].
    replace (2 * z / ((1 + 2 * z ^ 2) * sqrt PI) * ((1 + 2 * z ^ 2) * sqrt PI)) with (2 * z) by (field; split; lra). nra.
Qed.
Ltac dp_root_two :=
  assert (sqrt 2 ^ 2 = 2) by (apply pow2_sqrt; lra); assert (0 < sqrt 2) by (apply sqrt_lt_R0; lra); assert (0 < sqrt PI) by apply dp_root_pi.
Ltac dp_tails :=
  intros; dp_forget; dp_root_two;
  repeat match goal with |- context [sqrt (2 * PI)] => rewrite (sqrt_mult 2 PI) by (assert (P := PI_RGT_0); lra) end;
  match goal with
  | |- erf ?y <= _ =>
      apply Rle_trans with (1 := dp_erf_linear y ltac:(dp_sign)); right; field; repeat split; lra
  | |- context [erfc (?x / sqrt 2)] =>
      assert (E : (x / sqrt 2) ^ 2 = x ^ 2 / 2) by (unfold Rdiv; rewrite Rpow_mult_distr, pow_inv; apply Rmult_eq_compat_l; f_equal; assumption);
      first
        [ let A := fresh in assert (A := dp_erfc_tail (x / sqrt 2) ltac:(dp_sign)); rewrite E in A; solve [ lra ]
        | let A := fresh in assert (A := dp_mills_upper (x / sqrt 2) ltac:(dp_sign)); rewrite E in A;
          replace (exp (- (x ^ 2 / 2)) / (x / sqrt 2 * sqrt PI)) with (2 * (exp (- (x ^ 2 / 2)) / (x * (sqrt 2 * sqrt PI)))) in A
            by (generalize (exp (- (x ^ 2 / 2))); intros e; field_simplify_eq; [ try match goal with H : sqrt 2 ^ 2 = 2 |- _ => rewrite H; ring end | repeat split; lra ]); solve [ lra ]
        | let A := fresh in assert (A := dp_mills_lower (x / sqrt 2) ltac:(dp_sign)); rewrite E in A;
          replace (1 + 2 * (x ^ 2 / 2)) with (1 + x ^ 2) in A by field;
          replace (2 * (x / sqrt 2) * exp (- (x ^ 2 / 2)) / ((1 + x ^ 2) * sqrt PI))
            with (2 * (x * exp (- (x ^ 2 / 2)) / ((1 + x ^ 2) * (sqrt 2 * sqrt PI)))) in A
            by (generalize (exp (- (x ^ 2 / 2))); intros e; field; repeat split; nra); solve [ lra ] ]
  end.
