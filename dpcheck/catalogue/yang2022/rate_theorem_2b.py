"""The privacy term of Theorem 2b of Yang et al. 2022, measured where few coordinates matter.

T = n^2 steps of 1/(n N), N = sqrt(d log(1/delta))/epsilon, lead to the saddle, a corner, and cost D^2 N/n on the way:
that is the theorem's privacy term. Noise that held all d coordinates off the corner would cost about 64 G^2 N/n, so
that the game would have to be as large as n = 10^4, T = 10^8 for it. Here one coordinate in ``IDLE`` has a slope and
the others have none: noise in those moves no gap. The coordinates that have one are a box of 1/sqrt 2 of the radius,
the idle ones another, so that both parts of every d are alike.
"""

import math
from collections.abc import Iterable

import numpy as np

from dpcheck.algorithms.kernels.parts import Shape
from dpcheck.algorithms.problem import Array, blocks
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.yang2022.rate_convex_concave import OF_DP_SGDA, held_off
from dpcheck.checks.experiment import LOG_DELTA, Cell, Experiment, Grid, Premise, level, rows
from dpcheck.problems.hinge_game import HingeGame

KINKS = "yang2022.theorem_2b"
IDLE, RADIUS = 32, 2.5


class Idle(HingeGame):
    """The game on d/32 coordinates, with next to no hinge; the records are 0 in the others."""

    @property
    def active(self) -> int:
        """How many coordinates have a slope."""
        return int(self.dim_w) // IDLE

    @property
    def wall(self) -> float:
        """Entries of the corner, where there is a slope."""
        return self.radius / math.sqrt(2 * self.active)

    @property
    def drift(self) -> float:
        """Entries of the mean of b and c, where they are not 0."""
        return self.centre * self.bound / math.sqrt(self.active)

    @property
    def domain_w(self) -> Array:
        """Two boxes."""
        others = self.dim_w - self.active
        return blocks((self.active, Shape.BOX, self.wall), (others, Shape.BOX, self.radius / math.sqrt(2 * others)))

    domain_v = domain_w

    def weak_gap(self, outputs: Array) -> float:
        """Return the weak primal-dual population gap of runs ``outputs`` : (R, 2d), the hinges' 2e-6 B D left out."""
        d, k = self.dim_w, self.active
        means = outputs.mean(0)
        return float(self.drift * (means[:k] + means[d : d + k] + 2 * self.wall).sum())


def sample(cell: Cell, rng: np.random.Generator) -> Idle:
    """Fresh records."""
    n, d = int(cell["n"]), int(cell["d"])
    k = d // IDLE
    records = np.zeros((n, 2, d))
    records[:, :, :k] = (Idle.centre + Idle.spread * (2.0 * rng.integers(0, 2, (n, 2, k)) - 1)) / math.sqrt(k)
    return Idle(records.reshape(n, -1), coupling=0.0, slope=1e-6, place=-RADIUS / 2, width=0.0, radius=RADIUS)


def constants(game: Idle, cell: Cell) -> dict[str, float]:
    """The parameters of Theorem 2b."""
    return {**cell, "G_w": game.lipschitz_w, "G_v": game.lipschitz_v, "D_w": game.radius, "D_v": game.radius}


def numbers(game: Idle, cell: Cell) -> tuple[int, float, float]:
    """T, the length of a step without noise, and the deviation of its noise."""
    values = constants(game, cell)
    schedule, noise = theorem(KINKS).schedule(**values), theorem(KINKS).noise(**values)
    return int(schedule["T"]), schedule["eta"] * game.drift, schedule["eta"] * noise["sigma_w"]


def predicted(game: Idle, cell: Cell) -> float:
    """The mean weak gap, as the head of ``rate_convex_concave`` has it, of coordinates that walk alone."""
    T, step, deviation = numbers(game, cell)
    k = math.floor(game.wall / step)
    walk = (k + 1) * (game.wall - step * k / 2) / T
    held = held_off(step, deviation)
    return 2 * game.active * game.drift * (walk + held - held**2 / (step * T))


def premises(game: Idle, cell: Cell) -> Iterable[Premise]:
    """The walk ends before the run does."""
    T, step, _ = numbers(game, cell)
    yield Premise("the steps over those that lead to the corner", T * step / game.wall, 1.5)
    yield Premise("the smoothness of the game", game.smoothness, math.inf)


FACTORS = ("n", "d", "epsilon", LOG_DELTA)
# Privacy leads by 5 in the theorem's bound, whose slopes along these points are those of simulated walks within .01, as
# the smaller terms of both bend them alike. Of such points these tell four exponents apart in the fewest steps.
CELLS = rows(
    ("n", "d", "epsilon", "delta"), (100, 32, 1.0, 1e-6), (100, 32, 1.0, 1e-5), (125, 32, 1.0, 1e-20),
    (160, 32, 0.4, 1e-5), (160, 128, 1.0, 1e-6), (200, 32, 1.0, 1e-9), (250, 32, 0.3, 1e-8), (300, 32, 1.0, 1e-14),
    (400, 96, 1.0, 1e-6),
)  # fmt: skip


def runs(cell: Cell) -> int:
    """Runs of one measurement: their relative variance goes as N/n over the coordinates that have a slope."""
    return round(2400 * math.sqrt(level(cell, LOG_DELTA) / cell["d"]) / (cell["epsilon"] * cell["n"]))


EXPERIMENTS = (
    Experiment(
        name="theorem_2b.privacy", theorem=KINKS, regime="privacy", larger=True, sample=sample, factors=FACTORS,
        grid=Grid(CELLS, 28), chunks=14, predicted=predicted, premises=premises, clear=None, measure=Idle.weak_gap,
        settings=lambda game, cell: {"theorem": "2b"}, constants=constants, within=1.2, runs=runs,
        **{name: OF_DP_SGDA[name] for name in ("algorithm", "variant", "quantity", "attains")},
    ),
)  # fmt: skip
