"""The noise that runs really added, released less clean, beside the standard deviation that they recorded.

Null hypothesis: divided by its recorded standard deviation, the noise of all releases is standard normal, each
number independent of the others. Three batches of runs are judged at a level of 1 % each (Monte Carlo p-values), and
all three have to reject: a false alarm has probability 10^-6 a finding, some forty of which make a whole check.
"""

from __future__ import annotations

import math

import numpy as np

from dpcheck.algorithms.kernels.tape import release
from dpcheck.algorithms.problem import Array
from dpcheck.algorithms.run import Run
from dpcheck.audits.noise import NoiseAudit, audit_noise_sample
from dpcheck.checks.context import Context
from dpcheck.checks.inside.cases import Case
from dpcheck.checks.inside.layout import layout
from dpcheck.checks.place import place_of
from dpcheck.report.findings import Finding

BATCHES, LEVEL = 3, 0.01
_NUMBERS = 2_000  # of noise in a batch: 10 % too little is nine standard errors away, four of them at the least
_RUNS = 1_000  # at most


def actual_noise(context: Context, id: str, case: Case, first: Run) -> Finding:
    """Return a finding from batches of fresh runs; ``first`` tells how many releases one has."""
    audit = None
    for batch in range(BATCHES):
        noise = _noise(context, case, first, batch)
        if len(noise) < 50:
            return Finding(
                id, "noise", f"{case.words}: the noise added", "inconclusive",
                f"only {len(noise)} releases have any recorded noise", place=place_of(release),
            )  # fmt: skip
        audit = audit_noise_sample(
            noise, scale=1.0, centred=True, confidence=1 - LEVEL, seed=context.stream(18, batch)
        )  # fmt: skip
        if audit.verdict == "consistent":
            break
    assert isinstance(audit, NoiseAudit)
    return Finding(
        id, "noise", f"{case.words}: the noise added, in units of the recorded standard deviation", audit.verdict,
        f"the noise that releases add has standard deviation {audit.scale:.4g} of the recorded one: {audit.reason}",
        evidence=audit.to_dict() | {"batches": batch + 1, "level": LEVEL}, place=place_of(release),
    )  # fmt: skip


def _noise(context: Context, case: Case, first: Run, batch: int) -> Array:
    """Return the standardised noise of so many runs' releases, a row a release : (releases, k), k what all of them
    have.
    """
    width = min(
        (
            each.width(case.problem)
            for each in layout(case.solver, case.problem, first.history)
            if each.what != "the choice"
        ),
        default=1,
    )
    count = min(_RUNS, math.ceil(_NUMBERS / max(1, width * len(first.history.clean))))
    rows = []
    for k in range(count):
        history = case.solver.run(case.problem, seed=context.stream(19, batch, k), record=True).history
        kept = [
            each.row for each in layout(case.solver, case.problem, history)[: len(history.clean)]
            if each.what != "the choice" and history.noise[each.row, 0] > 0
        ]  # fmt: skip
        added = (history.released - history.clean)[kept, :width]
        rows.append(added / history.noise[kept, :1])
    return np.concatenate(rows)
