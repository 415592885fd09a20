"""Rate experiments on algorithms with a planted fault: the findings that a check of the changed code would print."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import replace

import mutants

from dpcheck.checks.context import Context
from dpcheck.checks.expected import expected_verdicts
from dpcheck.checks.rates import stages
from dpcheck.streams import cores


def findings(algorithm, *, part="", seed=0, tables=None):
    """What the experiments whose titles hold ``part`` find, each with the verdict that is expected of it."""
    context = Context("quick", seed, cores())
    made = {} if tables is None else tables
    wanted = [stage for title, stage in stages(context, algorithm, made) if part in title]
    found = [finding for stage in wanted for finding in stage()]
    assert found, f"no experiment of {algorithm} has {part!r} in its title"
    return [replace(finding, expected=expected_verdicts().get(finding.id)) for finding in found]


def plant(monkeypatch, module, edits):
    """Replace the module ``dpcheck.solvers.<module>`` by a copy in which each old text became the new one."""
    name = f"dpcheck.solvers.{module}"
    original = importlib.import_module(name)
    monkeypatch.setitem(sys.modules, name, mutants.compiled(original, edits))


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
