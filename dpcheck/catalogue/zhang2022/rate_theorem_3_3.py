"""Theorem 3.3 of Zhang et al. 2022 measured: Algorithm 1 on mean estimation, where all is in closed form.

f(w; z) = mu/2 |w - z|^2, z uniform on a cube about a point c != 0 with corners at distance s, or on those corners
alone. The minimiser is the records' mean, and the released point is mean + N(0, sigma^2 I), which no projection moves
while the domain's end is far, so that

    E[F(x) - min F] = mu/2 (s^2/(3 n) + d sigma^2),    and s^2/n on the corners,

two terms with the powers of the theorem's. All runs on one data set share its solution, so that many cost little more
than one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.checks.experiment import Cell, Experiment, Grid, Premise, cross, doubling
from dpcheck.problems.mean_estimation import MeanEstimation

THEOREM = "zhang2022.theorem_3_3"
RADIUS, CENTRE = 1.0, 0.1  # of the domain, and the distance of c from the start


class Cube(NamedTuple):
    """corner : s;  variance : of a record, over s^2"""

    corner: float
    variance: float

    def sampling(self, n: float) -> float:
        """E |mean of n records - c|^2."""
        return self.variance * self.corner**2 / n


CLOSE, SPREAD = Cube(0.1, 1 / 3), Cube(0.9, 1.0)  # sampling errors: small in one regime, large in the other


def sample(cube: Cube, cell: Cell, rng: np.random.Generator) -> MeanEstimation:
    """Records about c = (0.1, 0, ...), on the cube's corners where their variance is s^2, else all over it."""
    n, d = int(cell["n"]), int(cell["d"])
    places: Array = rng.integers(0, 2, (n, d)).astype(float) if cube.variance == 1 else rng.random((n, d))
    records = cube.corner / math.sqrt(d) * (2 * places - 1)
    records[:, 0] += CENTRE
    return MeanEstimation(records, bound=CENTRE + cube.corner, radius=RADIUS)


def excess(problem: MeanEstimation, outputs: Array, *, cube: Cube) -> float:
    """mu/2 |x - c|^2; the part of it that the records' mean has is replaced by its expectation, which spares chance."""
    centre = np.zeros(problem.dim_w)
    centre[0] = CENTRE
    mean = problem.records.mean(0)
    chance = ((mean - centre) ** 2).sum() - cube.sampling(len(problem.records))
    return float(0.5 * problem.mu * (((outputs - centre) ** 2).sum(1).mean() - chance))


def constants(problem: MeanEstimation, cell: Cell) -> dict[str, float]:
    """The theorem's parameters."""
    return {**cell, "L": problem.lipschitz_w, "ell": problem.smoothness, "mu": problem.convexity}


def noise(problem: MeanEstimation, cell: Cell) -> float:
    """The size of the theorem's noise, sqrt(d) sigma."""
    return math.sqrt(cell["d"]) * theorem(THEOREM).noise(**constants(problem, cell))["sigma"]


def predicted(problem: MeanEstimation, cell: Cell, *, cube: Cube) -> float:
    """Sampling error and noise."""
    return 0.5 * problem.mu * (cube.sampling(cell["n"]) + noise(problem, cell) ** 2)


def premises(problem: MeanEstimation, cell: Cell) -> Iterable[Premise]:
    """The solver has a way to go, and the noise stays in the domain."""
    accuracy = problem.lipschitz_w / (problem.convexity * cell["n"])
    yield Premise("distance from the start to the minimiser over the solver's accuracy", CENTRE / accuracy, 5.0)
    yield Premise("distance to the domain's end over the noise", (RADIUS - CENTRE) / noise(problem, cell), 3.0)


def experiment(regime: str, cube: Cube, **more: Any) -> Experiment:
    """One regime of the theorem."""
    return Experiment(
        name=f"theorem_3_3.{regime}", regime=regime, algorithm="output_perturbation", theorem=THEOREM,
        quantity="excess population risk", sample=partial(sample, cube), measure=partial(excess, cube=cube),
        constants=constants, predicted=partial(predicted, cube=cube), within=1.15, premises=premises, clear=None,
        attains="the instance attains the order", **more,
    )  # fmt: skip


NOISY = {"n": 7000, "d": 50, "epsilon": 0.19, "delta": 1e-6}
NOISY_CELLS = cross(NOISY, n=(4096, 7000, 12000, 20500), d=(16, 50, 160), epsilon=(0.11, 0.19, 0.33))
LARGE_CELLS = cross({"d": 1, "epsilon": 1.0, "delta": 9e-7}, n=doubling(2**16, 2**20))

EXPERIMENTS = (
    experiment(
        "privacy", CLOSE, factors=("n", "d", "epsilon"), grid=Grid(NOISY_CELLS, 12),
        runs=lambda cell: round(64_000 / cell["d"]),
        margin=0.15,  # the bend in d and epsilon, which take three levels each, is known to .1 or so
    ),
    experiment(
        "statistical", SPREAD, factors=("n",), grid=Grid(LARGE_CELLS, 12), runs=lambda cell: int(2**26 / cell["n"]),
        margin=0.15,  # the privacy term, 3.5 % of the whole at the smallest n, bends the law
    ),
)  # fmt: skip
