"""Composition of pure and of Gaussian releases."""

import math

from sympy import E, Integer, Le, Sum, binomial, exp, log, sqrt, symbols

from dpcheck.bounds.formulas import exact
from dpcheck.bounds.formulas.formula import DELTA, EPSILON, Formula, Letter
from dpcheck.bounds.formulas.gaussian import CLASSICAL
from dpcheck.bounds.symbols import delta, epsilon, k

COUNT = Letter(k, "releases", 1, 1000)


i, l = symbols("i l", integer=True, positive=True)
_EACH = Letter(epsilon, "privacy loss of each release", 0.003, 5)
_PURE = (_EACH, COUNT, DELTA)
_GROWTH = k * epsilon * (exp(epsilon) - 1)
_TIGHT = _GROWTH / (exp(epsilon) + 1)
_SPREAD = epsilon * sqrt(2 * k * log(1 / delta))


def _pure(epsilon: float, k: int, delta: float, value: float) -> float:
    return exact.pure(epsilon, k, delta)


def _split(epsilon: float, k: int, delta: float, value: float) -> float:
    """Return the exact total of k releases that are epsilon-private with the value in place of epsilon."""
    return exact.pure(value, k, delta)


def _gaussians(epsilon: float, k: int, delta: float, value: float) -> float:
    return exact.gaussian(value, delta, k)


def _classical_releases(epsilon: float, k: int, delta: float, value: float) -> float:
    """Return the exact epsilon at delta of releases with the classical noise for (epsilon, delta/(2 k)) each."""
    return exact.gaussian(math.sqrt(2 * math.log(2.5 * k / delta)) / epsilon, delta, k)


