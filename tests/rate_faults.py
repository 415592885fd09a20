"""Rate experiments on algorithms with a planted fault: the findings that a check of the changed code would print."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from dataclasses import replace

import mutants

from dpcheck.checks.context import Context
from dpcheck.checks.expected import expected_verdicts
from dpcheck.checks.rates import stages
from dpcheck.running.streams import cores
from dpcheck.solvers import ALGORITHMS, algorithm


def findings(name, *, part="", seed=0, tables=None):
    """What the experiments whose titles hold ``part`` find, each with the verdict that is expected of it."""
    context = Context("quick", seed, cores())
    made = {} if tables is None else tables
    wanted = [stage for title, stage in stages(context, name, made) if part in title]
    found = [finding for stage in wanted for finding in stage()]
    assert found, f"no experiment of {name} has {part!r} in its title"
    return [replace(finding, expected=expected_verdicts().get(finding.id)) for finding in found]


def module_of(name):
    """The module of the record of an algorithm, or of a file beside records (``"zhang2022.saddle"``)."""
    place = ALGORITHMS[name].rpartition(".")[0] if name in ALGORITHMS else f"dpcheck.catalogue.{name}"
    return importlib.import_module(place)


def schedule_module_of(name):
    """The module with the algorithm's own schedules."""
    return sys.modules[algorithm(name).schedule_of("repaired", {}).__module__]


def plant(monkeypatch, name, edits):
    """Replace the record's module by a copy in which each old text became the new one."""
    original = module_of(name)
    monkeypatch.setitem(sys.modules, original.__name__, mutants.compiled(original, edits))


def plant_in_schedule(monkeypatch, name, edits):
    """Give the algorithm the schedules of a copy of their module in which each old text became new."""
    original, chosen = schedule_module_of(name), algorithm(name)
    copy = mutants.mutated(original, edits)
    own = {key: each for key, each in chosen.schedules.items() if each.__module__ == original.__name__}
    assert own, f"{name} has no schedule of its own"
    broken = {key: getattr(copy, each.__name__) for key, each in own.items()}
    monkeypatch.setattr(chosen, "schedules", {**chosen.schedules, **broken})


def assert_there_once(module, old):
    """The text that a fault changes is in the module, in one place."""
    found = inspect.getsource(module).count(old)
    assert found == 1, f"{found} times in {module.__name__}: {old}"


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
