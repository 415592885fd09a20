"""Scores learned from earlier runs: by counting, and of all numbers together by discriminants and boosted trees.

Linear and quadratic discriminants come from means and covariances. The trees give a log-likelihood ratio in which what
one number reveals may depend on the others. They boost the gradient of the logistic loss on binned features; each is
grown on its share of the runs. Nothing is drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import Floats
from dpcheck.audits.scores import Coordinate, Score
from dpcheck.audits.scores.exact import GLANCED, stated, telling
from dpcheck.audits.scores.histograms import Pair, best, bin_edges, histogram, patterns, product, separate
from dpcheck.compiled import njit

# Differences and sums are rounded to 2^-40 of the largest number, so that values which differ by rounding alone become
# equal.
_BITS = 40
# The smallest double is 2 to this power.
_SMALLEST = -1074
# The widest output whose pairs and products are examined, and the numbers of an output all of whose pairs are. Pairs of
# a wider output: those most alike and most often equal. Pairs kept by each criterion.
WIDE = 512
_PAIRED = 8
_ALIKE = 24
_PAIRS = 2


Whole = NDArray[np.int64]

# Numbers of an output given to the trees: those that reveal most.
_FEATURES = 12


def learned(a: Floats, b: Floats, codes: int = 0) -> list[Score]:
    """Fit scores to outputs ``a`` on one dataset and ``b`` on the other, (n, k) each, the last columns ``codes``.

    Scores whose sets are easiest to name come first, since the first of equally good ones is taken.
    """
    width = a.shape[1]
    single = [histogram(Coordinate(index, width), a, b) for index in telling(a, b, codes)]
    if width == 1:
        return [*single, *fit(a, b)]
    double = [histogram(pair, a, b) for pair in telling_pairs(a[:, : width - codes], b[:, : width - codes])]
    worded = stated(a, b, codes) if codes else []
    coded = [histogram(score.source, a, b) for score in worded]
    sources = [h.source for h in (*best([*single, *coded], a, b, _FEATURES), *double)]
    return [
        *worded, *single, *double, *patterns(a, b, codes), *fit(a, b),
        *([product(a, b)] if width <= WIDE else []), *([trees(sources, a, b)] if sources else []),
    ]  # fmt: skip


# For wider outputs no full covariance is estimated.
_COVARIANCE = 512
# Variances below this share of the largest count as zero.
_FLAT = 1e-12
# A slope fitted without shrinking is taken if it separates this many times as well, in variances, after chance is
# subtracted.
_CLEARLY = 1.5


@dataclass(frozen=True, eq=False)
class Distance:
    """The distance from a centre, each number in units of its spread."""

    centre: Floats
    spread: Floats
    words = "distance of the output from its mean"

    def __call__(self, outputs: Floats) -> Floats:
        return np.asarray(np.sqrt((_apart(outputs, self.centre, self.spread) ** 2).sum(axis=1)))


@dataclass(frozen=True, eq=False)
class Projection:
    """The linear discriminant ``v . slope``, where v is the distance from the centre in units of the spread.

    ``slope`` is scaled so that the values' standard deviation on one dataset is about 1.
    """

    centre: Floats
    spread: Floats
    slope: Floats
    words = "linear discriminant of the output"

    def __call__(self, outputs: Floats) -> Floats:
        return np.asarray(_apart(outputs, self.centre, self.spread) @ self.slope)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The quadratic discriminant ``v . curvature v + v . slope``; a diagonal curvature is a vector."""

    centre: Floats
    spread: Floats
    slope: Floats
    curvature: Floats
    words = "quadratic discriminant of the output"

    def __call__(self, outputs: Floats) -> Floats:
        v = _apart(outputs, self.centre, self.spread)
        bent = v @ self.curvature if self.curvature.ndim == 2 else v * self.curvature
        return np.asarray((bent * v).sum(axis=1) + v @ self.slope)


