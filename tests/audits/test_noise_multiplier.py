"""The bound within a claimed family: level, power, and what it says where there is nothing to say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from dpcheck import certify
from dpcheck.accounting import privacy_curve
from dpcheck.audits.limits import least_rejected
from dpcheck.checks.sandwich import family
from dpcheck.events import Gaussian, Sampled

REPEATS = 200
MOST_REJECTIONS = binom.ppf(0.999, REPEATS, 0.05)


def rejected(ours, theirs, event=Gaussian, guess=1.0):
    """The least multiplier that scores reject, as a check finds it from the runs of its own audit."""
    return guess * family(ours, theirs, (event(guess),), 1e-5)["multiplier"]


def ratios(multiplier, trials, rng):
    """Log-likelihood ratios of N(1, z^2) over N(0, z^2), of draws from either."""
    mu = 1 / multiplier
    return tuple(mu * (rng.standard_normal(trials) + mean) - mu * mu / 2 for mean in (mu, 0.0))


@pytest.mark.parametrize("multiplier", [0.5, 2.0, 8.0])
def test_the_true_multiplier_is_rejected_at_most_at_the_level(multiplier):
    """Null: scores of the Gaussian pair at this multiplier, where the bound must lie above it.

    Level 5 % a repeat; the test fails a right bound with probability below 0.001.
    """
    rng = np.random.default_rng(11)
    bounds = [rejected(*ratios(multiplier, 300, rng), guess=multiplier) for _ in range(REPEATS)]
    assert sum(bound <= multiplier for bound in bounds) <= MOST_REJECTIONS
    assert any(bound < math.inf for bound in bounds)


@pytest.mark.parametrize(("multiplier", "delta"), [(0.5, 1e-5), (1.0, 1e-5), (2.0, 1e-5), (4.0, 1e-5), (4.0, 1e-3)])
def test_epsilon_of_a_gaussian_is_nearly_reached(multiplier, delta):
    """Power at 100,000 runs: at least 0.85 of the true epsilon. The truth itself is not rejected here.

    The second holds with probability 0.95 for a seed drawn blindly, and for this one.
    """
    bound = rejected(*ratios(multiplier, 100_000, np.random.default_rng(1)), guess=1.5 * multiplier)
    truth, found = (certify(Gaussian(z), delta).epsilon for z in (multiplier, bound))
    assert 0.85 * truth <= found < truth


def test_epsilon_of_a_sampled_step_is_nearly_reached():
    """The family is any curve: one Poisson-sampled Gaussian against its absence, power as above."""
    q, z, trials, rng = 0.3, 0.4, 100_000, np.random.default_rng(5)

    def event(multiplier):
        return Sampled((Gaussian(multiplier),), "poisson", 1, q, "add_or_remove_one")

    def ratio(x):
        return np.log1p(q * np.expm1((x - 0.5) / z**2))

    ours = z * rng.standard_normal(trials) + (rng.random(trials) < q)
    theirs = z * rng.standard_normal(trials)
    bound = rejected(ratio(ours), ratio(theirs), event)
    truth, found = (certify(event(m), 1e-5).epsilon for m in (z, bound))
    assert 0.85 * truth <= found <= truth


def test_a_guess_far_off_is_left_behind():
    """The search runs from the guess either way; only the resolution, 0.5 %, may differ."""
    scores = ratios(2.0, 20_000, np.random.default_rng(2))
    found = [rejected(*scores, guess=guess) for guess in (0.01, 2.0, 30.0)]
    assert max(found) / min(found) < 1.0051


def test_more_confidence_rejects_less():
    counts = [int((scores >= 0).sum()) for scores in ratios(2.0, 5_000, np.random.default_rng(3))]
    found = [
        least_rejected(*counts, 5_000, lambda z: privacy_curve(Gaussian(z)), epsilon=0.0, guess=2.0, alpha=alpha)
        for alpha in (0.2, 0.05, 0.001)
    ]
    assert found[0] < found[1] < found[2]


def test_equal_laws_reject_nothing():
    """Null: both sides one law. Level 5 % a repeat; a right bound fails with probability below 0.001."""
    rng = np.random.default_rng(4)
    bounds = [rejected(*rng.standard_normal((2, 300))) for _ in range(REPEATS)]
    assert sum(bound < math.inf for bound in bounds) <= MOST_REJECTIONS


@pytest.mark.parametrize(("ours", "theirs"), [(1.0, 1.0), (-1.0, -1.0), (-1.0, 1.0), (0.0, 0.0), (0.0, math.inf)])
def test_scores_that_do_not_tell_the_laws_apart_reject_nothing(ours, theirs):
    """Constant scores; also the two laws exchanged, which this one-sided event cannot see."""
    bound = family(np.full(1000, ours), np.full(1000, theirs), (Gaussian(1.0),), 1e-5)
    assert bound["multiplier"] == math.inf
    assert bound["epsilon"] == 0


def test_laws_without_overlap_stop_where_the_counts_do():
    """Of n runs each, none shared: total variation below alpha^(1/2n) or so is rejected, 1 is not."""
    n = 1000
    bound = family(np.full(n, math.inf), np.full(n, -math.inf), (Gaussian(1.0),), 1e-5)
    assert bound["hits"] == (n, 0)
    variation = float(privacy_curve(Gaussian(bound["multiplier"]))(0.0))
    assert 1 - 8 / n < variation < 1
    # at a sixteenth of the guess the search ends
    assert rejected(np.ones(n), -np.ones(n), guess=100.0) == 100 / 16
