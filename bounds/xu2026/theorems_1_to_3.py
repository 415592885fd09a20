r"""Theorems 1 to 3 (refuted as published): second-order stationary points by DP-RGDA.

Problem. min over x in R^{d_1}, max over y in Y of f_S(x, y) = (1/n) sum_i F(x, y; xi_i), F mu-strongly concave in y,
M-Lipschitz, with L-Lipschitz gradients and rho-Lipschitz Hessians (A1 to A4); Phi_S(x) = max_y f_S(x, y), and F_0 the
difference of f_S(0) and min f_S. (epsilon, delta)-differentially private for datasets that differ in one record
(replace-one). In Theorem 2 the population's f(x, y) = E F(x, y; xi) takes the place of f_S, from n samples, and F
deviates from f by at most sigma (A5).

Algorithm. DP-RGDA [1, Algorithms 2 and 3]: T outer steps, of length eta along -v_t while |v_t| >= alpha, else a
perturbation of radius r and an escape phase of mean squared step D; K ascent steps of length lambda in y for each;
estimators v, u by differences of S_2 samples, refreshed every q steps with S_1; noise sigma_omega at a refresh,
sigma_zeta at a difference.

Theorems 1 and 3 have the schedule of the proof of [1, Lemma 5]. The statements print three sizes otherwise:
log(1/delta) outside the root in T, L^2 below q, and a second S_2 that lacks the factor epsilon^{-2/3} and falls below
n/sqrt T for epsilon < 1. The S_2 of the proof satisfies the statement's inequality too, so that both theorems use it
here. M bounds the slopes of F; the clipping threshold C_v is another number, which Algorithm 3 takes and Lemma 5 does
not name.

Theorem 2 has that of [1, Lemma 8] and its proof, rounded to whole numbers, with constants 1: the proof's q = a^{-1/3}
and S_1 = n^{2/3}, not the statement's a^{1/3} and n. The objects state what the paper states and promise nothing: the
theorems are false (claims 002:Thm1 and 002:Thm2). The paper gives only orders, so there is no bound with constants.

Examples
--------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("xu2026.theorem_3")
>>> sizes = dict(n=100_000, d=100, epsilon=0.5, delta=1e-6, L=1.0)
>>> thm.schedule(**sizes, M=1.0, F_0=1.0)
{'T': 14850, 'q': 121, 'S_1': 100000, 'S_2': 821, 'K': 1, 'eta': 0.5}
>>> {name: round(value, 6) for name, value in thm.noise(**sizes, M=1.0, F_0=1.0, C_v=1.0, C_u=0.01).items()}
{'sigma_omega': 0.000824, 'sigma_zeta': 9.1e-05}
>>> thm.rate
d**(1/3)*log(1/delta)**(1/3)/(epsilon**(2/3)*n**(2/3))
>>> steps = theorem("xu2026.theorem_2").schedule(**sizes | {"n": 1_000_000}, delta_1=0.01, mu=0.5)
>>> {name: steps[name] for name in ("T", "q", "S_1", "S_2", "K")}
{'T': 566, 'q': 23, 'S_1': 10000, 'S_2': 1708, 'K': 2}
"""

from dataclasses import replace

from sympy import Integer, Max, Rational, ceiling, floor, log, sqrt, symbols

from dpcheck.bounds.symbols import K, L, T, d, delta, epsilon, eta, mu, n
from dpcheck.bounds.theorem import BUDGET, Assumption, Parameter, Theorem

q, S_1, S_2 = symbols("q S_1 S_2", integer=True, positive=True)
delta_1, delta_2, C_v, C_u, lam, D, radius = symbols("delta_1 delta_2 C_v C_u lambda D r", positive=True)
sigma_omega, sigma_zeta = symbols("sigma_omega sigma_zeta", positive=True)

RATIO = sqrt(d * log(1 / delta)) / (n * epsilon)  # a
STEP = sqrt(RATIO) / (L * log(4 / delta_1))

