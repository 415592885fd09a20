"""Corollary B.6 of Zhang et al. 2022 measured, and its mirror image: quadratic games with one strongly curved side.

Privacy. The corollary's mu is so large that the noise of all phases together is a fixed share of D where mu_y is a
fixed share of mu. Games whose slopes and curvatures are such shares then cost a fixed share of mu D^2, the order of
the bound's first line; its second line is of that order too for such mu_y, save one more log2(n).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.zhang2022 import rate_games as games
from dpcheck.catalogue.zhang2022.rate_games import Game
from dpcheck.catalogue.zhang2022.rate_phases import phases
from dpcheck.catalogue.zhang2022.rate_theorem_4_5 import MARGIN
from dpcheck.checks.experiment import Cell, Experiment, Grid, Premise, cross, doubling

THEOREM = "zhang2022.corollary_b_6"
FLAT, CURVED, COUPLING = 0.03, 0.4, 0.02  # over mu: slopes then stay below L for the largest mu of the grid
AT, RADII = (0.4, 0.01), (1.0, 0.085)  # of the released part, and of the strongly curved one


def regulariser(cell: Cell) -> float:
    """The corollary's mu, which does not depend on mu_y."""
    return theorem(THEOREM).schedule(**cell, L=1.0, D=1.0, mu_y=1.0)["mu"]


def sample(cell: Cell, rng: np.random.Generator, *, part: str) -> Game:
    """Curvatures and coupling in shares of mu; ``part`` is released, the other one has the modulus .4 mu."""
    mu = regulariser(cell)
    flat, curved = FLAT * mu, CURVED * mu
    mu_x, mu_y, at, radii = (flat, curved, AT, RADII) if part == "w" else (curved, flat, AT[::-1], RADII[::-1])
    return games.game(
        int(cell["n"]), int(cell["d"]), rng, mu_x=mu_x, mu_y=mu_y, coupling=COUPLING * mu, at=at, spread=0.02,
        radius=radii[0], radius_v=radii[1], lipschitz=1.0,
    )  # fmt: skip


def constants(problem: Game, cell: Cell, *, part: str) -> dict[str, float]:
    """The corollary's parameters."""
    return {**cell, "L": 1.0, "D": 1.0, "mu_y": problem.side(part).other}


def predicted(problem: Game, cell: Cell, *, part: str) -> float:
    """The loss from the corollary's phases; the strongly curved part is not regularised."""
    of = phases(THEOREM, **constants(problem, cell, part=part))
    return problem.side(part).loss(*games.released(problem, part, of, 0.0))


def premises(problem: Game, cell: Cell, *, part: str) -> Iterable[Premise]:
    """Those of the game."""
    return games.premises(problem, part, phases(THEOREM, **constants(problem, cell, part=part)), 0.0)


def experiment(algorithm: str, part: str, quantity: str) -> Experiment:
    """The privacy regime of the algorithm that releases ``part``."""
    return Experiment(
        name="corollary_b_6.privacy", regime="privacy", algorithm=algorithm, theorem=THEOREM, quantity=quantity,
        sample=partial(sample, part=part), measure=partial(games.loss, parts=(part,)),
        constants=partial(constants, part=part), predicted=partial(predicted, part=part),
        premises=partial(premises, part=part), clear=None, settings=lambda problem, cell: {"base": "saddle_svrg"},
        factors=("n", "d", "epsilon"), grid=Grid(NOISY_CELLS, 32), runs=lambda cell: round(1300 / cell["d"]),
        within=1.06, margin=MARGIN, attains="the instance attains the order save one log2(n)",
    )  # fmt: skip


NOISY = {"n": 2**12, "d": 90, "epsilon": 0.4, "delta": 1e-6}
NOISY_CELLS = (
    *cross(NOISY, d=(32, 90, 256), epsilon=(0.125, 1.0)),
    *cross(NOISY | {"epsilon": 0.8}, n=doubling(2**10, 2**13)),
)

EXPERIMENTS = (
    experiment("phased_convex_strongly_concave", "w", "largest expected value of the released w, less the saddle's"),
    experiment("phased_strongly_convex_concave", "v", "saddle's value less the least expected one of the released v"),
)
