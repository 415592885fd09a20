r"""Theorem 3 (refuted as published): second-order stationary points of the empirical risk by DP-RGDA.

It repeats Theorem 1 in the appendix, and what refutes that one (claim 002:Thm1) refutes this.

Problem. min over x in R^{d_1}, max over y in Y of f_S(x, y) = (1/n) sum_i F(x, y; xi_i), F mu-strongly concave in y,
M-Lipschitz, with L-Lipschitz gradients and rho-Lipschitz Hessians (A1 to A4); Phi_S(x) = max_y f_S(x, y), and F_0 the
difference of f_S(0) and min f_S. (epsilon, delta)-differentially private for datasets that differ in one record
(replace-one).

Algorithm. DP-RGDA [1, Algorithms 2 and 3] with full refreshes, S_1 = n, one ascent step, K = 1, and step size 1/(2 L).

Claimed [1, Theorem 3; Theorem 1 in the main text]. With probability at least 1 - delta_1 - delta_2, up to logarithms,

    |grad Phi_S(x_out)| <= alpha,  lambda_min(grad^2 Phi_S(x_out)) >= -sqrt(rho_Phi alpha),
    alpha = O(a^{2/3}),   a = sqrt(d log(1/delta))/(n epsilon), d = max(d_1, d_2).

The schedule is that of the proof of [1, Lemma 5], rounded to whole numbers, and the same as that of Theorem 1: see
``empirical``, which says where the statement's differs. The paper gives only orders, so there is no bound with
constants. The object states what the paper states; the claims about Lemmas 4 to 7 and Theorem 1 say what stands.

References.
[1] DP-RGDA, second-order stationary points of private minimax optimisation, 2026, Section 4.2, Algorithms 2 and 3,
    Appendix B.1.

Arguments. n records, d the larger dimension, epsilon, delta; L smoothness, M Lipschitz constant, F_0; C_v and C_u
thresholds of clipping; delta_1 and delta_2 failure probabilities (default 0.1).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("xu2026.theorem_3")
>>> sizes = dict(n=100_000, d=100, epsilon=0.5, delta=1e-6, L=1.0, M=1.0, F_0=1.0)
>>> thm.schedule(**sizes)
{'T': 14850, 'q': 121, 'S_1': 100000, 'S_2': 821, 'K': 1, 'eta': 0.5}
>>> {name: round(value, 6) for name, value in thm.noise(**sizes, C_v=1.0, C_u=0.01).items()}
{'sigma_omega': 0.000824, 'sigma_zeta': 9.1e-05}
>>> thm.rate
d**(1/3)*log(1/delta)**(1/3)/(epsilon**(2/3)*n**(2/3))
"""

from __future__ import annotations

from dpcheck.bounds.theorem import Theorem
from dpcheck.bounds.xu2026.empirical import ASSUMPTIONS, PARAMETERS, REGIMES, SCHEDULE
from dpcheck.bounds.xu2026.theorem_2 import NOISE, QUANTITY, QUANTITY_LATEX

THEOREMS = (
    Theorem(
        id="xu2026.theorem_3",
        title="Second-order stationary points of the empirical risk by DP-RGDA (refuted as printed)",
        paper="xu2026",
        location="Theorem 3 and Lemma 5, Appendix B.1; Algorithm 3",
        quantity=QUANTITY,
        quantity_latex=QUANTITY_LATEX,
        parameters=PARAMETERS,
        assumptions=ASSUMPTIONS,
        schedule_formulas=SCHEDULE,
        noise_formulas=NOISE,
        regimes=REGIMES,
    ),
)
