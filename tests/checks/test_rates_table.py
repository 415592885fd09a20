"""All rates of the quick profile in one table, with the verdict that is expected of each and the seconds it takes.

``pytest -n 0 -s -m experiment --keep-tables tests/checks/test_rates_table.py``
"""

from __future__ import annotations

import time
from dataclasses import replace

import pandas as pd
import pytest
import tables

from dpcheck.checks.context import Context
from dpcheck.checks.expected import expected_verdicts
from dpcheck.checks.privacy.entry import CONFIDENCE
from dpcheck.checks.rates import experiments, stages
from dpcheck.checks.rates.judgement import TABLE
from dpcheck.running.executor import cores
from dpcheck.solvers import ALGORITHMS

COLUMNS = (
    "theorem", "algorithm", "experiment", "regime", "factor", "predicted", "measured", "low", "high", "claimed",
    "largest", "verdict", "seconds",
)  # fmt: skip


@pytest.mark.experiment
def test_every_rate_is_as_expected_and_kept(keep):
    """Under 10 minutes on two cores that nobody else uses, no algorithm above one; ``seconds`` are an experiment's."""
    rows, red = [], []
    for name in ALGORITHMS:
        made = {}
        for title, stage in stages(Context(jobs=cores()), name, made):
            started, before = time.perf_counter(), len(made.get(TABLE, []))
            found = [replace(each, expected=expected_verdicts().get(each.id)) for each in stage()]
            seconds = round(time.perf_counter() - started, 1)
            red += [(each.id, each.expected, each.verdict) for each in found if not each.ok]
            rows += [row | {"seconds": seconds} for row in made.get(TABLE, [])[before:]]
            print(f"{name}: {title}: {seconds} s", flush=True)
    keep("rates", pd.DataFrame(rows)[list(COLUMNS)])
    assert red == []


def test_the_kept_table_is_of_todays_experiments():
    kept = tables.read("rates").fillna({"regime": ""})
    for each in experiments():
        if each.factors and not each.unreachable:
            rows = kept[(kept.algorithm == each.algorithm) & (kept.experiment == each.name)]
            assert set(rows.factor) == set(each.factors), f"{each.algorithm} {each.name}: keep the table anew"
            assert set(rows.theorem) == {each.theorem}
            assert set(rows.regime) == {each.regime or ""}


# Held to a number by so much that their chances need no table. At seed 0 lower bounds lie below the mean by 14 standard
# errors at least, and dptd's factor of 1.1 leaves its interval room for five where the closed form is exact.
FAR = ("zhang2025_theorem_3", "zhang2025_theorem_4", "last_iterate")


def test_correct_code_is_seldom_red():
    """All that is random in a check of every algorithm, rates and audits, is red by chance once in 1,000 runs at most.

    An audit of what keeps its claim errs with probability 1 - CONFIDENCE at most, and there are 200 of them.
    """
    kept = tables.read("rate_chances")
    random = {id for id in expected_verdicts() if id.split(".")[1] in ("rate", "bound", "prediction", "gradients")}
    assert set(kept.finding) == {id for id in random if not id.endswith(FAR)}, "tests/rate_chances.py measures them"
    assert (kept.expected == kept.finding.map(expected_verdicts())).all()
    assert kept.chance.sum() + 200 * (1 - CONFIDENCE) < 1e-3
