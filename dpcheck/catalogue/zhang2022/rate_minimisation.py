"""Theorems 3.3 and 3.4 of Zhang et al. 2022 measured: Algorithms 1 and 2 on mean estimation.

f(w; z) = mu/2 |w - z|^2, z on a cube about a point c != 0 with corners at distance s.

Theorem 3.3. z is uniform on the cube, or on its corners alone. The minimiser is the records' mean, and the released
point is mean + N(0, sigma^2 I), which no projection moves while the domain's end is far, so that

    E[F(x) - min F] = mu/2 (s^2/(3 n) + d sigma^2),    and s^2/n on the corners,

two terms with the powers of the theorem's.

Theorem 3.4. Where all records share one curvature h, phase k of a phased output perturbation moves from the released
point x_{k-1} to the solution on its block,

    (mu_k x_{k-1} + h (c + zeta_k))/(mu_k + h),

with c the population's solution and zeta_k the block's sampling error, adds N(0, sigma_k^2 I) and projects onto a ball
about 0. It is enough to follow the coordinate along the line through 0 and c and the distance from it.

For privacy the theorem's mu is so large that the noise of all phases together is .23 D, whatever n, d and epsilon. A
curvature that is a fixed share of mu then costs a fixed share of mu D^2, which is the order of the bound, logarithm
included. The statistical term 1/sqrt(n) leads at d = 1 and epsilon = 1, where mu falls as log(n)/n and with it the
noise, so that the risk falls faster than promised.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.checks.experiment import Cell, Experiment, Grid, Premise, cross, doubling
from dpcheck.problems.mean_estimation import MeanEstimation

AT_ONCE, PHASED = "zhang2022.theorem_3_3", "zhang2022.theorem_3_4"
RADIUS = 1.0  # of the domain
CENTRE = 0.1  # of Theorem 3.3: the distance of c from the start
SHARE = 0.044  # curvature over mu: slopes then stay below L for the largest mu of the grid
_DRAWS = 40_000


class Phase(NamedTuple):
    """Regularisation and noise of one phase, and the records in its block."""

    mu: float
    sigma: float
    block: int


class Moments(NamedTuple):
    """The mean of x - point along the line, and of its squared norm; ``point`` lies on the line."""

    mean: float
    square: float


@cache
def phases(name: str, **values: float) -> tuple[Phase, ...]:
    """Those of a theorem: K phases with mu_k = mu 2^k on blocks of floor(n/K) records."""
    statement = theorem(name)
    schedule = statement.schedule(**values)
    K = int(schedule["K"])
    return tuple(
        Phase(schedule["mu"] * 2**k, statement.noise(**values, k=k)["sigma"], int(values["n"]) // K)
        for k in range(1, K + 1)
    )  # fmt: skip


@cache
def moments(
    of: tuple[Phase, ...], *, d: int, curvature: float, centre: float, spread: float, radius: float, point: float
) -> Moments:
    """Those of the last released point about ``point``, from a start at 0.

    spread : standard deviation of one record's solution in each coordinate
    """
    rng = np.random.default_rng(0)
    along, across = np.zeros(_DRAWS), np.zeros(_DRAWS)
    for mu, sigma, block in of:
        keep, pull = mu / (mu + curvature), curvature / (mu + curvature)
        noise = float(np.hypot(sigma, pull * spread / np.sqrt(block)))  # projected later: no solution is at the edge
        along = keep * along + pull * centre + noise * rng.standard_normal(_DRAWS)
        across = _distance(keep * across, noise, d - 1, rng)
        shrink = np.minimum(1.0, radius / np.hypot(along, across))
        along, across = shrink * along, shrink * across
    return Moments(float(along.mean()) - point, float(((along - point) ** 2 + across**2).mean()))


def _distance(at: Array, noise: float, dimensions: int, rng: np.random.Generator) -> Array:
    """|at e + noise N(0, I)| in so many dimensions, e a unit vector."""
    if dimensions == 0:
        return at
    squares = (at + noise * rng.standard_normal(len(at))) ** 2
    if dimensions > 1:
        squares = squares + noise**2 * rng.chisquare(dimensions - 1, len(at))
    return np.asarray(np.sqrt(squares))


class Cube(NamedTuple):
    """corner : s;  variance : of a record, over s^2"""

    corner: float
    variance: float

    def sampling(self, n: float) -> float:
        """E |mean of n records - c|^2."""
        return self.variance * self.corner**2 / n


CLOSE, SPREAD = Cube(0.1, 1 / 3), Cube(0.9, 1.0)  # sampling errors: small in one regime, large in the other


def sample_at_once(cube: Cube, cell: Cell, rng: np.random.Generator) -> MeanEstimation:
    """Records about c = (0.1, 0, ...), on the cube's corners where their variance is s^2, else all over it."""
    n, d = int(cell["n"]), int(cell["d"])
    places: Array = rng.integers(0, 2, (n, d)).astype(float) if cube.variance == 1 else rng.random((n, d))
    records = cube.corner / math.sqrt(d) * (2 * places - 1)
    records[:, 0] += CENTRE
    return MeanEstimation(records, bound=CENTRE + cube.corner, radius=RADIUS)


def excess_at_once(problem: MeanEstimation, outputs: Array, *, cube: Cube) -> float:
    """mu/2 |x - c|^2; the part of it that the records' mean has is replaced by its expectation, which spares chance."""
    centre = np.zeros(problem.dim_w)
    centre[0] = CENTRE
    mean = problem.records.mean(0)
    chance = ((mean - centre) ** 2).sum() - cube.sampling(len(problem.records))
    return float(0.5 * problem.mu * (((outputs - centre) ** 2).sum(1).mean() - chance))


