"""The exact values beside the formulas: of Gaussian noise, of composed pure privacy, of sampled and shuffled releases.

Each is of one mechanism that the formula covers, so that a formula below it is broken. Of sampled compositions
:func:`dpcheck.certify` bounds it from above, by at most what its notes say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

_POPULATION = 10**6  # of which a rate q keeps q 10^6 records, in expectation


def gaussian(noise: float, delta: float, count: int = 1) -> float:
    """Return epsilon of Gaussian releases with this noise multiplier (Balle and Wang 2018, Theorem 8)."""
    from dpcheck.accounting import gaussian_epsilon

    return gaussian_epsilon(math.sqrt(count) / noise, delta)


def release_delta(law: str, noise: float, epsilon: float) -> float:
    """Return delta of one release with Gaussian or Laplace noise."""
    from dpcheck import events
    from dpcheck.accounting import privacy_curve

    return float(privacy_curve(getattr(events, law)(noise))(epsilon))


def laplace(noise: float, delta: float, count: int = 1) -> float:
    """Return epsilon of Laplace releases."""
    from dpcheck.accounting import certify
    from dpcheck.events import Laplace, Repeated

    return certify(Repeated(Laplace(noise), count), delta=delta).epsilon


def sampled(law: str, noise: float, rate: float, steps: int, delta: float) -> float:
    """Return epsilon of noise on Poisson samples, as one record is added or removed."""
    from dpcheck.accounting import certify

    return certify(_steps(law, noise, "poisson", rate * _POPULATION, steps), delta=delta).epsilon


def drawn(noise: float, batch: int, population: int, steps: int, delta: float) -> float:
    """Return epsilon of Gaussian noise on samples without replacement, as one record is replaced."""
    from dpcheck.accounting import certify

    return certify(_steps("Gaussian", noise, "without_replacement", batch, steps, population), delta=delta).epsilon


def _steps(law: str, noise: float, scheme: Any, batch: float, steps: int, population: int = _POPULATION) -> Any:
    from dpcheck import events

    return events.Repeated(events.Sampled((getattr(events, law)(noise),), scheme, population, batch), steps)


def pure_delta(epsilon_0: float, count: int, epsilon: float) -> float:
    """Return delta of pure releases in the worst case: randomised responses (Kairouz, Oh and Viswanath 2017)."""
    heads = np.arange(count + 1)
    losses = (2 * heads - count) * epsilon_0
    chances = binom.pmf(heads, count, 1 / (1 + math.exp(-epsilon_0)))
    above = losses > epsilon
    return float(np.sum(chances[above] * -np.expm1(epsilon - losses[above])))


def pure(epsilon_0: float, count: int, delta: float) -> float:
    """Return epsilon of pure releases in the worst case."""
    return _solved(lambda epsilon: pure_delta(epsilon_0, count, epsilon), delta, count * epsilon_0)


def shuffled(epsilon_0: float, records: int, delta: float) -> float:
    """Return epsilon of shuffled randomised responses of bits, the other records all 0 or half 0 and half 1.

    These are two of all neighbours, so that the mechanism's epsilon is at least this.
    """
    truth = 1 / (1 + math.exp(-epsilon_0))

    def curve(ones: int) -> Callable[[float], float]:
        others = np.convolve(_likely(records - 1 - ones, 1 - truth), _likely(ones, truth))
        low, high = np.append(others * truth, 0), np.append(0, others * truth)
        zero = low + np.append(0, others * (1 - truth))
        one = high + np.append(others * (1 - truth), 0)
        return lambda epsilon: float(
            max(
                np.maximum(zero - math.exp(epsilon) * one, 0).sum(), np.maximum(one - math.exp(epsilon) * zero, 0).sum()
            )
        )

    return max(_solved(curve(ones), delta, epsilon_0) for ones in (0, (records - 1) // 2))


def _likely(count: int, chance: float) -> Any:
    """Return the probabilities of a binomial where they are above 1e-40, which are all that matter to delta."""
    chances = binom.pmf(np.arange(count + 1), count, chance)
    kept = np.flatnonzero(chances > 1e-40)
    return chances[kept[0] : kept[-1] + 1]


def _solved(curve: Callable[[float], float], delta: float, most: float) -> float:
    """Return the epsilon in [0, most] at which a falling curve reaches delta."""
    if curve(0.0) <= delta:
        return 0.0
    if curve(most) >= delta:
        return most
    return float(brentq(lambda epsilon: curve(epsilon) - delta, 0.0, most, xtol=1e-12, rtol=1e-12))


def response(truth: float, categories: int) -> float:
    """Return epsilon of randomised response: the largest ratio of two entries of a column of its matrix."""
    matrix = np.full((2, 2), (1 - truth) / (categories - 1))
    np.fill_diagonal(matrix, truth)
    return float(np.ptp(np.log(matrix[:, 0])))


def gaussian_noise(epsilon: float, delta: float) -> float:
    """Return the least noise multiplier at which a Gaussian release has this epsilon."""
    return math.exp(brentq(lambda log_noise: gaussian(math.exp(log_noise), delta) - epsilon, -12, 12, xtol=1e-12))


def sampled_delta(noise: float, rate: float, steps: int, epsilon: float) -> float:
    """Return delta of Gaussian noise on Poisson samples, as one record is added or removed."""
    from dpcheck.accounting import privacy_curve

    return float(privacy_curve(_steps("Gaussian", noise, "poisson", rate * _POPULATION, steps))(epsilon))


def classical(epsilon: float, parts: float, delta: float) -> float:
    """Return the classical noise for epsilon and half of delta, split into so many parts."""
    return math.sqrt(2 * math.log(2.5 * parts / delta)) / epsilon


# What is computed beside a formula, by the words of the table: from its letters, and ``value``, the formula's.
EXACT: dict[str, Callable[..., float]] = {
    "noise": lambda delta, value, k=1, **_: gaussian(value, delta, k),
    "gaussian": lambda sigma, delta, **_: gaussian(sigma, delta),
    "gaussian delta": lambda epsilon, sigma, **_: release_delta("Gaussian", sigma, epsilon),
    "laplace": lambda sigma, delta=0.0, k=1, **_: laplace(sigma, delta, k),
    "laplace delta": lambda epsilon, sigma, **_: release_delta("Laplace", sigma, epsilon),
    "laplace of a group": lambda sigma, k, **_: laplace(sigma / k, 0.0),
    "response": lambda p, k, **_: response(p, k),
    "pure": lambda epsilon, k, delta, **_: pure(epsilon, k, delta),
    "pure split": lambda k, delta, value, **_: pure(value, k, delta),
    "pure delta": lambda epsilon, k, i, **_: pure_delta(epsilon, k, (k - 2 * i) * epsilon),
    # releases with the classical noise for (epsilon, delta/(2 k)) each
    "classical": lambda epsilon, k, delta, **_: gaussian(classical(epsilon, k, delta), delta, k),
    "concentrated": lambda rho, delta, **_: gaussian(1 / math.sqrt(2 * rho), delta),
    "sampled laplace": lambda epsilon, q, **_: sampled("Laplace", 1 / epsilon, q, 1, 0.0),
    # at q delta, a sampled Gaussian whose noise is exact for (epsilon, delta)
    "calibrated sample": lambda epsilon, q, delta, **_: sampled(
        "Gaussian", gaussian_noise(epsilon, delta), q, 1, q * delta
    ),
    "calibrated draw": lambda epsilon, n, m, delta, **_: drawn(gaussian_noise(epsilon, delta), m, n, 1, m / n * delta),
    "sampled noise": lambda q, T, delta, value, **_: sampled("Gaussian", value, q, T, delta),
    "sampled": lambda sigma, q, T, delta, **_: sampled("Gaussian", sigma, q, T, delta),
    "sampled delta": lambda epsilon, sigma, q, T, **_: sampled_delta(sigma, q, T, epsilon),
    # steps with the classical noise for (epsilon, delta/(2 q T))
    "sampled classical": lambda epsilon, q, T, delta, **_: sampled(
        "Gaussian", classical(epsilon, q * T, delta), q, T, delta
    ),
    # n^2 draws of one of n records, whose gradient is replaced (twice its norm)
    "single records": lambda n, delta, value, **_: drawn(value / 2, 1, n, n * n, delta),
    # at k epsilon, Gaussian noise that is exact for (epsilon, delta) of one record
    "group": lambda epsilon, delta, k, **_: release_delta("Gaussian", gaussian_noise(epsilon, delta) / k, k * epsilon),
    "shuffled": lambda epsilon, n, delta, **_: shuffled(epsilon, n, delta),
    # a tree over T steps, in which a record is in ceil(log2(T + 1)) nodes
    "tree": lambda T, delta, value, **_: gaussian(value, delta, math.ceil(math.log2(T + 1))),
}
