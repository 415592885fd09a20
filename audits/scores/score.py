"""A score: a number computed from each output, whose tails tell two datasets apart.

A score maps outputs (n, k) to values (n,). A mechanism hits the set ``{score >= threshold}`` more often on one dataset
than on the other if it leaks; whether the score was chosen well or badly never affects the validity of a test.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.numbers.number_text import plain
from dpcheck.audits.scores.discriminants import Distance, Projection, Quadratic
from dpcheck.audits.scores.histograms import Coordinate, Histogram
from dpcheck.audits.scores.independent_coordinates import Product
from dpcheck.audits.scores.lattices import Lattice, Short
from dpcheck.audits.scores.nan_or_minus_zero import Special
from dpcheck.audits.scores.patterns import Patterns
from dpcheck.audits.scores.repeats import Repeats
from dpcheck.audits.scores.smallest_or_largest import Extreme
from dpcheck.audits.scores.trees import Trees

Floats = NDArray[np.float64]
DescribedScore = Histogram | Patterns | Repeats | Lattice | Short | Special  # these describe their own sets in words
Score = DescribedScore | Coordinate | Extreme | Distance | Projection | Quadratic | Product | Trees

# Larger arrays and longer lists of parameters are not written out, since the seed reproduces them.
_SHOWN = 2_000
_LISTED = 64


def evaluate(score: Score, sign: int, outputs: Floats) -> Floats:
    """Return ``sign * score`` (n,), with -inf, which lies in no tail, where infinite outputs leave it undefined."""
    with np.errstate(all="ignore"):
        values = sign * score(outputs)
    return np.where(np.isnan(values), -np.inf, values)


def parameters(score: Score) -> dict[str, Any]:
    """Return what defines the score, ready for JSON."""
    return {"kind": type(score).__name__.lower(), **{f.name: _plain(getattr(score, f.name)) for f in fields(score)}}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return parameters(value)  # type: ignore[arg-type]
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}" if value.size > _SHOWN else _plain(value.tolist())
    if isinstance(value, tuple) and len(value) > _LISTED:
        return f"{len(value)} times {type(value[0]).__name__.lower()}"
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return plain(value)
