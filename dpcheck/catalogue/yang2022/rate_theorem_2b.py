"""Theorem 2b of Yang et al. 2022 measured: DP-SGDA on a game with kinks, T = n^2 steps of one record each.

The step is 1/(n N), N = max(sqrt n, sqrt(d log(1/delta))/epsilon). Each coordinate passes a kink halfway to the corner
at which it ends, so that the walk costs the mean iterate an order of D^2 N/n. See ``corner`` for the closed form.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.yang2022.rate_corner import arrival, mean_gap
from dpcheck.checks.experiment import Cell, Experiment, Grid, Premise, cross, doubling
from dpcheck.problems.hinge_game import HingeGame

THEOREM = "yang2022.theorem_2b"
RADIUS = 12.0  # the theorem's step has no unit; in this one noise costs less than a tenth of the walk from n = 800 on


def sample(cell: Cell, rng: np.random.Generator) -> HingeGame:
    """Fresh records of the game with kinks."""
    return HingeGame.sample(
        int(cell["n"]), int(cell["d"]), rng, radius=RADIUS, coupling=0.01, slope=0.25, place=-RADIUS / 2, width=0.0
    )


def constants(game: HingeGame, cell: Cell) -> dict[str, float]:
    """The theorem's parameters."""
    return {**cell, "G_w": game.lipschitz_w, "G_v": game.lipschitz_v, "D_w": game.radius, "D_v": game.radius}


def predicted(game: HingeGame, cell: Cell) -> float:
    """Return the mean weak gap under the theorem's own schedule and noise."""
    statement, values = theorem(THEOREM), constants(game, cell)
    schedule, noise = statement.schedule(**values), statement.noise(**values)
    return mean_gap(game, schedule["T"], schedule["eta"], schedule["m"], noise["sigma_w"], noise["sigma_v"])


def premises(game: HingeGame, cell: Cell) -> Iterable[Premise]:
    """The walk is over soon, and f is not smooth."""
    schedule = theorem(THEOREM).schedule(**constants(game, cell))
    yield arrival(game, schedule["T"] * schedule["eta"])
    yield Premise("the smoothness of the game", game.smoothness, float("inf"))


EXPERIMENTS = (
    Experiment(
        name="theorem_2b.statistical", algorithm="dp_sgda", theorem=THEOREM, regime="statistical",
        variant="as_printed", quantity="weak gap of the mean iterate", sample=sample, measure=HingeGame.weak_gap,
        constants=constants, predicted=predicted, within=1.15, premises=premises, factors=("n",),
        settings=lambda game, cell: {"theorem": "2b"}, attains="the instance attains the order",
        clear=3.0, margin=0.2,  # m = 1, so that runs differ by 2 to 5 %, and a longer n takes n^2 steps
        grid=Grid(cross({"d": 3, "epsilon": 1.0, "delta": 9e-8}, n=doubling(800, 3200)), 8),
        runs=lambda cell: max(1, round(3 * (800 / cell["n"]) ** 1.3)),
    ),
)  # fmt: skip
