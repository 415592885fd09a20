"""Release by release: the noise and the records of recorded runs beside what the algorithm declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.checks.context import Context
from dpcheck.checks.inside.actual_noise import actual_noise
from dpcheck.checks.inside.cases import Case, cases
from dpcheck.checks.inside.choice import choice
from dpcheck.checks.inside.declared import differences
from dpcheck.checks.inside.readers import moves, shared, strangers
from dpcheck.report.findings import Finding

if TYPE_CHECKING:
    from dpcheck.algorithms.run import Run


def releases(context: Context, name: str) -> Iterator[Finding]:
    """Check every variant: each release against the declared events, and the noise that runs really add."""
    for case in cases(name):
        seed = context.stream(17)
        run = case.solver.run(case.problem, seed=seed, record=True)
        yield as_declared(f"{name}.{case.label}.releases", case, run, seed)
        yield actual_noise(context, f"{name}.{case.label}.noise", case, run)
        if name == "sto_spider":
            yield choice(context, f"{name}.{case.label}.choice", case)


def as_declared(id: str, case: Case, run: Run, seed: int) -> Finding:
    """Compare one recorded run, and replays of it with one record exchanged, with the declared events; exact."""
    moved = moves(run, np.asarray(case.others.records), seed)
    found = [*differences(run), *strangers(run, moved), *shared(run, moved)]
    made, minibatches = len(run.history.clean), len(run.history.drawn)
    more = f" ({len(found) - 1} more of the kind follow)" if len(found) > 1 else ""
    return Finding(
        id, "noise", f"{case.words}: noise, minibatches and records of each release against the declared events",
        "violated" if found else "consistent",
        f"{found[0]}{more}" if found else
        f"{made} releases on {minibatches} minibatches are as declared, and none moves with a record that it is not "
        f"declared to read ({len(moved)} records exchanged)",
        evidence={"differences": found[:20], "releases": made, "records exchanged": len(moved)},
    )  # fmt: skip
