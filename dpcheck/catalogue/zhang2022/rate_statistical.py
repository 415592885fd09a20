"""The statistical terms of Theorem 3.4 and Corollary B.6 of Zhang et al. 2022, measured where they are attained.

On f(w; z) = c/2 |w|^2 - <z, w>, with E z = c p e_1 and records on both sides of it as far as L allows, phase k moves to

    (mu_k x_{k-1} + c p e_1 + zeta_k)/(mu_k + c),        mu_k = mu 2^k,

zeta_k the block's sampling error, of variance K/n. Both theorems take mu = L/(D sqrt n) times a constant where their
statistical term leads. With c = mu_1 times another constant, chosen at each n as the instances of lower bounds are,
what is lost, c/2 E|x - p e_1|^2, is (K/n)/mu times a third one: L D log2(n)/sqrt(n), all of the order. That holds while
x stays in the domain, where its deviation is sqrt(K) times a constant: at these n it mostly does, and for n without
end no one-dimensional instance loses more than sqrt(log2(n)/n) L D. Noise adds its share, which falls with n.

Losses linear in w, as signs in :mod:`.rate_minimisation`, lose sqrt(log2(n)/n), and more than this at these n.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array, Constants
from dpcheck.catalogue.zhang2022.rate_minimisation import PHASED, Phase, phases
from dpcheck.catalogue.zhang2022.rate_saddle_points import ONE_SIDED
from dpcheck.checks.experiment import Cell, Experiment, Grid, Premise, cross, doubling
from dpcheck.problems import bounded_rows
from dpcheck.problems.mean_estimation import MeanEstimation
from dpcheck.problems.quadratic import Quadratic

RADIUS = 1.0  # of w
MU_Y, REACH = 0.3, 0.1  # of Corollary B.6: its strong concavity, and the radius of v
_DRAWS = 40_000


@cache
def square(of: tuple[Phase, ...], curvature: float, centre: float, spread: float) -> float:
    """E (x - p)^2 of the released point: exact but for the projection, whose share is simulated."""
    rng = np.random.default_rng(0)
    at = free = np.zeros(_DRAWS)
    mean, variance = -centre, 0.0
    for mu, sigma, block in of:
        keep, noise = mu / (mu + curvature), math.hypot(sigma, spread / (mu + curvature) / math.sqrt(block))
        drawn = (1 - keep) * centre + noise * rng.standard_normal(_DRAWS)
        at, free = np.clip(keep * at + drawn, -RADIUS, RADIUS), keep * free + drawn
        mean, variance = keep * mean, keep**2 * variance + noise**2
    return mean**2 + variance + float(((at - centre) ** 2 - (free - centre) ** 2).mean())


@dataclass(frozen=True)
class Bowl:
    """The loss on the way of a theorem: c over mu_1, p, and how sharp measurements are to be.

    sharpness : over the relative variance of a measurement;  lipschitz : what w has of L = 1
    """

    theorem: str
    ratio: float
    centre: float
    sharpness: float
    lipschitz: float = 1.0

    def constants(self, problem: Any, cell: Cell) -> dict[str, float]:
        """The theorem's parameters."""
        return {**cell, "L": 1.0, "D": RADIUS} | ({"mu_y": MU_Y} if self.theorem == ONE_SIDED else {})

    def phases(self, cell: Cell) -> tuple[Phase, ...]:
        """Those of the theorem."""
        return phases(self.theorem, **self.constants(None, cell))

    def curvature(self, cell: Cell) -> float:
        """c."""
        return self.ratio * self.phases(cell)[0].mu

    def spread(self, cell: Cell) -> float:
        """How far any record's gradient is from the mean one."""
        return self.lipschitz - self.curvature(cell) * (RADIUS + self.centre)

    def square(self, cell: Cell, *, silent: bool = False) -> float:
        """E (x - p)^2 of the released point; without noise where ``silent``."""
        of = tuple(phase._replace(sigma=0.0) for phase in self.phases(cell)) if silent else self.phases(cell)
        return square(of, self.curvature(cell), self.centre, self.spread(cell))

    def noise(self, cell: Cell) -> float:
        """Return by how much the noise raises the squared error, relative to that of sampling alone."""
        return self.square(cell) / self.square(cell, silent=True) - 1

    def runs(self, cell: Cell) -> int:
        """On each data set: with s^2 the noise over the sampling error, a run's relative variance is 4 s^2 + 2 s^4."""
        return math.ceil(self.sharpness * (4 * self.noise(cell) + 2 * self.noise(cell) ** 2))

    def sample(self, cell: Cell, rng: np.random.Generator) -> Basin | Trough:
        """Independent records, sorted in each block, which changes no solution."""
        of, c, spread = self.phases(cell), self.curvature(cell), self.spread(cell)
        block, slopes, x = of[0].block, np.full(int(cell["n"]), spread), 0.0  # slopes at p
        for k, (mu, _, _) in enumerate(of):
            below = rng.binomial(block, 0.5)
            slopes[k * block : k * block + below] = -spread
            x = (mu * x + c * self.centre - spread * (1 - 2 * below / block)) / (mu + c)
            x = min(max(x, -RADIUS), RADIUS)
        chance = (x - self.centre) ** 2 - self.square(cell, silent=True)
        if self.theorem == PHASED:
            places = self.centre - slopes[:, None] / c
            return Basin(places, mu=c, bound=1 / c - RADIUS, radius=RADIUS, centre=self.centre, chance=chance)
        pairs = np.stack([slopes - c * self.centre, np.zeros(len(slopes))], axis=1)
        return Trough(
            pairs, c, MU_Y, 0.0, spread + c * self.centre, RADIUS, lipschitz=self.lipschitz, centre=self.centre,
            chance=chance,
        )  # fmt: skip

    def predicted(self, problem: Any, cell: Cell) -> float:
        """The loss from the theorem's phases."""
        return 0.5 * self.curvature(cell) * self.square(cell)

    def premises(self, problem: Any, cell: Cell) -> Iterable[Premise]:
        """The sampling error is most of what is lost, and the start is not the end."""
        yield Premise("what the sampling error loses over what the noise adds", 1 / self.noise(cell), 5.0)
        yield Premise("the loss at the start over the predicted one", self.centre**2 / self.square(cell), 1.5)


