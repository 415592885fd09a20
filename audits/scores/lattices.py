"""Scores for rounding that depends on the data: on one dataset all values lie on a lattice, or end in zero bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.numbers.low_bits import low_bits
from dpcheck.audits.numbers.number_text import shown
from dpcheck.audits.scores.histograms import Coordinate
from dpcheck.audits.scores.set_text import either

Floats = NDArray[np.float64]

# Runs of each dataset that are examined, distinct values needed for a lattice, and share of the runs on it.
_LOOKED = 4_000
_DISTINCT = 20
_SHARE = 0.99
# Bits of a significand, and zeros at its end that chance does not explain.
_BITS, _ZEROS = 53, 8
# Distance from a multiple, in steps, that rounding explains; the least step, as a share of the range.
_NEAR = 1e-4
_FINE = 1e-9


@dataclass(frozen=True)
class Lattice:
    """1 where one number of the output is ``offset`` plus a multiple of ``step``, up to rounding, else 0."""

    source: Coordinate
    offset: float
    step: float

    @property
    def words(self) -> str:
        """The score's name in an inequality."""
        offset = "" if self.offset == 0 else f"{shown(self.offset)} plus "
        return f"whether {self.source.words} is {offset}a multiple of {shown(self.step)}"

    def __call__(self, outputs: Floats) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""
        with np.errstate(all="ignore"):
            steps = (self.source(outputs) - self.offset) / self.step
            return (np.abs(steps - np.rint(steps)) <= _NEAR).astype(float)

    def describe(self, direction: str, threshold: float) -> str:
        """Say whether a set lies on the lattice or off it."""
        words = self.words.removeprefix("whether ")
        return either(direction, threshold, words, words.replace(" is ", " is not ", 1))


@dataclass(frozen=True)
class Short:
    """1 where the significand of one number of the output ends in ``zeros`` zero bits, as a float32 does, else 0."""

    source: Coordinate
    zeros: int

    @property
    def words(self) -> str:
        """The score's name in an inequality."""
        return f"whether the last {self.zeros} bits of {self.source.words} are 0"

    def __call__(self, outputs: Floats) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""
        return (_zeros(self.source(outputs)) >= self.zeros).astype(float)

    def describe(self, direction: str, threshold: float) -> str:
        """Say whether a set holds the short values or the others."""
        words = self.words.removeprefix("whether ")
        return either(direction, threshold, words, words.replace(" are 0", " are not all 0"))


def lattices(a: Floats, b: Floats, columns: Iterable[int]) -> Iterator[Lattice | Short]:
    """Yield scores for the columns of outputs a and b, (n, k) each, that are rounded on one dataset only.

    A continuous law lies on no lattice, so chance plays no part: the runs that show one may also judge it.
    """
    for index in columns:
        source = Coordinate(index, a.shape[1])
        for ours, theirs in ((a[:_LOOKED], b[:_LOOKED]), (b[:_LOOKED], a[:_LOOKED])):
            for score in _rounded(source, ours):
                if score(ours).mean() >= _SHARE > score(theirs).mean():
                    yield score
                    break


def _rounded(source: Coordinate, outputs: Floats) -> Iterator[Lattice | Short]:
    """Yield the lattice of the smallest distance between two values, and the zero bits that nearly all values share."""
    values = source(outputs)
    distinct = np.unique(values[np.isfinite(values)])
    if distinct.size < _DISTINCT:
        return
    with np.errstate(over="ignore"):
        gaps = np.diff(distinct)
        gaps = gaps[gaps > _FINE * (distinct[-1] - distinct[0])]
    if gaps.size and np.isfinite(gaps).all():
        step = float(np.mean(gaps[gaps < 1.5 * gaps.min()]))  # with less rounding than in one gap
        middle = float(distinct[distinct.size // 2])
        offset = middle - step * round(middle / step)
        yield Lattice(source, 0.0 if abs(offset) <= _NEAR * step else offset, step)
    zeros = int(np.sort(_zeros(values))[int((1 - _SHARE) * (values.size - 1))])
    if zeros >= _ZEROS:
        yield Short(source, zeros)


def _zeros(values: Floats) -> Floats:
    """Count the zero bits at the end of each significand."""
    return np.where(values == 0, _BITS, low_bits(values)[..., 1])
