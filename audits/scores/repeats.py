"""Scores for values that repeat exactly where nearly all others differ: a release without noise, even a rare one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.numbers.nan_equality import among, same
from dpcheck.audits.scores.histograms import Coordinate, tallied
from dpcheck.audits.scores.set_text import one_of, values

Floats = NDArray[np.float64]

# Share of values that must differ, and the number of runs on both datasets that counts as a repeat.
_DISTINCT = 0.9
_OFTEN = 3


@dataclass(frozen=True, eq=False)
class Repeats:
    """1 for a repeated value that data gives more often, -1 for one that neighbour gives more often, else 0.

    values : (m,), sorted;  sides : (m,)
    """

    source: Coordinate
    values: Floats
    sides: Floats

    @property
    def words(self) -> str:
        """The score's name in an inequality."""
        return f"side on which the value of {self.source.words} repeats"

    def __call__(self, outputs: Floats) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""
        column = self.source(outputs)
        places = np.minimum(np.searchsorted(self.values, column), self.values.size - 1)
        return np.where(same(self.values[places], column), self.sides[places], 0.0)

    def describe(self, direction: str, threshold: float) -> str:
        """Name the values that a set holds, or those that it lacks."""
        low, high = (threshold, np.inf) if direction == ">=" else (-np.inf, threshold)
        inside = (self.sides >= low) & (self.sides <= high)
        if low <= 0 <= high:
            return one_of(self.source.words, values(self.values[~inside]), outside=True)
        return one_of(self.source.words, values(self.values[inside]))


def repeats(a: Floats, b: Floats, columns: Iterable[int]) -> Iterator[Repeats]:
    """Yield a score for each of these columns of outputs a and b, (n, k) each, that is nearly continuous and repeats.

    A continuous law never repeats a value, so chance plays no part: the runs that show the repeats may also judge them.
    """
    width = a.shape[1]
    for index in columns:
        values, counts = tallied(np.sort(np.concatenate([a[:, index], b[:, index]])))
        heavy = values[counts >= _OFTEN]
        if heavy.size == 0 or values.size < _DISTINCT * counts.sum():
            continue
        more = among(a[:, index], heavy), among(b[:, index], heavy)
        left, right = (
            np.bincount(np.searchsorted(heavy, v[m, index]), minlength=heavy.size)
            for v, m in zip((a, b), more, strict=True)
        )
        sides = np.sign(left - right).astype(float)
        if sides.any():
            yield Repeats(Coordinate(index, width), heavy[sides != 0], sides[sides != 0])
