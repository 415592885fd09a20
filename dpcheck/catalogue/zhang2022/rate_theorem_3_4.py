"""Theorem 3.4 of Zhang et al. 2022 measured: Algorithm 2 on mean estimation, f(w; z) = curvature/2 |w - z|^2.

Privacy. The theorem's mu is so large that the noise of all phases together is .23 D, and the way from the start is
.9 of the regulariser's, whatever n, d and epsilon. A curvature that is a fixed share of mu then costs a fixed share of
mu D^2, which is the order of the bound, logarithm included.

Statistical. One problem for all n, with d = 1 at epsilon = 1, where the bound's term 1/sqrt(n) leads. mu falls as
log(n)/n there, and with it the regularisation and the noise, so that the risk falls faster than promised.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.zhang2022.rate_phases import Moments, moments, phases
from dpcheck.checks.experiment import Cell, Experiment, Grid, Premise, cross, doubling
from dpcheck.problems.mean_estimation import MeanEstimation

THEOREM = "zhang2022.theorem_3_4"
RADIUS = 1.0
MARGIN = 0.3  # in one dimension a run is as far off as the mean is: a bend by chance is no bend
SHARE = 0.044  # curvature over mu: slopes then stay below L for the largest mu of the grid


@dataclass(frozen=True, eq=False)
class Declared(MeanEstimation):
    """Records uniform on a cube about (centre, 0, ...), corners ``spread`` away, and the declared constant L = 1."""

    centre: float = 0.0
    spread: float = 0.0
    name: str = "mean_estimation"

    @property
    def lipschitz_w(self) -> float:
        """L = 1, a public constant."""
        return 1.0

    @property
    def slack(self) -> float:
        """The declared constant over the least true one."""
        return self.lipschitz_w / (self.mu * (self.radius + self.bound))


def estimation(cell: Cell, rng: np.random.Generator, *, mu: float, centre: float, spread: float) -> Declared:
    """``n`` such records."""
    n, d = int(cell["n"]), int(cell["d"])
    records = spread / math.sqrt(d) * (2 * rng.random((n, d)) - 1)
    records[:, 0] += centre
    return Declared(records, mu, bound=centre + spread, radius=RADIUS, centre=centre, spread=spread)


def constants(problem: Any, cell: Cell) -> dict[str, float]:
    """The theorem's parameters."""
    return {**cell, "L": 1.0, "D": RADIUS}


def scaled(cell: Cell, rng: np.random.Generator) -> Declared:
    """A curvature of .044 mu."""
    mu = SHARE * theorem(THEOREM).schedule(**constants(None, cell))["mu"]
    return estimation(cell, rng, mu=mu, centre=0.35, spread=0.02)


def fixed(cell: Cell, rng: np.random.Generator) -> Declared:
    """A curvature of .5."""
    return estimation(cell, rng, mu=0.5, centre=0.5, spread=0.5)


def excess(problem: Declared, outputs: Array) -> float:
    """curvature/2 |w - c|^2."""
    centre = np.zeros(problem.dim_w)
    centre[0] = problem.centre
    return float(0.5 * problem.mu * ((outputs - centre) ** 2).sum(1).mean())


def law(problem: Declared, cell: Cell) -> Moments:
    """Moments of the last released w - c."""
    return moments(
        phases(THEOREM, **constants(problem, cell)), d=problem.dim_w, curvature=problem.mu, centre=problem.centre,
        spread=problem.spread / math.sqrt(3 * problem.dim_w), radius=RADIUS, point=problem.centre,
    )  # fmt: skip


def predicted(problem: Declared, cell: Cell) -> float:
    """The excess risk from the theorem's phases."""
    return 0.5 * problem.mu * law(problem, cell).square


def premises(problem: Declared, cell: Cell) -> Iterable[Premise]:
    """The declared L is one, noise leaves room in the domain, and the start is not the end."""
    of = phases(THEOREM, **constants(problem, cell))
    noise = math.sqrt(cell["d"] * sum(phase.sigma**2 for phase in of))
    start = excess(problem, problem.start[None])
    end = predicted(problem, cell)
    yield Premise("the declared Lipschitz constant over the least", problem.slack, 1.0)
    yield Premise("distance to the domain's end over all the noise", RADIUS / noise, 2.0)
    yield Premise("how far the risk at the start is from the predicted one, relative to it", abs(start / end - 1), 0.2)


COMMON: dict[str, Any] = {
    "algorithm": "phased_output_perturbation", "theorem": THEOREM, "quantity": "excess population risk",
    "measure": excess, "constants": constants, "predicted": predicted, "premises": premises, "clear": None,
}  # fmt: skip
NOISY = {"n": 2**12, "d": 90, "epsilon": 0.27, "delta": 1e-6}
NOISY_CELLS = (
    *cross(NOISY, d=(32, 90, 256), epsilon=(0.77, 0.095)),
    *cross(NOISY | {"epsilon": 0.54}, n=doubling(2**10, 2**13)),
)
LARGE_CELLS = cross({"d": 1, "epsilon": 1.0, "delta": 1e-6}, n=(18_500, 32_000, 55_000, 93_000))

EXPERIMENTS = (
    Experiment(
        name="theorem_3_4.privacy", regime="privacy", sample=scaled, factors=("n", "d", "epsilon"),
        grid=Grid(NOISY_CELLS, 20), runs=lambda cell: max(2, round(3800 / cell["d"])), within=1.05,
        attains="the instance attains the order", **COMMON,
    ),
    Experiment(
        name="theorem_3_4.statistical", regime="statistical", sample=fixed, factors=("n",),
        grid=Grid(LARGE_CELLS, 30), data_sets=3, runs=14, within=1.4, margin=MARGIN,
        attains="the instance is solved faster than promised", **COMMON,
    ),
)  # fmt: skip
