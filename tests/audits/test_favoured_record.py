"""The record that is drawn most or least: how often a correct sampler is called uneven, and what is found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpcheck.audits.sampling import favoured_record

N, BATCH, STEPS, RUNS, LEVEL = 50, 5, 100, 2000, 0.05
DRAWS = {
    "without_replacement": lambda rng: rng.permuted(np.tile(np.arange(N), (STEPS, 1)), axis=1)[:, :BATCH],
    "with_replacement": lambda rng: rng.integers(0, N, (STEPS, BATCH)),
    "poisson": lambda rng: [np.flatnonzero(row) for row in rng.random((STEPS, N)) < BATCH / N],
}


@pytest.mark.parametrize("scheme", DRAWS)
def test_a_correct_sampler_keeps_the_level(scheme):
    rng = np.random.default_rng(0)
    alarms = sum(favoured_record(DRAWS[scheme](rng), scheme, N, BATCH)[-1] <= LEVEL for _ in range(RUNS))
    assert alarms <= stats.binom.ppf(0.9999, RUNS, LEVEL), alarms


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
