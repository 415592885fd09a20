r"""Definition 3: the noise of one Gaussian release, published without its factor 2.

A query of sensitivity D is released with N(0, s^2 D^2 I). By [1, Definition 3]

    s^2 = log(1.25/delta)/epsilon^2

is (epsilon, delta)-DP for 0 < epsilon, delta < 1. The exact curve of one Gaussian release lies above
delta at some of these values; with 2 log(1.25/delta) it does not. The paper uses the form without the factor in its
noise formulas.

[1] D. Xu et al. Finding Differentially Private Second Order Stationary Points in Stochastic Minimax
    Optimization. 2026, Preliminaries.
"""

from __future__ import annotations

from sympy import Rational, log, sqrt

from dpcheck.bounds.calibration import NotPrivate, Private, curve
from dpcheck.bounds.claim import Decision, Kind, claim, conditional
from dpcheck.bounds.evidence import Cited, Counterexample, Identity, over
from dpcheck.bounds.symbols import D, delta, epsilon, sigma

VARIANCE = D**2 * log(Rational(5, 4) / delta) / epsilon**2  # as published
MULTIPLIER = sqrt(log(Rational(5, 4) / delta)) / epsilon
REPAIRED = sqrt(2 * log(Rational(5, 4) / delta)) / epsilon
AT = ((epsilon, Rational(1, 2)), (delta, Rational(1, 10**5)))


@claim("002:Def3", Kind.CALIBRATION, location="Definition 3", variance=VARIANCE)
def mechanism() -> Decision:
    """A query of sensitivity D with noise of variance {variance} in each coordinate is (epsilon, delta)-DP for 0 <
    epsilon < 1 and 0 < delta < 1.
    """
    printed = MULTIPLIER.subs(dict(AT))
    return conditional(
        Cited(
            "q(D) = the number of ones among the records, sensitivity 1, all zeros against one 1: "
            "its release is (epsilon, delta)-DP if and only if the curve is at most delta",
            "B. Balle, Y.-X. Wang, ICML 2018, Theorem 8",
        ),
        Identity("the deviation over the sensitivity", lambda: sqrt(VARIANCE) / D, MULTIPLIER),
        NotPrivate("the printed noise at epsilon = 1/2, delta = 10^-5", printed, *(value for _, value in AT)),
        Counterexample("the same curve against delta", curve(sigma, epsilon) <= delta, ((sigma, printed), *AT)),
        Private(
            "with a factor 2 in the variance the release is private",
            REPAIRED,
            over(epsilon <= 1, delta <= 1),
            epsilon,
            delta,
        ),
        readings={
            "variance D^2 log(1.25/delta)/epsilon^2": "refuted",
            "variance 2 D^2 log(1.25/delta)/epsilon^2, the classical Gaussian mechanism": "proved",
        },
        condition="variance 2 D^2 log(1.25/delta)/epsilon^2, the printed one with the factor 2 of the classical "
        "Gaussian mechanism",
        repaired="2 D^2 log(1.25/delta)/epsilon^2",
        note="A factor 2 is missing under the root: at epsilon = 1/2 and delta = 10^-5 the least delta is about 1.47 "
        "10^-5, and it is worse for smaller delta.",
    )