def constants_at_once(problem: MeanEstimation, cell: Cell) -> dict[str, float]:
    """The parameters of Theorem 3.3."""
    return {**cell, "L": problem.lipschitz_w, "ell": problem.smoothness, "mu": problem.convexity}


def noise(problem: MeanEstimation, cell: Cell) -> float:
    """The size of the theorem's noise, sqrt(d) sigma."""
    return math.sqrt(cell["d"]) * theorem(AT_ONCE).noise(**constants_at_once(problem, cell))["sigma"]


def predicted_at_once(problem: MeanEstimation, cell: Cell, *, cube: Cube) -> float:
    """Sampling error and noise."""
    return 0.5 * problem.mu * (cube.sampling(cell["n"]) + noise(problem, cell) ** 2)


def premises_at_once(problem: MeanEstimation, cell: Cell) -> Iterable[Premise]:
    """The solver has a way to go, and the noise stays in the domain."""
    accuracy = problem.lipschitz_w / (problem.convexity * cell["n"])
    yield Premise("distance from the start to the minimiser over the solver's accuracy", CENTRE / accuracy, 5.0)
    yield Premise("distance to the domain's end over the noise", (RADIUS - CENTRE) / noise(problem, cell), 3.0)


def experiment(regime: str, cube: Cube, **more: Any) -> Experiment:
    """One regime of the theorem."""
    return Experiment(
        name=f"theorem_3_3.{regime}", regime=regime, algorithm="output_perturbation", theorem=AT_ONCE,
        quantity="excess population risk", sample=partial(sample_at_once, cube), constants=constants_at_once,
        measure=partial(excess_at_once, cube=cube), predicted=partial(predicted_at_once, cube=cube), within=1.15,
        premises=premises_at_once, clear=None, attains="the instance attains the order", **more,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Declared(MeanEstimation):
    """Records uniform on a cube about (centre, 0, ...), corners ``spread`` away, and the declared constant L = 1."""

    centre: float = 0.0
    spread: float = 0.0
    name: str = "mean_estimation"

    lipschitz_w = 1.0  # a public constant

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
    mu = SHARE * theorem(PHASED).schedule(**constants(None, cell))["mu"]
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
        phases(PHASED, **constants(problem, cell)), d=problem.dim_w, curvature=problem.mu, centre=problem.centre,
        spread=problem.spread / math.sqrt(3 * problem.dim_w), radius=RADIUS, point=problem.centre,
    )  # fmt: skip


def predicted(problem: Declared, cell: Cell) -> float:
    """The excess risk from the theorem's phases."""
    return 0.5 * problem.mu * law(problem, cell).square


def premises(problem: Declared, cell: Cell) -> Iterable[Premise]:
    """The declared L is one, noise leaves room in the domain, and the start is not the end."""
    of = phases(PHASED, **constants(problem, cell))
    noise = math.sqrt(cell["d"] * sum(phase.sigma**2 for phase in of))
    start = excess(problem, problem.start[None])
    end = predicted(problem, cell)
    yield Premise("the declared Lipschitz constant over the least", problem.slack, 1.0)
    yield Premise("distance to the domain's end over all the noise", RADIUS / noise, 2.0)
    yield Premise("how far the risk at the start is from the predicted one, relative to it", abs(start / end - 1), 0.2)


COMMON: dict[str, Any] = {
    "algorithm": "phased_output_perturbation", "theorem": PHASED, "quantity": "excess population risk",
    "measure": excess, "constants": constants, "predicted": predicted, "premises": premises, "clear": None,
}  # fmt: skip
NOISY = {"n": 2**12, "d": 90, "epsilon": 0.27, "delta": 1e-6}
NOISY_CELLS = (
    *cross(NOISY, d=(32, 90, 256), epsilon=(0.77, 0.095)),
    *cross(NOISY | {"epsilon": 0.54}, n=doubling(2**10, 2**13)),
)
LARGE_CELLS = cross({"d": 1, "epsilon": 1.0, "delta": 1e-6}, n=(18_500, 32_000, 55_000, 93_000))
CELLS_AT_ONCE = cross(
    {"n": 7000, "d": 50, "epsilon": 0.19, "delta": 1e-6},
    n=(4096, 7000, 12000, 20500), d=(16, 50, 160), epsilon=(0.11, 0.19, 0.33),
)  # fmt: skip
LARGE_AT_ONCE = cross({"d": 1, "epsilon": 1.0, "delta": 9e-7}, n=doubling(2**16, 2**20))

EXPERIMENTS = (
    experiment(
        "privacy", CLOSE, factors=("n", "d", "epsilon"), grid=Grid(CELLS_AT_ONCE, 12),
        runs=lambda cell: round(64_000 / cell["d"]),
    ),
    experiment(
        "statistical", SPREAD, factors=("n",), grid=Grid(LARGE_AT_ONCE, 12), runs=lambda cell: int(2**26 / cell["n"]),
    ),
    Experiment(
        name="theorem_3_4.privacy", regime="privacy", sample=scaled, factors=("n", "d", "epsilon"),
        grid=Grid(NOISY_CELLS, 20), runs=lambda cell: max(2, round(3800 / cell["d"])), within=1.05,
        attains="the instance attains the order", **COMMON,
    ),
    Experiment(
        name="theorem_3_4.statistical", regime="statistical", sample=fixed, factors=("n",),
        grid=Grid(LARGE_CELLS, 30), data_sets=3, runs=14, within=1.4,
        attains="the instance is solved faster than promised", **COMMON,
    ),
)  # fmt: skip
