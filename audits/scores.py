"""Scores: numbers computed from a mechanism's outputs whose tails tell two datasets apart.

A score maps outputs (n, k) to values (n,). Which score is good is learned from earlier runs;
whether a set ``{score >= threshold}`` was chosen well or badly never affects validity.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits import discriminants
from dpcheck.audits.discriminants import Distance, Projection, Quadratic
from dpcheck.audits.histograms import Coordinate, Histogram, Pair, histogram, pairs, promises
from dpcheck.audits.patterns import Patterns, patterns
from dpcheck.audits.product import Product, product
from dpcheck.audits.repeats import Repeats, repeats
from dpcheck.audits.trees import Trees, trees

__all__ = [
    "Coordinate",
    "Histogram",
    "Patterns",
    "Projection",
    "Quadratic",
    "Repeats",
    "Score",
    "evaluate",
    "given",
    "learned",
    "parameters",
    "repeated",
]

Floats = NDArray[np.float64]
Score = Coordinate | Histogram | Distance | Projection | Quadratic | Product | Patterns | Repeats | Trees

# Wider outputs get no scores of single coordinates; no product.
_COORDINATES = 32
_PRODUCT = 512
# Coordinates whose pairs are looked at, runs of each dataset for looking, pairs kept by each criterion.
_PAIRED = 8
_LOOKED = 4_000
_PAIRS = 2
# Coordinates given to the trees, those that say most.
_FEATURES = 12
# Larger arrays and longer lists of parameters are not written out: the seed gives them again.
_SHOWN = 2_000
_LISTED = 64


def given(width: int) -> list[Score]:
    """Scores that need no fitting."""
    return [Coordinate(index, width) for index in range(min(width, _COORDINATES))]


def learned(a: Floats, b: Floats) -> list[Score]:
    """Scores fitted to outputs ``a`` on one dataset and ``b`` on the other, (n, k) each.

    Those whose sets are easiest to name come first: of equally good ones the first is taken.
    """
    width = a.shape[1]
    single = [histogram(Coordinate(index, width), a, b) for index in range(min(width, _COORDINATES))]
    if width == 1:
        return [*single, *discriminants.fit(a, b)]
    double = [histogram(pair, a, b) for pair in _pairs(a, b)]
    sources = [h.source for h in (*_best(single, a, b, _FEATURES), *double)]
    return [
        *single, *double, *patterns(a, b), *discriminants.fit(a, b),
        *([product(a, b)] if width <= _PRODUCT else []), trees(sources, a, b),
    ]  # fmt: skip


def repeated(a: Floats, b: Floats) -> list[Repeats]:
    """Scores that the runs that they are found in may also judge."""
    return list(repeats(a, b, _COORDINATES))


def evaluate(score: Score, sign: int, outputs: Floats) -> Floats:
    """``sign * score`` (n,); -inf, in no tail, where infinite outputs leave it undefined."""
    with np.errstate(all="ignore"):
        values = sign * score(outputs)
    return np.where(np.isnan(values), -np.inf, values)


def parameters(score: Score) -> dict[str, Any]:
    """What defines the score, ready for JSON."""
    return {"kind": type(score).__name__.lower(), **{f.name: _plain(getattr(score, f.name)) for f in fields(score)}}


def _pairs(a: Floats, b: Floats) -> list[Pair]:
    """The differences and sums that tell most, in a first look."""
    a, b = a[:_LOOKED], b[:_LOOKED]
    looked = [histogram(pair, a, b) for pair in pairs(a, b, range(min(a.shape[1], _PAIRED)))]
    return [h.source for h in _best(looked, a, b, _PAIRS) if isinstance(h.source, Pair)]


def _best(scores: list[Histogram], a: Floats, b: Floats, most: int) -> list[Histogram]:
    """At most ``most`` by either criterion."""
    order = np.argsort(-promises(scores, a[:_LOOKED], b[:_LOOKED]), axis=1, kind="stable")[:, :most]
    return [scores[i] for i in np.unique(order)]


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return parameters(value)  # type: ignore[arg-type]
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}" if value.size > _SHOWN else _plain(value.tolist())
    if isinstance(value, tuple) and len(value) > _LISTED:
        return f"{len(value)} times {type(value[0]).__name__.lower()}"
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value if not isinstance(value, float) or np.isfinite(value) else str(value)
