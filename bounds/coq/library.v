(* What the theorems of dpcheck use beyond Coq's real numbers: a few definitions, and tactics. *)
From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
Open Scope R_scope.

Definition integer (x : R) : Prop := exists k : Z, x = IZR k.
Definition erf (x : R) : R := 2 / sqrt PI * RInt (fun t => exp (- t ^ 2)) 0 x.
Definition erfc (x : R) : R := 1 - erf x.

Lemma dp_div_nonneg : forall a b : R, 0 <= a -> 0 < b -> 0 <= a / b.
Proof. intros a b Ha Hb. apply Rmult_le_pos; [ assumption | left; apply Rinv_0_lt_compat; assumption ]. Qed.

Lemma dp_inv_nonneg : forall b : R, 0 <= b -> 0 <= / b.
Proof.
  intros b [H | H]; [ left; apply Rinv_0_lt_compat; assumption | rewrite <- H; rewrite Rinv_0; right; reflexivity ].
Qed.

Lemma dp_difference : forall a b : R, 0 <= b - a -> a <= b.
Proof. intros; lra. Qed.

Lemma dp_strict_difference : forall a b : R, 0 < b - a -> a < b.
Proof. intros; lra. Qed.

Lemma dp_scaled : forall a d p : R, 0 <= a -> 0 <= d -> a * d = p -> 0 <= p.
Proof. intros a d p Ha Hd <-. apply Rmult_le_pos; assumption. Qed.

Lemma dp_combination : forall a b scale total : R, 0 < scale -> (b - a) * scale = total -> 0 <= total -> a <= b.
Proof. intros a b scale total Hs E Ht. subst total. nra. Qed.

Lemma dp_root_order : forall c x y : R, 0 <= x -> 0 <= c * y -> 0 <= (c * y) ^ 2 - x ^ 2 -> 0 <= c * y - x.
Proof. intros c x y Hx Hy H. nra. Qed.

Lemma dp_max : forall (P : R -> Prop) (a b : R), (b <= a -> P a) -> (a <= b -> P b) -> P (Rmax a b).
Proof.
  intros P a b Ha Hb. unfold Rmax. destruct (Rle_dec a b) as [H | H]; [ exact (Hb H) | apply Ha; lra ].
Qed.

Lemma dp_min : forall (P : R -> Prop) (a b : R), (a <= b -> P a) -> (b <= a -> P b) -> P (Rmin a b).
Proof.
  intros P a b Ha Hb. unfold Rmin. destruct (Rle_dec a b) as [H | H]; [ exact (Ha H) | apply Hb; lra ].
Qed.

Lemma dp_ln_low : forall c low e : R, low <= ln c -> 0 < c -> c <= e -> low <= ln e.
Proof.
  intros c low e H Hc He. apply Rle_trans with (1 := H). destruct He as [He | He].
  - left. apply ln_increasing; assumption.
  - rewrite He. apply Rle_refl.
Qed.

Lemma dp_ln_above : forall x : R, 0 < x -> ln x <= x - 1.
Proof.
  intros x H. assert (E : exp (ln x) = x) by (apply exp_ln; assumption).
  assert (1 + ln x <= exp (ln x)) by apply exp_ineq1_le. lra.
Qed.

Lemma dp_ln_below : forall x : R, 0 < x -> 1 - / x <= ln x.
Proof.
  intros x H. assert (P : 0 < / x) by (apply Rinv_0_lt_compat; assumption).
  assert (Q := dp_ln_above (/ x) P). rewrite ln_Rinv in Q by assumption. lra.
Qed.

Lemma dp_square_equal : forall a b : R, 0 <= a -> 0 <= b -> a ^ 2 = b ^ 2 -> a = b.
Proof. intros a b Ha Hb E. assert (F : (a - b) * (a + b) = 0) by nra. destruct (Rmult_integral _ _ F); nra. Qed.

Lemma dp_ln_inv_exp : forall a : R, ln (/ exp a) = - a.
Proof. intros a. rewrite ln_Rinv by apply exp_pos. rewrite ln_exp. reflexivity. Qed.

Lemma dp_exp_order : forall x y : R, x <= y -> exp x <= exp y.
Proof. intros x y [H | ->]; [ left; apply exp_increasing; exact H | lra ]. Qed.

Lemma dp_ln_pow : forall (x : R) (n : nat), 0 < x -> ln (x ^ n) = INR n * ln x.
Proof. intros x n H. rewrite <- Rpower_pow by assumption. unfold Rpower. apply ln_exp. Qed.

Lemma dp_ln_sqrt : forall x : R, 0 < x -> ln (sqrt x) = ln x / 2.
Proof.
  intros x H. assert (0 < sqrt x) by (apply sqrt_lt_R0; assumption).
  rewrite <- (sqrt_sqrt x) at 2 by lra. rewrite ln_mult by assumption. lra.
Qed.

Lemma dp_ln_Rpower : forall x y : R, ln (Rpower x y) = y * ln x.
Proof. intros x y. unfold Rpower. apply ln_exp. Qed.

Lemma dp_ln_upper : forall x high : R, 0 < x -> x <= high -> ln x <= ln high.
Proof. intros x high Hx [H | ->]; [ left; apply ln_increasing; assumption | lra ]. Qed.

Lemma dp_ln_order : forall x y : R, 0 < x -> 0 < y -> ln x <= ln y -> x <= y.
Proof. intros x y Hx Hy [H | H]; [ left; apply ln_lt_inv; assumption | right; apply ln_inv; assumption ]. Qed.

Lemma dp_means : forall a b w : R, 0 < a -> 0 < b -> 0 <= w <= 1 -> Rpower a w * Rpower b (1 - w) <= w * a + (1 - w) * b.
Proof.
  intros a b w Ha Hb Hw. set (m := Rpower a w * Rpower b (1 - w)).
  assert (M : 0 < m) by (apply Rmult_lt_0_compat; apply exp_pos).
  assert (L : ln m = w * ln a + (1 - w) * ln b).
  { unfold m. rewrite ln_mult by apply exp_pos. rewrite !dp_ln_Rpower. reflexivity. }
  assert (T : forall x : R, 0 < x -> m * (1 + (ln x - ln m)) <= x).
  { intros x Hx. assert (E := exp_ineq1_le (ln x - ln m)). unfold Rminus in E at 2. rewrite exp_plus in E.
    rewrite exp_Ropp in E. rewrite !exp_ln in E by assumption.
    apply Rmult_le_reg_r with (/ m); [ apply Rinv_0_lt_compat; exact M | ].
    replace (m * (1 + (ln x - ln m)) * / m) with (1 + (ln x - ln m)) by (field; lra). exact E. }
  assert (A := T a Ha). assert (B := T b Hb).
  assert (w * (m * (1 + (ln a - ln m))) <= w * a) by (apply Rmult_le_compat_l; lra).
  assert ((1 - w) * (m * (1 + (ln b - ln m))) <= (1 - w) * b) by (apply Rmult_le_compat_l; lra).
  assert (m * (w * ln a + (1 - w) * ln b - ln m) = 0) by (rewrite L; ring). nra.
Qed.

Lemma dp_Rpower_number : forall (x : R) (n : nat) (y : R), 0 < x -> y = INR n -> Rpower x y = x ^ n.
Proof. intros x n y H ->. apply Rpower_pow. assumption. Qed.

Lemma dp_Rpower_ln : forall b x : R, ln b <> 0 -> Rpower b (x / ln b) = exp x.
Proof. intros b x H. unfold Rpower. f_equal. field. assumption. Qed.

(* The integral of exp(-t^2): its square and an integral of a rational weight add up to PI/4. *)
Definition dp_G (x : R) : R := RInt (fun t => exp (- t ^ 2)) 0 x.
Definition dp_k (x t : R) : R := exp (- (x ^ 2 * (1 + t ^ 2))) / (1 + t ^ 2).
Definition dp_k_slope (x t : R) : R := - 2 * x * exp (- (x ^ 2 * (1 + t ^ 2))).
Definition dp_H (x : R) : R := RInt (dp_k x) 0 1.

Lemma dp_bell_continuous : forall t : R, continuous (fun t : R => exp (- t ^ 2)) t.
Proof. intros t. apply (ex_derive_continuous (fun t : R => exp (- t ^ 2))). auto_derive. trivial. Qed.
Lemma dp_bell_integrable : forall a b : R, ex_RInt (fun t => exp (- t ^ 2)) a b.
Proof. intros. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply dp_bell_continuous. Qed.
Lemma dp_G_slope : forall x : R, is_derive dp_G x (exp (- x ^ 2)).
Proof.
  intros x. unfold dp_G. apply (is_derive_RInt (fun t => exp (- t ^ 2)) _ 0 x).
  - apply filter_forall. intros y. apply (RInt_correct (V := R_CompleteNormedModule)). apply dp_bell_integrable.
  - apply dp_bell_continuous.
Qed.
Lemma dp_k_slope_is : forall x t : R, is_derive (fun u => dp_k u t) x (dp_k_slope x t).
Proof. intros x t. unfold dp_k, dp_k_slope. auto_derive. nra. simpl pow. generalize (exp (- (x * (x * 1) * (1 + t * (t * 1))))); intros e. field. nra. Qed.
Lemma dp_k_continuous : forall x t : R, continuous (dp_k x) t.
Proof. intros x t. apply (ex_derive_continuous (dp_k x)). unfold dp_k. auto_derive. nra. Qed.
Lemma dp_k_slope_continuous : forall x t : R, continuity_2d_pt dp_k_slope x t.
Proof.
  intros x t. unfold dp_k_slope. apply continuity_2d_pt_mult.
  - apply continuity_2d_pt_mult. apply continuity_2d_pt_const. apply continuity_2d_pt_id1.
  - apply (continuity_1d_2d_pt_comp exp). 
    + apply derivable_continuous_pt. apply derivable_pt_exp.
    + apply continuity_2d_pt_opp. apply continuity_2d_pt_mult.
      * apply (continuity_1d_2d_pt_comp (fun z => z ^ 2)). apply derivable_continuous_pt; reg. apply continuity_2d_pt_id1.
      * apply continuity_2d_pt_plus. apply continuity_2d_pt_const.
        apply (continuity_1d_2d_pt_comp (fun z => z ^ 2)). apply derivable_continuous_pt; reg. apply continuity_2d_pt_id2.
Qed.
Lemma dp_H_slope : forall x : R, is_derive dp_H x (RInt (dp_k_slope x) 0 1).
Proof.
  intros x. unfold dp_H.
  replace (RInt (dp_k_slope x) 0 1) with (RInt (fun t => Derive (fun u => dp_k u t) x) 0 1).
  - apply (is_derive_RInt_param dp_k 0 1 x).
    + apply filter_forall. intros y t _. eexists. apply dp_k_slope_is.
    + intros t _. apply (continuity_2d_pt_ext dp_k_slope). intros u v. symmetry. apply is_derive_unique. apply dp_k_slope_is. apply dp_k_slope_continuous.
    + apply filter_forall. intros y. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply dp_k_continuous.
  - apply RInt_ext. intros t _. apply is_derive_unique. apply dp_k_slope_is.
Qed.
Lemma dp_k_slope_integral : forall x : R, RInt (dp_k_slope x) 0 1 = - 2 * exp (- x ^ 2) * dp_G x.
Proof.
  intros x. unfold dp_G.
  assert (E : RInt (fun t => x * exp (- (x * t + 0) ^ 2)) 0 1 = RInt (fun t => exp (- t ^ 2)) 0 x).
  { assert (E := RInt_comp_lin (V := R_CompleteNormedModule) (fun t => exp (- t ^ 2)) x 0 0 1).
    replace (x * 0 + 0) with 0 in E by ring. replace (x * 1 + 0) with x in E by ring.
    apply E. apply dp_bell_integrable. }
  rewrite <- E. rewrite <- (RInt_scal (V := R_CompleteNormedModule)).
  - apply RInt_ext. intros t _. unfold dp_k_slope, scal; simpl; unfold mult; simpl.
    replace (exp (- (x * (x * 1) * (1 + t * (t * 1))))) with (exp (- (x * (x * 1))) * exp (- ((x * t + 0) * ((x * t + 0) * 1)))).
    ring. rewrite <- exp_plus. f_equal. ring.
  - apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros t _.
    apply (ex_derive_continuous (fun t : R => x * exp (- (x * t + 0) ^ 2))). auto_derive. trivial.
Qed.
Lemma dp_H_zero : dp_H 0 = PI / 4.
Proof.
  unfold dp_H. rewrite <- atan_1. 
  apply is_RInt_unique. 
  replace (atan 1) with (minus (atan 1) (atan 0)) by (rewrite atan_0; unfold minus, plus, opp; simpl; ring).
  apply (is_RInt_derive (V := R_CompleteNormedModule) atan (dp_k 0)).
  - intros t _. unfold dp_k. replace (- (0 ^ 2 * (1 + t ^ 2))) with 0 by ring. rewrite exp_0.
    assert (D := is_derive_atan t). replace (1 / (1 + t ^ 2)) with (/ (1 + t ^ 2)) by (field; nra).
    unfold Rsqr in D. replace (t ^ 2) with (t * t) by ring. exact D.
  - intros t _. apply dp_k_continuous.
Qed.
Lemma dp_bell_square : forall x : R, dp_G x ^ 2 + dp_H x = PI / 4.
Proof.
  intros x.
  assert (D : forall y : R, is_derive (fun y => dp_G y ^ 2 + dp_H y) y 0).
  { intros y. assert (D := is_derive_plus (fun y => dp_G y ^ 2) dp_H y _ _ (is_derive_pow dp_G 2 y _ (dp_G_slope y)) (dp_H_slope y)).
    eapply is_derive_ext; [ | replace 0 with (plus (INR 2 * exp (- y ^ 2) * dp_G y ^ pred 2) (RInt (dp_k_slope y) 0 1)); [ exact D | ] ].
    - intros t. reflexivity.
    - rewrite dp_k_slope_integral. unfold plus; simpl. ring. }
  assert (Z : dp_G 0 = 0) by (unfold dp_G; rewrite RInt_point; reflexivity).
  rewrite <- dp_H_zero. replace (dp_H 0) with (dp_G 0 ^ 2 + dp_H 0) by (rewrite Z; ring).
  destruct (MVT_gen (fun y => dp_G y ^ 2 + dp_H y) x 0 (fun _ => 0)) as [c [_ E]].
  - intros y _. apply D.
  - intros y _. apply continuity_pt_filterlim. apply (ex_derive_continuous (fun y => dp_G y ^ 2 + dp_H y)). eexists. apply D.
  - lra.
Qed.
Lemma dp_G_nonneg : forall x : R, 0 <= x -> 0 <= dp_G x.
Proof.
  intros x Hx. unfold dp_G. apply RInt_ge_0; [ exact Hx | apply dp_bell_integrable | ]. intros t _. left. apply exp_pos.
Qed.
Lemma dp_H_below : forall x : R, dp_H x <= PI / 4 * exp (- x ^ 2).
Proof.
  intros x. rewrite <- dp_H_zero. unfold dp_H. rewrite Rmult_comm. 
  rewrite <- (RInt_scal (V := R_CompleteNormedModule) (dp_k 0)).
  - apply RInt_le; [ lra | | | ].
    + apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply dp_k_continuous.
    + apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros t _.
      apply (ex_derive_continuous (fun t : R => scal (exp (- x ^ 2)) (dp_k 0 t))). unfold dp_k, scal; simpl; unfold mult; simpl. auto_derive. nra.
    + intros t _. unfold dp_k, scal; simpl; unfold mult; simpl.
      replace (- (0 * (0 * 1) * (1 + t * (t * 1)))) with 0 by ring. rewrite exp_0.
      unfold Rdiv. rewrite Rmult_1_l. apply Rmult_le_compat_r.
      * left; apply Rinv_0_lt_compat; nra.
      * assert (0 <= x * (x * 1) * (t * (t * 1))) by (replace (x * (x * 1) * (t * (t * 1))) with ((x * t) * (x * t)) by ring; nra).
        destruct (Rle_lt_or_eq_dec (- (x * (x * 1) * (1 + t * (t * 1)))) (- (x * (x * 1)))) as [L | L]; [ lra | left; apply exp_increasing; exact L | rewrite L; lra ].
  - apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply dp_k_continuous.
Qed.
Lemma dp_erf_is : forall x : R, erf x = 2 / sqrt PI * dp_G x.
Proof. reflexivity. Qed.
Lemma dp_erfc_tail : forall x : R, 0 <= x -> erfc x <= exp (- x ^ 2).
Proof.
  intros x Hx. unfold erfc. rewrite dp_erf_is.
  assert (P := PI_RGT_0). assert (Q : 0 < sqrt PI) by (apply sqrt_lt_R0; exact P).
  assert (S : sqrt PI ^ 2 = PI) by (apply pow2_sqrt; lra).
  assert (A := dp_bell_square x). assert (B := dp_H_below x). assert (C := dp_G_nonneg x Hx).
  set (g := dp_G x) in *. set (e := exp (- x ^ 2)) in *. set (s := sqrt PI) in *. set (r := 2 / s * g).
  assert (R0 : 0 <= r) by (unfold r; apply Rmult_le_pos; [ apply Rmult_le_pos; [ lra | left; apply Rinv_0_lt_compat; exact Q ] | exact C ]).
  assert (R2 : r ^ 2 * s ^ 2 = 4 * g ^ 2) by (unfold r; field; lra).
  assert (1 - e <= r ^ 2) by nra. assert (E0 : 0 < e) by apply exp_pos. nra.
Qed.

Lemma dp_erfc_nonneg : forall x : R, 0 <= x -> 0 <= erfc x.
Proof.
  intros x Hx. unfold erfc. rewrite dp_erf_is.
  assert (P := PI_RGT_0). assert (Q : 0 < sqrt PI) by (apply sqrt_lt_R0; exact P).
  assert (S : sqrt PI ^ 2 = PI) by (apply pow2_sqrt; lra).
  assert (A := dp_bell_square x). assert (C := dp_G_nonneg x Hx).
  assert (B : 0 <= dp_H x).
  { unfold dp_H. apply RInt_ge_0; [ lra | | ].
    - apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply dp_k_continuous.
    - intros t _. unfold dp_k. left. apply Rdiv_lt_0_compat; [ apply exp_pos | nra ]. }
  assert (D : 2 * dp_G x <= sqrt PI) by nra.
  assert (E : 2 / sqrt PI * dp_G x <= 1); [ | lra ].
  apply Rmult_le_reg_r with (sqrt PI); [ exact Q | ]. replace (2 / sqrt PI * dp_G x * sqrt PI) with (2 * dp_G x) by (field; lra). lra.
Qed.

(* One Gaussian release of a query of sensitivity 1 with noise s is (e, delta)-private if and only if the
   curve is at most delta [Balle and Wang, ICML 2018, Theorem 8]; here is the curve alone. *)
Definition gaussian_curve (s e : R) : R :=
  erfc ((e * s - 1 / (2 * s)) / sqrt 2) / 2 - exp e * (erfc ((e * s + 1 / (2 * s)) / sqrt 2) / 2).

Lemma dp_curve_tail : forall s e delta w : R, 0 < s -> 0 < e -> 0 < delta ->
  (e * s) ^ 2 = w -> e <= 2 * w -> e - w <= 2 * ln (2 * delta) -> gaussian_curve s e <= delta.
Proof.
  intros s e delta w Hs He Hd <- Ha Ht. unfold gaussian_curve.
  assert (Q : 0 < sqrt 2) by (apply sqrt_lt_R0; lra).
  assert (S : sqrt 2 ^ 2 = 2) by (apply pow2_sqrt; lra).
  set (x := (e * s - 1 / (2 * s)) / sqrt 2).
  assert (Hx : 0 <= x).
  { unfold x. apply Rmult_le_pos; [ | left; apply Rinv_0_lt_compat; exact Q ].
    replace (e * s - 1 / (2 * s)) with ((2 * (e * s ^ 2) - 1) * / (2 * s)) by (field; lra).
    apply Rmult_le_pos; [ nra | left; apply Rinv_0_lt_compat; lra ]. }
  assert (Hy : 0 <= (e * s + 1 / (2 * s)) / sqrt 2).
  { apply Rmult_le_pos; [ | left; apply Rinv_0_lt_compat; exact Q ].
    apply Rplus_le_le_0_compat; [ nra | left; apply Rdiv_lt_0_compat; lra ]. }
  assert (B := dp_erfc_nonneg _ Hy). assert (E := exp_pos e).
  assert (0 <= exp e * (erfc ((e * s + 1 / (2 * s)) / sqrt 2) / 2)) by (apply Rmult_le_pos; lra).
  assert (T := dp_erfc_tail x Hx).
  assert (X : x ^ 2 * sqrt 2 ^ 2 = (e * s) ^ 2 - e + (1 / (2 * s)) ^ 2) by (unfold x; field; split; lra).
  rewrite S in X.
  assert (0 <= (1 / (2 * s)) ^ 2) by apply pow2_ge_0.
  assert (exp (- x ^ 2) <= 2 * delta).
  { rewrite <- (exp_ln (2 * delta)) by lra.
    destruct (Rle_lt_or_eq_dec (- x ^ 2) (ln (2 * delta))) as [L | L]; [ lra | left; apply exp_increasing; exact L | ].
    rewrite L. lra. }
  lra.
Qed.

(* x is the q-th power of a letter, so that its fractional powers are whole powers of the letter. *)
Lemma dp_root_exists : forall (x : R) (q : nat), 0 < x -> (0 < q)%nat -> exists s : R, 0 < s /\ x = s ^ q.
Proof.
  intros x q Hx Hq. exists (Rpower x (/ INR q)). split; [ apply exp_pos | ].
  assert (INR q <> 0) by (apply not_0_INR; lia).
  rewrite <- Rpower_pow by apply exp_pos. rewrite Rpower_mult. rewrite Rinv_l by assumption. rewrite Rpower_1; trivial.
Qed.
Lemma dp_Rpower_root : forall (s y : R) (q p : nat), 0 < s -> y * INR q = INR p -> Rpower (s ^ q) y = s ^ p.
Proof.
  intros s y q p Hs E. rewrite <- (Rpower_pow q s) by assumption. rewrite Rpower_mult. rewrite <- Rpower_pow by assumption.
  f_equal. rewrite <- E. ring.
Qed.
Lemma dp_sqrt_root : forall (s : R) (q p : nat), 0 < s -> (p + p = q)%nat -> sqrt (s ^ q) = s ^ p.
Proof.
  intros s q p Hs <-. rewrite pow_add. apply sqrt_square. left. apply pow_lt. assumption.
Qed.
Lemma dp_root_low : forall (low s : R) (q : nat), 0 <= low -> 0 <= s -> low ^ q <= s ^ q -> low <= s \/ q = 0%nat.
Proof.
  intros low s q Hl Hs H. destruct q as [ | q ]; [ right; reflexivity | left ].
  destruct (Rle_or_lt low s) as [L | L]; [ exact L | exfalso ].
  assert (s ^ S q < low ^ S q); [ | lra ].
  clear H. induction q as [ | q I ]; [ simpl; lra | ].
  change (s * s ^ S q < low * low ^ S q). apply Rmult_le_0_lt_compat; try lra. apply pow_le; exact Hs.
Qed.
Ltac dp_nth_root x s q :=
  let E := fresh "E" in
  destruct (dp_root_exists x q) as [s [? E]]; [ lra | lia | subst x ].

(* Interval arithmetic in software: without the processor's floating point and its axioms. *)
Ltac dp_interval := interval with (i_prec 64).

(* A goal 0 <= e, 0 < e or e <> 0 from the signs of what e is made of. *)
Ltac dp_sign := first [ assumption | dp_sign_of_parts ]
with dp_sign_of_parts :=
  lazymatch goal with
  | |- 0 <= ?a + ?b => first [ solve [ apply Rplus_le_le_0_compat; dp_sign ] | lra ]
  | |- 0 < ?a + ?b =>
      first [ solve [ apply Rplus_lt_le_0_compat; dp_sign ] | solve [ apply Rplus_le_lt_0_compat; dp_sign ] | lra ]
  | |- 0 <= ?a * ?b => first [ solve [ apply Rmult_le_pos; dp_sign ] | nra ]
  | |- 0 < ?a * ?b => apply Rmult_lt_0_compat; dp_sign
  | |- 0 <= ?a / ?b => apply Rmult_le_pos; [ | apply dp_inv_nonneg ]; dp_sign
  | |- 0 < ?a / ?b => apply Rdiv_lt_0_compat; dp_sign
  | |- 0 <= / ?a => apply dp_inv_nonneg; dp_sign
  | |- 0 < / ?a => apply Rinv_0_lt_compat; dp_sign
  | |- 0 <= ?a ^ 2 => apply pow2_ge_0
  | |- 0 <= ?a ^ ?n => apply pow_le; dp_sign
  | |- 0 < ?a ^ ?n => apply pow_lt; dp_sign
  | |- 0 <= sqrt _ => apply sqrt_pos
  | |- 0 < sqrt _ => apply sqrt_lt_R0; dp_sign
  | |- 0 < exp _ => apply exp_pos
  | |- 0 <= exp _ => left; apply exp_pos
  | |- 0 < Rpower _ _ => apply exp_pos
  | |- 0 <= Rpower _ _ => left; apply exp_pos
  | |- 0 < PI => apply PI_RGT_0
  | |- ?a <> 0 =>
      first
        [ solve [ apply Rgt_not_eq; unfold Rgt; dp_sign ]
        | match goal with H : ?b <> 0 |- _ => let E := fresh in intro E; apply H; lra end
        | match goal with H : ?b <> 0 |- _ => let E := fresh in intro E; apply H; nra end ]
  | |- _ => first [ lra | nra | dp_interval ]
  end.
Ltac dp_side := repeat split; dp_sign.
Ltac dp_forget := repeat match goal with H : integer _ |- _ => clear H end.

(* Roots: that of a letter x makes the letter a square, any other one is a letter with a square. *)
Ltac dp_root_letter x s :=
  let E := fresh "E" in
  assert (0 <= sqrt x) by apply sqrt_pos;
  try (assert (0 < sqrt x) by (apply sqrt_lt_R0; lra));
  assert (E : x = sqrt x ^ 2) by (symmetry; apply pow2_sqrt; lra);
  generalize dependent (sqrt x); intros s; intros; subst x.
Ltac dp_root_other e :=
  let s := fresh "root" in
  let E := fresh "E" in
  assert (E : sqrt e ^ 2 = e) by (apply pow2_sqrt; dp_sign);
  assert (0 <= sqrt e) by apply sqrt_pos;
  try (assert (0 < sqrt e) by (apply sqrt_lt_R0; dp_sign));
  generalize dependent (sqrt e); intros s; intros.
Ltac dp_root x := first [ is_var x; let s := fresh "root" in dp_root_letter x s | dp_root_other x ].
Ltac dp_roots :=
  repeat match goal with |- context [sqrt ?x] => dp_root x | H : context [sqrt ?x] |- _ => dp_root x end.
Ltac dp_split_roots :=
  repeat (rewrite sqrt_mult by dp_sign);
  repeat match goal with
    | |- context [sqrt 4] => replace (sqrt 4) with 2 by (symmetry; apply sqrt_lem_1; lra)
    | |- context [sqrt 9] => replace (sqrt 9) with 3 by (symmetry; apply sqrt_lem_1; lra)
    | |- context [sqrt 16] => replace (sqrt 16) with 4 by (symmetry; apply sqrt_lem_1; lra)
    end.

Ltac dp_case_max a b := pattern (Rmax a b); apply dp_max; intro.
Ltac dp_case_min a b := pattern (Rmin a b); apply dp_min; intro.
Ltac dp_decide_max :=
  repeat match goal with
    | |- context [Rmax ?a ?b] => first [ rewrite (Rmax_left a b) by dp_interval | rewrite (Rmax_right a b) by dp_interval ]
    | |- context [Rmin ?a ?b] => first [ rewrite (Rmin_left a b) by dp_interval | rewrite (Rmin_right a b) by dp_interval ]
    end.

(* Equations. *)
Ltac dp_field := first [ ring | field; dp_side ].
Ltac dp_identity := intros; cbv beta; dp_field.
Ltac dp_root_identity := intros; cbv beta; dp_roots; first [ dp_field | nra | field_simplify_eq; [ nra | dp_side .. ] ].
Ltac dp_angles :=
  intros; cbv beta; unfold tan; repeat rewrite ?sin_plus, ?cos_plus, ?sin_PI4, ?cos_PI4, ?sin_PI, ?cos_PI, ?sin_0, ?cos_0;
  try match goal with |- context [cos ?x] => assert (sin x * sin x + cos x * cos x = 1) by apply sin2_cos2 end;
  replace (1 / sqrt 2) with (sqrt 2 / 2)
    by (assert (sqrt 2 * sqrt 2 = 2) by (apply sqrt_sqrt; lra);
        assert (0 < sqrt 2) by (apply sqrt_lt_R0; lra); field_simplify_eq; [ nra | lra ]);
  first [ dp_field | dp_roots; field_simplify_eq; [ nra | dp_side .. ] | nra ].
Ltac dp_power_numbers :=
  repeat match goal with
    | |- context [Rpower ?b 1] => rewrite (Rpower_1 b) by dp_sign
    | |- context [Rpower ?b 2] => rewrite (dp_Rpower_number b 2 2) by (first [ dp_sign | simpl; lra ])
    | |- context [Rpower ?b 3] => rewrite (dp_Rpower_number b 3 3) by (first [ dp_sign | simpl; lra ])
    | |- context [Rpower ?b 4] => rewrite (dp_Rpower_number b 4 4) by (first [ dp_sign | simpl; lra ])
    | |- context [Rpower ?b 6] => rewrite (dp_Rpower_number b 6 6) by (first [ dp_sign | simpl; lra ])
    end.
Ltac dp_powers :=
  intros; cbv beta; unfold Rminus;
  repeat match goal with
    | |- context [Rpower ?b (?x / ln ?b)] => rewrite (dp_Rpower_ln b x) by dp_sign
    | |- context [Rpower ?b (?x + ?y)] => rewrite (Rpower_plus x y b)
    | |- context [Rpower ?b (- ?x)] => rewrite (Rpower_Ropp b x)
    | |- context [Rpower ?b (-2)] => replace (Rpower b (-2)) with (/ Rpower b 2) by (rewrite <- Rpower_Ropp; f_equal; lra)
    | |- context [Rpower ?b (-1)] => replace (Rpower b (-1)) with (/ Rpower b 1) by (rewrite <- Rpower_Ropp; f_equal; lra)
    | |- context [Rpower ?b (2 * ?x)] => replace (2 * x) with (x + x) by ring
    | |- context [Rpower ?b (3 * ?x)] => replace (3 * x) with (x + x + x) by ring
    | |- context [Rpower ?b (4 * ?x)] => replace (4 * x) with (x + x + x + x) by ring
    | |- context [Rpower ?b (6 * ?x)] => replace (6 * x) with (x + x + x + x + x + x) by ring
    | |- context [exp (ln ?x)] => rewrite (exp_ln x) by dp_sign
    end;
  dp_power_numbers; dp_field.
Ltac dp_expand_logs :=
  unfold Rdiv;
  repeat match goal with
    | |- context [ln (?a * ?b)] => rewrite (ln_mult a b) by dp_sign
    | |- context [ln (/ ?a)] => rewrite (ln_Rinv a) by dp_sign
    | |- context [ln (?a ^ ?n)] => rewrite (dp_ln_pow a n) by dp_sign
    | |- context [ln (sqrt ?a)] => rewrite (dp_ln_sqrt a) by dp_sign
    | |- context [ln (Rpower ?a ?y)] => rewrite (dp_ln_Rpower a y)
    | |- context [ln (exp ?a)] => rewrite (ln_exp a)
    | |- context [ln 1] => rewrite ln_1
    | |- context [ln 4] => replace 4 with (2 ^ 2) by ring
    | |- context [ln 8] => replace 8 with (2 ^ 3) by ring
    | |- context [ln 16] => replace 16 with (2 ^ 4) by ring
    | |- context [ln 32] => replace 32 with (2 ^ 5) by ring
    | |- context [ln 64] => replace 64 with (2 ^ 6) by ring
    end;
  simpl INR.
Ltac dp_logs :=
  intros; cbv beta; dp_expand_logs;
  first [ ring | field; repeat split; first [ dp_sign | apply Rgt_not_eq; dp_interval ] ].

Ltac dp_derive := auto_derive; [ dp_side | first [ dp_field | simpl pow; dp_field ] ].
(* Two positive monomials with fractional powers are equal if their logarithms are. *)
Ltac dp_power_equation :=
  intros; cbv beta; dp_forget; apply ln_inv; [ dp_sign | dp_sign | dp_expand_logs; first [ ring | field; dp_side ] ].

(* Both sides squared, so that roots disappear. *)
Ltac dp_squares :=
  intros; cbv beta; dp_forget; rewrite ?dp_ln_inv_exp;
  apply dp_square_equal; [ dp_sign | dp_sign | ];
  unfold Rdiv; repeat (rewrite Rpow_mult_distr || rewrite pow_inv); rewrite ?pow2_sqrt by (first [ lra | dp_sign ]); dp_field.
(* Exponentials of equal numbers. *)
Ltac dp_equal_exponents :=
  intros; cbv beta;
  repeat match goal with
    | |- context [exp ?a] =>
        match goal with |- context [exp ?b] => lazymatch a with b => fail | _ => idtac end;
          replace (exp a) with (exp b) by (f_equal; lra) end
    end; dp_field.

(* A monomial of positive letters is at most another by what is known of their logarithms. *)
Ltac dp_log_fact H := apply dp_ln_upper in H; [ | dp_sign ]; revert H; dp_expand_logs; intro H.
Ltac dp_monomial := apply dp_ln_order; [ dp_sign | dp_sign | dp_expand_logs; lra ].
Ltac dp_logs_of_numbers :=
  repeat match goal with
    | H : context [ln 1] |- _ => rewrite ln_1 in H
    | H : context [ln (1 / 2)] |- _ => replace (ln (1 / 2)) with (- ln 2) in H by (rewrite <- ln_Rinv by lra; f_equal; lra)
    end.

(* Inequalities. *)
Ltac dp_over := first [ field_simplify; [ | dp_side .. ] | idtac ];
  lazymatch goal with
  | |- 0 <= ?a / ?b => apply dp_div_nonneg; [ | dp_sign ]
  | |- 0 < ?a / ?b => apply Rdiv_lt_0_compat; [ | dp_sign ]
  | |- _ => idtac
  end.
Ltac dp_quotient := apply dp_difference; dp_over.
Ltac dp_positive := intros; dp_forget; dp_quotient; dp_sign.
Ltac dp_polynomial := intros; dp_forget; dp_quotient; nra.
Ltac dp_root_polynomial := intros; dp_forget; dp_roots; dp_polynomial.

Ltac dp_sum :=
  unfold Rdiv in *;
  repeat match goal with
    | |- context [/ (?a * ?b)] => rewrite (Rinv_mult a b)
    | H : context [/ (?a * ?b)] |- _ => rewrite (Rinv_mult a b) in H
    end;
  first [ lra | nra ].

Ltac dp_tangent a :=
  assert (ln a <= a - 1) by (apply dp_ln_above; dp_sign);
  assert (1 - / a <= ln a) by (apply dp_ln_below; dp_sign);
  generalize dependent (ln a); intros ? ? ?.
Ltac dp_tangents :=
  intros; dp_forget;
  repeat match goal with |- context [ln ?a] => dp_tangent a end;
  first
    [ lra
    | match goal with H : _ - / ?a <= ?l |- ?b <= ?l => apply Rle_trans with (2 := H); dp_polynomial end
    | dp_polynomial ].

(* Numbers; erf and erfc are integrals, enclosed one by one. *)
Ltac dp_integrals :=
  unfold gaussian_curve, erfc, erf;
  repeat match goal with
    | |- context [RInt ?f 0 ?x] =>
        integral_intro (RInt f 0 x) with (i_relwidth 40, i_fuel 200, i_prec 60);
        generalize dependent (RInt f 0 x); let y := fresh "integral" in intros y; intros
    end.
Ltac dp_number :=
  unfold Rpower; dp_decide_max;
  first
    [ lra
    | dp_interval
    | interval with (i_prec 128)
    | first [ apply dp_strict_difference | apply dp_difference ]; interval with (i_prec 128) ].
Ltac dp_erf_number := dp_integrals; dp_number.
Ltac dp_denied :=
  intros; subst;
  lazymatch goal with
  | |- ~ (_ <= _) => apply Rlt_not_le
  | |- ~ (_ < _) => apply Rle_not_lt
  | |- ~ (_ >= _) => apply Rlt_not_ge
  | |- ~ (_ > _) => apply Rle_not_gt
  | |- ~ (_ = _) => idtac
  end.
Ltac dp_unequal := first [ apply Rlt_not_eq; solve [ dp_number ] | apply Rgt_not_eq; solve [ dp_number ] | lra ].
Ltac dp_false := dp_denied; lazymatch goal with |- ~ _ => dp_unequal | |- _ => dp_number end.
Ltac dp_erf_false := dp_denied; dp_erf_number.
Ltac dp_false_for_all :=
  dp_denied; dp_forget; rewrite ?sin_PI;
  first
    [ nra
    | apply dp_strict_difference; dp_decide_max; unfold Rdiv; rewrite ?Rmult_0_r, ?Rmult_0_l, ?Rminus_0_r; solve [ dp_sign ]
    | apply dp_strict_difference; dp_over; first [ dp_sign | nra ] ].

(* The enumerations of dpcheck, over the rational numbers: counterparts of functions of Python. *)
From Coq Require Import QArith Qminmax Qabs List Bool PeanoNat.
Module Enumeration.
Local Open Scope Q_scope.

Definition ratio (p : Z) (q : positive) : Q := p # q.
Definition gives (value : Q) (p : Z) (q : positive) : Prop := value == p # q.
Definition of_nat (n : nat) : Q := inject_Z (Z.of_nat n).
Definition sum (l : list Q) : Q := fold_right Qplus 0 l.
Definition mean (l : list Q) : Q := sum l / of_nat (length l).
Fixpoint power (x : Q) (n : nat) : Q := match n with O => 1 | S n => x * power x n end.

Fixpoint tuples (n m : nat) : list (list nat) :=
  match m with
  | O => nil :: nil
  | S m => flat_map (fun i => map (cons i) (tuples n m)) (seq 0 n)
  end.
Fixpoint subsets (l : list nat) (m : nat) {struct l} : list (list nat) :=
  match m, l with
  | O, _ => nil :: nil
  | S _, nil => nil
  | S k, x :: r => map (cons x) (subsets r k) ++ subsets r m
  end.
Definition draws (n m : nat) (replacement : bool) : list (list nat) :=
  if replacement then tuples n m else subsets (seq 0 n) m.
Definition chance_absent (n m : nat) (replacement : bool) : Q :=
  mean (map (fun batch => if existsb (Nat.eqb (n - 1)) batch then 0 else 1) (draws n m replacement)).
Definition mean_share (n m : nat) (replacement : bool) : Q :=
  mean (map (fun batch => of_nat (count_occ Nat.eq_dec batch (n - 1)%nat) / of_nat m) (draws n m replacement)).

Definition clipped (value threshold : Q) : Q := Qmax (- threshold) (Qmin threshold value).
Definition clip_then_mean (threshold : Q) (records : list Q) : Q :=
  mean (map (fun z => clipped z threshold) records).
Fixpoint differences (l : list Q) : list Q :=
  match l with g :: h :: r => (g - h) :: differences r | _ => nil end.
Definition difference_of_clipped (threshold : Q) (pairs : list Q) : Q :=
  mean (differences (map (fun z => clipped z threshold) pairs)).

Fixpoint broken_from (eta mean_square total count : Q) (estimates : list Q) : Q :=
  match estimates with
  | nil => 0
  | v :: r =>
      let next := total + power (eta * v) 2 in
      if Qle_bool next (count * mean_square) then broken_from eta mean_square next (count + 1) r else count
  end.
Definition broken_at (eta mean_square : Q) (estimates : list Q) : Q := broken_from eta mean_square 0 1 estimates.

Fixpoint path (start : Q) (estimates : list Q) : list Q :=
  start :: match estimates with nil => nil | u :: r => path (Qmax (-1) (Qmin 1 (start + u / 6))) r end.
Fixpoint moves (l : list Q) : list Q :=
  match l with
  | a :: r => match r with b :: _ => Qabs (a - b) :: moves r | nil => nil end
  | nil => nil
  end.
Fixpoint first_least (best : Q) (index k : nat) (l : list Q) : nat :=
  match l with
  | nil => index
  | x :: r => if Qle_bool best x then first_least best index (S k) r else first_least x k (S k) r
  end.
Definition chosen (start : Q) (estimates : list Q) : Q :=
  match moves (path start estimates) with nil => 0 | x :: r => of_nat (first_least x 0 1 r) end.

Definition move_share (records : nat) (mu : Q) (own : Q) : Q :=
  let before := flat_map (fun _ => 1 :: - 1 :: nil) (seq 0 (records / 2)) in
  let minimiser := fun data => - (sum data / of_nat records) / mu in
  let first := minimiser before in
  let second := minimiser (- 1 :: tl before) in
  let slopes := flat_map (fun z => map (fun x => Qabs (z + own * mu * x)) (first :: second :: nil)) (1 :: - 1 :: nil) in
  let lipschitz := fold_right Qmax 0 slopes in
  Qabs (first - second) / (2 * lipschitz / (mu * of_nat records)).

Definition block_energy (records : nat) (mu : Q) : Q :=
  let after := (of_nat records - 2) / of_nat records in
  let move := (after - 1) / mu in
  2 * mu * power move 2 * mu * power (of_nat records) 2.

Definition flipped_moment (order : nat) (keep : Q) (which : nat) : Q :=
  let released := if Nat.eqb which 2 then 0%nat :: 1%nat :: nil else which :: nil in
  let chance := fun record output : list nat =>
    fold_right Qmult 1
      (map (fun p : nat * nat => if Nat.eqb (nth (fst p) record 0%nat) (snd p) then keep else 1 - keep)
         (combine released output)) in
  let outputs := tuples 2 (length released) in
  let moment := fun ours theirs =>
    sum (map (fun o => power (chance ours o) (order + 1) / power (chance theirs o) order) outputs) in
  let apart := fun ours theirs : list nat =>
    Nat.eqb (length (filter (fun p : nat * nat => negb (Nat.eqb (fst p) (snd p))) (combine ours theirs))) 1 in
  fold_right Qmax 0
    (flat_map (fun ours => map (moment ours) (filter (apart ours) (tuples 2 2))) (tuples 2 2)).
End Enumeration.
