"""Scores: a number computed from each output, learned from earlier runs, whose tails tell two datasets apart.

A score maps outputs (n, k) to values (n,). A mechanism hits the set ``{score >= threshold}`` more often on one dataset
than on the other if it leaks; whether the score was chosen well or badly never affects the validity of a test.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.numbers import plain

Floats = NDArray[np.float64]

# Larger arrays and longer lists of parameters are not written out, since the seed reproduces them.
_SHOWN = 2_000
_LISTED = 64


class Score(Protocol):
    """What the dataclasses of this folder are; one may also have ``describe(direction, threshold)``, a set in words."""

    @property
    def words(self) -> str:
        """The score's name in an inequality."""

    def __call__(self, outputs: Floats, /) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""


def evaluate(score: Score, sign: int, outputs: Floats) -> Floats:
    """Return ``sign * score`` (n,), with -inf, which lies in no tail, where infinite outputs leave it undefined."""
    with np.errstate(all="ignore"):
        values = sign * score(outputs)
    return np.where(np.isnan(values), -np.inf, values)


def parameters(value: Any) -> Any:
    """Return what defines a score, ready for JSON."""
    if is_dataclass(value):
        defining = {f.name: parameters(getattr(value, f.name)) for f in fields(value)}
        return {"kind": type(value).__name__.lower(), **defining}
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}" if value.size > _SHOWN else parameters(value.tolist())
    if isinstance(value, tuple) and len(value) > _LISTED:
        return f"{len(value)} times {type(value[0]).__name__.lower()}"
    if isinstance(value, tuple | list):
        return [parameters(v) for v in value]
    return plain(value)
