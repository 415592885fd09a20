"""Theorem 4.5 of Zhang et al. 2022 measured: Algorithms 4 and 5 on quadratic games, apart and together.

Privacy. The theorem's mu is so large that the noise of all phases together is .87 D, whatever n, d and epsilon. Games
whose slopes and curvatures are fixed shares of mu D and mu then cost a fixed share of mu D^2, which is the order of the
bound up to one log2(n): they attain it as far as logarithms.

Statistical. One game for all n, with d = 1 at epsilon = 1, where the bound's term 1/sqrt(n) leads. mu falls as
log(n)/n there, and with it the regularisation, the noise and the gap, so that the game is solved faster than promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from dpcheck.bounds.registry import theorem
from dpcheck.checks.rates import games
from dpcheck.checks.rates.experiment import Cell, Experiment, Grid, Premise, cross, doubling
from dpcheck.checks.rates.games import Game
from dpcheck.checks.rates.phases import phases

THEOREM = "zhang2022.theorem_4_5"
AT = (0.5, 0.5)  # the saddle's first coordinates, in units of D = 1
MARGIN = 0.15  # so that no bend by chance is taken for one: wrong powers are seen by the prediction, which is tighter
SHARE = 0.015  # curvatures over mu: slopes then stay below L for the largest mu of the grid


def constants(problem: Any, cell: Cell) -> dict[str, float]:
    """The theorem's parameters: L = 1 and D = 1."""
    return {**cell, "L": 1.0, "D": 1.0}


def scaled(cell: Cell, rng: np.random.Generator) -> Game:
    """Curvatures .015 mu and coupling half of that."""
    mu = SHARE * theorem(THEOREM).schedule(**constants(None, cell))["mu"]
    return games.game(
        int(cell["n"]), int(cell["d"]), rng, mu_x=mu, mu_y=mu, coupling=mu / 2, at=AT, spread=0.02, lipschitz=1.0
    )


def fixed(cell: Cell, rng: np.random.Generator) -> Game:
    """Curvatures .2 and coupling .06."""
    return games.game(
        int(cell["n"]), int(cell["d"]), rng, mu_x=0.2, mu_y=0.2, coupling=0.06, at=AT, spread=0.2, lipschitz=1.0
    )


def predicted(problem: Game, cell: Cell, *, parts: tuple[str, ...]) -> float:
    """The gap from the theorem's phases; the part that is not released is regularised with mu."""
    of = phases(THEOREM, **constants(problem, cell))
    return sum(problem.side(part).loss(*games.released(problem, part, of, of[0].mu / 2)) for part in parts)


def premises(problem: Game, cell: Cell, *, parts: tuple[str, ...]) -> Iterable[Premise]:
    """Those of each part."""
    of = phases(THEOREM, **constants(problem, cell))
    for part in parts:
        yield from games.premises(problem, part, of, of[0].mu / 2)


def experiments(algorithm: str, parts: tuple[str, ...], quantity: str) -> tuple[Experiment, ...]:
    """Both regimes."""
    common: dict[str, Any] = {
        "algorithm": algorithm, "theorem": THEOREM, "quantity": quantity, "constants": constants,
        "measure": partial(games.loss, parts=parts), "predicted": partial(predicted, parts=parts),
        "premises": partial(premises, parts=parts), "clear": None,
    }  # fmt: skip
    return (
        Experiment(
            name="theorem_4_5.privacy", regime="privacy", sample=scaled, factors=("n", "d", "epsilon"),
            grid=Grid(NOISY_CELLS, 20), runs=per_dimension(3200 / len(parts)), within=1.06, margin=MARGIN,
            settings=base("gda"),
            attains="the instance attains the order save one log2(n)", **common,
        ),
        Experiment(
            name="theorem_4_5.statistical", regime="statistical", sample=fixed, factors=("n",),
            grid=Grid(LARGE_CELLS, 20), data_sets=2, runs=16, settings=base("saddle_svrg"), within=1.5,
            attains="the instance is solved faster than promised", **common,
        ),
    )  # fmt: skip


def base(name: str) -> Callable[[Any, Cell], dict[str, str]]:
    """The theorem takes any solver: here the one that needs fewest passes."""
    return lambda problem, cell: {"base": name}


def per_dimension(runs: float) -> Callable[[Cell], int]:
    """So many runs for d = 1, fewer where more coordinates average out the noise."""
    return lambda cell: max(2, round(runs / cell["d"]))


NOISY = {"n": 2**12, "d": 90, "epsilon": 0.2, "delta": 1e-6}
NOISY_CELLS = (
    *cross(NOISY, d=(32, 90, 256), epsilon=(0.57, 0.07)),
    *cross(NOISY | {"epsilon": 0.4}, n=doubling(2**10, 2**13)),
)
LARGE_CELLS = cross({"d": 1, "epsilon": 1.0, "delta": 1e-6}, n=(10_000, 16_000, 28_000, 52_000))

EXPERIMENTS = (
    *experiments("phased_minimax_output_perturbation", ("w", "v"), "weak population gap"),
    *experiments("phased_primal", ("w",), "largest expected value of the released w, less the saddle's"),
    *experiments("phased_dual", ("v",), "saddle's value less the least expected one of the released v"),
)
