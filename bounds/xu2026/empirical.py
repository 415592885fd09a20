r"""The schedule and the assumptions that Theorems 1 and 3 share: DP-RGDA on the empirical risk.

Write a = sqrt(d log(1/delta))/(n epsilon). Lemma 5 of [1] and its proof set S_1 = n, K = 1, eta = 1/(2 L) and, in the
proof,

    T = max{ ((L F_0)^{1/4}/(sqrt M a))^{4/3}, 1/a },   q = floor(1/(T a^2)),
    S_2 >= max{ (M/(sqrt(F_0 L) a))^{2/3}, M^{1/3} n a^{2/3}/(L F_0)^{1/6} },

the second S_2 since the proof asks for S_2 >= n/sqrt T. The statements of Theorem 1 and Lemma 5 differ in three of
these: log(1/delta) outside the root in T, L^2 below q, and for the second S_2 (M n d log(1/delta))^{1/3}/
(L F_0)^{1/6}, which lacks the factor epsilon^{-2/3} and falls below n/sqrt T for epsilon < 1. The S_2 of the proof
satisfies the statement's inequality too, so that both theorems use it here.

M bounds the slopes of F, in each coordinate by Assumption 1; the clipping threshold C_v is another number, which
Algorithm 3 takes and Lemma 5 does not name.

[1] D. Xu et al. Finding Differentially Private Second Order Stationary Points in Stochastic Minimax
    Optimization. 2026, Theorems 1 and 3, Lemma 5 and its proof, Appendix B.1.
"""

from __future__ import annotations

from sympy import Integer, Max, Rational, ceiling, floor, log, sqrt, symbols

from dpcheck.bounds.assumption import Formulas
from dpcheck.bounds.symbols import K, L, T, d, delta, epsilon, eta, n
from dpcheck.bounds.theorem import Assumption, Parameter
from dpcheck.bounds.xu2026.theorem_2 import (
    BELOW_ONE,
    ESCAPE,
    PRIVACY,
    RATIO,
    S_1,
    S_2,
    SMALL_EPSILON,
    SMOOTH,
    THRESHOLDS,
    WHOLE,
    delta_1,
    delta_2,
    q,
)

M, F_0 = symbols("M F_0", positive=True)

PARAMETERS = (
    *PRIVACY,
    Parameter(L, "smoothness of F"),
    Parameter(M, "Lipschitz constant of F in each coordinate, not the threshold C_v"),
    Parameter(F_0, "f_S at the start less its minimum"),
    *THRESHOLDS,
    Parameter(delta_1, "failure probability of the estimators", default=0.1),
    Parameter(delta_2, "failure probability of the escape", default=0.1),
)
ASSUMPTIONS = (
    *SMOOTH,
    Assumption("start", "x_0 = 0 and y_0 = 0, where F_0 is taken", "Theorem 1"),
    Assumption("F_0", "min f_S is finite, which takes a compact Y", "Theorem 1, which prints R^d for Y"),
    ESCAPE,
    SMALL_EPSILON,
    Assumption("delta_1", "delta_1 < 1", "Theorem 1", delta_1 < 1),
    Assumption("delta_2", "delta_2 < 1", "Theorem 1", delta_2 < 1),
    BELOW_ONE,
    Assumption(
        "period",
        "T d log(1/delta) <= (n epsilon)^2",
        "Lemma 5: the period q = floor(1/(T a^2)) is at least 1",
        T * d * log(1 / delta) <= (n * epsilon) ** 2,
    ),
    Assumption("q", "q <= T", "proof of Lemma 5", q <= T),
    Assumption("increments", "S_2 >= n/sqrt(T)", "proof of Lemma 5, T >= n^2/S_2^2", S_2 >= n / sqrt(T)),
    Assumption(
        "B_2",
        "S_2 T d log(1/delta) >= (n epsilon)^2",
        "proof of Lemma 5, S_2 >= 1/(T a^2)",
        S_2 * T * d * log(1 / delta) >= (n * epsilon) ** 2,
    ),
    WHOLE,
)
SCHEDULE: Formulas = (
    (T, ceiling(Max(((L * F_0) ** Rational(1, 4) / (sqrt(M) * RATIO)) ** Rational(4, 3), 1 / RATIO))),
    (q, Max(1, floor(1 / (T * RATIO**2)))),
    (S_1, n),
    (
        S_2,
        ceiling(
            Max(
                (M / (sqrt(F_0 * L) * RATIO)) ** Rational(2, 3),
                (M * n**3 * RATIO**2) ** Rational(1, 3) / (L * F_0) ** Rational(1, 6),
            )
        ),
    ),
    (K, Integer(1)),
    (eta, 1 / (2 * L)),
)
REGIMES = (("privacy", RATIO ** Rational(2, 3)),)