def fit(a: Floats, b: Floats) -> list[Distance | Projection | Quadratic]:
    """Fit discriminants to outputs ``a`` on one dataset and ``b`` on the other, (n, k) each."""
    width, rows = a.shape[1], min(len(a), len(b))
    if rows < 4:
        return []
    with np.errstate(all="ignore"):
        (mean_a, var_a), (mean_b, var_b) = _moments(a), _moments(b)
        centre = (mean_a + mean_b) / 2
        spread = np.sqrt((var_a + var_b) / 2)
        spread = np.where(spread > 0, spread, 1.0)
        fitted: list[Distance | Projection | Quadratic] = [Distance(centre, spread)]
        a, b = _apart(a, centre, spread), _apart(b, centre, spread)
        half = (a.mean(axis=0) - b.mean(axis=0)) / 2
        if width <= min(_COVARIANCE, rows // 4):
            sa, sb = _covariance(a), _covariance(b)
            if width > 1:
                slope = _slope(a, b, (sa + sb) / 2, half)
                fitted.append(Projection(centre, spread, slope / np.sqrt(slope @ half)))
            ia, ib = np.linalg.inv(sa), np.linalg.inv(sb)
            fitted.append(Quadratic(centre, spread, (ia + ib) @ half, (ib - ia) / 2))
        else:
            va, vb = (np.maximum(v.var(axis=0), 1e-6) for v in (a, b))
            slope = half / ((va + vb) / 2)
            fitted.append(Projection(centre, spread, slope / np.sqrt(slope @ half)))
            fitted.append(Quadratic(centre, spread, (1 / va + 1 / vb) * half, (1 / vb - 1 / va) / 2))
        return [score for score in fitted if np.isfinite(np.concatenate([*map(np.ravel, vars(score).values())])).all()]


def _slope(a: Floats, b: Floats, shrunk: Floats, half: Floats) -> Floats:
    """Return the slope of the linear discriminant, by a covariance shrunk to its diagonal unless that hides far more.

    Shrinking gives every direction some of the variance of the others. Where noise cancels in a sum, that would hide
    what the sum reveals.
    """
    slope = np.asarray(np.linalg.solve(shrunk, half))
    covariance = (np.cov(a, rowvar=False) + np.cov(b, rowvar=False)) / 2
    variances, directions = np.linalg.eigh(covariance)
    variances = np.maximum(variances, _FLAT * variances[-1])
    along = directions.T @ half
    sharp = np.asarray(directions @ (along / variances))
    luck = len(half) * (1 / len(a) + 1 / len(b)) / 4  # what chance adds to the squared distance of the means, halved
    best = (along**2 / variances).sum() - luck
    cautious = (slope @ half) ** 2 / ((directions.T @ slope) ** 2 @ variances)
    return sharp if best > _CLEARLY * cautious else slope


def _apart(outputs: Floats, centre: Floats, spread: Floats) -> Floats:
    """Return the distance from the centre in units of the spread; 0 where a number is NaN or infinite."""
    v = (outputs - centre) / spread
    return np.where(np.isfinite(v), v, 0.0)


def _moments(v: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of the finite numbers of each column; 0 and 1 where there are none."""
    there = np.isfinite(v)
    count = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, v, 0.0).sum(axis=0) / count
    variance = (np.where(there, v - mean, 0.0) ** 2).sum(axis=0) / count
    return mean, np.where(there.any(axis=0), variance, 1.0)


def _covariance(v: Floats) -> Floats:
    """Return the covariance, shrunk towards its diagonal so that it can be inverted."""
    width = v.shape[1]
    full = np.cov(v, rowvar=False) if width > 1 else v.var(axis=0, ddof=1, keepdims=True)
    share = width / (width + len(v))
    diagonal = np.diag(np.maximum(np.diag(full), 1e-6))
    return np.asarray((1 - share) * full + share * diagonal + 1e-9 * np.eye(width))


# Number of trees, the step that each takes, and the weight (in runs times p (1 - p)) that pulls each leaf to 0.
_TREES = 50
_RATE = 0.15
_PULL = 2.0
# Bins of a feature, and values that have bins of their own: together fewer than 256.
_BINS = 48
_ATOMS = 64
# The most runs of each dataset that are fitted, and runs of both for one tree.
_ROWS = 100_000
_SAMPLE = 20_000


@dataclass(frozen=True, eq=False)
class Trees:
    """The sum of T trees of depth 3; node i of a tree has the children 2 i + 1 and 2 i + 2.

    feature : (T, 7), the feature of each node, a place in ``sources``;  cut : (T, 7), values from here on go right
    leaves : (T, 8), what each leaf adds
    """

    sources: tuple[Coordinate | Pair, ...]
    feature: Whole
    cut: Floats
    leaves: Floats
    words = "learned trees of the output"

    def __call__(self, outputs: Floats) -> Floats:
        return np.asarray(evaluate(_features(self.sources, outputs), self.feature, self.cut, self.leaves))


def trees(sources: Sequence[Coordinate | Pair], a: Floats, b: Floats) -> Trees:
    """Fit trees to outputs ``a`` on one dataset and ``b`` on the other, (n, k) each."""
    rows = min(len(a), len(b), _ROWS)
    # The datasets in turn, so that every tree's runs hold both.
    features = _features(sources, np.stack([a[:rows], b[:rows]], axis=1).reshape(2 * rows, -1))
    edges = [bin_edges(*separate(features[:, j], _ATOMS), _BINS) for j in range(len(sources))]
    bins = np.empty(features.shape, np.uint8)
    for j, e in enumerate(edges):
        bins[:, j] = np.searchsorted(e, features[:, j], side="right")
    feature, place, leaves = grow(bins, _TREES, max(1, round(2 * rows / _SAMPLE)), _RATE, _PULL)
    padded = [np.append(e, np.nan) for e in edges]  # no number reaches NaN: a node that is not split sends all left
    cut = np.array([[padded[j][min(p, padded[j].size - 1)] for j, p in zip(*t, strict=True)]
                    for t in zip(feature.tolist(), place.tolist(), strict=True)])  # fmt: skip
    return Trees(tuple(sources), feature, cut, leaves)


def _features(sources: Sequence[Coordinate | Pair], outputs: Floats) -> Floats:
    """Return the features (n, len(sources)), with infinity in place of NaN, which has no place in an order."""
    features = np.column_stack([source(outputs) for source in sources])
    return np.where(np.isnan(features), np.inf, features)


@njit("float64[:](float64[:, ::1], int64[:, ::1], float64[:, ::1], float64[:, ::1])", nogil=True)
def evaluate(features: Floats, feature: Whole, cut: Floats, leaves: Floats) -> Floats:
    """Return the sum of the trees for each row, (n,)."""
    total = np.zeros(features.shape[0])
    for i in range(features.shape[0]):
        for t in range(feature.shape[0]):
            node = 0
            for _ in range(3):
                node = 2 * node + (2 if features[i, feature[t, node]] >= cut[t, node] else 1)
            total[i] += leaves[t, node - 7]
    return total


@njit("void(float64[:, :, ::1], float64, int64[::1], int64[::1], int64)", nogil=True)
def _split(sums: Floats, pull: float, feature: Whole, place: Whole, node: int) -> None:
    """Write the best split of one node; ``sums`` holds the slopes and curvatures of its rows by feature and bin."""
    slope, bend = sums[0, :, 0].sum(), sums[0, :, 1].sum()
    best = slope * slope / (bend + pull) + 1e-9
    for j in range(sums.shape[0]):
        left = left_bend = 0.0
        for cut in range(255):
            if sums[j, cut, 1] == 0.0:
                continue
            left += sums[j, cut, 0]
            left_bend += sums[j, cut, 1]
            right, right_bend = slope - left, bend - left_bend
            if right_bend <= 1e-9:
                break
            gain = left * left / (left_bend + pull) + right * right / (right_bend + pull)
            if gain > best:
                best = gain
                feature[node], place[node] = j, cut


@njit(
    "Tuple((int64[:, ::1], int64[:, ::1], float64[:, ::1]))(uint8[:, ::1], int64, int64, float64, float64)",
    nogil=True,
)
def grow(bins: NDArray[np.uint8], count: int, stride: int, rate: float, pull: float) -> tuple[Whole, Whole, Floats]:
    """Grow trees that tell even rows of ``bins`` from odd ones; return features, last bins that go left, and leaves.

    Tree t is grown on every ``stride``-th pair of rows, from pair t mod ``stride``.
    """
    n, width = bins.shape
    feature = np.zeros((count, 7), np.int64)
    place = np.full((count, 7), 255, np.int64)
    leaves = np.zeros((count, 8))
    total = np.zeros(n)
    node = np.empty(n, np.int64)
    slope, bend = np.empty(n), np.empty(n)
    sums = np.empty((4, width, 256, 2))
    for t in range(count):
        first, step = t % stride, stride
        for pair in range(first, n // 2, step):
            for i in (2 * pair, 2 * pair + 1):
                p = 1 / (1 + math.exp(-total[i]))
                slope[i] = (1.0 if i % 2 == 0 else 0.0) - p
                bend[i] = p * (1 - p)
                node[i] = 0
        for level in range(3):
            base = 2**level - 1
            sums[: base + 1] = 0.0
            for pair in range(first, n // 2, step):
                for i in (2 * pair, 2 * pair + 1):
                    for j in range(width):
                        sums[node[i] - base, j, bins[i, j], 0] += slope[i]
                        sums[node[i] - base, j, bins[i, j], 1] += bend[i]
            for m in range(base + 1):
                _split(sums[m], pull, feature[t], place[t], base + m)
            for pair in range(first, n // 2, step):
                for i in (2 * pair, 2 * pair + 1):
                    right = bins[i, feature[t, node[i]]] > place[t, node[i]]
                    node[i] = 2 * node[i] + (2 if right else 1)
        pulls = np.zeros((8, 2))
        for pair in range(first, n // 2, step):
            for i in (2 * pair, 2 * pair + 1):
                pulls[node[i] - 7, 0] += slope[i]
                pulls[node[i] - 7, 1] += bend[i]
        for leaf in range(8):  # Numba takes a second to compile an array's assignment, for the message of its error
            leaves[t, leaf] = rate * pulls[leaf, 0] / (pulls[leaf, 1] + pull)
        for i in range(n):
            at = 0
            for _ in range(3):
                at = 2 * at + (2 if bins[i, feature[t, at]] > place[t, at] else 1)
            total[i] += leaves[t, at - 7]
    return feature, place, leaves


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


def telling_pairs(a: Floats, b: Floats) -> list[Pair]:
    """Return the differences and sums that reveal most at a first glance."""
    a, b = a[:GLANCED], b[:GLANCED]
    tried = pairs(a, b, range(min(a.shape[1], _PAIRED)))
    if _PAIRED < a.shape[1] <= WIDE:
        tried += [pair for columns in _most_alike(a, b) for pair in pairs(a, b, columns)]
    looked = [histogram(pair, a, b) for pair in dict.fromkeys(tried)]
    return [h.source for h in best(looked, a, b, _PAIRS) if isinstance(h.source, Pair)]


def _most_alike(a: Floats, b: Floats) -> list[list[int]]:
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
