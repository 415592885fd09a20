"""Scores: numbers computed from a mechanism's outputs whose tails tell two datasets apart.

A score maps outputs (n, k) to values (n,). Which score is good is learned from earlier runs;
whether a set ``{score >= threshold}`` was chosen well or badly never affects validity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Wider outputs get no scores of single coordinates; no full covariance.
_COORDINATES = 32
_COVARIANCE = 256
# Bins of a learned likelihood ratio, and values that may have one of their own.
_BINS = 64
_ATOMS = 256
# Larger arrays of parameters are not written out: the seed gives them again.
_SHOWN = 2_000


@dataclass(frozen=True)
class Coordinate:
    """One number of the output."""

    index: int
    width: int

    @property
    def words(self) -> str:
        """As it appears in an inequality."""
        return "output" if self.width == 1 else f"output[{self.index}]"

    def __call__(self, outputs: Floats) -> Floats:
        """Values (n,)."""
        return outputs[:, self.index]


@dataclass(frozen=True, eq=False)
class Histogram:
    """Log-likelihood ratio of one coordinate, constant on bins ``[edges[i-1], edges[i])``.

    A value that repeats exactly has a bin of its own.
    """

    index: int
    width: int
    edges: Floats
    ratios: Floats  # (edges.size + 1,)

    @property
    def words(self) -> str:
        """As it appears in an inequality."""
        return f"learned likelihood ratio of {Coordinate(self.index, self.width).words}"

    def __call__(self, outputs: Floats) -> Floats:
        """Values (n,)."""
        return self.ratios[np.searchsorted(self.edges, outputs[:, self.index], side="right")]


@dataclass(frozen=True, eq=False)
class Distance:
    """Distance from a centre, each coordinate in units of its spread."""

    centre: Floats
    spread: Floats
    words = "distance of the output from its mean"

    def __call__(self, outputs: Floats) -> Floats:
        """Values (n,)."""
        return np.asarray(np.sqrt((((outputs - self.centre) / self.spread) ** 2).sum(axis=1)))


@dataclass(frozen=True, eq=False)
class Projection:
    """Linear discriminant ``v . slope``, v the distance from the centre in units of the spread.

    ``slope`` is scaled so that the values' standard deviation on one dataset is about 1.
    """

    centre: Floats
    spread: Floats
    slope: Floats
    words = "linear discriminant of the output"

    def __call__(self, outputs: Floats) -> Floats:
        """Values (n,)."""
        return np.asarray(((outputs - self.centre) / self.spread) @ self.slope)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Quadratic discriminant ``v . curvature v + v . slope``; a diagonal curvature is a vector."""

    centre: Floats
    spread: Floats
    slope: Floats
    curvature: Floats
    words = "quadratic discriminant of the output"

    def __call__(self, outputs: Floats) -> Floats:
        """Values (n,)."""
        v = (outputs - self.centre) / self.spread
        bent = v @ self.curvature if self.curvature.ndim == 2 else v * self.curvature
        return np.asarray((bent * v).sum(axis=1) + v @ self.slope)


Score = Coordinate | Histogram | Distance | Projection | Quadratic


def given(width: int) -> list[Score]:
    """Scores that need no fitting."""
    return [Coordinate(index, width) for index in range(min(width, _COORDINATES))]


def learned(a: Floats, b: Floats) -> list[Score]:
    """Scores fitted to outputs ``a`` on one dataset and ``b`` on the other, (n, k) each."""
    width = a.shape[1]
    scores: list[Score] = [
        Histogram(index, width, *_likelihood_ratio(a[:, index], b[:, index]))
        for index in range(min(width, _COORDINATES))
    ]
    a, b = (v[np.isfinite(v).all(axis=1)] for v in (a, b))
    if min(len(a), len(b)) >= 4:
        with np.errstate(all="ignore"):
            scores += [s for s in _discriminants(a, b) if _finite(s)]
    return scores


def evaluate(score: Score, sign: int, outputs: Floats) -> Floats:
    """``sign * score`` (n,); -inf, in no tail, where infinite outputs leave it undefined."""
    with np.errstate(all="ignore"):
        values = sign * score(outputs)
    return np.where(np.isnan(values), -np.inf, values)


def parameters(score: Score) -> dict[str, Any]:
    """What defines the score, ready for JSON."""
    plain = {name: _plain(value) for name, value in vars(score).items()}
    return {"kind": type(score).__name__.lower(), **plain}


def _plain(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    if value.size > _SHOWN:
        return f"array of shape {value.shape}"
    return [v if np.isfinite(v) else str(v) for v in value.tolist()] if value.ndim == 1 else value.tolist()


def _finite(score: Score) -> bool:
    return all(np.isfinite(value).all() for value in vars(score).values())


def _likelihood_ratio(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    both = np.concatenate([a, b])
    values, counts = np.unique(both, return_counts=True)
    atoms = values
    if values.size > _ATOMS:
        heavy = counts >= 5 * max(1.0, float(np.median(counts)))
        order = np.argsort(-counts[heavy], kind="stable")
        atoms = values[heavy][order[:_ATOMS]]
    rest = both[~np.isin(both, atoms)]
    bins = min(_BINS, rest.size // 40)
    inner = (np.arange(1, bins) * rest.size // bins) if bins > 1 else np.zeros(0, int)
    edges = np.unique(np.concatenate([atoms, np.nextafter(atoms, np.inf), np.sort(rest)[inner]]))
    hits = [np.bincount(np.searchsorted(edges, v, side="right"), minlength=edges.size + 1) + 1.0 for v in (a, b)]
    return edges, np.log(hits[0] / hits[1])


def _discriminants(a: Floats, b: Floats) -> Iterator[Score]:
    width, rows = a.shape[1], min(len(a), len(b))
    centre = (a.mean(axis=0) + b.mean(axis=0)) / 2
    spread = np.sqrt((a.var(axis=0) + b.var(axis=0)) / 2)
    spread = np.where(spread > 0, spread, 1.0)
    if not (np.isfinite(centre).all() and np.isfinite(spread).all()):
        return
    yield Distance(centre, spread)
    a, b = (a - centre) / spread, (b - centre) / spread
    half = (a.mean(axis=0) - b.mean(axis=0)) / 2
    if width <= min(_COVARIANCE, rows // 4):
        sa, sb = _covariance(a), _covariance(b)
        if width > 1:
            slope = np.linalg.solve((sa + sb) / 2, half)
            yield Projection(centre, spread, slope / np.sqrt(slope @ half))
        ia, ib = np.linalg.inv(sa), np.linalg.inv(sb)
        yield Quadratic(centre, spread, (ia + ib) @ half, (ib - ia) / 2)
    else:
        va, vb = (np.maximum(v.var(axis=0), 1e-6) for v in (a, b))
        slope = half / ((va + vb) / 2)
        yield Projection(centre, spread, slope / np.sqrt(slope @ half))
        yield Quadratic(centre, spread, (1 / va + 1 / vb) * half, (1 / vb - 1 / va) / 2)


def _covariance(v: Floats) -> Floats:
    """Shrunk towards its diagonal, so that it can be inverted."""
    width = v.shape[1]
    full = np.cov(v, rowvar=False).reshape(width, width)
    share = width / (width + len(v))
    diagonal = np.diag(np.maximum(np.diag(full), 1e-6))
    return np.asarray((1 - share) * full + share * diagonal + 1e-9 * np.eye(width))
