"""Which releases a record moves, seen by running again with that record exchanged, beside which ones may move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpcheck.algorithms.problem import Array, Problem, with_record
from dpcheck.algorithms.run import Run
from dpcheck.checks.inside.declared import ROUNDING, along_a_tree, multiplier
from dpcheck.checks.inside.groups import declared
from dpcheck.checks.inside.layout import Release, layout
from dpcheck.events import Disjoint, shift_of

Moves = NDArray[np.bool_]
_MOST = 200  # records that are exchanged, one at a time, evenly spread


def moves(run: Run, others: Array, seed: int) -> dict[int, Moves]:
    """Return for each of the records looked at, which releases it moves : (releases,).

    others : (n, k) what replaces each record;  seed : of the recorded run
    A replay is fed the releases of the run, so that only what a release itself reads can move it.
    """
    n, found = len(run.problem.records), {}
    scale = 1e-12 * np.maximum(run.history.noise[:, 1], np.finfo(float).tiny)
    for record in np.unique(np.linspace(0, n - 1, min(n, _MOST)).astype(int)).tolist():
        neighbour: Problem = with_record(run.problem, record, others[record])
        theirs = run.solver.replay(neighbour, run.history, seed=seed).clean
        found[record] = np.abs(theirs[: len(scale)] - run.history.clean).max(1) > scale
    return found


def strangers(run: Run, moved: dict[int, Moves]) -> Iterator[str]:
    """Yield a sentence for each release that a record moves which it is not declared to read."""
    releases, history = layout(run.solver, run.problem, run.history), run.history

    def may(release: Release, record: int) -> bool:
        """Say whether a release may read a record: along a tree it is a sum over its own minibatch and those before."""
        earlier = history.drawn[: release.draw] if along_a_tree(run) else history.drawn[:0]
        return release.reads(history, record) or record in earlier

    for release in releases[: len(run.history.clean)]:
        if release.draw is None or release.draw >= len(run.history.drawn):
            continue
        wrong = [record for record, rows in moved.items() if rows[release.row] and not may(release, record)]
        if wrong:
            yield f"{release} moves with {len(wrong)} of {len(moved)} records that are not in its minibatch"


def shared(run: Run, moved: dict[int, Moves]) -> Iterator[str]:
    """Yield a sentence for each set of releases declared disjoint in which one record moves more than is declared.

    Several releases of one record amount to one, whose squared shift in units of the noise is the sum of theirs.
    """
    releases, start = layout(run.solver, run.problem, run.history), 0
    for event in run.events:
        end = start + sum(group.count * len(group.multipliers) for group in declared((event,)))
        if not isinstance(event, Disjoint):
            start = end
            continue
        covered = releases if along_a_tree(run) else releases[start:end]
        allowed = shift_of(event.worst.noise_multiplier)
        shifts = {record: _shift(run, [r for r in covered if rows[r.row]]) for record, rows in moved.items()}
        record = max(shifts, key=lambda one: shifts[one])
        if shifts[record] > allowed * (1 + ROUNDING):
            told = [release for release in covered if moved[record][release.row]]
            yield (
                f"record {record} moves {_listed(told)}, by {shifts[record]:.4g} units of noise in all; they are "
                f"declared disjoint, which allows {allowed:.4g}"
            )
        start = end


def _shift(run: Run, told: Sequence[Release]) -> float:
    return float(np.sqrt(sum(shift_of(multiplier(run.history, release.row)) ** 2 for release in told)))


def _listed(told: Sequence[Release]) -> str:
    return " and ".join(str(release) for release in told) if len(told) < 4 else f"{len(told)} releases"
