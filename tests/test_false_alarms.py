"""Repeated audits of correct mechanisms at exactly the epsilon they keep."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from dpcheck.audits.membership import audit_privacy


def _delta_of(sigma: float) -> float:
    """The Gaussian mechanism's delta at epsilon 1, sensitivity 1 (Balle and Wang 2018)."""
    half = 1 / (2 * sigma)
    return float(stats.norm.cdf(half - sigma) - math.e * stats.norm.cdf(-half - sigma))


SIGMA = float(optimize.brentq(lambda s: _delta_of(s) - 1e-5, 0.5, 20, xtol=1e-12))
TRUTH = math.e / (1 + math.e)


def laplace(value: float, rng: np.random.Generator, size: int) -> Any:
    return value + rng.laplace(size=size)


def gaussian(value: float, rng: np.random.Generator, size: int) -> Any:
    return value + SIGMA * rng.standard_normal(size)


def randomised_response(bit: int, rng: np.random.Generator, size: int) -> Any:
    return np.where(rng.random(size) < TRUTH, bit, 1 - bit)


def wide_gaussian(value: float, rng: np.random.Generator, size: int) -> Any:
    return value / 2 + SIGMA * rng.standard_normal((size, 4))


CORRECT = [(laplace, 0.0), (gaussian, 1e-5), (randomised_response, 0.0)]


def _violations(mechanism: Callable[..., Any], delta: float, repeats: int, trials: int) -> int:
    return sum(
        audit_privacy(mechanism, 1, 0, epsilon=1.0, delta=delta, trials=trials, seed=seed, vectorized=True).verdict
        == "violated"
        for seed in range(repeats)
    )


@pytest.mark.parametrize(("mechanism", "delta"), CORRECT)
def test_false_alarms_stay_below_the_level(mechanism: Callable[..., Any], delta: float) -> None:
    """Null hypothesis: an audit at confidence 95% cries "violated" with probability <= 5%.

    Rejected if 400 audits give more than the 0.999 quantile of Bin(400, 0.05), 34: error rate 0.1%.
    """
    limit = stats.binom.isf(1e-3, 400, 0.05)
    assert _violations(mechanism, delta, repeats=400, trials=600) <= limit


def test_false_alarms_with_many_scores_to_choose_from() -> None:
    """Null hypothesis as above, four numbers an output; 0.999 quantile of Bin(60, 0.05)."""
    limit = stats.binom.isf(1e-3, 60, 0.05)
    assert _violations(wide_gaussian, 1e-5, repeats=60, trials=600) <= limit


@pytest.mark.experiment
@pytest.mark.parametrize("trials", [2_000, 10_000])
@pytest.mark.parametrize(("mechanism", "delta"), CORRECT)
def test_a_thousand_audits(mechanism: Callable[..., Any], delta: float, trials: int) -> None:
    """Null hypothesis: false alarms in at most 5% of audits; at most 6% of 1,000 may show.

    Error rate: P(Bin(1000, 0.05) > 60) = 6.5%.
    """
    assert _violations(mechanism, delta, repeats=1_000, trials=trials) <= 60


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