PRIVACY = (BUDGET[0], Parameter(d, "larger of the dimensions of x and y"), *BUDGET[1:])
THRESHOLDS = (Parameter(C_v, "clipping threshold of a refresh"), Parameter(C_u, "clipping threshold of a difference"))
SMALL_EPSILON = Assumption("epsilon", "epsilon < 1", "Definition 3", epsilon < 1)
SMOOTH = (
    Assumption("A1", "F is M-Lipschitz in each coordinate", "Assumption 1"),
    Assumption("A2", "the gradients of F are L-Lipschitz in (x, y)", "Assumption 2"),
    Assumption("A3", "the second derivatives of F are rho-Lipschitz", "Assumption 3"),
    Assumption("A4", "F is mu-strongly concave in y", "Assumption 4"),
)
ESCAPE = Assumption(
    "escape", "eta_H, r, t_thres and D are those of the escape phase's analysis", "Lemmas 6 and 7, Appendix B.1"
)
BELOW_ONE = Assumption(
    "error",
    "d log(1/delta) <= (n epsilon)^2",
    "proofs of Lemmas 5 and 8: iterations of order 1/a, at least one",
    d * log(1 / delta) <= (n * epsilon) ** 2,
)
WHOLE = Assumption("S_2", "S_2 <= n", "Algorithm 3, line 13: drawn from n records", S_2 <= n)
NOISE = (
    (sigma_omega, C_v * sqrt(log(1 / delta)) / epsilon * Max(1 / S_1, sqrt(T / q) / n)),
    (sigma_zeta, C_u * sqrt(log(1 / delta)) / epsilon * Max(1 / S_2, sqrt(T) / n)),
)
QUANTITY = (
    "gradient norm of Phi at the output, whose least curvature is at least -sqrt(rho_Phi alpha), up to logarithms"
)
M, F_0 = symbols("M F_0", positive=True)

EMPIRICAL = Theorem(
    id="xu2026.theorem_1",
    title="Second-order stationarity of the empirical value function (refuted as printed)",
    location="Theorem 1 and the proof of Lemma 5, Appendix B.1",
    quantity="gradient norm alpha of the output, in order; curvature at least -sqrt(rho alpha)",
    quantity_latex=r"\alpha",
    parameters=(
        *PRIVACY,
        Parameter(L, "smoothness of F"),
        Parameter(M, "Lipschitz constant of F in each coordinate, not the threshold C_v"),
        Parameter(F_0, "f_S at the start less its minimum"),
        *THRESHOLDS,
        Parameter(delta_1, "failure probability of the estimators", default=0.1),
        Parameter(delta_2, "failure probability of the escape", default=0.1),
    ),
    assumptions=(
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
    ),
    schedule_formulas=(
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
    ),
    noise_formulas=NOISE,
    regimes=(("privacy", RATIO ** Rational(2, 3)),),
)

THEOREMS = (
    EMPIRICAL,
    Theorem(
        id="xu2026.theorem_2",
        title="Second-order stationary points of the population risk by DP-RGDA, as printed (refuted)",
        location="Theorem 2, Lemma 8 and its proof, Algorithm 3",
        quantity=QUANTITY,
        quantity_latex=r"\alpha",
        parameters=(
            *PRIVACY,
            Parameter(delta_1, "failure probability of the estimators"),
            Parameter(L, "smoothness of F"),
            Parameter(mu, "strong concavity of F in y"),
            *THRESHOLDS,
            Parameter(delta_2, "failure probability of the escape", default=0.1),
        ),
        assumptions=(
            *SMOOTH,
            Assumption("A5", "|grad F(x, y; xi) - grad f(x, y)| <= sigma for every record", "Assumption 5"),
            Assumption("records", "the records are independent draws from one distribution", "Section 2.2, (1)"),
            Assumption("y_0", "|G_lambda(x_0, y_0)| <= a^(1/2)/kappa: y_0 is nearly the best answer to x_0", "Lemma 8"),
            ESCAPE,
            Assumption(
                "noise",
                "the noise makes the whole (epsilon, delta)-DP, which that of Algorithm 3 with constant 1 does not",
                "Theorem 2; claim 002:Alg3 l.1-2",
            ),
            SMALL_EPSILON,
            Assumption("delta_1", "delta_1 < 1", "Theorem 2", delta_1 < 1),
            Assumption("delta_2", "delta_2 < 1", "Theorem 2", delta_2 < 1),
            Assumption("mu", "mu <= L", "needed for Assumptions 2 and 4 together", mu <= L),
            BELOW_ONE,
            WHOLE,
        ),
        schedule_formulas=(
            (T, ceiling(RATIO ** Rational(-2, 3))),
            (q, Max(1, floor(RATIO ** Rational(-1, 3)))),
            (S_1, ceiling(n ** Rational(2, 3))),
            (S_2, ceiling(log(4 / delta_1) ** 2 * L / mu * RATIO ** Rational(-1, 3))),
            (K, ceiling(L / mu)),
            (eta, STEP),
            (lam, 1 / (6 * L)),
            (radius, STEP),
            (D, STEP**2),
        ),
        noise_formulas=NOISE,
        regimes=(("statistical", n ** Rational(-1, 3)), ("privacy", sqrt(RATIO))),
    ),
    replace(
        EMPIRICAL,
        id="xu2026.theorem_3",
        title="Second-order stationary points of the empirical risk by DP-RGDA (refuted as printed)",
        location="Theorem 3 and Lemma 5, Appendix B.1; Algorithm 3",
        quantity=QUANTITY,
    ),
)
