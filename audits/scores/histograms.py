"""Log-likelihood ratios learned by counting the values of one number of the output, or of a difference or sum of two.

Each value that repeats exactly has a bin of its own; the others share bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.numbers.nan_equality import among
from dpcheck.audits.scores.set_text import intervals, one_of

Floats = NDArray[np.float64]

# Bins of a likelihood ratio, the most values that have a bin of their own, and runs for each bin.
_BINS = 64
ATOMS = 256
_FILLED = 40
# Differences and sums are rounded to 2^-40 of the largest number, so that values which differ by rounding alone become
# equal.
_BITS = 40
# The smallest double is 2 to this power.
_SMALLEST = -1074


@dataclass(frozen=True)
class Coordinate:
    """One number of the output."""

    index: int
    width: int

    @property
    def words(self) -> str:
        """The score's name in an inequality."""
        return "output" if self.width == 1 else f"output[{self.index}]"

    def __call__(self, outputs: Floats) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""
        return outputs[:, self.index]


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
        """The score's name in an inequality."""
        return f"output[{self.first}] {'+' if self.sign > 0 else '-'} output[{self.second}]"

    def __call__(self, outputs: Floats) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""
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
        """The score's name in an inequality."""
        return f"learned likelihood ratio of {self.source.words}"

    def __call__(self, outputs: Floats) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""
        values = self.source(outputs)
        ratios = self.ratios[np.searchsorted(self.edges, values, side="right")]
        missing = self.edges.size and np.isnan(self.edges[-1])
        return ratios if missing else np.where(np.isnan(values), np.nan, ratios)

    def describe(self, direction: str, threshold: float) -> str:
        """Name the bins of a set, adjacent ones joined."""
        inside = self.ratios >= threshold if direction == ">=" else self.ratios <= threshold
        return one_of(self.source.words, intervals(self.edges, inside))


def histogram(source: Coordinate | Pair, a: Floats, b: Floats) -> Histogram:
    """Fit the ratio to outputs ``a`` on one dataset and ``b`` on the other, (n, k) each."""
    values = source(a), source(b)
    edges = partition(np.concatenate(values))
    hits = _hits(edges, values)
    return Histogram(source, edges, np.log(hits[0] / hits[1]))


def pairs(a: Floats, b: Floats, columns: Sequence[int]) -> list[Pair]:
    """Return all differences and sums of two of ``columns``."""
    both = np.abs(np.concatenate([a[:, columns], b[:, columns]]))
    _, exponents = np.frexp(np.where(np.isfinite(both), both, 0).max(axis=0))
    return [
        Pair(i, j, sign, 2.0 ** max(int(max(exponents[x], exponents[y])) - _BITS, _SMALLEST))
        for y, j in enumerate(columns)
        for x, i in enumerate(columns[:y])
        for sign in (-1, 1)
    ]


def promises(scores: Sequence[Histogram], a: Floats, b: Floats) -> Floats:
    """Return how well each score tells the datasets apart, (2, m): on average, and in its best set less a margin."""
    found = np.empty((2, len(scores)))
    for i, score in enumerate(scores):
        hits = _hits(score.edges, (score.source(a), score.source(b)))
        share = hits / hits.sum(axis=1, keepdims=True)
        found[0, i] = ((share[0] - share[1]) * score.ratios).sum()
        order = np.argsort(score.ratios, kind="stable")
        tails = (np.cumsum(hits[:, o], axis=1) for o in (order, order[::-1]))
        found[1, i] = max(_limit(tail).max() for tail in tails)
    return found


def partition(both: Floats, bins: int = _BINS, most: int = ATOMS) -> Floats:
    """Return the edges of bins: one for each of the ``most`` commonest values, and ``bins`` equally filled others."""
    return bin_edges(*separate(both, most), bins)


def separate(both: Floats, most: int) -> tuple[Floats, Floats]:
    """Return the values that get bins of their own, and the others, sorted."""
    both = np.sort(both)
    values, counts = tallied(both)
    atoms = heaviest(values, counts, most)
    return atoms, both[np.repeat(~among(values, np.sort(atoms)), counts)] if atoms.size else both


def tallied(ordered: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the distinct numbers of a sorted array, and how often each occurs."""
    before = ordered[:-1]
    last = np.flatnonzero(np.append((ordered[1:] != before) & (before == before), True))  # NaN comes last
    return ordered[last], np.diff(last, prepend=-1)


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
    places = (np.searchsorted(edges, v, side="right") for v in values)
    return np.array([np.bincount(p, minlength=edges.size + 1) for p in places]) + 1.0


def _limit(tails: Floats) -> Floats:
    """Return the log-ratio of two counts (2, m), the larger one lowered and the other raised by two standard errors."""
    with np.errstate(all="ignore"):
        limits = [np.log((x - 2 * np.sqrt(x)) / (y + 2 * np.sqrt(y))) for x, y in (tails, tails[::-1])]
    return np.asarray(np.nan_to_num(np.maximum(*limits), nan=-np.inf))
