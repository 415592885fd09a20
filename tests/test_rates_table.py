"""All rates of the quick profile in one table, with the verdict that is expected of each and the seconds it takes.

``pytest -n 0 -s -m experiment --keep-tables tests/test_rates_table.py``
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
import tables
from rate_faults import findings

from dpcheck.checks.rates import experiments
from dpcheck.checks.rates.judgement import TABLE
from dpcheck.solvers import ALGORITHMS

COLUMNS = (
    "theorem", "algorithm", "experiment", "regime", "factor", "predicted", "measured", "low", "high", "claimed",
    "largest", "verdict", "seconds",
)  # fmt: skip


@pytest.mark.experiment
def test_every_rate_is_as_expected_and_kept(keep):
    """Under 10 minutes on two cores that nobody else uses, no algorithm above one."""
    rows, seconds, red = [], {}, []
    for name in ALGORITHMS:
        started, made = time.perf_counter(), {}
        red += [(each.id, each.expected, each.verdict) for each in findings(name, tables=made) if not each.ok]
        seconds[name] = time.perf_counter() - started
        rows += made.get(TABLE, [])
    keep("rates", pd.DataFrame(rows)[list(COLUMNS)])
    keep("rates_seconds", pd.DataFrame({"algorithm": list(seconds), "seconds": np.round(list(seconds.values()), 1)}))
    assert red == []


def test_the_kept_table_is_of_todays_experiments():
    kept = tables.read("rates").fillna({"regime": ""})
    for each in experiments():
        if each.factors and not each.unreachable:
            rows = kept[(kept.algorithm == each.algorithm) & (kept.experiment == each.name)]
            assert set(rows.factor) == set(each.factors), f"{each.algorithm} {each.name}: keep the table anew"
            assert set(rows.theorem) == {each.theorem}
            assert set(rows.regime) == {each.regime or ""}
