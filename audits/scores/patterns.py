"""The likelihood ratio of values that repeat together, such as bit vectors, or an index with its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.numbers.nan_equality import among, same
from dpcheck.audits.numbers.number_text import exactly
from dpcheck.audits.scores.histograms import ATOMS, heaviest
from dpcheck.audits.scores.set_text import named

Floats = NDArray[np.float64]

# Patterns kept, runs that a pattern needs, columns examined, and the share of a column that must repeat.
_KEPT = 1_024
_SEEN = 3
_COLUMNS = 64
_REPEATING = 0.1


@dataclass(frozen=True, eq=False)
class Patterns:
    """The log-likelihood ratio of the values of several columns together, counted pattern by pattern.

    atoms : for each of ``columns`` the values that repeat, ascending
    patterns : (m, c), the place of a column's value among its atoms, from 1, or 0 for any other value
    ratios : (m,), of the patterns;  rest : the ratio of all other patterns
    """

    columns: tuple[int, ...]
    width: int
    atoms: tuple[Floats, ...]
    patterns: NDArray[np.int64]
    ratios: Floats
    rest: float

    @property
    def words(self) -> str:
        """The score's name in an inequality."""
        return f"learned likelihood ratio of the values of {self._names}"

    @property
    def _names(self) -> str:
        if self.columns == tuple(range(self.width)):
            return "output"
        return "(" + ", ".join(f"output[{i}]" for i in self.columns) + ")"

    def __call__(self, outputs: Floats) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""
        known = _keys(self.patterns)  # ascending
        keys = _keys(_symbols(outputs, self.columns, self.atoms))
        place = np.minimum(np.searchsorted(known, keys), known.size - 1)
        return np.where(known[place] == keys, self.ratios[place], self.rest)

    def describe(self, direction: str, threshold: float) -> str:
        """Name the patterns of a set; or, if it holds the rest, those that it lacks."""
        sign = 1 if direction == ">=" else -1
        inside = sign * self.ratios >= sign * threshold
        rest = sign * self.rest >= sign * threshold
        order = np.argsort(-sign * self.ratios, kind="stable")
        listed = order[inside[order] != rest]
        pieces = ["(" + ", ".join(self._value(j, s) for j, s in enumerate(self.patterns[i])) + ")" for i in listed]
        return f"{self._names} {'not in' if rest else 'in'} {{{named(pieces, ', ')}}}"

    def _value(self, column: int, symbol: int) -> str:
        return exactly(self.atoms[column][symbol - 1]) if symbol else "other"


def patterns(a: Floats, b: Floats) -> list[Patterns]:
    """Return one score, or none if fewer than two columns have values that repeat or no patterns do."""
    width = a.shape[1]
    columns, atoms = [], []
    for i in range(min(width, _COLUMNS)):
        values, counts = np.unique(np.concatenate([a[:, i], b[:, i]]), return_counts=True)
        chosen = np.sort(heaviest(values, counts, ATOMS, least=_SEEN))
        if values.size > 1 and counts[among(values, chosen)].sum() >= _REPEATING * counts.sum():
            columns.append(i)
            atoms.append(chosen)
    if len(columns) < 2:
        return []
    symbols = [_symbols(v, columns, atoms) for v in (a, b)]
    keys = [_keys(s) for s in symbols]
    known, first, place, counts = np.unique(
        np.concatenate(keys), return_index=True, return_inverse=True, return_counts=True
    )
    hits = np.array([np.bincount(p, minlength=known.size) for p in np.split(place, [len(a)])]) + 1.0
    kept = np.sort(np.argsort(-counts, kind="stable")[:_KEPT])
    kept = kept[counts[kept] >= _SEEN]
    if kept.size < 2:
        return []
    rest = (np.array([len(a), len(b)]) - (hits[:, kept] - 1).sum(axis=1)) + 1.0
    ratios, others = np.log(hits[0] / hits[1])[kept], float(np.log(rest[0] / rest[1]))
    found = np.concatenate(symbols)[first[kept]]
    return [Patterns(tuple(columns), width, tuple(atoms), found, ratios, others)]


def _symbols(outputs: Floats, columns: Sequence[int], atoms: Sequence[Floats]) -> NDArray[np.int64]:
    """Return (n, c): the place of each value among its column's atoms, from 1, or 0 if it is none of them."""
    symbols = np.zeros((len(outputs), len(columns)), np.int64)
    for j, (column, known) in enumerate(zip(columns, atoms, strict=True)):
        values = outputs[:, column]
        place = np.minimum(np.searchsorted(known, values), known.size - 1)
        symbols[:, j] = np.where(same(known[place], values), place + 1, 0)
    return symbols


def _keys(symbols: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return one number a row; two different rows have the same number only by accident."""
    keys = np.zeros(len(symbols), np.uint64)
    for column in symbols.T:
        keys = keys * np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64)
    return keys
