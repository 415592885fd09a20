"""The prediction of which dataset an output came from, learned from past outputs by several scores.

The scores are weighted by their success. Everything here depends on past outputs alone, so that any bet made from it on
the next output is fair (:mod:`dpcheck.audits.betting`).

A score's values are turned into the chance that an output came from the data, constant on bins. The bins are the leaves
of a binary tree over the quantiles of both datasets' values together. Every pruning of the tree is a model, in which a
bin has the chance of the node above it, or one of its own with a beta prior. The average over all prunings, where each
node is split with chance 1/2, takes one pass up the tree (context tree weighting [1]). It neither trusts small counts
nor misses small sets.

[1] F. Willems, Y. Shtarkov and T. Tjalkens, "The context-tree weighting method: basic properties",
    IEEE Trans. Inform. Theory 41 (1995), 653-664.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpcheck.arrays import Floats
from dpcheck.audits.output_sets import OutputSet
from dpcheck.audits.running import SIDES
from dpcheck.audits.scores import Coordinate, Score, evaluate
from dpcheck.audits.scores.exact import Special, Stated, exact, given, stated
from dpcheck.audits.scores.histograms import Histogram
from dpcheck.audits.scores.learned import learned
from dpcheck.compiled import njit

Leaves = NDArray[np.int32]
Counts = NDArray[np.int64]

# The two equal parameters of each beta prior: one for chances near 0 or 1, one for chances near 1/2.
_PRIORS = (0.5, 4.0)
# Log-gamma of k + c and of k + 2 c for each prior, for the small counts that are most common.
_TABLES = np.array([[special.gammaln(np.arange(2_000) + m * c) for m in (1, 2)] for c in _PRIORS])
# The number of values at which a node's own share weighs as much as the share it inherits.
_TRUST = 8.0
# No chance is nearer to 0 or 1 than this, so that its logarithm and that of its complement are finite.
_SURE = 1e-12
# The greatest depth of the tree, and values in a leaf.
_DEPTH = 12
_LEAF = 4


@dataclass(eq=False)
class LabelTree:
    """A tree over values; ``chances[i]`` is the chance that a value in ``[cuts[i-1], cuts[i])`` came from the data."""

    cuts: Floats  # (m,), ascending; if a value repeats, leaves between equal cuts are empty. NaN comes last
    counts: Counts  # (2, m + 1), past values on data and on neighbour
    chances: Floats = field(init=False)  # (m + 1,), in (0, 1)

    def __post_init__(self) -> None:
        self.chances = _averaged(self.counts, _TABLES)

    @classmethod
    def fit(cls, a: Floats, b: Floats) -> LabelTree:
        """Learn from values ``a`` on the data and ``b`` on the neighbour; infinite values and NaN are values."""
        a, b = np.sort(a), np.sort(b)
        values = np.sort(np.concatenate([a, b]), kind="stable")  # merges
        leaves = 1 << int(np.clip(math.log2(max(values.size / _LEAF, 2)), 1, _DEPTH))
        cuts = values[np.arange(1, leaves) * values.size // leaves]
        return cls(cuts, np.array([np.diff(np.searchsorted(v, cuts), prepend=0, append=v.size) for v in (a, b)]))

    def __call__(self, values: Floats) -> Floats:
        """Return the chances (n,) of values (n,)."""
        return self.chances[self.leaves(values)]

    def leaves(self, values: Floats) -> Leaves:
        """Return the leaf (n,) of each of values (n,)."""
        return _leaves(self.cuts, values)

    def add(self, counts: Counts) -> None:
        """Learn from further values, counted by leaves (2, m + 1); the cuts stay."""
        self.counts = self.counts + counts
        self.__post_init__()


@njit("int32[::1](float64[::1], float64[:])", nogil=True)
def _leaves(cuts: Floats, values: Floats) -> Leaves:
    """Return ``searchsorted(cuts, values, side="right")``, without branches; cuts are one fewer than a power of two."""
    places = np.empty(values.size, np.int32)
    for i in range(values.size):
        value, place, step = values[i], 0, (cuts.size + 1) // 2
        while step > 0:
            place += step * ((value >= cuts[place + step - 1]) | (value != value))
            step //= 2
        places[i] = place
    return places


@njit("float64(int64, float64, float64[::1])", nogil=True)
def _log_gamma(k: int, more: float, table: Floats) -> float:
    """Return log-gamma of k + more; ``table`` holds it for the smallest k."""
    return float(table[k]) if k < table.size else math.lgamma(k + more)


@njit("float64[::1](int64[:, ::1], float64[:, :, ::1])", nogil=True, error_model="numpy")
def _averaged(counts: Counts, tables: Floats) -> Floats:
    """Return the chances (L,) of the leaves, averaged over all prunings of the tree, from their counts (2, L)."""
    inner = counts.shape[1] - 1
    size = 2 * inner + 1
    x, y, known = np.empty(size, np.int64), np.empty(size, np.int64), np.full(size, 0.5)
    x[inner:], y[inner:] = counts[0], counts[1]
    for i in range(inner - 1, -1, -1):
        x[i], y[i] = x[2 * i + 1] + x[2 * i + 2], y[2 * i + 1] + y[2 * i + 2]
    for i in range(1, size):  # each node's chance as its parent estimates it
        up = (i - 1) // 2
        share = (x[up] + _TRUST * known[up]) / (x[up] + y[up] + _TRUST)
        known[i] = min(max(share, _SURE), 1 - _SURE)
    # From the leaves to the root: the mean of a node if it is a leaf, and the weight of its being one.
    mean, weight, total = np.empty(size), np.ones(size), np.empty(size)
    logs, means = np.empty(3), np.empty(3)
    for i in range(size - 1, -1, -1):
        for j in range(2):
            c, once, twice = _PRIORS[j], tables[j, 0], tables[j, 1]
            logs[j] = _log_gamma(x[i], c, once) + _log_gamma(y[i], c, once) - _log_gamma(x[i] + y[i], 2 * c, twice)
            logs[j] -= 2 * once[0] - twice[0]
            means[j] = (x[i] + c) / (x[i] + y[i] + 2 * c)
        logs[2] = x[i] * math.log(known[i]) + y[i] * math.log1p(-known[i])
        means[2] = known[i]
        most = max(logs[0], logs[1], logs[2])
        likely = mean[i] = 0.0
        for j in range(3):
            share = math.exp(logs[j] - most)
            likely += share
            mean[i] += share * means[j]
        mean[i] /= likely
        alone = most + math.log(likely / 3)
        total[i] = alone
        if i < inner:  # the leaves cannot be split
            split = total[2 * i + 1] + total[2 * i + 2]
            weight[i] = 1 / (1 + math.exp(min(split - alone, 700.0)))
            total[i] = max(alone, split) + math.log1p(math.exp(-abs(alone - split))) - math.log(2.0)
    chances, left = weight * mean, 1 - weight
    for i in range(1, size):
        up = (i - 1) // 2
        chances[i] = chances[up] + left[up] * chances[i]
        left[i] *= left[up]
    return chances[inner:].copy()


# Scores and trees are fitted again once there are this many times the runs; the most runs that scores are fitted to.
_REFIT = 1.5
_FITTED_ON = 10_000
# Runs of each dataset before any score is fitted.
_FIRST = 20
# The most numbers of an output that are scores by themselves, the same from the first run on.
_COORDINATES = 32
# Share of a score's past success that still counts after each update.
_MEMORY = 0.8
# The latest past runs of each dataset, from which bets are made.
_RECENT = 20_000
# Thresholds tried for the witness, the number of runs from which on it is judged on other runs than it was fitted to,
# and the largest epsilon for which sets are compared.
_THRESHOLDS = 200
_DIVIDED = 400
_LARGEST = 100.0


@dataclass(frozen=True, eq=False)
class _Expert:
    """A score with the chances learned for its values; ``prior`` is its weight before it had any success."""

    name: str
    score: Score
    tree: LabelTree
    prior: float


@dataclass(eq=False)
class Predictor:
    """The chance that an output came from the data, a weighted mean over scores."""

    width: int
    codes: int = 0  # so many of the last columns hold codes
    success: dict[str, float] = field(default_factory=dict)  # a score's past log-likelihood ratio, discounted
    fitted_on: int = 0  # past runs when scores and trees were last fitted; since then the trees only count
    _learned: int = 0
    _experts: list[_Expert] = field(default_factory=list)
    recent: list[Leaves] = field(default_factory=list)  # of the latest past outputs, on data and on neighbour

    def __call__(self, outputs: Floats) -> Floats:
        """Return chances (n,) in (0, 1) for outputs (n, width)."""
        return self.chances(self.leaves(outputs))

    def leaves(self, outputs: Floats) -> Leaves:
        """Return the leaves (m, n) of outputs (n, width) in the trees of m scores; they hold until the next fit."""
        with np.errstate(all="ignore"):
            return np.array([e.tree.leaves(e.score(outputs)) for e in self._experts], np.int32)

    def chances(self, leaves: Leaves) -> Floats:
        """Return the chances (n,) of outputs in these leaves, (m, n)."""
        total = np.zeros(leaves.shape[1])
        for weight, expert, places in zip(self._weights(), self._experts, leaves, strict=True):
            total += (weight * expert.tree.chances)[places]
        return total

    def judge(self, x: Leaves, y: Leaves) -> None:
        """Credit each score for its prediction of fresh outputs, in leaves x on the data and y on the neighbour."""
        for e, ours, theirs in zip(self._experts, x, y, strict=True):
            gain = np.log(2 * e.tree.chances[ours]).sum() + np.log(2 * (1 - e.tree.chances[theirs])).sum()
            self.success[e.name] = self.success.get(e.name, 0.0) * _MEMORY + float(gain)

    def learn(self, a: Floats, b: Floats, fresh: tuple[Leaves, Leaves] | None = None) -> None:
        """Learn from all past outputs (n, width), old and new; ``fresh`` holds the leaves of the new ones."""
        n = len(a)
        if self._learned and self._learned <= n < _REFIT * self.fitted_on:
            new = fresh or (self.leaves(a[self._learned :]), self.leaves(b[self._learned :]))
            for k, expert in enumerate(self._experts):
                size = expert.tree.chances.size
                expert.tree.add(np.array([np.bincount(leaves[k], minlength=size) for leaves in new]))
            self.recent = [np.hstack(both)[:, -_RECENT:] for both in zip(self.recent, new, strict=True)]
        else:
            self._fit(a, b)
            self.recent = [self.leaves(v[-_RECENT:]) for v in (a, b)]
        self._learned = n

    def _fit(self, a: Floats, b: Floats) -> None:
        n = self.fitted_on = len(a)
        fitted: list[Score] = []
        if n >= _FIRST:
            past = slice(max(0, n // 2 - _FITTED_ON) * 2, n, 2)
            # The label tree of a coordinate replaces its histogram, and does better.
            fitted = [
                s for s in learned(a[past], b[past], self.codes)
                if not (isinstance(s, Histogram) and isinstance(s.source, Coordinate))
            ]  # fmt: skip
            fitted += [s for s in given(a[past], b[past], self.codes) if isinstance(s, Special)]
            fitted += exact(a[::2], b[::2], self.codes)  # many runs help only with what is rare
        plain = [Coordinate(index, self.width) for index in range(min(self.width, _COORDINATES))]
        share = 1 / (2 if fitted else 1)
        self._experts = [_expert(f"coordinate {i}", s, a, b, share / len(plain)) for i, s in enumerate(plain)]
        # Chances are learned on other runs than the score, which looks too good on the runs it was fitted to.
        a, b = a[1::2], b[1::2]
        self._experts += [
            _expert(f"{type(s).__name__.lower()} {i}", s, a, b, (1 - share) / len(fitted)) for i, s in enumerate(fitted)
        ]

    def restore(self, success: dict[str, float], fitted_on: int, a: Floats, b: Floats) -> None:
        """Learn what an earlier predictor had learned from a and b when fitted to the first ``fitted_on`` of them."""
        self.success = dict(success)
        if fitted_on:
            self.learn(a[:fitted_on], b[:fitted_on])
        self.learn(a, b)

    def witness(self, a: Floats, b: Floats, epsilon: float, delta: float) -> OutputSet:
        """Return the set of the best scores that reveals most: chosen on every other past run, counted in the rest."""
        order = np.argsort(-self._weights(), kind="stable")
        best = [self._experts[i].score for i in order]
        numbers = self.width - self.codes
        best = [score for score in best if not (isinstance(score, Coordinate) and score.index >= numbers)]
        plain = [score for score in best if isinstance(score, Coordinate)][:1]
        # A few runs cannot be divided twice.
        fit, tried = (slice(0, None, 4), slice(2, None, 4)) if len(a) >= _DIVIDED else 2 * (slice(0, None, 2),)
        # Scores whose sets are easiest to name come first, since the first of equally good ones is taken.
        named = given(a[fit], b[fit], self.codes)
        scores: list[Score] = [score for score in named if isinstance(score, Stated)]
        scores += [*plain, *(score for score in named if isinstance(score, Special))]
        scores += [_by_values(score, a[fit], b[fit]) for score in plain]
        scores += [*(stated(a[fit], b[fit], self.codes) if self.codes else ()), *best[:1]]
        scores = scores or [Coordinate(0, self.width)]
        event = _strongest(scores, a[tried], b[tried], math.exp(min(epsilon, _LARGEST)), delta)
        hits = [int(event.contains(v[1::2]).sum()) for v in (a, b)]
        side = SIDES.index(event.favours)
        return replace(event, hits=hits[side], other_hits=hits[1 - side], trials=len(a[1::2]))

    def _weights(self) -> Floats:
        logs = np.array([math.log(e.prior) + self.success.get(e.name, 0.0) for e in self._experts])
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())


def _by_values(score: Coordinate, a: Floats, b: Floats) -> Histogram:
    """Return the likelihood ratio by a label tree, in which a value alone in its leaf has a bin to itself."""
    tree = LabelTree.fit(score(a), score(b))
    values = np.unique(np.concatenate([score(a), score(b)]))
    leaves = tree.leaves(values)
    alone = values[np.bincount(leaves)[leaves] == 1]
    edges = np.unique(np.concatenate([tree.cuts, alone, np.nextafter(alone, np.inf)]))
    seen = np.bincount(np.searchsorted(edges, values, side="right"), minlength=edges.size + 1) > 0
    chances = tree(np.append(-np.inf, edges))
    return Histogram(score, edges, np.where(seen, np.log(chances / (1 - chances)), 0.0))


def _expert(name: str, score: Score, a: Floats, b: Floats, prior: float) -> _Expert:
    with np.errstate(all="ignore"):
        return _Expert(name, score, LabelTree.fit(score(a), score(b)), prior)


def _strongest(scores: list[Score], a: Floats, b: Floats, ratio: float, delta: float) -> OutputSet:
    """Return the set of the score, threshold, direction and side that exceeds the claim by most standard errors."""
    best, n = -math.inf, len(a)
    chosen = OutputSet(scores[0], ">=", 0.0, SIDES[0])
    for score, (sign, direction) in product(scores, ((1, ">="), (-1, "<="))):
        values = [np.sort(evaluate(score, sign, v)) for v in (a, b)]
        pooled = np.unique(np.concatenate(values))
        tried = pooled[np.unique(np.linspace(0, pooled.size - 1, _THRESHOLDS).astype(int))]
        shares = [1 - np.searchsorted(v, tried) / n for v in values]
        for side in (0, 1):
            p, q = shares[side], shares[1 - side]
            # One hit is added on either side, since a count of zero does not mean a chance of zero.
            variance = p * (1 - p) + ratio**2 * q * (1 - q) + (1 + ratio**2) / n
            excess = (p - ratio * q - delta) / np.sqrt(variance / n)
            place = int(np.argmax(excess))
            if excess[place] > best:
                best = float(excess[place])
                chosen = OutputSet(score, direction, sign * float(tried[place]), SIDES[side])
    return chosen
