"""The measurements of an experiment: premises first, then independent runs at every grid point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.checks.context import Batch, Context
from dpcheck.checks.rates.experiment import Cell, Experiment, Grid, Premise

LEADS = 5.0  # times that the regime's term is larger than any other
REACH = 5.0  # total step times curvature from which on the start is forgotten
_CHUNKS = 4


@dataclass(frozen=True, eq=False)
class Point:
    """What is known of one grid point before anything runs, and what was measured there.

    solver : the algorithm as it is configured here, by no record: its calibration is done once
    promised : the theorem's number;  order : its term that leads here;  predicted : the instance's, or NaN
    start : the measure where the algorithm begins;  values : (seeds,)
    """

    cell: Cell
    solver: Any
    promised: float
    order: float
    predicted: float
    start: float
    premises: tuple[Premise, ...]
    values: Array

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
    known = [_known(experiment, cell) for cell in grid_of(experiment, context).cells]
    if any(not premise.holds for point in known for premise in point.premises):
        return known
    return more(experiment, context, known, 0, 1)


def more(experiment: Experiment, context: Context, found: list[Point], look: int, times: int) -> list[Point]:
    """The grid points with ``times`` the grid's number of measurements added, on streams of their own for each look."""
    seeds = times * grid_of(experiment, context).seeds
    streams = [(number, look) if look else (number,) for number in range(len(found))]
    batches = [_batch(experiment, point, seeds, context, each) for point, each in zip(found, streams, strict=True)]
    return [
        replace(point, values=np.concatenate([point.values, np.array(values, dtype=float)]))
        for point, values in zip(found, map(_joined, context.all_measured(batches)), strict=True)
    ]


def _joined(chunks: list[list[float]]) -> list[float]:
    return [value for chunk in chunks for value in chunk]


def _known(experiment: Experiment, cell: Cell) -> Point:
    problem = experiment.sample(cell, np.random.default_rng(0))  # for its constants, which no record decides
    solver = experiment.solver(problem, cell)
    start = experiment.measure(problem, problem.start[None])
    predicted = float("nan") if experiment.predicted is None else experiment.predicted(problem, cell)
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
    name = crc32(f"{experiment.algorithm}.{experiment.name}".encode())
    return Batch(
        ["rate", experiment.algorithm, experiment.name, sorted(point.cell.items()), stream],
        partial(_chunk, experiment, point.cell, point.solver), seeds, max(1, -(-seeds // _CHUNKS)),
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


def slopes(cells: list[Cell], values: list[float], factors: tuple[str, ...]) -> Mapping[str, float]:
    """Exponents of a positive function of the settings over a grid, by least squares on logarithms."""
    design = np.column_stack([np.ones(len(cells)), *(np.log([cell[name] for cell in cells]) for name in factors)])
    found = np.linalg.lstsq(design, np.log(values), rcond=None)[0]
    return dict(zip(factors, found[1:].tolist(), strict=True))
