r"""Theorem 1 (refuted as published): second-order stationary points of the empirical value function.

Setting. Assumptions 1 to 4, f_S the mean of n records, a = sqrt(d log(1/delta))/(n epsilon).

Algorithms 2 and 3 with S_1 = n, K = 1, eta = 1/(2 L) and, from the proof of Lemma 5,

    T = max{ ((L F_0)^{1/4}/(sqrt M a))^{4/3}, 1/a },  q = floor(1/(T a^2)),
    S_2 = max{ (M/(sqrt(F_0 L) a))^{2/3}, M^{1/3} n a^{2/3}/(L F_0)^{1/6} },

where the statement has a smaller S_2 that its proof cannot use; see ``empirical``, which is also about Theorem 3.

Guarantee. By [1, Theorem 1] the output is an (alpha, sqrt(rho alpha))-second-order stationary point with
alpha of order a^{2/3}, up to logarithms, with probability 1 - delta_1 - delta_2, under (epsilon, delta)-DP.

As published, neither part follows: with K = 1 the dual variable never moves (claim 002:K=1), the steps have
constant length (002:Lem5 eta=1/(2L)), the noise is too small with the constant 1 of its formula (002:Alg3 l.1-2),
and the clip does not bound the sensitivity (002:Alg3 Clip). The rate itself is that of the repaired schedule in the
literature.

[1] D. Xu et al. Finding Differentially Private Second Order Stationary Points in Stochastic Minimax
    Optimization. 2026, Theorem 1, Lemmas 1 to 5, Appendix B.1.

Arguments. n, d, epsilon, delta, M Lipschitz constant, L smoothness, F_0 initial gap of the value function; C_v and
C_u, the thresholds of clipping, for the noise; delta_1 and delta_2 failure probabilities (default 0.1).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> theorem("xu2026.theorem_1").schedule(n=10_000, d=10, epsilon=0.5, delta=1e-6, M=1, L=1, F_0=1)["T"]
3200
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Derivative, Integer, Rational, Subs, cos, pi, sin, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, refuted
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.symbols import c, k
from dpcheck.bounds.theorem import Theorem
from dpcheck.bounds.xu2026.empirical import ASSUMPTIONS, PARAMETERS, REGIMES, SCHEDULE
from dpcheck.bounds.xu2026.error import ERROR, attained
from dpcheck.bounds.xu2026.lemma_5 import ORDER, a, dual_after
from dpcheck.bounds.xu2026.theorem_2 import NOISE, delta_1, delta_2

alpha, success = symbols("alpha success", positive=True)
SURE = 1 - delta_1 - delta_2

THEOREMS = (
    Theorem(
        id="xu2026.theorem_1",
        title="Second-order stationarity of the empirical value function (refuted as printed)",
        paper="xu2026",
        location="Theorem 1 and the proof of Lemma 5, Appendix B.1",
        quantity="gradient norm alpha of the output, in order; curvature at least -sqrt(rho alpha)",
        quantity_latex=r"\alpha",
        parameters=PARAMETERS,
        assumptions=ASSUMPTIONS,
        schedule_formulas=SCHEDULE,
        noise_formulas=NOISE,
        regimes=REGIMES,
    ),
)


x, y, z = symbols("x y z", real=True)
GAME = cos(x) + y * (sin(x) + z) - y**2 / 2  # of every record
SLOPE = -sin(x) + cos(x) * (sin(x) + z)


@claim("002:Thm1", Kind.UTILITY, location="Theorem 1", order=ORDER, error=ERROR, sure=SURE)
@carries("xu2026.theorem_1", {"rate privacy": ORDER}, {a: ERROR})
@carries("xu2026.theorem_3", {"rate privacy": ORDER}, {a: ERROR})
def theorem() -> Decision:
    """Algorithm 2 with the published parameters is (epsilon, delta)-DP and finds an (alpha, root of rho_Phi
    alpha)-second-order stationary point, alpha of the order {order} up to logarithms, a = {error}, with probability
    at least {sure}.
    """
    best = sin(x) + z
    half = Rational(1, 2)
    return refuted(
        # Show that with K = 1 the output has the same law for both datasets.
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
        # Show that no point has a small slope for both datasets.
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
