"""What is known of each grid point of an experiment before anything runs, and the measurements there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.checks.context import Batch, Context
from dpcheck.checks.experiment import Cell, Experiment, Grid, Premise

LEADS = 5.0  # times that the regime's term is larger than any other
REACH = 5.0  # total step times curvature from which on the start is forgotten


@dataclass(frozen=True, eq=False)
class Point:
    """What is known of one grid point before anything runs, and what was measured there."""

    cell: Cell
    solver: Any  # as configured here, by no record: it is calibrated once
    promised: float  # the theorem's number
    order: float  # the theorem's term that leads here
    predicted: float  # the instance's, or NaN
    start: float  # the measure where the algorithm begins
    premises: tuple[Premise, ...]
    values: Array  # (seeds,)

    @property
    def mean(self) -> float:
        """Return the mean of the measurements."""
        return float(self.values.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return float(self.values.std(ddof=1) / np.sqrt(len(self.values))) if len(self.values) > 1 else float("nan")


def grid_of(experiment: Experiment, context: Context) -> Grid:
    """The profile's grid; the full profile has four times as many measurements where none is declared."""
    if not context.full:
        return experiment.grid
    return experiment.full or Grid(experiment.grid.cells, 4 * experiment.grid.seeds)


def points(experiment: Experiment, context: Context) -> list[Point]:
    """All grid points, measured, or without measurements if one of them breaks a premise."""
    known = unmeasured(experiment, grid_of(experiment, context).cells, context)
    if any(not premise.holds for point in known for premise in point.premises):
        return known
    return more(experiment, context, known, 0, 1)


def more(experiment: Experiment, context: Context, found: list[Point], look: int, times: int) -> list[Point]:
    """The grid points with ``times`` the grid's number of measurements added, on streams of their own for each look."""
    seeds = times * grid_of(experiment, context).seeds
    streams = [(number, look) if look else (number,) for number in range(len(found))]
    batches = [_batch(experiment, point, seeds, context, stream) for point, stream in zip(found, streams, strict=True)]
    return [
        replace(point, values=np.concatenate([point.values, *chunks]))
        for point, chunks in zip(found, context.all_measured(batches), strict=True)
    ]


def unmeasured(experiment: Experiment, cells: Sequence[Cell], context: Context) -> list[Point]:
    """Return grid points with what is known of them before anything runs."""
    predicted = [float("nan")] * len(cells)
    if experiment.predicted is not None:
        batches = [
            Batch(
                ["prediction", experiment.algorithm, experiment.name, sorted(cell.items())],
                partial(_predicted, experiment, cell), 1, 1, np.random.SeedSequence(0),
            )
            for cell in cells
        ]  # fmt: skip
        predicted = [number for [[number]] in context.all_measured(batches)]
    return [*map(partial(_known, experiment), cells, predicted)]


def _predicted(experiment: Experiment, cell: Cell, rng: np.random.Generator, size: int) -> list[float]:
    assert experiment.predicted is not None
    return [float(experiment.predicted(_instance(experiment, cell), cell))]


def _instance(experiment: Experiment, cell: Cell) -> Any:
    """Return a problem of this grid point for its constants, which no record decides."""
    return experiment.sample(cell, np.random.default_rng(0))


def _known(experiment: Experiment, cell: Cell, predicted: float) -> Point:
    problem = _instance(experiment, cell)
    solver = experiment.solver(problem, cell)
    start = experiment.measure(problem, problem.start[None])
    premises = list(experiment.premises(problem, cell))
    order, others = experiment.terms(problem, cell)
    if experiment.regime is not None:
        what = f"the {experiment.regime} term of the theorem over its largest other term"
        premises.append(Premise(what, order / max(others, 1e-300), LEADS))
    if experiment.reach is not None:
        premises.append(Premise("total step times curvature", experiment.reach(solver, problem), REACH))
    if experiment.predicted is not None and experiment.clear is not None:
        what = f"the {experiment.quantity} at the start over the predicted one"
        premises.append(Premise(what, start / predicted, experiment.clear))
    promised = experiment.promised(problem, cell)
    return Point(cell, solver, promised, order, predicted, start, tuple(premises), np.empty(0))


def _batch(experiment: Experiment, point: Point, seeds: int, context: Context, stream: tuple[int, ...]) -> Batch:
    """Independent measurements at one grid point; the same for any number of workers."""
    name = crc32(experiment.id.encode())
    return Batch(
        ["rate", experiment.algorithm, experiment.name, sorted(point.cell.items()), stream],
        partial(_chunk, experiment, point.cell, point.solver), seeds, max(1, -(-seeds // experiment.chunks)),
        np.random.SeedSequence([context.seed, name, *stream]),
    )  # fmt: skip


def _chunk(experiment: Experiment, cell: Cell, solver: Any, rng: np.random.Generator, size: int) -> list[float]:
    values = []
    for _ in range(size):
        outputs = []
        for _ in range(experiment.data_sets):
            problem = experiment.sample(cell, rng)
            outputs.append(solver.outputs(problem, rng, experiment.runs_at(cell)))
        values.append(float(experiment.measure(problem, np.concatenate(outputs))))
    return values
