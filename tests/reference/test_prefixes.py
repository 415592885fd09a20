"""What a prefix of a run is declared to release is what its last iterate depends on.

A recorded run is repeated with one released quantity moved at a time. The iterates that move with it have seen it, so
that the events of so many iterations have to hold it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcheck.algorithms.layout import declared
from dpcheck.algorithms.run import Run
from dpcheck.checks.releases import cases
from dpcheck.events import Disjoint
from dpcheck.solvers import ALGORITHMS

SEED, MOST = 3, 20  # releases that are moved
# Their events hold what a run may release at most, and what an average sees a step later.
LOOSE = {"ada_dp_spider", "dp_rgda", "dptd", "sto_spider"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_events_of_a_prefix_are_what_its_iterate_has_seen(name: str) -> None:
    for case in cases(name):
        run = case.solver.run(case.problem, seed=SEED, record=True)
        if len(run.history.drawn) and any(isinstance(event, Disjoint) for event in run.events):
            continue  # each record is in one minibatch, whose releases share what is declared for it
        needed = releases_seen(run)
        events = [case.solver.events(case.problem, iteration) for iteration in run.history.iterations]
        held = [sum(group.count * len(group.multipliers) for group in declared(each)) for each in events]
        assert all(have >= need for have, need in zip(held, needed, strict=True)), (case.label, held, needed)
        few = [have for have in held if have < MOST]
        assert name in LOOSE or few == needed[: len(few)], (case.label, held, needed)


def releases_seen(run: Run) -> list[int]:
    """Return for each iterate the number of the last release that it depends on, of the first ``MOST``."""
    history = run.history
    last = np.zeros(len(history.path), int)
    for row in range(min(MOST, len(history.released))):
        released = history.released.copy()
        released[row] += 1e-3 * (1 + np.abs(released[row]))
        other = run.solver.replay(run.problem, replace(history, released=released), seed=SEED).path
        common = min(len(other), len(last))
        moved = np.abs(other[:common] - history.path[:common]).max(axis=1) > 0
        last[:common][moved] = row + 1
    return [int(number) for number in last]