FORMULAS = (
    Formula(
        name="basic_composition", title="Basic composition of pure releases", gives="epsilon",
        source="Dwork and Roth 2014, Theorem 3.14", typed="k epsilon", letters=_PURE,
        expression=k * epsilon, exact=_pure,
    ),
    Formula(
        name="advanced_composition", title="Advanced composition of pure releases", gives="epsilon",
        source="Dwork, Rothblum and Vadhan 2010, Theorem III.3; Dwork and Roth 2014, Theorem 3.20",
        typed="epsilon sqrt(2 k log(1/delta)) + k epsilon (e^epsilon - 1)", letters=_PURE,
        expression=_SPREAD + _GROWTH, exact=_pure,
    ),
    Formula(
        name="advanced_composition_spread", title="Advanced composition without its second term", gives="epsilon",
        source="texts that keep the leading term", typed="epsilon sqrt(2 k log(1/delta))", letters=_PURE,
        expression=_SPREAD, exact=_pure, proved=False, wrong_at={"epsilon": 1, "k": 100, "delta": 1e-05},
    ),
    Formula(
        name="advanced_composition_tight", title="Advanced composition with the divergence of bits", gives="epsilon",
        source="Kairouz, Oh and Viswanath 2017, Theorem 3.4",
        typed="epsilon sqrt(2 k log(1/delta)) + k epsilon (e^epsilon - 1)/(e^epsilon + 1)", letters=_PURE,
        expression=_SPREAD + _TIGHT, exact=_pure,
    ),
    Formula(
        name="advanced_composition_log", title="Advanced composition, the logarithm that falls with k epsilon^2",
        gives="epsilon", source="Kairouz, Oh and Viswanath 2017, Theorem 3.4",
        typed="epsilon sqrt(2 k log(e + sqrt(k epsilon^2)/delta)) + k epsilon (e^epsilon - 1)/(e^epsilon + 1)",
        letters=_PURE, expression=epsilon * sqrt(2 * k * log(E + sqrt(k) * epsilon / delta)) + _TIGHT, exact=_pure,
    ),
    Formula(
        name="optimal_composition", title="Optimal composition of pure releases at (k - 2 i) epsilon", gives="delta",
        source="Kairouz, Oh and Viswanath 2017, Theorem 3.3",
        typed="sum over l < i of binom(k, l) (e^((k - l) epsilon) - e^((k - 2 i + l) epsilon))/(1 + e^epsilon)^k",
        letters=(Letter(epsilon, _EACH.meaning, 0.05, 2), Letter(k, COUNT.meaning, 2, 40), Letter(i, "place", 1, 20)),
        expression=Sum(
            binomial(k, l) * (exp((k - l) * epsilon) - exp((k - 2 * i + l) * epsilon)) / (1 + exp(epsilon)) ** k,
            (l, 0, i - 1),
        ),
        region=(Le(2 * i, k),), exact=lambda epsilon, k, i, value: exact.pure_delta(epsilon, k, (k - 2 * i) * epsilon),
    ),
    Formula(
        name="pure_to_zcdp", title="Pure releases by way of zero-concentrated privacy", gives="epsilon",
        source="Bun and Steinke 2016, Propositions 1.3 and 1.4",
        typed="k epsilon^2/2 + epsilon sqrt(2 k log(1/delta))", letters=_PURE,
        expression=k * epsilon**2 / 2 + _SPREAD, exact=_pure,
    ),
    Formula(
        name="advanced_budget", title="A budget split over k pure releases: the epsilon of each", gives="noise",
        source="Dwork and Roth 2014, Corollary 3.21", typed="epsilon/(2 sqrt(2 k log(1/delta)))",
        letters=(EPSILON, COUNT, DELTA), expression=epsilon / (2 * sqrt(2 * k * log(1 / delta))),
        region=(Le(epsilon, 1), Le(delta, exp(-Integer(1) / 2))), exact=_split, symbol="epsilon of each",
    ),
    Formula(
        name="gaussian_advanced", title="k Gaussian releases by advanced composition, half of delta for each part",
        gives="epsilon", source="Dwork and Roth 2014, Theorems 3.20 and A.1, noise for (epsilon, delta/(2 k)) each",
        typed="epsilon sqrt(2 k log(2/delta)) + k epsilon (e^epsilon - 1)",
        letters=(Letter(epsilon, _EACH.meaning, 0.003, 3), COUNT, DELTA),
        expression=epsilon * sqrt(2 * k * log(2 / delta)) + _GROWTH, region=(Le(epsilon, Integer(99) / 100),),
        exact=_classical_releases,
    ),
    Formula(
        name="gaussian_split", title="k Gaussian releases, epsilon and delta split evenly", gives="noise",
        source="Dwork and Roth 2014, Theorems 3.16 and A.1", typed="sigma = k sqrt(2 log(1.25 k/delta))/epsilon",
        letters=(EPSILON, COUNT, DELTA), expression=CLASSICAL.subs(delta, delta / k) * k,
        region=(Le(epsilon, Integer(99) / 100 * k),), exact=_gaussians,
        wrong_at={"epsilon": 10, "k": 1, "delta": 1e-05},
    ),
    Formula(
        name="gaussian_sqrt_k", title="The classical noise times the root of k", gives="noise",
        source="k Gaussian releases are one of sensitivity sqrt(k): Dong, Roth and Su 2022, Corollary 3.3",
        typed="sigma = sqrt(2 k log(1.25/delta))/epsilon", letters=(EPSILON, COUNT, DELTA),
        expression=sqrt(k) * CLASSICAL, region=(Le(epsilon, Integer(99) / 100),), exact=_gaussians,
        wrong_at={"epsilon": 10, "k": 100, "delta": 1e-05},
    ),
    Formula(
        name="zcdp_budget", title="k Gaussian releases at a budget of zero-concentrated privacy", gives="noise",
        source="Bun and Steinke 2016, Proposition 1.3: rho = epsilon^2/(4 log(1/delta) + 4 epsilon) is enough",
        typed="sigma = sqrt(k/(2 rho)), rho = epsilon^2/(4 log(1/delta) + 4 epsilon)", letters=(EPSILON, COUNT, DELTA),
        expression=sqrt(2 * k * (log(1 / delta) + epsilon)) / epsilon, exact=_gaussians,
    ),
    Formula(
        name="zcdp_budget_leading", title="The same without epsilon beside the logarithm", gives="noise",
        source="texts that take rho = epsilon^2/(4 log(1/delta))", proved=False,
        typed="sigma = sqrt(2 k log(1/delta))/epsilon", letters=(EPSILON, COUNT, DELTA),
        expression=sqrt(2 * k * log(1 / delta)) / epsilon, exact=_gaussians,
        wrong_at={"epsilon": 30, "k": 10, "delta": 1e-05},
    ),
)  # fmt: skip
