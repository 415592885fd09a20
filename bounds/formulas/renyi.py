"""Three generations of the way from Renyi and zero-concentrated privacy to epsilon and delta."""

import math

from sympy import Ge, Gt, Max, Min, exp, log, pi, sqrt

from dpcheck.bounds.formulas import exact
from dpcheck.bounds.formulas.formula import DELTA, EPSILON, SIGMA, Formula, Letter, alpha
from dpcheck.bounds.symbols import delta, epsilon, k, rho, sigma

ORDER = Letter(alpha, "order of the divergence", 1.01, 300)
RHO = Letter(rho, "zero-concentrated privacy", 1e-4, 30)


_GAUSSIAN = (ORDER, SIGMA, DELTA)
_DIVERGENCE = alpha / (2 * sigma**2)
_COUNT = Letter(k, "releases", 2, 60)


def _gaussian(alpha: float, sigma: float, delta: float, value: float) -> float:
    return exact.gaussian(sigma, delta)


def _of_rho(rho: float, delta: float, value: float) -> float:
    return exact.gaussian(1 / math.sqrt(2 * rho), delta)


_LAPLACE = log(
    alpha / (2 * alpha - 1) * exp((alpha - 1) / sigma) + (alpha - 1) / (2 * alpha - 1) * exp(-alpha / sigma)
) / (alpha - 1)

FORMULAS = (
    Formula(
        name="rdp_first", title="Renyi privacy to epsilon, the first way", gives="epsilon",
        source="Mironov 2017, Proposition 3, of Gaussian noise",
        typed="alpha/(2 sigma^2) + log(1/delta)/(alpha - 1)", letters=_GAUSSIAN,
        expression=_DIVERGENCE + log(1 / delta) / (alpha - 1), region=(Gt(alpha, 1),), exact=_gaussian,
    ),
    Formula(
        name="rdp_second", title="Renyi privacy to epsilon, as in Opacus", gives="epsilon",
        source="Balle, Barthe, Gaboardi, Hsu and Sato 2020, Theorem 21",
        typed="alpha/(2 sigma^2) + log((alpha - 1)/alpha) - (log(delta) + log(alpha))/(alpha - 1)", letters=_GAUSSIAN,
        expression=Max(0, _DIVERGENCE + log((alpha - 1) / alpha) - (log(delta) + log(alpha)) / (alpha - 1)),
        region=(Gt(alpha, 1),), exact=_gaussian,
    ),
    Formula(
        name="rdp_first_alpha", title="The first way with the order where the order less one belongs", gives="epsilon",
        source="a slip of Mironov 2017, Proposition 3", proved=False,
        typed="alpha/(2 sigma^2) + log(1/delta)/alpha",
        letters=(Letter(alpha, ORDER.meaning, 1.01, 5), Letter(sigma, SIGMA.meaning, 0.1, 5), DELTA),
        expression=_DIVERGENCE + log(1 / delta) / alpha, exact=_gaussian,
        wrong_at={"alpha": 1.1, "sigma": 0.2, "delta": 1e-05},
    ),
    Formula(
        name="rdp_third", title="Renyi privacy to delta, the third way", gives="delta",
        source="Canonne, Kamath and Steinke 2020, Proposition 12, of Gaussian noise",
        typed="delta = exp((alpha - 1) (alpha/(2 sigma^2) - epsilon)) (1 - 1/alpha)^alpha/(alpha - 1)",
        letters=(Letter(alpha, ORDER.meaning, 1.01, 60), Letter(sigma, SIGMA.meaning, 0.5, 10),
                 Letter(epsilon, EPSILON.meaning, 0.05, 5)),
        expression=Min(1, exp((alpha - 1) * (_DIVERGENCE - epsilon)) * (1 - 1 / alpha) ** alpha / (alpha - 1)),
        region=(Gt(alpha, 1),), exact=lambda sigma, epsilon, **_: exact.release_delta("Gaussian", sigma, epsilon),
    ),
    Formula(
        name="rdp_laplace", title="k Laplace releases by their Renyi divergence, the second way", gives="epsilon",
        source="Mironov 2017, Proposition 6; Balle et al. 2020, Theorem 21",
        typed="k D(alpha) + log((alpha - 1)/alpha) - (log(delta) + log(alpha))/(alpha - 1)",
        letters=(Letter(alpha, ORDER.meaning, 1.1, 100), Letter(sigma, "scale", 0.5, 50), _COUNT, DELTA),
        expression=Max(0, k * _LAPLACE + log((alpha - 1) / alpha) - (log(delta) + log(alpha)) / (alpha - 1)),
        region=(Gt(alpha, 1),), room=1e-3,
        exact=lambda alpha, sigma, k, delta, value: exact.laplace(sigma, delta, k),
    ),
    Formula(
        name="zcdp_first", title="Zero-concentrated privacy to epsilon", gives="epsilon",
        source="Bun and Steinke 2016, Proposition 1.3", typed="rho + 2 sqrt(rho log(1/delta))", letters=(RHO, DELTA),
        expression=rho + 2 * sqrt(rho * log(1 / delta)), exact=_of_rho,
    ),
    Formula(
        name="zcdp_sqrt_pi", title="Zero-concentrated privacy to epsilon, sharper for small rho", gives="epsilon",
        source="Bun and Steinke 2016, Lemma 3.6", typed="rho + 2 sqrt(rho log(sqrt(pi rho)/delta))",
        letters=(RHO, DELTA), expression=rho + 2 * sqrt(rho * log(sqrt(pi * rho) / delta)),
        region=(Ge(sqrt(pi * rho), delta),), exact=_of_rho,
    ),
    Formula(
        name="zcdp_leading", title="The leading term alone", gives="epsilon",
        source="texts that drop rho for small budgets", proved=False, typed="2 sqrt(rho log(1/delta))",
        letters=(RHO, DELTA), expression=2 * sqrt(rho * log(1 / delta)), exact=_of_rho,
        wrong_at={"rho": 20, "delta": 1e-05},
    ),
)  # fmt: skip
