"""An experiment's cell as a starting point for runs of one's own: its data, problem and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.errors import require
from dpcheck.experiments import auc_runs, find, xu2026
from dpcheck.experiments.experiment import CERTIFIED, Cell, Experiment
from dpcheck.experiments.runner import chosen
from dpcheck.problems.auc import auc_score
from dpcheck.problems.matrix_sensing import MatrixSensing
from dpcheck.problems.sensing import Sensing


@dataclass(frozen=True)
class Start:
    """What a run begins from.

    problem : the objective with its training rows;  settings : overrides of the algorithm's schedule;  delta : of the
    cell;  epsilon : of the cell, None where it has none;  score : the released w -> what the experiment measures
    """

    cell: Cell
    problem: Any
    settings: dict[str, Any]
    epsilon: float | None
    delta: float
    score: Callable[[Array], dict[str, float]]


def start(text: str, algorithm: str, epsilon: float | None, seed: int) -> Start:
    """Return the cell that ``EXPERIMENT:CELLS`` names, of this algorithm; InputError where there is none.

    ``epsilon`` : where cells differ in it, the one with the nearest is taken, by ratio; 1 by default
    """
    name, _, only = text.partition(":")
    experiment = find(name)
    cells = chosen(experiment, only) if only else list(experiment.cells)
    running = [cell for cell in cells if cell.plan.get("algorithm", cell.plan.get("method")) == algorithm]
    require(bool(running), "--like", f"name a cell of {experiment.id} that runs {algorithm}", text)
    wanted = 1.0 if epsilon is None else epsilon
    private = [cell for cell in running if cell.plan.get("epsilon", wanted) is not None] or running
    cell = min(private, key=lambda cell: abs(np.log((cell.plan.get("epsilon") or wanted) / wanted)))
    return _of(experiment, cell, seed)


def _of(experiment: Experiment, cell: Cell, seed: int) -> Start:
    plan = cell.plan
    if experiment.measure is xu2026.measure:
        sensing = MatrixSensing.sample(xu2026.RECORDS, xu2026.SIDE, np.random.default_rng(seed), size=plan["size"])
        problem: Any = sensing if plan["method"] in ("dp_rgda", "privatediff") else Sensing.of(sensing)
        claim = xu2026.CLAIM
        settings = xu2026.settings_of(plan)
        return Start(cell, problem, settings, claim["epsilon"], claim["delta"], lambda w: xu2026.columns(sensing, w))
    require(
        experiment.measure is auc_runs.measure, "--like", "name an experiment on AUC or matrix sensing", experiment.id
    )
    (X, y), (X_test, y_test) = auc_runs.parts(plan, CERTIFIED, seed)
    problem = auc_runs.problem_of(plan, X, y, seed)

    def score(w: Array) -> dict[str, float]:
        return {
            "training AUC": auc_score(auc_runs.scores(problem, w, X), y),
            "test AUC": auc_score(auc_runs.scores(problem, w, X_test), y_test),
        }

    return Start(cell, problem, auc_runs.settings_of(plan, len(y)), plan["epsilon"], plan["delta"], score)
