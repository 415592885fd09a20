"""Credible bounds: what they promise, and what they do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpcheck.audits.bayesian import _inside, _quantiles, credible_bound


def posterior(epsilon: float, hits: int, other_hits: int, trials: int, *, delta: float) -> float:
    """The posterior probability that P and Q obey (epsilon, delta), to about 1e-4 of itself."""
    return _inside(epsilon, hits, trials, _quantiles(other_hits, trials), delta)


def _truth(p: float, q: float) -> float:
    """Least epsilon of a set and its complement at delta = 0, both directions."""
    return max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))


@pytest.mark.parametrize(("x", "y", "n", "delta"), [(60, 20, 100, 0.01), (3, 0, 30, 0.0), (990, 400, 1_000, 1e-3)])
def test_posterior_agrees_with_simulation(x: int, y: int, n: int, delta: float) -> None:
    """Five standard deviations of 200,000 draws: error rate 1e-6 each."""
    rng = np.random.default_rng(0)
    p, q = (rng.beta(k + 0.5, n - k + 0.5, 200_000) for k in (x, y))
    for epsilon in (0.2, 0.7, 1.5):
        g = math.exp(epsilon)
        private = (p <= g * q + delta) & (q <= g * p + delta)
        private &= (1 - p <= g * (1 - q) + delta) & (1 - q <= g * (1 - p) + delta)
        share = posterior(epsilon, x, y, n, delta=delta)
        assert private.mean() == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / p.size) + 1e-5)


def test_the_bound_is_where_the_posterior_says() -> None:
    bound = credible_bound(60, 20, 100, delta=0.01, credibility=0.9)
    assert posterior(bound.epsilon_lower, 60, 20, 100, delta=0.01) == pytest.approx(0.1, rel=1e-4)
    assert credible_bound(20, 60, 100, delta=0.01, credibility=0.9).epsilon_lower == pytest.approx(bound.epsilon_lower)
    assert credible_bound(10, 10, 20, credibility=0.6, delta=0.5).epsilon_lower == 0
    assert bound.to_dict()["assumption"].startswith("probabilities drawn from")


@pytest.mark.filterwarnings("ignore")  # the other library's own
def test_it_is_what_the_authors_compute() -> None:
    """Their code integrates over both probabilities, to 0.01 in epsilon."""
    theirs = pytest.importorskip("privacy_estimates")
    for x, y, n, delta in ((30, 10, 50, 1e-3), (20, 18, 40, 1e-2)):
        counts = theirs.AttackResults(FN=n - x, FP=y, TN=n - y, TP=x)
        expected = theirs.compute_eps_lo(counts, delta, 0.05, "joint-beta")
        assert credible_bound(x, y, n, delta=delta).epsilon_lower == pytest.approx(expected, abs=0.02)


def _wrong(hits: int, other_hits: int, n: int, truth: float) -> bool:
    """Whether the bound is above the truth; the posterior never falls in epsilon, so that one look at it tells."""
    return posterior(truth, hits, other_hits, n, delta=0.0) < 0.05


def test_the_posterior_at_the_truth_tells_whether_the_bound_is_wrong() -> None:
    for hits, other, truth in ((30, 10, 0.5), (30, 10, 0.6), (30, 10, 0.9), (2, 0, 0.1), (2, 0, 1.0), (25, 25, 0.01)):
        assert _wrong(hits, other, 50, truth) == (credible_bound(hits, other, 50).epsilon_lower > truth)


@pytest.mark.thorough
def test_errors_are_as_promised_over_the_prior() -> None:
    """Null hypothesis: P and Q from the prior, the truth is below the bound in 5% of cases.

    3,000 cases; rejected outside the two-sided 0.1% limits of Bin(3000, 0.05).
    """
    rng, n = np.random.default_rng(1), 50
    wrong = 0
    for p, q in rng.beta(0.5, 0.5, (3_000, 2)):
        hits, other = rng.binomial(n, [p, q])
        wrong += _wrong(int(hits), int(other), n, _truth(p, q))
    assert stats.binom.ppf(5e-4, 3_000, 0.05) <= wrong <= stats.binom.isf(5e-4, 3_000, 0.05)


@pytest.mark.parametrize(("p", "q", "least"), [(0.95, 0.05, 0.15), (0.05, 0.05, 0.99)])
def test_errors_exceed_that_at_given_probabilities(p: float, q: float, least: float) -> None:
    """No confidence limit: the exact error, summed over the counts, of randomised response and of equal laws."""
    n = 60
    counts = np.arange(n + 1)
    chance = np.outer(stats.binom.pmf(counts, n, p), stats.binom.pmf(counts, n, q))
    likely = np.argwhere(chance > 1e-5)
    error = sum(chance[i, j] for i, j in likely if _wrong(int(i), int(j), n, _truth(p, q)))
    assert error > least
