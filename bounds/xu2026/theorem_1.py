r"""Theorems 1 and 3 (refuted as published): second-order stationary points of the empirical risk by DP-RGDA.

Problem. min over x in R^{d_1}, max over y in Y of f_S(x, y) = (1/n) sum_i F(x, y; xi_i), F mu-strongly concave in y,
M-Lipschitz, with L-Lipschitz gradients and rho-Lipschitz Hessians (A1 to A4); Phi_S(x) = max_y f_S(x, y), and F_0 the
difference of f_S(0) and min f_S. (epsilon, delta)-differentially private for datasets that differ in one record
(replace-one).

The schedule is that of the proof of [1, Lemma 5]. Theorem 1 and Lemma 5 state three sizes otherwise: log(1/delta)
outside the root in T, L^2 below q, and a second S_2 that lacks the factor epsilon^{-2/3} and falls below n/sqrt T for
epsilon < 1. The S_2 of the proof satisfies the statement's inequality too, so that both theorems use it here.
``STATED`` has the sizes of the statement, with which Algorithm 2 as published runs; it is not in the catalogue, since
no guarantee is shown for it. M bounds the slopes of F; the clipping threshold C_v is another number, which Algorithm 3
takes and Lemma 5 does not name. The paper gives only orders, so there is no bound with constants.

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

from __future__ import annotations

from fractions import Fraction

from sympy import Derivative, Eq, Integer, Max, Rational, Subs, ceiling, cos, floor, log, pi, sin, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, refuted, unresolved
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.symbols import K, L, T, c, d, delta, epsilon, eta, k, mu, n
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.xu2026.lemma_5 import BATCH, ERROR, LENGTH, LONG, ORDER, a, attained, dual_after
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


alpha, success = symbols("alpha success", positive=True)
SURE = 1 - delta_1 - delta_2

THEOREMS = tuple(
    Theorem(
        id=f"xu2026.theorem_{number}",
        title=f"Second-order {title} (refuted as printed)",
        paper="xu2026",
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


x, y, z = symbols("x y z", real=True)
GAME = cos(x) + y * (sin(x) + z) - y**2 / 2  # of every record
SLOPE = -sin(x) + cos(x) * (sin(x) + z)


@claim("002:Thm1", Kind.UTILITY, location="Theorem 1")
@carries("xu2026.theorem_1", {"rate privacy": ORDER}, {a: ERROR})
@carries("xu2026.theorem_3", {"rate privacy": ORDER}, {a: ERROR})
def theorem() -> Decision:
    """Algorithm 2 with the published parameters is (epsilon, delta)-DP and finds an (alpha, root of rho_Phi
    alpha)-second-order stationary point, alpha of the order {ORDER} up to logarithms, a = {ERROR}, with probability at
    least {SURE}.
    """
    best = sin(x) + z
    half = Rational(1, 2)
    return refuted(
        # With K = 1 the output has the same law for both datasets.
        Cited(
            "F = cos x + y (sin x + z) - y^2/2 for every record, Y = [-2, 2], z = 1/2 in one dataset and -1/2 in "
            "another: slopes at most 4, all derivatives bounded, mu = 1",
            "Assumptions 1 to 4 hold",
        ),
        Enumerated("K = 1: y stays where it starts, here for 1000 steps", dual_after, (1000, 1), Fraction(0)),
        Identity(
            "v is made of grad_x F at (x_t, y_0) and (x_{t-1}, y_0) and of noise: z is not in it",
            Derivative(GAME, x, z),
            Integer(0),
        ),
        Cited(
            "so that x_t, the tests and the output have the same law for both datasets, whatever eta, noise, clipping "
            "and thresholds; u, which does see z, moves only the y_{t,1} that is never chosen",
            "Algorithms 2 and 3",
        ),
        # No point has a small slope for both datasets.
        Identity("y*(x), inside Y", Subs(Derivative(GAME, y), y, best), Integer(0)),
        Identity("Phi = cos x + (sin x + z)^2/2: slope", Derivative(cos(x) + (sin(x) + z) ** 2 / 2, x), SLOPE),
        Identity("the slopes at z = 1/2 and z = -1/2 differ by", Subs(SLOPE - SLOPE.subs(z, -z), z, half), cos(x)),
        Identity(
            "their sum is twice -sin x (1 - cos x)",
            Subs(SLOPE + SLOPE.subs(z, -z), z, half),
            -2 * sin(x) * (1 - cos(x)),
        ),
        Inequality(
            "both at most alpha makes |cos x| <= 2 alpha and sin^2 x (1 - cos x)^2 <= alpha^2; for alpha <= 1/8 the "
            "latter's left side is at least four times the right",
            4 * alpha**2,
            (1 - 4 * alpha**2) * (1 - 2 * alpha) ** 2,
            over(alpha <= Rational(1, 8)),
        ),
        Identity(
            "alpha = c a^{2/3}, whatever the constant c, is small enough: at a = (8 (c + k))^{-3/2} it is",
            Subs(c * ORDER, a, (8 * (c + k)) ** Rational(-3, 2)),
            c / (8 * (c + k)),
        ),
        AtMost("at most 1/8", c / (8 * (c + k)), Rational(1, 8)),
        attained(Rational(1, 10**6), 10**9, 10**4, half, 25),
        Counterexample(
            "no output serves both, so that one dataset is served with probability at most 1/2; delta_1 = delta_2 = "
            "1/10",
            success >= SURE,
            {success: half, delta_1: Rational(1, 10), delta_2: Rational(1, 10)},
        ),
        Identity("with exact estimates x settles at pi, where the slope of Phi is -z", Subs(SLOPE, x, pi), -z),
        readings={
            "Algorithms 2 and 3 with the printed K = 1, for every eta, noise and threshold": "refuted",
            "a larger constant K with the other printed parameters": "unresolved",
            "some first-order method at this rate": "unresolved",
        },
        repaired="K of order kappa, at least 2, eta of order alpha/L, per-record clipping and noise set by the "
        "accountant",
        note="With K = 1 the dual variable never moves, so that the output does not depend on what the maximiser "
        "depends on. The privacy part falls with the clip, and with the constant 1 of the printed noise.",
        method=(Method.ALGEBRA, Method.PROVER),
    )


value, depth = symbols("value floor", positive=True)


@claim("002:F0", Kind.ASSUMPTION, location="Theorem 1")
def infimum() -> Decision:
    """F_0 = f_S(0) - min over x, y in R^d of f_S is finite, and the gap that the descent spends."""
    beyond = symbols("beyond", positive=True)
    dual = -(y**2) / 2  # f, for every x
    return refuted(
        Cited(
            "f_S(x, .) is mu-strongly concave on R^d, so that f_S(x, y) <= f_S(x, y*) - mu |y - y*|^2/2", "Assumption 4"
        ),
        Counterexample(
            "the minimum over y in R^d, as printed: f = -y^2/2 passes every floor, here -1000 at y = 45",
            dual >= -depth,
            {y: 45, depth: 1000},
        ),
        Inequality(
            "whatever the floor and mu: mu y^2/2 >= floor at y^2 = 2 floor/mu + beyond",
            depth,
            mu * (beyond + 2 * depth / mu) / 2,
            over(depth, mu, beyond),
        ),
        Counterexample(
            "over Y = [-1, 1], within Assumption 1, it is finite and not the gap Phi(0) - min Phi: f = -y^2/2, y_0 = 0 "
            "gives 1/2 against 0",
            Eq(dual.subs(y, 0) - dual.subs(y, 1), value),
            {value: 0},
        ),
        readings={
            "the minimum over R^d of a function that is strongly concave there: -infinity": "refuted",
            "the minimum over a compact Y: another number than the gap of Phi": "refuted",
        },
        repaired="F_0 = Phi_S(x_0) - min Phi_S, the gap of the value function",
        note="The minimum over y of a strongly concave function on R^d is -infinity, so that F_0 is infinite; on a "
        "compact Y it counts the depth of f in y. What a descent spends is the gap of Phi.",
        method=(Method.ARITHMETIC, Method.PROVER),
    )


@claim("002:Remark3", Kind.REMARK, location="Remark 3")
def first_such_method() -> Decision:
    """This is the first first-order method for private second-order stationary points in ERM that matches the best
    known rates.
    """
    return unresolved(
        Cited("a statement about the literature, not about the algorithm", "Remark 3"),
        note="A claim of priority: no computation decides it. The result that it speaks of is for the empirical risk, "
        "Theorem 1, and the rate it matches there that of Theorem 2 too; both are false as printed (see their claims).",
    )


STATED = Theorem(
    id="xu2026.lemma_5",
    title="Sizes of DP-RGDA for the empirical risk, as Lemma 5 states them",
    paper="xu2026",
    location="Lemma 5, Appendix B.1; Algorithm 3",
    quantity="gradient norm alpha of the output, in order",
    quantity_latex=r"\alpha",
    parameters=PARAMETERS,
    assumptions=tuple(
        assumption for assumption in ASSUMPTIONS if assumption.name in ("epsilon", "delta_1", "delta_2", "error", "S_2")
    ),
    schedule_formulas=(
        (T, ceiling(Max(LONG.subs(a, ERROR), n * epsilon / (sqrt(d) * log(1 / delta))))),
        (q, Max(1, floor((n * epsilon) ** 2 / (L**2 * T * d * log(1 / delta))))),
        (S_1, n),
        (S_2, ceiling(BATCH)),
        (K, Integer(1)),
        (eta, LENGTH),
    ),
    noise_formulas=NOISE,
    regimes=REGIMES,
)
