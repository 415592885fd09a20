"""Theorems 3.3 and 3.4 of Zhang et al. 2022 measured: Algorithms 1 and 2 on mean estimation.

f(w; z) = mu/2 |w - z|^2, z on a cube about a point c != 0 with corners at distance s.

Theorem 3.3. z is uniform on the cube, or on its corners alone. The minimiser is the records' mean, and the released
point is mean + N(0, sigma^2 I), which no projection moves while the domain's end is far, so that

    E[F(x) - min F] = mu/2 (s^2/(3 n) + d sigma^2),    and s^2/n on the corners,

two terms with the powers of the theorem's.

Theorem 3.4. Losses are linear, f(w; z) = <z, w>, with |E z| = g. Phase k of a phased output perturbation moves from the
released point x_{k-1} to

    x_{k-1} - (E z + zeta_k)/mu_k,        mu_k = mu 2^k,

zeta_k the block's sampling error, adds N(0, sigma_k^2 I) and projects onto the ball. It is enough to follow the
coordinate along E z and the distance from that line.

For privacy all records are the same and g = mu D/4, chosen against the algorithm at each grid point as the instances of
lower bounds are: the regularisers let it go a quarter of the way, so that the excess is 3/16 mu D^2, an eleventh of the
theorem's bound, logarithm included. For the statistical term records are +-1 with a mean of .4 sqrt(log2(n)/n): the
records are then wrong of its sign with a chance that does not depend on n, and the excess is sqrt(log2(n)/n) L D in
order: a logarithm's root below the theorem's, which :mod:`.rate_statistical` attains, and a larger share of the bound
than there. That is so from n = 1.3e6 on, where the theorem's mu is L/(D sqrt n): below that, mu has the order of the
privacy term, whatever leads in the bound.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.checks.experiment import LOG_DELTA, Cell, Experiment, Grid, Premise, cross, doubling, rows
from dpcheck.problems.linear import Linear
from dpcheck.problems.mean_estimation import MeanEstimation

AT_ONCE, PHASED = "zhang2022.theorem_3_3", "zhang2022.theorem_3_4"
RADIUS = 1.0  # of the domain
CHANCE = 0.4  # of Theorem 3.4: the records' mean over sqrt(log2(n)/n)
CENTRE = 0.1  # of Theorem 3.3: the distance of c from the start
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
    of: tuple[Phase, ...], *, d: int, curvature: float, slope: float, spread: float, radius: float, point: float
) -> Moments:
    """Those of the last released point about ``point``, from a start at 0.

    curvature, slope : of the mean loss, at 0 along the line;  spread : deviation of an entry of one record's gradient
    """
    rng = np.random.default_rng(0)
    along, across = np.zeros(_DRAWS), np.zeros(_DRAWS)
    for mu, sigma, block in of:
        keep, pull = mu / (mu + curvature), 1 / (mu + curvature)
        noise = float(np.hypot(sigma, pull * spread / np.sqrt(block)))  # projected later: no solution is at the edge
        along = keep * along - pull * slope + noise * rng.standard_normal(_DRAWS)
        across = _distance(keep * across, noise, d - 1, rng)
        shrink = np.minimum(1.0, radius / np.maximum(np.hypot(along, across), 1e-300))
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
class Slope(Linear):
    """A linear loss with E z = slope e_1;  chance : added to the end point's x_1 for what these records do to it."""

    slope: float = 1.0
    chance: float = 0.0


def constants(problem: Any, cell: Cell) -> dict[str, float]:
    """The theorem's parameters."""
    return {**cell, "L": 1.0, "D": RADIUS}


@lru_cache(maxsize=1)  # equal records take longer to make than to run on
def _equal(n: int, d: int, slope: float) -> Slope:
    records = np.zeros((n, d))
    records[:, 0] = slope
    return Slope(records, RADIUS, slope=slope)


def equal(cell: Cell, rng: np.random.Generator) -> Slope:
    """Records g e_1."""
    return _equal(int(cell["n"]), int(cell["d"]), theorem(PHASED).schedule(**constants(None, cell))["mu"] * RADIUS / 4)


def signs(cell: Cell, rng: np.random.Generator) -> Slope:
    """Independent records +-1, sorted in each block, which changes no solution."""
    n, of = int(cell["n"]), phases(PHASED, **constants(None, cell))
    slope = CHANCE * math.sqrt(len(of) / n)
    block = of[0].block
    records, x = np.ones((n, 1)), 0.0
    for k, (mu, _, _) in enumerate(of):
        below = rng.binomial(block, (1 - slope) / 2)
        records[k * block : k * block + below] = -1.0
        x = min(max(x - (1 - 2 * below / block) / mu, -RADIUS), RADIUS)
    silent = tuple(phase._replace(sigma=0.0) for phase in of)
    return Slope(records, RADIUS, slope=slope, chance=_moments(silent, 1, slope, 1.0).mean - RADIUS - x)


