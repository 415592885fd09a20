"""Scores: a number computed from each output, learned from earlier runs, whose tails tell two datasets apart.

A score maps outputs (n, k) to values (n,). A mechanism hits the set ``{score >= threshold}`` more often on one dataset
than on the other if it leaks; whether the score was chosen well or badly never affects the validity of a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpcheck.arrays import Floats


class Score(Protocol):
    """What the dataclasses of this folder are; one may also have ``describe(direction, threshold)``, a set in words."""

    @property
    def words(self) -> str:
        """The score's name in an inequality."""

    def __call__(self, outputs: Floats, /) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""


@dataclass(frozen=True)
class Coordinate:
    """One number of the output."""

    index: int
    width: int

    @property
    def words(self) -> str:
        return "output" if self.width == 1 else f"output[{self.index}]"

    def __call__(self, outputs: Floats) -> Floats:
        return outputs[:, self.index]


def evaluate(score: Score, sign: int, outputs: Floats) -> Floats:
    """Return ``sign * score`` (n,), with -inf, which lies in no tail, where infinite outputs leave it undefined."""
    with np.errstate(all="ignore"):
        values = sign * score(outputs)
    return np.where(np.isnan(values), -np.inf, values)


# Values or intervals named one by one.
_NAMED = 6


def named(pieces: Sequence[str], joint: str) -> str:
    """Join the first few of ``pieces``, and say how many more there are."""
    more = [f"{len(pieces) - _NAMED} more"] if len(pieces) > _NAMED else []
    return joint.join([*pieces[:_NAMED], *more])


def one_of(name: str, pieces: Sequence[str], *, outside: bool = False) -> str:
    """Say that ``name`` lies in one of the sets ``pieces``; or, ``outside``, that it lies in none."""
    if list(pieces) == ["{nan}"]:
        return f"{name} is {'not ' if outside else ''}nan"
    return f"{name} {'not ' if outside else ''}in {named(pieces, ' or ')}"
