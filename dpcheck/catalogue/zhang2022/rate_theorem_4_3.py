"""Theorem 4.3 of Zhang et al. 2022 measured: Algorithm 3 on a quadratic game, where all is in closed form.

The released point is the records' saddle and N(0, sigma_x^2 I), N(0, sigma_y^2 I), which no projection moves while
the domains' ends are far, so that the expected strong gap is

    (mu_x + a^2/mu_y)/2 (E |w_S - w*|^2 + d sigma_x^2) + (mu_y + a^2/mu_x)/2 (E |v_S - v*|^2 + d sigma_y^2),

two terms with the powers of the theorem's, of which the sampling errors are small here. With one joint Gaussian, by
inequality (12), sigma_x and sigma_y are those of the theorem for twice the epsilon and delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.zhang2022 import rate_games as games
from dpcheck.catalogue.zhang2022.rate_games import PARTS, Game
from dpcheck.checks.experiment import Cell, Experiment, Grid, Premise, cross

THEOREM = "zhang2022.theorem_4_3"
MARGIN = 0.15  # so that no bend by chance is taken for one: wrong powers are seen by the prediction, which is tighter
DISTANCE = 0.05  # of the saddle from the start, in w and in v


def sample(cell: Cell, rng: np.random.Generator) -> Game:
    """mu_x = 1, mu_y = 1.1, coupling 0.1: few passes for a solver, and a small L."""
    return games.game(
        int(cell["n"]), int(cell["d"]), rng, mu_x=1.0, mu_y=1.1, coupling=0.1, at=(DISTANCE, DISTANCE), spread=0.01
    )


def strong(problem: Game, part: str, square: float) -> float:
    """What |x - x*|^2 of a part adds to the strong gap."""
    side = problem.side(part)
    return 0.5 * (side.own + side.coupling**2 / side.other) * square


def gap(problem: Game, outputs: Array) -> float:
    """The mean strong gap."""
    squares = ((games.deviations(problem, outputs, part) ** 2).sum(1).mean() for part in PARTS)
    return sum(strong(problem, part, float(square)) for part, square in zip(PARTS, squares, strict=True))


def constants(problem: Game, cell: Cell) -> dict[str, float]:
    """The theorem's parameters."""
    return {
        **cell, "L": problem.lipschitz, "ell": problem.smoothness, "mu_x": problem.mu_x, "mu_y": problem.mu_y,
    }  # fmt: skip


def noise(problem: Game, cell: Cell, joint: bool) -> dict[str, float]:
    """E |noise|^2 in each part."""
    times = 2 if joint else 1
    values = constants(problem, cell) | {name: times * cell[name] for name in ("epsilon", "delta")}
    sigmas = theorem(THEOREM).noise(**values)
    return {"w": cell["d"] * sigmas["sigma_x"] ** 2, "v": cell["d"] * sigmas["sigma_y"] ** 2}


def predicted(problem: Game, cell: Cell, *, joint: bool) -> float:
    """Sampling error and noise."""
    squares, entries = noise(problem, cell, joint), problem.spread**2 / (3 * cell["n"])
    return sum(strong(problem, part, squares[part] + problem.side(part).spread(0) ** 2 * entries) for part in PARTS)


def premises(problem: Game, cell: Cell, *, joint: bool) -> Iterable[Premise]:
    """The solver has a way to go, and the noise stays in the domains."""
    least = min(problem.mu_x, problem.mu_y)
    size = math.sqrt(max(noise(problem, cell, joint).values()))
    yield Premise("distance from the start to the saddle over the solver's accuracy",
                  DISTANCE * least * cell["n"] / problem.lipschitz, 5.0)  # fmt: skip
    yield Premise("distance to the domains' ends over the noise", (problem.radius - DISTANCE) / size, 1.5)


def experiment(algorithm: str, joint: bool, cells: tuple[Cell, ...]) -> Experiment:
    """The privacy regime of one of the two ways to add noise."""
    return Experiment(
        name="theorem_4_3.privacy", regime="privacy", algorithm=algorithm, theorem=THEOREM,
        quantity="strong population gap", sample=sample, measure=gap, constants=constants,
        predicted=partial(predicted, joint=joint), premises=partial(premises, joint=joint), clear=None,
        settings=lambda problem, cell: {"base": "gda"}, factors=("n", "d", "epsilon"), grid=Grid(cells, 12),
        runs=lambda cell: round(20_000 / cell["d"]), within=1.08, margin=MARGIN,
        attains="the instance attains the order",
    )  # fmt: skip


NOISY = {"n": 2**13, "d": 90, "epsilon": 0.4, "delta": 1e-6}
CELLS = (
    *cross(NOISY, d=(32, 90, 256), epsilon=(0.15, 1.0)),
    *cross(NOISY | {"epsilon": 0.7}, n=(2500, 4000, 2**13, 14_000)),
)
HALF = tuple({**cell, "epsilon": cell["epsilon"] / 2} for cell in CELLS)  # the joint noise is half as large

EXPERIMENTS = (
    experiment("minimax_output_perturbation", False, CELLS),
    experiment("minimax_output_perturbation_joint", True, HALF),
)