@dataclass(frozen=True, eq=False)
class Basin(MeanEstimation):
    """c/2 (w - z)^2 with records z outside of the domain, of which L = c (R + r) keeps account.

    centre : p;  chance : what these records do to |x - p|^2, less its mean
    """

    centre: float = 0.0
    chance: float = 0.0

    def __post_init__(self) -> None:
        self._set(records=bounded_rows(self.records, self.bound))


@dataclass(frozen=True, eq=False)
class Trough(Quadratic):
    """c/2 w^2 + b w - mu_y/2 v^2, v in a small ball;  lipschitz : in w, which leaves the rest of 1 to v."""

    lipschitz: float = 1.0
    centre: float = 0.0
    chance: float = 0.0
    reach = REACH

    def constants(self) -> Constants:
        """L = 1 is declared."""
        return replace(super().constants(), lipschitz_w=self.lipschitz, lipschitz_v=math.sqrt(1 - self.lipschitz**2))


def lost(problem: Basin | Trough, outputs: Array) -> float:
    """c/2 |x - p|^2; the part of it that these records' end without noise has is replaced by its expectation."""
    return float(0.5 * problem.convexity * (((outputs[:, 0] - problem.centre) ** 2).mean() - problem.chance))


def statistical(name: str, algorithm: str, bowl: Bowl, cells: tuple[Cell, ...], **more: Any) -> Experiment:
    """The statistical term of one theorem."""
    return Experiment(
        name=name, algorithm=algorithm, theorem=bowl.theorem, regime="statistical", sample=bowl.sample,
        constants=bowl.constants, measure=lost, predicted=bowl.predicted, premises=bowl.premises, clear=None,
        factors=("n",), grid=Grid(cells, 24), chunks=24, runs=bowl.runs, within=1.2,
        attains="the instance attains the order at these n", **more,
    )  # fmt: skip


# From such n on mu has the order 1/sqrt n, and noise adds a twelfth at most to what sampling loses.
LARGE = cross({"d": 1, "epsilon": 1.0, "delta": 5e-8}, n=(1_500_000, 3_000_000, 6_000_000, 12_000_000))
ONE_SIDED_LARGE = cross({"d": 1, "epsilon": 1.0, "delta": 2e-7}, n=doubling(2**18, 2**21))

EXPERIMENTS = (
    statistical(
        "theorem_3_4.statistical", "phased_output_perturbation", Bowl(PHASED, 3.0, 0.5, 160.0), LARGE,
        quantity="excess population risk",
    ),
    statistical(
        "corollary_b_6.statistical", "phased_convex_strongly_concave",
        Bowl(ONE_SIDED, 0.7, 0.5, 80.0, math.sqrt(1 - (MU_Y * REACH) ** 2)), ONE_SIDED_LARGE,
        quantity="largest expected value of the released w, less the saddle's",
        settings=lambda problem, cell: {"base": "saddle_svrg"},
    ),
)  # fmt: skip
