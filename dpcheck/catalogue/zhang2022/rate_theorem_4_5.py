"""Theorem 4.5 of Zhang et al. 2022 measured: Algorithms 4 and 5 on quadratic games, apart and together.

Privacy. The theorem's mu is so large that the noise of all phases together is .87 D, whatever n, d and epsilon. Games
whose slopes and curvatures are fixed shares of mu D and mu then cost a fixed share of mu D^2, which is the order of the
bound up to one log2(n): they attain it as far as logarithms.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.zhang2022 import rate_games as games
from dpcheck.catalogue.zhang2022.rate_games import Game
from dpcheck.catalogue.zhang2022.rate_phases import phases
from dpcheck.checks.experiment import Cell, Experiment, Grid, Premise, cross, doubling

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


def predicted(problem: Game, cell: Cell, *, parts: tuple[str, ...]) -> float:
    """The gap from the theorem's phases; the part that is not released is regularised with mu."""
    of = phases(THEOREM, **constants(problem, cell))
    return sum(problem.side(part).loss(*games.released(problem, part, of, of[0].mu / 2)) for part in parts)


def premises(problem: Game, cell: Cell, *, parts: tuple[str, ...]) -> Iterable[Premise]:
    """Those of each part."""
    of = phases(THEOREM, **constants(problem, cell))
    for part in parts:
        yield from games.premises(problem, part, of, of[0].mu / 2)


def experiment(algorithm: str, parts: tuple[str, ...], quantity: str) -> Experiment:
    """The privacy regime of an algorithm that releases ``parts``."""
    return Experiment(
        name="theorem_4_5.privacy", regime="privacy", algorithm=algorithm, theorem=THEOREM, quantity=quantity,
        sample=scaled, measure=partial(games.loss, parts=parts), constants=constants,
        predicted=partial(predicted, parts=parts), premises=partial(premises, parts=parts), clear=None,
        settings=lambda problem, cell: {"base": "gda"}, factors=("n", "d", "epsilon"), grid=Grid(NOISY_CELLS, 26),
        runs=lambda cell: round(1600 / len(parts) / cell["d"]), within=1.06, margin=MARGIN,
        attains="the instance attains the order save one log2(n)",
    )  # fmt: skip


NOISY = {"n": 2**12, "d": 90, "epsilon": 0.2, "delta": 1e-6}
NOISY_CELLS = (
    *cross(NOISY, d=(32, 90, 256), epsilon=(0.57, 0.07)),
    *cross(NOISY | {"epsilon": 0.4}, n=doubling(2**10, 2**13)),
)

EXPERIMENTS = (
    experiment("phased_minimax_output_perturbation", ("w", "v"), "weak population gap"),
    experiment("phased_primal", ("w",), "largest expected value of the released w, less the saddle's"),
    experiment("phased_dual", ("v",), "saddle's value less the least expected one of the released v"),
)
