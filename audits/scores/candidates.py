"""The candidate scores: some that need no fitting, and many learned from earlier runs of both datasets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.scores import Score, discriminants
from dpcheck.audits.scores.exact import Extreme, Lattice, Repeats, Short, lattices, repeats, specials
from dpcheck.audits.scores.histograms import (
    Coordinate,
    Histogram,
    Pair,
    histogram,
    pairs,
    patterns,
    product,
    promises,
)

Floats = NDArray[np.float64]

# The most numbers of an output that have scores of their own; the shares at which the laws of wider outputs are
# compared to choose them; the width up to which the sum over all numbers, and pairs of any two, are tried.
_COORDINATES = 32
_GLANCES = (0.0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0)
_PRODUCT = 512
# Numbers of an output all of whose pairs are examined, and pairs of a wider output: those most alike and most often
# equal. Runs of each dataset that are examined, and pairs kept by each criterion.
_PAIRED = 8
_ALIKE = 24
_LOOKED = 4_000
_PAIRS = 2
# Numbers of an output given to the trees: those that reveal most.
_FEATURES = 12


def given(a: Floats, b: Floats) -> list[Score]:
    """Return scores that need no fitting: single numbers, of a wide output those that differ most at a first glance."""
    columns, width = _telling(a, b), a.shape[1]
    ends = [Extreme(end) for end in ("smallest", "largest")] if width > 1 else []
    return [*(Coordinate(index, width) for index in columns), *specials(a, b, columns), *ends]


def _telling(a: Floats, b: Floats) -> list[int]:
    """Return the columns that have scores of their own, at most ``_COORDINATES``."""
    width = a.shape[1]
    if width <= _COORDINATES:
        return list(range(width))
    a, b = a[:_LOOKED], b[:_LOOKED]
    both = np.sort(np.concatenate([a, b]), axis=0)
    both[np.isnan(both)] = np.inf  # NaN lies in neither tail; at infinity the two comparisons below see it
    apart = np.zeros(width)
    for share in _GLANCES:  # as a Kolmogorov-Smirnov statistic on few points, in standard deviations
        cut = both[int(share * (len(both) - 1))]
        low, high = (np.stack([(v < cut).mean(axis=0), (v <= cut).mean(axis=0)]) for v in (a, b))
        spread = np.sqrt(np.maximum(low * (1 - low) + high * (1 - high), 1 / len(both)))
        apart = np.maximum(apart, (np.abs(low - high) / spread).max(axis=0))
    return sorted(np.argsort(-apart, kind="stable")[:_COORDINATES].tolist())


def learned(a: Floats, b: Floats) -> list[Score]:
    """Fit scores to outputs ``a`` on one dataset and ``b`` on the other, (n, k) each.

    Scores whose sets are easiest to name come first, since the first of equally good ones is taken.
    """
    width = a.shape[1]
    single = [histogram(Coordinate(index, width), a, b) for index in _telling(a, b)]
    if width == 1:
        return [*single, *discriminants.fit(a, b)]
    from dpcheck.audits.scores.trees import trees

    double = [histogram(pair, a, b) for pair in _pairs(a, b)]
    sources = [h.source for h in (*_best(single, a, b, _FEATURES), *double)]
    return [
        *single, *double, *patterns(a, b), *discriminants.fit(a, b),
        *([product(a, b)] if width <= _PRODUCT else []), trees(sources, a, b),
    ]  # fmt: skip


def exact(a: Floats, b: Floats) -> list[Repeats | Lattice | Short]:
    """Return scores that no continuous law gives: the runs in which they are found may also judge them."""
    columns = _telling(a, b)
    return [*repeats(a, b, columns), *lattices(a, b, columns)]


def _pairs(a: Floats, b: Floats) -> list[Pair]:
    """Return the differences and sums that reveal most at a first glance."""
    a, b = a[:_LOOKED], b[:_LOOKED]
    tried = pairs(a, b, range(min(a.shape[1], _PAIRED)))
    if _PAIRED < a.shape[1] <= _PRODUCT:
        tried += [pair for columns in _alike(a, b) for pair in pairs(a, b, columns)]
    looked = [histogram(pair, a, b) for pair in dict.fromkeys(tried)]
    return [h.source for h in _best(looked, a, b, _PAIRS) if isinstance(h.source, Pair)]


def _alike(a: Floats, b: Floats) -> list[list[int]]:
    """Return the pairs of columns with the most correlated ranks on either dataset, and those most often equal."""
    alike: dict[tuple[int, int], None] = {}
    for v in (a, b):
        ranks = np.argsort(np.argsort(v, axis=0, kind="stable"), axis=0, kind="stable").astype(float)
        with np.errstate(all="ignore"):  # a constant is correlated with nothing
            likeness = np.triu(np.abs(np.nan_to_num(np.corrcoef(ranks, rowvar=False))), 1)
        width = likeness.shape[0]
        for place in np.argsort(-likeness, axis=None, kind="stable")[: _ALIKE // 4]:
            alike[divmod(int(place), width)] = None
        order = np.argsort(v, axis=1, kind="stable")
        ordered = np.take_along_axis(v, order, axis=1)
        rows, places = np.nonzero(ordered[:, 1:] == ordered[:, :-1])
        both = np.sort(np.stack([order[rows, places], order[rows, places + 1]], axis=1), axis=1)
        equal, counts = np.unique(both, axis=0, return_counts=True)
        for i, j in equal[np.argsort(-counts, kind="stable")][: _ALIKE // 4]:
            alike[int(i), int(j)] = None
    return [[i, j] for i, j in alike]


def _best(scores: list[Histogram], a: Floats, b: Floats, most: int) -> list[Histogram]:
    """Return the best ``most`` by each of the two criteria of :func:`~.histograms.promises`."""
    order = np.argsort(-promises(scores, a[:_LOOKED], b[:_LOOKED]), axis=1, kind="stable")[:, :most]
    return [scores[i] for i in np.unique(order)]
