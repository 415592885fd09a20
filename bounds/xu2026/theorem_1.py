r"""Theorems 1 and 3 (refuted as published): second-order stationary points of the empirical risk by DP-RGDA.

Problem. min over x in R^{d_1}, max over y in Y of f_S(x, y) = (1/n) sum_i F(x, y; xi_i), F mu-strongly concave in y,
M-Lipschitz, with L-Lipschitz gradients and rho-Lipschitz Hessians (A1 to A4); Phi_S(x) = max_y f_S(x, y), and F_0 the
difference of f_S(0) and min f_S. (epsilon, delta)-differentially private for datasets that differ in one record
(replace-one).

The schedule is that of the proof of [1, Lemma 5]. Theorem 1 and Lemma 5 state three sizes otherwise: log(1/delta)
outside the root in T, L^2 below q, and a second S_2 that lacks the factor epsilon^{-2/3} and falls below n/sqrt T for
epsilon < 1. The S_2 of the proof satisfies the statement's inequality too, so that both theorems use it here. M bounds
the slopes of F; the clipping threshold C_v is another number, which Algorithm 3 takes and Lemma 5 does not name. The
paper gives only orders, so there is no bound with constants.

Examples
--------
>>> from dpcheck.bounds.registry import theorem
>>> theorem("xu2026.theorem_1").schedule(n=10_000, d=10, epsilon=0.5, delta=1e-6, M=1, L=1, F_0=1)["T"]
3200
>>> thm = theorem("xu2026.theorem_3")
>>> sizes = dict(n=100_000, d=100, epsilon=0.5, delta=1e-6, L=1.0, M=1.0, F_0=1.0)
>>> thm.schedule(**sizes)
{'T': 14850, 'q': 121, 'S_1': 100000, 'S_2': 821, 'K': 1, 'eta': 0.5}
>>> {name: round(value, 6) for name, value in thm.noise(**sizes, C_v=1.0, C_u=0.01).items()}
{'sigma_omega': 0.000824, 'sigma_zeta': 9.1e-05}
>>> thm.rate
d**(1/3)*log(1/delta)**(1/3)/(epsilon**(2/3)*n**(2/3))
"""

from sympy import Integer, Max, Rational, ceiling, floor, log, sqrt, symbols

from dpcheck.bounds.symbols import K, L, T, d, delta, epsilon, eta, n
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.xu2026.theorem_2 import (
    BELOW_ONE,
    ESCAPE,
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
SCHEDULE = (
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

THEOREMS = tuple(
    Theorem(
        id=f"xu2026.theorem_{number}",
        title=f"Second-order {title} (refuted as printed)",
        location=location,
        quantity=quantity,
        quantity_latex=QUANTITY_LATEX,
        parameters=PARAMETERS,
        assumptions=ASSUMPTIONS,
        schedule_formulas=SCHEDULE,
        noise_formulas=NOISE,
        regimes=REGIMES,
    )
    for number, title, location, quantity in (
        (
            1,
            "stationarity of the empirical value function",
            "Theorem 1 and the proof of Lemma 5, Appendix B.1",
            "gradient norm alpha of the output, in order; curvature at least -sqrt(rho alpha)",
        ),
        (
            3,
            "stationary points of the empirical risk by DP-RGDA",
            "Theorem 3 and Lemma 5, Appendix B.1; Algorithm 3",
            QUANTITY,
        ),
    )
)
