"""Scores for outputs that comparisons do not tell apart: NaN, and zero with a minus sign."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.scores.histograms import Coordinate
from dpcheck.audits.scores.set_text import either

Floats = NDArray[np.float64]

_SEEN: dict[str, Callable[[Floats], NDArray[np.bool_]]] = {
    "nan": np.isnan,
    "-0": lambda values: (values == 0) & np.signbit(values),
}


@dataclass(frozen=True)
class Special:
    """1 where one number of the output is ``value``, which is "nan" or "-0", else 0."""

    source: Coordinate
    value: str

    @property
    def words(self) -> str:
        """The score's name in an inequality."""
        return f"whether {self.source.words} is {self.value}"

    def __call__(self, outputs: Floats) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""
        return _SEEN[self.value](self.source(outputs)).astype(float)

    def describe(self, direction: str, threshold: float) -> str:
        """Say which of the two a set is."""
        name = self.source.words
        return either(direction, threshold, f"{name} is {self.value}", f"{name} is not {self.value}")


def specials(a: Floats, b: Floats, columns: Iterable[int]) -> Iterator[Special]:
    """Yield a score for each of these columns of outputs a and b, (n, k) each, that holds NaN or minus zero."""
    for index in columns:
        source = Coordinate(index, a.shape[1])
        for value, seen in _SEEN.items():
            if any(seen(source(v)).any() for v in (a, b)):
                yield Special(source, value)
