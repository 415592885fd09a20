"""Linear and quadratic discriminants of outputs of many numbers, from their means and covariances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# For wider outputs no full covariance is estimated.
_COVARIANCE = 512
# Variances below this share of the largest count as zero.
_FLAT = 1e-12
# A slope fitted without shrinking is taken if it separates this many times as well, in variances, after chance is
# subtracted.
_CLEARLY = 1.5


@dataclass(frozen=True, eq=False)
class Distance:
    """The distance from a centre, each number in units of its spread."""

    centre: Floats
    spread: Floats
    words = "distance of the output from its mean"

    def __call__(self, outputs: Floats) -> Floats:
        return np.asarray(np.sqrt((_apart(outputs, self.centre, self.spread) ** 2).sum(axis=1)))


@dataclass(frozen=True, eq=False)
class Projection:
    """The linear discriminant ``v . slope``, where v is the distance from the centre in units of the spread.

    ``slope`` is scaled so that the values' standard deviation on one dataset is about 1.
    """

    centre: Floats
    spread: Floats
    slope: Floats
    words = "linear discriminant of the output"

    def __call__(self, outputs: Floats) -> Floats:
        return np.asarray(_apart(outputs, self.centre, self.spread) @ self.slope)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The quadratic discriminant ``v . curvature v + v . slope``; a diagonal curvature is a vector."""

    centre: Floats
    spread: Floats
    slope: Floats
    curvature: Floats
    words = "quadratic discriminant of the output"

    def __call__(self, outputs: Floats) -> Floats:
        v = _apart(outputs, self.centre, self.spread)
        bent = v @ self.curvature if self.curvature.ndim == 2 else v * self.curvature
        return np.asarray((bent * v).sum(axis=1) + v @ self.slope)


def fit(a: Floats, b: Floats) -> list[Distance | Projection | Quadratic]:
    """Fit discriminants to outputs ``a`` on one dataset and ``b`` on the other, (n, k) each."""
    if min(len(a), len(b)) < 4:
        return []
    with np.errstate(all="ignore"):
        return [s for s in _discriminants(a, b) if all(np.isfinite(v).all() for v in vars(s).values())]


def _discriminants(a: Floats, b: Floats) -> Iterator[Distance | Projection | Quadratic]:
    width, rows = a.shape[1], min(len(a), len(b))
    (mean_a, var_a), (mean_b, var_b) = _moments(a), _moments(b)
    centre = (mean_a + mean_b) / 2
    spread = np.sqrt((var_a + var_b) / 2)
    spread = np.where(spread > 0, spread, 1.0)
    yield Distance(centre, spread)
    a, b = _apart(a, centre, spread), _apart(b, centre, spread)
    half = (a.mean(axis=0) - b.mean(axis=0)) / 2
    if width <= min(_COVARIANCE, rows // 4):
        sa, sb = _covariance(a), _covariance(b)
        if width > 1:
            slope = _slope(a, b, (sa + sb) / 2, half)
            yield Projection(centre, spread, slope / np.sqrt(slope @ half))
        ia, ib = np.linalg.inv(sa), np.linalg.inv(sb)
        yield Quadratic(centre, spread, (ia + ib) @ half, (ib - ia) / 2)
    else:
        va, vb = (np.maximum(v.var(axis=0), 1e-6) for v in (a, b))
        slope = half / ((va + vb) / 2)
        yield Projection(centre, spread, slope / np.sqrt(slope @ half))
        yield Quadratic(centre, spread, (1 / va + 1 / vb) * half, (1 / vb - 1 / va) / 2)


def _slope(a: Floats, b: Floats, shrunk: Floats, half: Floats) -> Floats:
    """Return the slope of the linear discriminant, by a covariance shrunk to its diagonal unless that hides far more.

    Shrinking gives every direction some of the variance of the others. Where noise cancels in a sum, that would hide
    what the sum reveals.
    """
    slope = np.asarray(np.linalg.solve(shrunk, half))
    covariance = (np.cov(a, rowvar=False) + np.cov(b, rowvar=False)) / 2
    variances, directions = np.linalg.eigh(covariance)
    variances = np.maximum(variances, _FLAT * variances[-1])
    along = directions.T @ half
    sharp = np.asarray(directions @ (along / variances))
    luck = len(half) * (1 / len(a) + 1 / len(b)) / 4  # what chance adds to the squared distance of the means, halved
    best, cautious = (
        (along**2 / variances).sum() - luck,
        (slope @ half) ** 2 / ((directions.T @ slope) ** 2 @ variances),
    )
    return sharp if best > _CLEARLY * cautious else slope


def _apart(outputs: Floats, centre: Floats, spread: Floats) -> Floats:
    """Return the distance from the centre in units of the spread; 0 where a number is NaN or infinite."""
    v = (outputs - centre) / spread
    return np.where(np.isfinite(v), v, 0.0)


def _moments(v: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of the finite numbers of each column; 0 and 1 where there are none."""
    there = np.isfinite(v)
    count = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, v, 0.0).sum(axis=0) / count
    variance = (np.where(there, v - mean, 0.0) ** 2).sum(axis=0) / count
    return mean, np.where(there.any(axis=0), variance, 1.0)


def _covariance(v: Floats) -> Floats:
    """Return the covariance, shrunk towards its diagonal so that it can be inverted."""
    width = v.shape[1]
    full = np.cov(v, rowvar=False) if width > 1 else v.var(axis=0, ddof=1, keepdims=True)
    share = width / (width + len(v))
    diagonal = np.diag(np.maximum(np.diag(full), 1e-6))
    return np.asarray((1 - share) * full + share * diagonal + 1e-9 * np.eye(width))
