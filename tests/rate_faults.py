"""Rate experiments on algorithms with a planted fault: the findings that a check of the changed code would print."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import mutants

from dpcheck.checks.context import Context
from dpcheck.checks.expected import expected_verdicts
from dpcheck.checks.rates import stages
from dpcheck.running.executor import cores
from dpcheck.solvers import algorithm


def findings(name, *, part="", seed=0, tables=None):
    """What the experiments whose titles hold ``part`` find, each with the verdict that is expected of it."""
    context = Context("quick", seed, cores())
    made = {} if tables is None else tables
    wanted = [stage for title, stage in stages(context, name, made) if part in title]
    found = [finding for stage in wanted for finding in stage()]
    assert found, f"no experiment of {name} has {part!r} in its title"
    return [replace(finding, expected=expected_verdicts().get(finding.id)) for finding in found]


def plant(monkeypatch, *edits, of=None):
    """Replace the module of the edits, or ``of``, by a copy that has them."""
    copy = mutants.compiled(*edits, of=of)
    monkeypatch.setitem(sys.modules, copy.__name__, copy)


def plant_in_schedule(monkeypatch, name, *edits):
    """Give the algorithm the schedules of a copy of the edits' module that has them."""
    copy, chosen = mutants.mutated(*edits), algorithm(name)
    changed = {key: each for key, each in chosen.schedules.items() if each.__module__ == copy.__name__}
    assert changed, f"no schedule of {name} is in {copy.__name__}"
    broken = {key: getattr(copy, each.__name__) for key, each in changed.items()}
    monkeypatch.setattr(chosen, "schedules", {**chosen.schedules, **broken})


def assert_there_once(*edits):
    """What the edits of a fault change is in the package, in one place each."""
    assert mutants.SOURCES.edited(edits)


ROWS: list[dict[str, str]] = []
"""A row for each planted fault of the session; with ``--keep-tables`` and all of them, ``measured/rate_faults.csv``."""


def assert_red(found):
    """At least one finding is not as expected; returns those."""
    red = [finding for finding in found if not finding.ok]
    test = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].partition(" (call)")[0]
    ROWS.append(
        {
            "fault": test.partition("[")[2].rstrip("]") or test.removeprefix("test_").replace("_", " "),
            "algorithm": found[0].id.partition(".")[0],
            "red": "; ".join(f"{each.id}: {each.verdict} where {each.expected} is expected" for each in red),
            "as expected": "; ".join(f"{each.id}: {each.verdict}" for each in found if each.ok),
        }
    )
    assert red, [(finding.id, finding.verdict, finding.reason) for finding in found]
    return red
