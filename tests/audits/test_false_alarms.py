"""Repeated audits of correct mechanisms, at exactly what they keep; and the table of how often they are accused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from accusations import ESTIMATORS, REPEATS, Mechanism, accused, sigma_of, table
from scipy import stats

from dpcheck.audits.membership import audit_privacy
from dpcheck.events import Gaussian, Laplace

SIGMA = sigma_of(1e-5)
TRUTH = math.e / (1 + math.e)
LEAK = 0.01
INTEGERS = np.arange(-60, 61)
LATTICE = np.exp(-(INTEGERS**2) / 8) / np.exp(-(INTEGERS**2) / 8).sum()  # discrete Gaussian, sigma = 2
UTILITIES = {1: np.array([0.0, 1, 2, 1, 0]), 0: np.array([1.0, 0, 1, 2, 1])}
CHOICES = {bit: np.exp(u / 2) / np.exp(u / 2).sum() for bit, u in UTILITIES.items()}


def randomised_response(bit: int, rng: np.random.Generator, size: int) -> Any:
    return np.where(rng.random(size) < TRUTH, bit, 1 - bit)


def leaks_openly(bit: int, rng: np.random.Generator, size: int) -> Any:
    return np.where(rng.random(size) < LEAK, 2 + bit, randomised_response(bit, rng, size))


def bit_and_number(bit: int, rng: np.random.Generator, size: int) -> Any:
    kept = rng.random(size) < 1 / (1 + math.exp(-0.5))
    return np.stack([np.where(kept, bit, 1 - bit), bit + 2 * rng.laplace(size=size)], axis=1)


MECHANISMS = {
    "laplace": Mechanism(lambda v, rng, n: v + rng.laplace(size=n), 1.0, claim=Laplace(1.0)),
    "gaussian": Mechanism(lambda v, rng, n: v + SIGMA * rng.standard_normal(n), 1.0, 1e-5, Gaussian(SIGMA)),
    "discrete gaussian": Mechanism(
        lambda v, rng, n: v + rng.choice(INTEGERS, size=n, p=LATTICE),
        1.0, float(np.maximum(LATTICE[1:] - math.e * LATTICE[:-1], 0).sum()),
    ),
    "geometric": Mechanism(lambda v, rng, n: v + np.subtract(*rng.geometric(1 - 1 / math.e, (2, n))), 1.0),
    "randomised response": Mechanism(randomised_response, 1.0),
    "exponential mechanism": Mechanism(
        lambda v, rng, n: rng.choice(5, size=n, p=CHOICES[v]), float(np.abs(np.log(CHOICES[1] / CHOICES[0])).max())
    ),
    "constant": Mechanism(lambda v, rng, n: np.zeros(n), 0.0),
    "cauchy noise": Mechanism(lambda v, rng, n: v + rng.standard_cauchy(n), 2 * math.asinh(0.5)),
    "clipped laplace": Mechanism(lambda v, rng, n: np.clip(v + rng.laplace(size=n), -0.5, 1.5), 1.0),
    "open leak, rarely": Mechanism(leaks_openly, 1.0, LEAK),
    "bit and number": Mechanism(bit_and_number, 1.0),
    "gaussian, 20 numbers": Mechanism(
        lambda v, rng, n: v / math.sqrt(20) + SIGMA * rng.standard_normal((n, 20)), 1.0, 1e-5, Gaussian(SIGMA)
    ),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["laplace", "gaussian", "randomised response"])
def test_false_alarms_stay_below_the_level(name: str) -> None:
    """Null hypothesis: an audit at confidence 95% cries "violated" with probability <= 5%.

    Rejected if 400 audits give more than the 0.999 quantile of Bin(400, 0.05), 34: error rate 0.1%.
    """
    limit = stats.binom.isf(1e-3, 400, 0.05)
    assert sum(accused(MECHANISMS[name], seed, 600) for seed in range(400)) <= limit


@pytest.mark.thorough
def test_false_alarms_with_many_scores_to_choose_from() -> None:
    """Null hypothesis as above, twenty numbers an output; 0.999 quantile of Bin(40, 0.05)."""
    limit = stats.binom.isf(1e-3, 40, 0.05)
    assert sum(accused(MECHANISMS["gaussian, 20 numbers"], seed, 600) for seed in range(40)) <= limit


def test_the_mechanisms_keep_what_they_are_said_to_keep_and_no_less() -> None:
    """Both ways by sums over the discrete laws; a claim smaller by 2% is broken by the laws themselves."""
    laws = {
        "discrete gaussian": (np.append(0, LATTICE), np.append(LATTICE, 0)),
        "exponential mechanism": (CHOICES[1], CHOICES[0]),
        "open leak, rarely": tuple(
            np.array([*(1 - LEAK) * np.array([1 - kept, kept]), LEAK * (1 - bit), LEAK * bit])
            for bit, kept in ((1, TRUTH), (0, 1 - TRUTH))
        ),
    }
    for name, (p, q) in laws.items():
        epsilon, delta = MECHANISMS[name].epsilon, MECHANISMS[name].delta
        worst = [max(np.maximum(a - math.exp(e) * b, 0).sum() for a, b in ((p, q), (q, p)))
                 for e in (epsilon, 0.98 * epsilon)]  # fmt: skip
        assert worst[0] == pytest.approx(delta, abs=1e-12)
        assert worst[1] > delta * 1.001 + 1e-6


@pytest.mark.experiment
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_table_of_false_alarms(estimator: str, keep: Callable[[str, pd.DataFrame], None]) -> None:
    """Null hypothesis: at level 5% a mechanism that keeps its claim is accused with probability <= 5%.

    At most 5.5% may show. At exactly 5% more would in 2,000 audits with probability P(Bin(2000, 0.05) > 110), 14%:
    most errors are far from it.
    """
    frame = table(estimator, MECHANISMS)
    keep(f"false_alarms_{estimator}", frame)
    assert (frame["alarms"] <= 0.055 * REPEATS).all()


def test_the_largest_of_all_looks_is_covered() -> None:
    """Null hypothesis: epsilon_lower exceeds the true epsilon in at most 5% of audits that run on.

    The claim of 5 is never exceeded, so all looks are taken, at 5,000 trials three. Rejected above
    the 0.999 quantile of Bin(150, 0.05): error rate 0.1%.
    """
    above = sum(
        audit_privacy(
            randomised_response, 1, 0, epsilon=5.0, delta=0.0, trials=5_000, seed=s, vectorized=True
        ).epsilon_lower
        > 1.0
        for s in range(150)
    )
    assert 0 < above <= stats.binom.isf(1e-3, 150, 0.05)
