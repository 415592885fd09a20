"""Bounds from means: exact for Gaussian scores, wrong for others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpcheck.accounting import gaussian_epsilon
from dpcheck.audits.gaussian import gaussian_bound


@pytest.mark.thorough
def test_the_error_is_exactly_the_level_for_gaussian_scores() -> None:
    """Null hypothesis: mu is below its limit in 5% of samples, whatever scale and place.

    1,000 samples; rejected outside the two-sided 0.1% limits of Bin(1000, 0.05).
    """
    rng, mu = np.random.default_rng(0), 0.7
    pairs = (3 + 5 * rng.standard_normal((1_000, 2, 40))) + 5 * np.array([mu, 0])[None, :, None]
    bounds = [gaussian_bound(a, b, delta=1e-5) for a, b in pairs]
    wrong = sum(bound.shift_lower > mu for bound in bounds)
    assert stats.binom.ppf(5e-4, 1_000, 0.05) <= wrong <= stats.binom.isf(5e-4, 1_000, 0.05)
    assert all((b.shift_lower > mu) == (b.epsilon_lower > gaussian_epsilon(mu, 1e-5)) for b in bounds[:200])


def test_it_comes_near_the_truth_where_it_holds() -> None:
    """mu = 1: the limit is 1.64 standard deviations, 0.015 each, low; five more are allowed (error rate 1e-6)."""
    rng = np.random.default_rng(1)
    bound = gaussian_bound(1 + rng.standard_normal(10_000), rng.standard_normal(10_000), delta=1e-5)
    assert 1 - 7 * 0.015 < bound.shift_lower < bound.shift
    assert bound.epsilon_lower == gaussian_epsilon(bound.shift_lower, 1e-5)


def test_it_is_wrong_for_laplace_noise() -> None:
    """The Laplace mechanism keeps epsilon = 1; taken for a Gaussian one it seems to keep no less than 2."""
    rng = np.random.default_rng(2)
    bound = gaussian_bound(1 + rng.laplace(size=10_000), rng.laplace(size=10_000), delta=1e-5)
    assert bound.epsilon_lower > 2
    assert bound.to_dict()["assumption"] == "scores normal on both datasets, with one variance"


def test_no_shift_gives_no_bound() -> None:
    a = np.array([0.0, 1.0, 2.0])
    assert gaussian_bound(a, a, delta=0.1).epsilon_lower == 0
    assert gaussian_bound(a, a + 5, delta=0.1).shift_lower == 0