def excess(problem: Slope, outputs: Array) -> float:
    """<E z, w> + g D; the end point that the records lead to without noise is replaced by its expectation."""
    return float(problem.slope * (RADIUS + outputs[:, 0].mean() + problem.chance))


def _moments(of: tuple[Phase, ...], d: int, slope: float, spread: float) -> Moments:
    """About -D e_1, where the loss is least."""
    return moments(of, d=d, curvature=0.0, slope=slope, spread=spread, radius=RADIUS, point=-RADIUS)


def predicted(spread: float, problem: Slope, cell: Cell) -> float:
    """The excess risk from the theorem's phases."""
    of = phases(PHASED, **constants(problem, cell))
    return problem.slope * _moments(of, problem.dim_w, problem.slope, spread).mean


def premises(spread: float, problem: Slope, cell: Cell) -> Iterable[Premise]:
    """The declared L is one, noise leaves room in the domain, and the start is not the end."""
    of = phases(PHASED, **constants(problem, cell))
    noise = math.sqrt(cell["d"] * sum(phase.sigma**2 for phase in of))
    yield Premise("the declared Lipschitz constant over the least", 1 / max(problem.slope, spread), 1.0)
    yield Premise("distance to the domain's end over all the noise", RADIUS / noise, 2.0)
    apart = abs(problem.slope * RADIUS / predicted(spread, problem, cell) - 1)
    yield Premise("how far the risk at the start is from the predicted one, relative to it", apart, 0.2)


COMMON: dict[str, Any] = {
    "algorithm": "phased_output_perturbation", "theorem": PHASED, "quantity": "excess population risk",
    "measure": excess, "constants": constants, "clear": None,
}  # fmt: skip
FACTORS, SIZES = ("n", "d", "epsilon", LOG_DELTA), ("n", "d", "epsilon", "delta")
# Privacy leads by 5 and slopes keep below L; of such points these tell four exponents apart best.
NOISY_CELLS = rows(
    SIZES, (2**12, 16, 0.3, 1e-5), (2**14, 8, 0.05, 1e-12), (2**14, 32, 0.1, 1e-10), (2**14, 32, 0.3, 1e-12),
    (2**14, 128, 0.2, 1e-12), (2**15, 16, 0.1, 1e-5), (2**15, 32, 0.05, 1e-5), (2**15, 32, 0.2, 1e-12),
    (2**15, 128, 0.3, 1e-5),
)  # fmt: skip
LARGE_CELLS = cross({"d": 1, "epsilon": 1.0, "delta": 1e-7}, n=(1_500_000, 3_000_000, 6_000_000))
CELLS_AT_ONCE = cross(
    {"n": 7000, "d": 50, "epsilon": 0.19, "delta": 1e-6},
    n=(4096, 7000, 12000, 20500), d=(16, 50, 160), epsilon=(0.11, 0.19, 0.33), delta=(1e-5, 1e-12),
)  # fmt: skip
LARGE_AT_ONCE = cross({"d": 1, "epsilon": 1.0, "delta": 9e-7}, n=doubling(2**16, 2**20))

EXPERIMENTS = (
    experiment(
        "privacy", CLOSE, factors=FACTORS, grid=Grid(CELLS_AT_ONCE, 12),
        runs=lambda cell: round(64_000 / cell["d"]),
    ),
    experiment(
        "statistical", SPREAD, factors=("n",), grid=Grid(LARGE_AT_ONCE, 12), runs=lambda cell: int(2**26 / cell["n"]),
    ),
    Experiment(
        name="theorem_3_4.privacy", regime="privacy", sample=equal, factors=FACTORS,
        grid=Grid(NOISY_CELLS, 16), runs=lambda cell: max(2, round(100 / cell["d"])), within=1.1,
        predicted=partial(predicted, 0.0), premises=partial(premises, 0.0),
        attains="the instance attains the order, at an eleventh of the bound", **COMMON,
    ),
    Experiment(
        name="theorem_3_4.signs", regime="statistical", sample=signs, factors=(),
        grid=Grid(LARGE_CELLS, 30), full=Grid(LARGE_CELLS, 300), within=1.3,
        predicted=partial(predicted, 1.0), premises=partial(premises, 1.0), **COMMON,
    ),
)  # fmt: skip
