(** Scripts written by hand, for statements that no tactic of the library closes; tried on whatever is left open. **)

(* logarithms of products, linear in the logarithms of letters below numbers *)
intros. dp_forget. dp_expand_logs.
repeat match goal with
  | H : ?x <= ?c |- context [ln ?x] => is_var x; dp_log_fact H
  | H : ?c <= ?x |- context [ln ?x] => is_var x; dp_log_fact H
  end.
assert (693147 / 1000000 <= ln 2 <= 693148 / 1000000) by (split; dp_interval).
assert (1609437 / 1000000 <= ln 5 <= 1609438 / 1000000) by (split; dp_interval).
lra.

(* a maximum below the line *)
intros. dp_forget.
assert (A : sqrt n <= Rmax (sqrt d * sqrt (ln (/ delta)) / epsilon) (sqrt n)) by apply Rmax_r.
apply Rmult_le_compat_l; [ dp_sign | ].
apply Rinv_le_contravar; [ dp_sign | apply Rmult_le_compat_l; [ dp_sign | exact A ] ].

(* a whole number between two neighbours *)
intros; subst; intro E.
assert (B : 3 < ln 10 / ln 2 < 4) by (split; dp_interval).
rewrite <- E in B.
destruct B as [A B].
apply lt_IZR in A.
apply lt_IZR in B.
lia.

(* a root of three *)
intros.
dp_forget.
dp_root_letter energy r.
assert (S : sqrt 3 ^ 2 = 3) by (apply pow2_sqrt; lra).
assert (0 < sqrt 3) by (apply sqrt_lt_R0; lra).
assert (F : 0 <= (sqrt 3 / 3) * (r * D) - L) by (apply dp_root_order; [ dp_sign | dp_sign | nra ]).
apply (dp_combination _ _ (3 * n * r / L) (4 * kappa_y * phases * 3 * (sqrt 3 / 3 * (r * D) - L))); [ dp_sign | field; dp_side | dp_sign ].

(* an exponential less its root *)
intros x Hx Hy.
destruct (Rle_or_lt x (1 / 2)) as [S | S].
assert (A := exp_ineq1_le (- (x / 2))).
rewrite exp_Ropp in A.
assert (P := exp_pos (x / 2)).
replace (exp x) with (exp (x / 2) * exp (x / 2)) by (rewrite <- exp_plus; f_equal; lra).
generalize dependent (exp (x / 2)).
intros u P A.
assert (B : u * (1 - x / 2) <= 1) by (apply Rmult_le_reg_r with (/ u); [ dp_sign | replace (u * (1 - x / 2) * / u) with (1 - x / 2) by (field; lra); lra ]).
assert (u <= 4 / 3) by nra.
assert (u * (u - 1) <= u * (u * (x / 2))) by (apply Rmult_le_compat_l; nra).
assert (u * u <= 2) by nra.
assert (u * u * (x / 2) <= 2 * (x / 2)) by (apply Rmult_le_compat_r; lra).
nra.
apply dp_difference.
interval with (i_bisect x, i_prec 64).

(* x log(1/x) near zero *)
intros rho Hr Hs.
dp_root_letter rho r.
rewrite (ln_Rinv (r ^ 2)) by dp_sign.
rewrite (dp_ln_pow r 2) by dp_sign.
simpl INR.
assert (A := dp_ln_below r ltac:(assumption)).
assert (r <= 41 / 1000) by nra.
assert (B : 69 / 100 <= ln 2) by dp_interval.
assert (C : 2 <= ln 10) by dp_interval.
assert (D : r ^ 2 * - ((1 + 1) * ln r) <= 2 * r) by (assert (r * (1 - / r) <= r * ln r) by (apply Rmult_le_compat_l; lra); replace (r * (1 - / r)) with (r - 1) in * by (field; lra); nra).
assert (E : r ^ 2 * - ((1 + 1) * ln r) / ln 2 <= 2 * r / (69 / 100)) by (apply Rle_trans with (2 * r / ln 2); [ apply Rmult_le_compat_r; [ left; apply Rinv_0_lt_compat; lra | lra ] | apply Rmult_le_compat_l; [ lra | apply Rinv_le_contravar; lra ] ]).
replace (3 * r ^ 2 * (2 + - ((1 + 1) * ln r) / ln 2)) with (6 * r ^ 2 + 3 * (r ^ 2 * - ((1 + 1) * ln r) / ln 2)) by (field; lra).
nra.

(* two exponentials that fall *)
intros c H.
assert (A : exp (- (15 * c ^ 2 / 2)) <= exp (- (15 / 2))) by (apply dp_exp_order; nra).
assert (B : exp (- (25 * c ^ 2 / 16)) <= exp (- (25 / 16))) by (apply dp_exp_order; nra).
assert (C : exp (- (15 / 2)) / 2 + exp (-1) <= 1 / 2 - exp (- (25 / 16)) / 4) by dp_interval.
lra.

(* the root of a square *)
dp_denied.
apply dp_strict_difference.
rewrite sqrt_mult by dp_sign.
rewrite !sqrt_pow2 by lra.
field_simplify; [ | dp_side ..
]; dp_sign.

