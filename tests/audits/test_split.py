"""Bounds from scores at hand, the threshold chosen on a part of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from test_bands import LAWS

from dpcheck.audits.bands import band_bound
from dpcheck.audits.limits import epsilon_lower
from dpcheck.audits.split import split_bound


@pytest.mark.parametrize("law", LAWS)
def test_false_alarms(law: str) -> None:
    """Null hypothesis: the bound exceeds the truth in at most 5% of samples.

    Rejected above the 0.999 quantile of Bin(500, 0.05): error rate 0.1%.
    """
    draw, delta, truth = LAWS[law]
    rng = np.random.default_rng(1)
    above = sum(split_bound(*draw(rng, 150), delta=delta).epsilon_lower > truth for _ in range(500))
    assert above <= stats.binom.isf(1e-3, 500, 0.05)


@pytest.mark.parametrize(("shift", "complement"), [(1.0, False), (-1.0, True)])
def test_the_runs_that_choose_do_not_count(shift: float, complement: bool) -> None:
    """The limit is that of the fresh counts; the first 13% decide on the set, and on nothing else."""
    rng = np.random.default_rng(2)
    sides = rng.laplace(size=2_000), np.where(rng.random(2_000) < 0.2, 9 * shift, rng.laplace(size=2_000))
    a, b = sides[::-1] if shift > 0 else sides
    found = split_bound(a, b)
    fresh = [v[260:] for v in (a, b)]
    assert (found.trials, found.complement) == (1_740, complement)
    x, y = (int((v <= found.threshold if complement else v >= found.threshold).sum()) for v in fresh)
    assert (found.hits, found.other_hits) == ((y, x) if complement else (x, y))
    limits = [epsilon_lower(found.hits, found.other_hits, 1_740, alpha=share * (1 - 0.95)) for share in (1, 0.94, 0.06)]
    assert found.epsilon_lower in limits
    again = split_bound(*(np.append(v[:260], rng.permutation(v[260:])) for v in (a, b)))
    assert again == found


def test_it_shows_more_than_bands_do() -> None:
    """Laplace noise at epsilon 1, 10,000 runs, fixed seeds: .95 of it on average, where bands show .91."""
    rng, split, bands = np.random.default_rng(3), [], []
    for _ in range(20):
        a, b = rng.laplace(1, size=10_000), rng.laplace(size=10_000)
        split.append(split_bound(a, b).epsilon_lower)
        bands.append(band_bound(a, b).epsilon_lower)
    assert np.mean(split) > 0.94
    assert np.mean(split) > np.mean(bands) + 0.02


def test_both_tails_count_and_infinite_scores_are_scores() -> None:
    rng = np.random.default_rng(4)
    rare = np.where(rng.random(3_000) < 0.02, np.inf, rng.random(3_000))
    upper = split_bound(rare, rng.random(3_000))
    lower = split_bound(rng.random(3_000), 1 - rare)
    assert min(upper.epsilon_lower, lower.epsilon_lower) > 0.9
    assert (lower.threshold, lower.other_hits) == (-np.inf, 0)
    assert (upper.complement, lower.complement) == (False, True)
    for bound in (upper, lower):
        assert json.loads(json.dumps(bound.to_dict(), allow_nan=False)) == bound.to_dict()
