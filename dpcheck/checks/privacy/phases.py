"""Algorithms that meet each record once: that no record is seen in a second part of the data.

Exact and without chance of a false alarm: one recorded run, replayed with each record replaced in turn and fed the
same releases. A release that moves has read that record. Parts that are declared disjoint allow a record one phase,
and no larger shift, in units of the noise, than the worst part has.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpcheck.algorithms.problem import Array, with_record
from dpcheck.catalogue.zhang2022.output_perturbation import Phased
from dpcheck.checks.context import Context
from dpcheck.checks.privacy.entry import Entry
from dpcheck.events import Disjoint, shift_of
from dpcheck.report.findings import Finding
from dpcheck.solvers import algorithm

_SAME = 1e-9  # of a declared sensitivity: what is below has not moved


def phases(context: Context, name: str) -> Iterator[Finding]:
    """Check phases on the last game of the algorithm, whose canary is in every block, with parts that are declared
    disjoint.
    """
    games = [entry for entry in algorithm(name).games() if any(isinstance(event, Disjoint) for event in entry.events)]
    for entry in games[-1:]:
        verdict, reason = judged(entry, *shifts(entry, context.seed))
        yield Finding(
            f"{name}.phases", "sensitivity", f"{entry.words}: each record is seen in one phase", verdict, reason,
        )  # fmt: skip


def shifts(entry: Entry, seed: int) -> tuple[Array, list[int]]:
    """Return how far each record moves each release, in units of its noise : (records, releases); minibatches it is
    in.
    """
    game, data = entry.game, entry.game.data
    plain = with_record(data, game.place, game.roles[2])
    history = game.solver.run(plain, seed=seed, record=True).history
    clean = history.clean
    sigma, declared = history.noise.T
    found = np.empty((len(data.records), len(clean)))
    for k in range(len(found)):
        theirs = game.solver.replay(with_record(plain, k, game.roles[0]), history, seed=seed).clean
        moved = np.linalg.norm(theirs - clean, axis=1)
        bare = np.where(sigma > 0, moved / np.maximum(sigma, 1e-300), np.inf)
        found[k] = np.where(moved > _SAME * declared, bare, 0.0)
    drawn = history.drawn[history.drawn >= 0]
    return found, np.bincount(drawn, minlength=len(found)).tolist()


def judged(entry: Entry, found: Array, times: list[int]) -> tuple[str, str]:
    """Return the verdict on these shifts, and its reason."""
    if max(times, default=0) > 1:
        record = int(np.argmax(times))
        return "violated", f"Record {record} is in {times[record]} minibatches; it is declared to be in one."
    first = 0
    for event in entry.events:
        assert isinstance(event, Disjoint)
        phased = isinstance(entry.game.solver, Phased)
        last = first + len(event.events) if phased else found.shape[1]
        part = found[:, first:last]
        seen = (part > 0).sum(axis=1)
        if phased and seen.max() > 1:
            record = int(np.argmax(seen))
            rows = " and ".join(str(first + row) for row in np.flatnonzero(part[record]))
            return "violated", f"Record {record} moves releases {rows}; it is declared to be in one phase."
        total, allowed = np.linalg.norm(part, axis=1), shift_of(event.worst.noise_multiplier)
        if total.max() > allowed * (1 + 1e-6):
            record = int(np.argmax(total))
            reason = f"Record {record} moves the releases that it is in by {total[record]:.4g} times their noise; "
            return "violated", reason + f"the declared events allow {allowed:.4g}."
        if not part.any(axis=0).all():
            row = first + int(np.argmin(part.any(axis=0)))
            return "inconclusive", f"No record moves release {row}, so that nothing is shown of it."
        first = last
    return "consistent", f"Each of {len(found)} records was replaced; none moves the releases of two phases."
