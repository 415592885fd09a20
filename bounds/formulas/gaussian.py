"""Noise for one release: Gaussian, Laplace, randomised response."""

from typing import Any

from sympy import Ge, Integer, Le, Lt, Max, erfc, exp, log, sqrt, symbols

from dpcheck.bounds.formulas import exact
from dpcheck.bounds.formulas.formula import DELTA, EPSILON, SIGMA, Formula, Letter
from dpcheck.bounds.symbols import delta, epsilon, k, sigma

p = symbols("p", positive=True)
CLASSICAL = sqrt(2 * log(Integer(5) / 4 / delta)) / epsilon
_CATEGORIES = Letter(k, "categories", 2, 1000)
_TRUTH = Letter(p, "probability of the true answer", 0.02, 0.999)


def tail(x: Any) -> Any:
    """Return the probability that a standard Gaussian exceeds x."""
    return erfc(x / sqrt(2)) / 2


def _noise(sigma: float = 0, *, epsilon: float = 0, delta: float, value: float) -> float:
    return exact.gaussian(value, delta)


_ZHAO = log(2 / (sqrt(16 * delta + 1) - 1))

FORMULAS = (
    Formula(
        name="classical_gaussian", title="Gaussian noise, the classical constant", gives="noise",
        source="Dwork and Roth 2014, Theorem A.1; documentation of most libraries",
        typed="sigma = sqrt(2 log(1.25/delta))/epsilon", letters=(EPSILON, DELTA), expression=CLASSICAL,
        region=(Lt(epsilon, 1),), exact=_noise, wrong_at={"epsilon": 10, "delta": 1e-05},
    ),
    Formula(
        name="classical_gaussian_epsilon", title="The same, solved for epsilon", gives="epsilon",
        source="Dwork and Roth 2014, Theorem A.1, solved for epsilon",
        typed="epsilon = sqrt(2 log(1.25/delta))/sigma", letters=(SIGMA, DELTA),
        expression=sqrt(2 * log(Integer(5) / 4 / delta)) / sigma,
        region=(Lt(sqrt(2 * log(Integer(5) / 4 / delta)), sigma),),
        exact=lambda sigma, delta, value: exact.gaussian(sigma, delta), wrong_at={"sigma": 0.35, "delta": 1e-05},
    ),
    Formula(
        name="gaussian_two_over_delta", title="Gaussian noise, the first constant", gives="noise",
        source="Dwork, Kenthapadi, McSherry, Mironov and Naor 2006; stated there for epsilon < 1",
        typed="sigma = sqrt(2 log(2/delta))/epsilon", letters=(EPSILON, DELTA),
        expression=sqrt(2 * log(2 / delta)) / epsilon, region=(Lt(epsilon, 1),), exact=_noise,
        wrong_at={"epsilon": 10, "delta": 0.01},
    ),
    Formula(
        name="gaussian_one_over_delta", title="Gaussian noise without the constant 1.25", gives="noise",
        source="proofs that write sqrt(2 log(1/delta)), after Dwork and Roth 2014", proved=False,
        typed="sigma = sqrt(2 log(1/delta))/epsilon", letters=(EPSILON, DELTA),
        expression=sqrt(2 * log(1 / delta)) / epsilon, exact=_noise, wrong_at={"epsilon": 10, "delta": 1e-05},
    ),
    Formula(
        name="zhao_gaussian", title="Gaussian noise for every epsilon, in closed form", gives="noise",
        source="Zhao, Wang, Yang et al. 2019, Reviewing and improving the Gaussian mechanism, Mechanism 1",
        typed="sigma = (c + sqrt(c^2 + epsilon))/(epsilon sqrt 2), c^2 = log(2/(sqrt(16 delta + 1) - 1))",
        letters=(EPSILON, DELTA), expression=(sqrt(_ZHAO) + sqrt(_ZHAO + epsilon)) / (epsilon * sqrt(2)),
        region=(Le(delta, Integer(1) / 2),), exact=_noise,
    ),
    Formula(
        name="zcdp_gaussian", title="Gaussian noise by way of zero-concentrated privacy", gives="noise",
        source="Bun and Steinke 2016, Propositions 1.3 and 1.6, solved for sigma",
        typed="sigma = (sqrt(log(1/delta)) + sqrt(log(1/delta) + epsilon))/(epsilon sqrt 2)", letters=(EPSILON, DELTA),
        expression=(sqrt(log(1 / delta)) + sqrt(log(1 / delta) + epsilon)) / (epsilon * sqrt(2)), exact=_noise,
    ),
    Formula(
        name="analytic_gaussian", title="The exact curve of Gaussian noise", gives="delta",
        source="Balle and Wang 2018, Theorem 8; Dong, Roth and Su 2022, Corollary 2.13",
        typed="delta = Phi(1/(2 sigma) - epsilon sigma) - e^epsilon Phi(-1/(2 sigma) - epsilon sigma)",
        letters=(Letter(epsilon, EPSILON.meaning, 0.01, 5), Letter(sigma, SIGMA.meaning, 0.3, 10)),
        expression=tail(epsilon * sigma - 1 / (2 * sigma)) - exp(epsilon) * tail(epsilon * sigma + 1 / (2 * sigma)),
        exact=lambda epsilon, sigma, value: exact.release_delta("Gaussian", sigma, epsilon),
    ),
    Formula(
        name="laplace", title="Laplace noise", gives="epsilon", source="Dwork, McSherry, Nissim and Smith 2006",
        typed="epsilon = 1/sigma, sigma the scale", letters=(SIGMA,), expression=1 / sigma,
        exact=lambda sigma, value: exact.laplace(sigma, 0.0),
    ),
    Formula(
        name="laplace_curve", title="Laplace noise at an epsilon below its own", gives="delta",
        source="Balle, Barthe and Gaboardi 2018, Theorem 3", typed="delta = max(0, 1 - exp((epsilon - 1/sigma)/2))",
        letters=(Letter(epsilon, EPSILON.meaning, 0.01, 5), Letter(sigma, SIGMA.meaning, 0.1, 10)),
        expression=Max(0, 1 - exp((epsilon - 1 / sigma) / 2)),
        exact=lambda epsilon, sigma, value: exact.release_delta("Laplace", sigma, epsilon),
    ),
    Formula(
        name="laplace_for_gaussian", title="The scale of Laplace noise given to a Gaussian", gives="noise",
        source="the first use of Gaussian noise in many scripts", proved=False, typed="sigma = 1/epsilon",
        letters=(EPSILON, DELTA), expression=1 / epsilon, exact=_noise, wrong_at={"epsilon": 1, "delta": 1e-05},
    ),
    Formula(
        name="randomised_response", title="Randomised response with k categories", gives="epsilon",
        source="Kairouz, Bonawitz and Ramage 2016, (4)", typed="epsilon = log((k - 1) p/(1 - p))",
        letters=(_TRUTH, _CATEGORIES), expression=Max(0, log((k - 1) * p / (1 - p))),
        region=(Ge(p, 1 / k), Lt(p, 1)), exact=lambda p, k, value: exact.response(p, k),
    ),
)  # fmt: skip
