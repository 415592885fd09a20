"""Records that are drawn too often or too rarely: how often a correct sampler is called so, and what is found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from slices import first

from dpcheck.audits.sampling import UNEVEN, favoured_record, unevenness
from dpcheck.audits.step_parts import TrainingStep
from dpcheck.audits.step_sampling import minibatches_to_count, sampling_finding

N, BATCH, STEPS, RUNS, LEVEL = 50, 5, 100, 2000, 0.05
DRAWS = {
    "without_replacement": lambda rng: rng.permuted(np.tile(np.arange(N), (STEPS, 1)), axis=1)[:, :BATCH],
    "with_replacement": lambda rng: rng.integers(0, N, (STEPS, BATCH)),
    "poisson": lambda rng: [np.flatnonzero(row) for row in rng.random((STEPS, N)) < BATCH / N],
}


@pytest.mark.parametrize("scheme", first(1, DRAWS))
def test_a_correct_sampler_keeps_the_level(scheme):
    rng = np.random.default_rng(0)
    alarms = sum(favoured_record(DRAWS[scheme](rng), scheme, N, BATCH)[-1] <= LEVEL for _ in range(RUNS))
    assert alarms <= stats.binom.ppf(0.9999, RUNS, LEVEL), alarms


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", DRAWS)
def test_both_tests_together_keep_the_level(scheme):
    rng = np.random.default_rng(1)
    alarms = sum(bool(unevenness(DRAWS[scheme](rng), scheme, N, BATCH, level=LEVEL, seed=seed)) for seed in range(RUNS))
    assert 0 < alarms <= stats.binom.ppf(0.9999, RUNS, LEVEL), alarms


def weighted(scheme, rng, weights, steps):
    """Minibatches in which records come as often as their weights say."""
    n, chances = len(weights), weights / weights.sum()
    if scheme == "poisson":
        return [np.flatnonzero(row) for row in rng.random((steps, n)) < 10 * chances]
    return [rng.choice(n, 10, replace=scheme == "with_replacement", p=chances) for _ in range(steps)]


@pytest.mark.parametrize("scheme", DRAWS)
def test_weights_of_ten_per_cent_are_found_in_a_thousand_minibatches(scheme):
    """At the level that a training step leaves to it, one in 500."""
    rng = np.random.default_rng(2)
    for seed in range(5):
        weights = rng.permutation(np.repeat([0.9, 1.1], 50))
        found = unevenness(weighted(scheme, rng, weights, 1000), scheme, 100, 10, level=0.002, seed=seed)
        assert UNEVEN in found or "are due" in found
        assert not unevenness(weighted(scheme, rng, np.ones(100), 1000), scheme, 100, 10, level=0.002, seed=seed)


LEFT = 0.2 * 0.05 / 3  # what the other tests of a training step leave


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", DRAWS)
def test_weights_of_ten_per_cent_are_found_among_two_thousand_records(scheme):
    """In 1,000 minibatches of 10 records they are found in one case of twenty."""
    rng, n = np.random.default_rng(3), 2000
    steps = minibatches_to_count(n, 10, LEFT, least=1000)
    found = 0
    for seed in range(10):
        weights = rng.permutation(np.repeat([0.9, 1.1], n // 2))
        found += bool(unevenness(weighted(scheme, rng, weights, steps), scheme, n, 10, level=LEFT, seed=seed))
    assert found >= 9
    assert not unevenness(weighted(scheme, rng, np.ones(n), steps), scheme, n, 10, level=LEFT, seed=0)


def test_a_training_step_counts_draws_in_as_many_minibatches():
    chances = np.random.default_rng(4).permutation(np.repeat([0.9, 1.1], 1000)) * 10 / 2000

    def sampler(n, rng):
        while True:
            yield np.flatnonzero(rng.random(n) < chances)

    step = TrainingStep(lambda params, batch, rng: batch, sampler=sampler, clip=1.0, noise=1.0)
    finding = sampling_finding(step, 2000, 10, "poisson", 1 - 0.05 / 3, 0)
    assert finding.verdict == "violated"
    assert "vary by" in finding.reason


def test_as_many_minibatches_are_counted_as_ten_per_cent_take():
    assert minibatches_to_count(100, 10, LEFT, least=1000) == 1000
    assert 2000 < minibatches_to_count(2000, 10, LEFT, least=1000) < 4000
    assert minibatches_to_count(10**6, 10, LEFT, least=1000) == 1000


def test_a_record_that_is_never_drawn_is_found():
    rng = np.random.default_rng(0)
    rows = [rng.choice(np.delete(np.arange(N), 7), BATCH, replace=False) for _ in range(400)]
    record, seen, due, p_value = favoured_record(rows, "without_replacement", N, BATCH)
    assert (record, seen, due) == (7, 0, 40.0)
    assert p_value == pytest.approx(2 * N * 0.9**400, rel=1e-9, abs=0)


def test_a_record_that_is_always_drawn_is_found():
    rng = np.random.default_rng(0)
    rows = [[7, *rng.choice(np.delete(np.arange(N), 7), BATCH - 1, replace=False)] for _ in range(20)]
    record, seen, due, p_value = favoured_record(rows, "without_replacement", N, BATCH)
    assert (record, seen, due) == (7, 20, 2.0)
    assert p_value == pytest.approx(2 * N * 0.1**20, rel=1e-9, abs=0)
