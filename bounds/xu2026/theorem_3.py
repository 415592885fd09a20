r"""Theorem 3: second-order stationary points of the empirical risk by DP-RGDA, as printed in the appendix.

Problem. min over x in R^{d_1}, max over y in Y of f_S(x, y) = (1/n) sum_i F(x, y; xi_i), F mu-strongly concave in y,
M-Lipschitz, with L-Lipschitz gradients and rho-Lipschitz Hessians (A1 to A4); Phi_S(x) = max_y f_S(x, y), and F_0 the
difference of f_S(0) and min f_S. (epsilon, delta)-differentially private for datasets that differ in one record
(replace-one).

Algorithm. DP-RGDA [1, Algorithms 2 and 3] with full refreshes, S_1 = n, one ascent step, K = 1, and step size 1/(2 L).

Claimed [1, Theorem 3; Theorem 1 in the main text]. With probability at least 1 - delta_1 - delta_2, up to logarithms,

    |grad Phi_S(x_out)| <= alpha,  lambda_min(grad^2 Phi_S(x_out)) >= -sqrt(rho_Phi alpha),
    alpha = O(a^{2/3}),   a = sqrt(d log(1/delta))/(n epsilon), d = max(d_1, d_2).

The schedule is that of [1, Lemma 5], rounded to whole numbers; T and q are those of its proof, of which the
statement's are a variant: log(1/delta) outside the root in T, L^2 in the denominator of q. Only orders are printed,
so there is no bound with constants. The object says what the paper prints; the claims about Lemmas 4 to 7 and Theorem
1 say what stands.

References.
[1] DP-RGDA, second-order stationary points of private minimax optimisation, 2026, Section 4.2, Algorithms 2 and 3,
    Appendix B.1.

Arguments. n records, d the larger dimension, epsilon, delta; L smoothness, M Lipschitz constant, F_0; C_v and C_u
thresholds of clipping.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("xu2026.theorem_3")
>>> sizes = dict(n=100_000, d=100, epsilon=0.5, delta=1e-6, L=1.0, M=1.0, F_0=1.0)
>>> thm.schedule(**sizes)
{'T': 14850, 'q': 121, 'S_1': 100000, 'S_2': 517, 'K': 1, 'eta': 0.5}
>>> {name: round(value, 6) for name, value in thm.noise(**sizes, C_v=1.0, C_u=0.01).items()}
{'sigma_omega': 0.000824, 'sigma_zeta': 0.000144}
>>> thm.rate
d**(1/3)*log(1/delta)**(1/3)/(epsilon**(2/3)*n**(2/3))
"""

from __future__ import annotations

from sympy import Integer, Max, Rational, ceiling, floor, log, sqrt, symbols

from dpcheck.bounds.symbols import K, L, T, d, delta, eta, n
from dpcheck.bounds.theorem import Parameter, Theorem
from dpcheck.bounds.xu2026.theorem_2 import (
    NOISE,
    PRIVACY,
    QUANTITY,
    QUANTITY_LATEX,
    RATIO,
    S_1,
    S_2,
    SMALL_EPSILON,
    SMOOTH,
    THRESHOLDS,
    q,
)

M, F_0 = symbols("M F_0", positive=True)

THEOREMS = (
    Theorem(
        id="xu2026.theorem_3",
        title="Second-order stationary points of the empirical risk by DP-RGDA, as printed",
        paper="xu2026",
        location="Theorem 3 and Lemma 5, Appendix B.1; Algorithm 3",
        quantity=QUANTITY,
        quantity_latex=QUANTITY_LATEX,
        parameters=(
            *PRIVACY,
            Parameter(L, "smoothness of F"),
            Parameter(M, "Lipschitz constant of F in each coordinate"),
            Parameter(F_0, "f_S at the start less its minimum"),
            *THRESHOLDS,
        ),
        assumptions=(*SMOOTH, SMALL_EPSILON),
        schedule_formulas=(
            (T, ceiling(Max(((L * F_0) ** Rational(1, 4) / (sqrt(M) * RATIO)) ** Rational(4, 3), 1 / RATIO))),
            (q, Max(1, floor(1 / (T * RATIO**2)))),
            (S_1, n),
            (
                S_2,
                ceiling(
                    Max(
                        (M / (sqrt(F_0 * L) * RATIO)) ** Rational(2, 3),
                        (M * n * d * log(1 / delta)) ** Rational(1, 3) / (L * F_0) ** Rational(1, 6),
                    )
                ),
            ),
            (K, Integer(1)),
            (eta, 1 / (2 * L)),
        ),
        noise_formulas=NOISE,
        regimes=(("privacy", RATIO ** Rational(2, 3)),),
    ),
)
