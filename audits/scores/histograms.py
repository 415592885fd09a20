"""Log-likelihood ratios learned by counting the values of one number of the output, or of a difference or sum of two.

Each value that repeats exactly has a bin of its own; the others share bins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import Floats
from dpcheck.audits.running.datasets import among, exactly, same, shown, tallied
from dpcheck.audits.scores import Coordinate, named, one_of
from dpcheck.audits.scores.exact import GLANCED

# Bins of a likelihood ratio, the most values that have a bin of their own, and runs for each bin.
_BINS = 64
ATOMS = 256
_FILLED = 40


@dataclass(frozen=True)
class Pair:
    """The difference or sum of two numbers of the output, rounded to a multiple of ``grid``.

    Noise that was used twice cancels in one of them. Equal infinities differ by 0; NaN stays NaN.
    """

    first: int
    second: int
    sign: int  # of the second
    grid: float

    @property
    def words(self) -> str:
        return f"output[{self.first}] {'+' if self.sign > 0 else '-'} output[{self.second}]"

    def __call__(self, outputs: Floats) -> Floats:
        first, second = outputs[:, self.first], outputs[:, self.second]
        with np.errstate(all="ignore"):
            values = first + self.sign * second
            values = np.where(np.isnan(values) & ~np.isnan(first) & ~np.isnan(second), 0.0, values)
            return np.asarray(np.rint(values / self.grid) * self.grid)


@dataclass(frozen=True, eq=False)
class Histogram:
    """The log-likelihood ratio of one number, constant on bins ``[edges[i-1], edges[i])``.

    If the last edge is NaN, NaN has a bin of its own; otherwise it has no ratio.
    """

    source: Coordinate | Pair
    edges: Floats
    ratios: Floats  # (edges.size + 1,)

    @property
    def words(self) -> str:
        return f"learned likelihood ratio of {self.source.words}"

    def __call__(self, outputs: Floats) -> Floats:
        values = self.source(outputs)
        ratios = self.ratios[np.searchsorted(self.edges, values, side="right")]
        missing = self.edges.size and np.isnan(self.edges[-1])
        return ratios if missing else np.where(np.isnan(values), np.nan, ratios)

    def describe(self, direction: str, threshold: float) -> str:
        inside = self.ratios >= threshold if direction == ">=" else self.ratios <= threshold
        return one_of(self.source.words, intervals(self.edges, inside))


def histogram(source: Coordinate | Pair, a: Floats, b: Floats) -> Histogram:
    """Fit the ratio to outputs ``a`` on one dataset and ``b`` on the other, (n, k) each."""
    values = source(a), source(b)
    edges = bin_edges(*separate(np.concatenate(values), ATOMS), _BINS)
    hits = _hits(edges, values)
    return Histogram(source, edges, np.log(hits[0] / hits[1]))


def promises(scores: Sequence[Histogram], a: Floats, b: Floats) -> Floats:
    """Return how well each score tells the datasets apart, (2, m): on average, and in its best set less a margin."""
    promised = np.empty((2, len(scores)))
    for i, score in enumerate(scores):
        hits = _hits(score.edges, (score.source(a), score.source(b)))
        share = hits / hits.sum(axis=1, keepdims=True)
        promised[0, i] = ((share[0] - share[1]) * score.ratios).sum()
        order = np.argsort(score.ratios, kind="stable")
        tails = (np.cumsum(hits[:, o], axis=1) for o in (order, order[::-1]))
        promised[1, i] = max(_limit(tail).max() for tail in tails)
    return promised


def best(scores: list[Histogram], a: Floats, b: Floats, most: int) -> list[Histogram]:
    """Return the best ``most`` by each of the two criteria of :func:`promises`."""
    order = np.argsort(-promises(scores, a[:GLANCED], b[:GLANCED]), axis=1, kind="stable")[:, :most]
    return [scores[i] for i in np.unique(order)]


def separate(both: Floats, most: int) -> tuple[Floats, Floats]:
    """Return the ``most`` commonest values, which get bins of their own, and the others, sorted."""
    both = np.sort(both)
    values, counts = tallied(both)
    atoms = heaviest(values, counts, most)
    return atoms, both[np.repeat(~among(values, np.sort(atoms)), counts)] if atoms.size else both


def heaviest(values: Floats, counts: NDArray[np.int64], most: int, least: int = 1) -> Floats:
    """Return all ``values`` (m,), or of more than ``most`` only those whose ``counts`` stand out."""
    if values.size <= most:
        return values[counts >= least]
    heavy = counts >= max(least, 5 * max(1.0, float(np.median(counts))))
    order = np.argsort(-counts[heavy], kind="stable")
    return values[heavy][order[:most]]


def bin_edges(atoms: Floats, rest: Floats, bins: int) -> Floats:
    """Return ascending edges: both ends of each atom, and others with equally many of ``rest`` (sorted) between."""
    bins = min(bins, rest.size // _FILLED)
    inner = (np.arange(1, bins) * rest.size // bins) if bins > 1 else np.zeros(0, int)
    return np.unique(np.concatenate([atoms, np.nextafter(atoms, np.inf), rest[inner]]))


def _hits(edges: Floats, values: Sequence[Floats]) -> Floats:
    """Count the runs of each dataset in each bin, plus one, (2, edges.size + 1)."""
    counts = [np.bincount(np.searchsorted(edges, v, side="right"), minlength=edges.size + 1) for v in values]
    return np.array(counts, np.float64) + 1.0


def _limit(tails: Floats) -> Floats:
    """Return the log-ratio of two counts (2, m), the larger one lowered and the other raised by two standard errors."""
    with np.errstate(all="ignore"):
        limits = [np.log((x - 2 * np.sqrt(x)) / (y + 2 * np.sqrt(y))) for x, y in (tails, tails[::-1])]
    return np.asarray(np.nan_to_num(np.maximum(*limits), nan=-np.inf))


def intervals(edges: Floats, inside: NDArray[np.bool_]) -> list[str]:
    """Write the bins ``[edges[i-1], edges[i])`` that are ``inside`` (m + 1,), with adjacent bins joined.

    An edge that is the next double after the one before it ends the bin of a single value. If NaN is the last edge, it
    begins a bin of its own.
    """
    if edges.size and math.isnan(edges[-1]):
        return intervals(edges[:-1], inside[:-1]) + ["{nan}"] * int(inside[-1])
    steps = list(zip(np.append(np.nan, edges)[:-1].tolist(), edges.tolist(), strict=True))
    single = {before for before, edge in steps if edge == math.nextafter(before, math.inf)}
    starts, ends = ["[-inf"], []
    for before, edge in steps:
        end = exactly(edge) if edge in single else shown(edge)
        starts.append(f"({exactly(before)}" if before in single else f"[{end}")
        ends.append(f"{exactly(before)}]" if before in single else f"{end})")
    ends.append("inf]")
    turns = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]])))
    joined = [(starts[low], ends[high - 1]) for low, high in zip(turns[::2], turns[1::2], strict=True)]
    return [f"{{{low[1:]}}}" if (low[0], high) == ("[", f"{low[1:]}]") else f"{low}, {high}" for low, high in joined]


# Numbers of bins that are tried, and the most cells (runs times columns) of each dataset that are fitted.
_TRIED_BINS = (2, 4, 8, 16, 32)
_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class Product:
    """The sum of the log-likelihood ratios of all numbers: that of the whole output if they are independent."""

    parts: tuple[Histogram, ...]
    words = "sum of the learned likelihood ratios of all coordinates"

    def __call__(self, outputs: Floats) -> Floats:
        total = np.zeros(len(outputs))
        for part in self.parts:
            total += part(outputs)
        return total


def product(a: Floats, b: Floats) -> Product:
    """Fit the sum, with the number of bins and the shrinking of the ratios that let it err least.

    Where many numbers reveal a little each, the errors of finely counted ratios would drown them.
    """
    rows = max(_CELLS // a.shape[1], 200)
    a, b = a[:rows], b[:rows]
    columns = []
    for i in range(a.shape[1]):
        values = a[:, i], b[:, i]
        columns.append((np.sort(values[0]), np.sort(values[1]), *separate(np.concatenate(values), ATOMS)))
    best, edges, ratios = -np.inf, [], []
    for bins in _TRIED_BINS:
        tried = [bin_edges(atoms, rest, bins) for *_, atoms, rest in columns]
        hits = [  # the runs of each dataset in each bin, plus one, from sorted values, (2, edges.size + 1)
            np.array([np.diff(np.searchsorted(v, edges), prepend=0, append=v.size) for v in sides]) + 1.0
            for edges, (*sides, _, _) in zip(tried, columns, strict=True)
        ]
        logs = [np.log(h[0] / h[1]) for h in hits]
        weights = [h.sum(axis=0) / h.sum() for h in hits]
        noise = np.array([(w / h).sum() for w, h in zip(weights, hits, strict=True)])
        signal = np.array([(w * r * r).sum() for w, r in zip(weights, logs, strict=True)]) - noise
        likely = np.maximum((signal + signal.mean()) / 2, 0.0)
        shrink = likely / (likely + noise)
        gain = (shrink * (2 * signal - shrink * (signal + noise))).sum()
        if gain > best:
            best, edges, ratios = gain, tried, [s * r for s, r in zip(shrink, logs, strict=True)]
    width = a.shape[1]
    return Product(tuple(Histogram(Coordinate(i, width), edges[i], ratios[i]) for i in range(width)))


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
        return f"learned likelihood ratio of the values of {self._names}"

    @property
    def _names(self) -> str:
        if self.columns == tuple(range(self.width)):
            return "output"
        return "(" + ", ".join(f"output[{i}]" for i in self.columns) + ")"

    def __call__(self, outputs: Floats) -> Floats:
        known = _keys(self.patterns)  # ascending
        keys = _keys(_symbols(outputs, self.columns, self.atoms))
        place = np.minimum(np.searchsorted(known, keys), known.size - 1)
        return np.where(known[place] == keys, self.ratios[place], self.rest)

    def describe(self, direction: str, threshold: float) -> str:
        sign = 1 if direction == ">=" else -1
        inside = sign * self.ratios >= sign * threshold
        rest = sign * self.rest >= sign * threshold
        order = np.argsort(-sign * self.ratios, kind="stable")
        listed = order[inside[order] != rest]
        pieces = ["(" + ", ".join(self._value(j, s) for j, s in enumerate(self.patterns[i])) + ")" for i in listed]
        return f"{self._names} {'not in' if rest else 'in'} {{{named(pieces, ', ')}}}"

    def _value(self, column: int, symbol: int) -> str:
        return exactly(self.atoms[column][symbol - 1]) if symbol else "other"


def patterns(a: Floats, b: Floats, codes: int = 0) -> list[Patterns]:
    """Return one score, or none if no two columns or no patterns repeat; the last ``codes`` columns come first."""
    width = a.shape[1]
    columns, atoms = [], []
    for i in [*range(width - codes, width), *range(width - codes)][:_COLUMNS]:
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
    kept_symbols = np.concatenate(symbols)[first[kept]]
    return [Patterns(tuple(columns), width, tuple(atoms), kept_symbols, ratios, others)]


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
