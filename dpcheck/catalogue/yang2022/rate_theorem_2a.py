"""Theorem 2a of Yang et al. 2022 measured: DP-SGDA on a smooth game whose saddle is a corner.

The step is 1/(L N), N = max(sqrt n, sqrt(d log(1/delta))/epsilon), and T = n, so that the walk from the start to the
corner costs the mean iterate D^2 L N/n, which is the theorem's rate in both regimes. The closed form is in ``corner``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.yang2022.rate_corner import arrival, mean_gap
from dpcheck.checks.rates.experiment import Cell, Experiment, Grid, Premise, cross, doubling
from dpcheck.problems.hinge_game import HingeGame

THEOREM = "yang2022.theorem_2a"
SHAPES = {  # of the game; L D/G is the slope over the width over about 1.2
    "statistical": {"coupling": 0.1, "slope": 0.25, "place": 0.5, "width": 0.031},
    "privacy": {"coupling": 0.05, "slope": 0.125, "place": 0.5, "width": 0.0125},
}


def sample(shape: str, cell: Cell, rng: np.random.Generator) -> HingeGame:
    """Fresh records of the game of this regime."""
    return HingeGame.sample(int(cell["n"]), int(cell["d"]), rng, **SHAPES[shape])


def constants(game: Any, cell: Cell) -> dict[str, float]:
    """The theorem's parameters."""
    return {
        **cell, "L": game.smoothness, "G_w": game.lipschitz_w, "G_v": game.lipschitz_v, "D_w": game.radius,
        "D_v": game.radius,
    }  # fmt: skip


def predicted(batch: int | None, game: HingeGame, cell: Cell) -> float:
    """Return the mean weak gap under the theorem's own schedule and noise, and this minibatch where it is another."""
    statement, values = theorem(THEOREM), constants(game, cell)
    schedule, noise = statement.schedule(**values), statement.noise(**values)
    return mean_gap(game, schedule["T"], schedule["eta"], batch or schedule["m"], noise["sigma_w"], noise["sigma_v"])


def premises(game: HingeGame, cell: Cell) -> Iterable[Premise]:
    """The walk is over soon."""
    schedule = theorem(THEOREM).schedule(**constants(game, cell))
    yield arrival(game, schedule["T"] * schedule["eta"])


def reach(solver: Any, game: HingeGame) -> float:
    """Total step times smoothness."""
    return float(solver.eta_w.sum() * game.smoothness)


COMMON: dict[str, Any] = {
    "algorithm": "dp_sgda", "theorem": THEOREM, "quantity": "weak gap of the mean iterate",
    "measure": HingeGame.weak_gap, "constants": constants, "within": 1.15,
    "premises": premises, "reach": reach, "attains": "the instance attains the order",
}  # fmt: skip
FEW = {"d": 2, "epsilon": 1.0, "delta": 1e-9}
PRIVATE = 5.0  # N/sqrt n, at which privacy leads by 5 in the theorem's bound; n >= 40 000 for noise well within the box


def private(n: int, d: int) -> Cell:
    """A grid point whose epsilon makes N this multiple of sqrt n."""
    delta = 9e-12
    return {"n": n, "d": d, "epsilon": math.sqrt(-d * math.log(delta) / n) / PRIVATE, "delta": delta}


NOISY = (*(private(n, 8) for n in (40_000, 100_000, 250_000)), private(40_000, 3), private(40_000, 24))


EXPERIMENTS = (
    Experiment(
        name="theorem_2a.statistical", regime="statistical", sample=partial(sample, "statistical"), factors=("n",),
        variant="as_printed", grid=Grid(cross(FEW, n=doubling(1024, 16_384)), 20), predicted=partial(predicted, None),
        runs=lambda cell: int(2 * 2**14 / cell["n"]), **COMMON,
    ),
    Experiment(
        name="theorem_2a.privacy", regime="privacy", sample=partial(sample, "privacy"), factors=("n", "d"),
        variant="as_printed", clear=2.5, grid=Grid(NOISY, 24), predicted=partial(predicted, 1),
        settings=lambda game, cell: {"batch": 1},  # the printed noise, which hides the records' own, does not know m
        margin=0.2,  # runs differ by a tenth, and a hundred of them at each grid point would take minutes
        runs=lambda cell: math.ceil(40 / (cell["d"] + 4) * 40_000 / cell["n"]), **COMMON,
    ),
)  # fmt: skip
