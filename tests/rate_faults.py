"""Rate experiments on algorithms with a planted fault: the findings that a check of the changed code would print."""

from __future__ import annotations

import datetime
import os
import sys
from dataclasses import replace

import mutants
import pandas as pd

from dpcheck.checks.context import Context
from dpcheck.checks.expected import expected_verdicts, missing
from dpcheck.checks.rates import stages
from dpcheck.running.executor import cores
from dpcheck.solvers import algorithm


def findings(name, *, part="", seed=0, tables=None):
    """What the experiments whose titles hold ``part`` find, each with the verdict that is expected of it.

    As in a check, a finding that is expected of them and is not there is one, too.
    """
    context = Context("quick", seed, cores())
    made = {} if tables is None else tables
    wanted = {title: stage for title, stage in stages(context, name, made) if part in title}
    found = [finding for stage in wanted.values() for finding in stage()]
    assert found, f"no experiment of {name} has {part!r} in its title"
    lacking = [each for each in missing(found, [name], []) if f"rate of {each.id.split('.', 2)[-1]}" in wanted]
    return [replace(each, expected=expected_verdicts().get(each.id)) for each in found] + lacking


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
"""A row for each planted fault of the session; with ``--keep-tables`` they replace those of the same faults in
``measured/rate_faults.csv``, as all of them take half an hour of a core."""


def kept_with(before, rows):
    """The table with these rows in place of those of the same faults of the same algorithms."""
    keys = ["algorithm", "fault"]
    after = pd.concat([before, pd.DataFrame(rows)], ignore_index=True).drop_duplicates(keys, keep="last")
    return after.sort_values(keys, ignore_index=True)


def exponents(finding):
    """What the changed code's measurements say of each factor, beside the exponent that the theorem claims."""
    known = [each for each in finding.evidence["factors"] if each["measured"] is not None]
    said = [f"{e['factor']} {e['measured']:.3f} for {e['claimed']:.3f}: {e['verdict']}" for e in known]
    return f"{finding.id.partition('.')[2]}: {', '.join(said) or 'none can be told'}"


def assert_red(found):
    """At least one finding is not as expected; returns those."""
    red = [finding for finding in found if not finding.ok]
    name, _, given = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].partition(" (call)")[0].partition("[")
    ROWS.append(
        {
            "fault": given.rstrip("]").partition(", ")[2] or name.removeprefix("test_").replace("_", " "),
            "algorithm": found[0].id.partition(".")[0],
            "measured": datetime.date.today().isoformat(),
            "red": "; ".join(f"{each.id}: {each.verdict} where {each.expected} is expected" for each in red),
            "as expected": "; ".join(f"{each.id}: {each.verdict}" for each in found if each.ok),
            "exponents": "; ".join(exponents(each) for each in found if each.evidence.get("factors")),
        }
    )
    print(ROWS[-1], flush=True)  # minutes each: a log holds what is known so far
    assert red, [(finding.id, finding.verdict, finding.reason) for finding in found]
    return red
