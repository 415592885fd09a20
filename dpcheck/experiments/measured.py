"""The mean of the runs of one cell of a table, its error, and the epsilon that their noise is certified at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcheck.experiments.experiment import EPSILON, Cell, Experiment
from dpcheck.experiments.runner import Result


@dataclass(frozen=True)
class Measured:
    """Runs of one cell with one noise, for one metric.

    mean, error : over the seeds, and the standard error of that mean, nan for one run;  runs : how many;
    difference : from the printed number, in standard errors of a difference, None where there is no printed number or
    no spread;  epsilon : the largest that the noise of these runs is certified at
    """

    mean: float
    error: float
    runs: int
    difference: float | None
    epsilon: float


def measured(experiment: Experiment, cell: Cell, metric: str, noise: str, results: Sequence[Result]) -> Measured | None:
    """Return what these runs say of a cell, None where there are none.

    A printed number is a mean over ``experiment.runs`` runs with the spread that the paper states, or else the one that
    was measured; where the paper does not say how many runs, it counts as exact.
    """
    mine = [each for each in results if each.trial.cell is cell and each.trial.noise == noise]
    if not mine:
        return None
    values = np.array([each.values[metric] for each in mine])
    count = len(values)
    spread = float(values.std(ddof=1)) if count > 1 else math.nan
    published, difference = cell.published.get(metric), None
    if published is not None and spread > 0:
        theirs = (experiment.spread or spread) / math.sqrt(experiment.runs) if experiment.runs else 0.0
        difference = (float(values.mean()) - published) / math.hypot(spread / math.sqrt(count), theirs)
    epsilon = max(each.values[EPSILON] for each in mine)
    return Measured(float(values.mean()), spread / math.sqrt(count), count, difference, epsilon)