(* a product of two small numbers *)
intros.
assert (0 < kappa * r) by dp_sign.
assert (kappa * r <= 1 / 4) by (assert ((kappa * r) ^ 2 <= 1 / 16) by nra; nra).
assert (mu * r <= kappa * rho * r) by (apply Rmult_le_compat_r; lra).
assert (rho * (kappa * r) <= rho * (1 / 4)) by (apply Rmult_le_compat_l; lra).
assert (mu * r * theta <= rho * (1 / 4) * theta) by (apply Rmult_le_compat_r; lra).
assert (0 < rho * theta) by dp_sign.
lra.

(* two squares *)
intros.
dp_forget.
apply (dp_combination _ _ (n ^ 2) (2 * n * (2 * G_v * dual_move + 2 * G_w * move - n * (mu * move ^ 2 + rho * dual_move ^ 2)) + (n * mu * move - 2 * G_w) ^ 2 / mu + 2 * (n * rho * dual_move - G_v) ^ 2 / rho + 2 * G_v ^ 2 / rho)); [ dp_sign | field; dp_side | ].
assert (0 <= 2 * G_v * dual_move + 2 * G_w * move - n * (mu * move ^ 2 + rho * dual_move ^ 2)) by lra.
dp_sign.

(* the root of an inverse square *)
dp_denied.
apply dp_strict_difference.
replace (1 / (16 * X ^ 2)) with ((/ (4 * X)) ^ 2) by (field; lra).
rewrite sqrt_pow2 by dp_sign.
field_simplify; [ | dp_side ..
]; lra.

(* a product of two logarithms *)
intros c H.
dp_expand_logs.
assert (A := dp_ln_above c ltac:(lra)).
assert (B : 0 <= ln c) by (rewrite <- ln_1; apply dp_ln_upper; lra).
assert (C : 7 <= ln 2500 <= 8) by (split; dp_interval).
assert (D : 9 <= ln 10000 <= 10) by (split; dp_interval).
simpl INR.
nra.

(* a logarithm under a line *)
intros p w H W.
assert (A : 326 / 1000 <= ln (ln 4)) by dp_interval.
assert (B : 271 / 100 <= exp 1) by dp_interval.
assert (C := dp_ln_above (w / (31 / 10)) ltac:(lra)).
unfold Rdiv in C at 1.
rewrite ln_mult in C by lra.
rewrite ln_Rinv in C by lra.
assert (D : ln (31 / 10) <= 1132 / 1000) by dp_interval.
nra.

(* the logarithm of a logarithm over a small number *)
intros T theta I H P S Q.
assert (A : ln theta <= -1) by (rewrite <- (ln_exp (-1)); apply dp_ln_upper; lra).
assert (B : ln 4 <= ln T) by (apply dp_ln_upper; lra).
assert (C : 1 <= ln 4) by dp_interval.
assert (D : 0 <= ln (ln T)) by (rewrite <- ln_1; apply dp_ln_upper; lra).
unfold Rdiv. rewrite ln_mult by (first [ lra | dp_sign ]). rewrite ln_Rinv by lra. lra.

(* a step size below an inverse root *)
intros. dp_forget. dp_root_letter T r. dp_root_letter d s.
assert (S : sqrt 2 ^ 2 = 2) by (apply pow2_sqrt; lra). assert (0 <= sqrt 2) by apply sqrt_pos.
assert (P : 0 < 4 * C_2 * sigma_2 * r * s) by dp_sign.
assert (A : eta * (4 * C_2 * sigma_2 * r * s) <= sqrt 2)
  by (apply Rle_trans with (sqrt 2 / (4 * C_2 * sigma_2 * r * s) * (4 * C_2 * sigma_2 * r * s));
      [ apply Rmult_le_compat_r; lra | right; field; dp_side ]).
assert (B : 0 <= eta * (4 * C_2 * sigma_2 * r * s)) by dp_sign.
assert (C : (eta * (4 * C_2 * sigma_2 * r * s)) ^ 2 <= sqrt 2 ^ 2) by (apply pow_incr; lra).
apply (dp_combination _ _ (4 * eta ^ 2) (2 - (eta * (4 * C_2 * sigma_2 * r * s)) ^ 2));
  [ dp_sign | field; dp_side | lra ].

(* a root below twenty-five times another *)
intros. dp_forget.
assert (A : sqrt (1 + 624 * logs) <= 25 * sqrt (1 + logs))
  by (replace 25 with (sqrt (25 ^ 2)) by (apply sqrt_pow2; lra); rewrite <- sqrt_mult by nra;
      apply sqrt_le_1_alt; nra).
apply Rmult_le_compat_r; [ left; apply Rinv_0_lt_compat; dp_sign | ].
assert (0 < G * kappa) by (apply Rmult_lt_0_compat; lra).
replace (2 * G * kappa * sqrt (1 + 624 * logs)) with (2 * (G * kappa) * sqrt (1 + 624 * logs)) by ring.
replace (50 * G * kappa * sqrt (1 + logs)) with (2 * (G * kappa) * (25 * sqrt (1 + logs))) by ring.
apply Rmult_le_compat_l; lra.
