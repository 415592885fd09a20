"""The law of a phased output perturbation on a quadratic, simulated from a theorem's own schedule and noise.

Where all records share one curvature h, phase k moves from the released point x_{k-1} to the solution on its block,

    (mu_k x_{k-1} + h (c + zeta_k))/(mu_k + h),

with c the population's solution and zeta_k the block's sampling error, adds N(0, sigma_k^2 I) and projects onto a ball
about 0. All of this is symmetric about the line through 0 and c: it is enough to follow the coordinate along the line
and the distance from it, which makes a draw cost the same in every dimension.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem

_DRAWS = 40_000


class Phase(NamedTuple):
    """Regularisation and noise of one phase, and the records in its block."""

    mu: float
    sigma: float
    block: int


class Moments(NamedTuple):
    """Return the mean of x - point along the line, and of its squared norm; ``point`` lies on the line."""

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
