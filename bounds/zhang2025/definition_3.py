r"""Definition 3: the noise of one Gaussian release.

A query of sensitivity D is released with N(0, s^2 D^2 I). By [1, Definition 3]

    s^2 = 8 log(1.25/delta)/epsilon^2

is (epsilon, delta)-DP for 0 < epsilon, delta <= 1. The usual constant is 2, so that the noise here is
twice the usual one; unlike the usual one it is enough up to epsilon = 1 and delta = 1.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, Preliminaries.
"""

from __future__ import annotations

from sympy import Rational, log, sqrt

from dpcheck.bounds.calibration import Private
from dpcheck.bounds.claim import Decision, Kind, Method, claim, proved
from dpcheck.bounds.evidence import Cited, Identity, over
from dpcheck.bounds.symbols import delta, epsilon

MULTIPLIER = sqrt(8 * log(Rational(5, 4) / delta)) / epsilon
USUAL = sqrt(2 * log(Rational(5, 4) / delta)) / epsilon
UNIT = over(epsilon <= 1, delta <= 1)
HALF = over(epsilon <= 1, delta <= Rational(1, 2))


@claim("003:Def3", Kind.CALIBRATION, location="Definition 3", variance=MULTIPLIER**2)
def mechanism() -> Decision:
    """A query of sensitivity D with noise of variance {variance} D^2 in each coordinate is (epsilon, delta)-DP for 0 <
    epsilon <= 1 and 0 < delta <= 1.
    """
    return proved(
        Cited(
            "the worst case of a query of sensitivity D in any dimension is the shift by D on a line",
            "B. Balle, Y.-X. Wang, ICML 2018, Theorem 8",
        ),
        Private("the printed noise on the whole region", MULTIPLIER, UNIT, epsilon, delta),
        Identity(
            "its variance is four times the usual one",
            MULTIPLIER**2,
            lambda: 4 * (2 * log(Rational(5, 4) / delta) / epsilon**2),
        ),
        Private("the usual noise is enough already, for delta <= 1/2", USUAL, HALF, epsilon, delta),
        repaired="sharper: 2 in place of 8",
        note="Sound on the whole region, with four times the variance that is needed.",
        method=Method.PRIVACY_CURVE,
    )
