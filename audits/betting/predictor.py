"""Learning from past outputs which dataset the next one came from: several scores, weighed by success.

Everything here depends on past outputs alone, so that whatever is made of it is a fair bet on the
next (:mod:`.stakes`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.betting.label_tree import LabelTree, Leaves
from dpcheck.audits.output_sets.output_set import OutputSet
from dpcheck.audits.running.run_plan import SIDES
from dpcheck.audits.scores.candidates import exact, given, learned
from dpcheck.audits.scores.histograms import Coordinate, Histogram
from dpcheck.audits.scores.nan_or_minus_zero import Special
from dpcheck.audits.scores.score import Score, evaluate

Floats = NDArray[np.float64]

# Scores and trees are fitted anew once there are this many times the runs, scores on so many runs at most.
_REFIT = 1.5
_FITTED_ON = 10_000
# Runs a dataset before any score is fitted.
_FIRST = 20
# Coordinates that are scores by themselves, the same from the first run on.
_COORDINATES = 32
# Share of a score's past success that still counts after each update.
_MEMORY = 0.8
# Past runs a dataset, the latest, by which bets are weighed.
_RECENT = 20_000
# Thresholds tried for a set in words, the runs from which on it is judged on other runs than fitted to, and the
# largest epsilon for which sets are weighed.
_THRESHOLDS = 200
_DIVIDED = 400
_LARGEST = 100.0


@dataclass(frozen=True, eq=False)
class _Expert:
    """A score with the chances learned for its values; ``prior`` is its weight before any success."""

    name: str
    score: Score
    tree: LabelTree
    prior: float


@dataclass(eq=False)
class Predictor:
    """The chance that an output came from the data, by a weighted mean over scores.

    success : by the name of a score, its past log-likelihood ratio against guessing, faded
    fitted_on : past runs a dataset when scores and trees were last fitted; since then the trees have counted
    """

    width: int
    success: dict[str, float] = field(default_factory=dict)
    fitted_on: int = 0
    _learned: int = 0
    _experts: list[_Expert] = field(default_factory=list)
    _recent: list[Leaves] = field(default_factory=list)

    def __call__(self, outputs: Floats) -> Floats:
        """Chances (n,) in (0, 1) for outputs (n, width)."""
        return self.chances(self.leaves(outputs))

    def leaves(self, outputs: Floats) -> Leaves:
        """Where outputs (n, width) lie in the tree of each of m scores, (m, n); it holds until the next fit."""
        with np.errstate(all="ignore"):
            return np.array([e.tree.leaves(e.score(outputs)) for e in self._experts], np.int32)

    def chances(self, leaves: Leaves) -> Floats:
        """Chances (n,) of outputs in these leaves, (m, n)."""
        total = np.zeros(leaves.shape[1])
        for weight, expert, places in zip(self._weights(), self._experts, leaves, strict=True):
            total += (weight * expert.tree.chances)[places]
        return total

    def recent(self) -> Floats:
        """Chances of the latest past outputs, on data and on neighbour, (n,)."""
        return np.concatenate([self.chances(leaves) for leaves in self._recent])

    def judge(self, x: Leaves, y: Leaves) -> None:
        """Note how well each score predicted fresh outputs, in leaves x on the data and y on the neighbour."""
        for e, ours, theirs in zip(self._experts, x, y, strict=True):
            gain = np.log(2 * e.tree.chances[ours]).sum() + np.log(2 * (1 - e.tree.chances[theirs])).sum()
            self.success[e.name] = self.success.get(e.name, 0.0) * _MEMORY + float(gain)

    def learn(self, a: Floats, b: Floats, fresh: tuple[Leaves, Leaves] | None = None) -> None:
        """Learn from all past outputs (n, width) on data and neighbour, the earlier ones among them.

        fresh : the leaves of those that are new, if they are known
        """
        n = len(a)
        if self._learned and self._learned <= n < _REFIT * self.fitted_on:
            new = fresh or (self.leaves(a[self._learned :]), self.leaves(b[self._learned :]))
            for k, expert in enumerate(self._experts):
                size = expert.tree.chances.size
                expert.tree.add(np.array([np.bincount(leaves[k], minlength=size) for leaves in new]))
            self._recent = [np.hstack(both)[:, -_RECENT:] for both in zip(self._recent, new, strict=True)]
        else:
            self._fit(a, b)
            self._recent = [self.leaves(v[-_RECENT:]) for v in (a, b)]
        self._learned = n

    def _fit(self, a: Floats, b: Floats) -> None:
        n = self.fitted_on = len(a)
        fitted: list[Score] = []
        if n >= _FIRST:
            past = slice(max(0, n // 2 - _FITTED_ON) * 2, n, 2)
            fitted = [s for s in learned(a[past], b[past]) if not _plain(s)]
            fitted += [s for s in given(a[past], b[past]) if isinstance(s, Special)]
            fitted += exact(a[::2], b[::2])  # many runs make no difference but to what is rare
        plain = [Coordinate(index, self.width) for index in range(min(self.width, _COORDINATES))]
        share = 1 / (2 if fitted else 1)
        self._experts = [_expert(f"coordinate {i}", s, a, b, share / len(plain)) for i, s in enumerate(plain)]
        # Chances are learned on other runs than the score: it looks too good on its own.
        a, b = a[1::2], b[1::2]
        self._experts += [
            _expert(f"{type(s).__name__.lower()} {i}", s, a, b, (1 - share) / len(fitted)) for i, s in enumerate(fitted)
        ]

    def restore(self, success: dict[str, float], fitted_on: int, a: Floats, b: Floats) -> None:
        """Learn what an earlier predictor had learned from a and b, fitted to the first ``fitted_on``."""
        self.success = dict(success)
        if fitted_on:
            self.learn(a[:fitted_on], b[:fitted_on])
        self.learn(a, b)

    def witness(self, a: Floats, b: Floats, epsilon: float, delta: float) -> OutputSet:
        """The set of the best scores that shows most, chosen on every other past run; its counts are in the rest."""
        order = np.argsort(-self._weights(), kind="stable")
        best = [self._experts[i].score for i in order]
        plain = next(score for score in best if isinstance(score, Coordinate))
        # Few runs are too few to be divided twice.
        fit, tried = (slice(0, None, 4), slice(2, None, 4)) if len(a) >= _DIVIDED else 2 * (slice(0, None, 2),)
        # Those whose sets are easiest to name come first: of equally good ones the first is taken.
        scores: list[Score] = [plain, *(score for score in given(a[fit], b[fit]) if isinstance(score, Special))]
        scores += [_by_values(plain, a[fit], b[fit]), best[0]]
        event = _strongest(scores, a[tried], b[tried], math.exp(min(epsilon, _LARGEST)), delta)
        hits = [int(event.contains(v[1::2]).sum()) for v in (a, b)]
        side = SIDES.index(event.favours)
        return replace(event, hits=hits[side], other_hits=hits[1 - side], trials=len(a[1::2]))

    def _weights(self) -> Floats:
        logs = np.array([math.log(e.prior) + self.success.get(e.name, 0.0) for e in self._experts])
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())


def _plain(score: Score) -> bool:
    """Whether a label tree of a coordinate says the same, and better."""
    return isinstance(score, Histogram) and isinstance(score.source, Coordinate)


def _by_values(score: Coordinate, a: Floats, b: Floats) -> Histogram:
    """The likelihood ratio by a label tree, where a value with a leaf to itself is the whole of its bin."""
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
    """The score, threshold, direction and side for which the claim is exceeded by most standard errors."""
    best, n = -math.inf, len(a)
    chosen = OutputSet(scores[0], ">=", 0.0, SIDES[0])
    for score, (sign, direction) in product(scores, ((1, ">="), (-1, "<="))):
        values = [np.sort(evaluate(score, sign, v)) for v in (a, b)]
        pooled = np.unique(np.concatenate(values))
        tried = pooled[np.unique(np.linspace(0, pooled.size - 1, _THRESHOLDS).astype(int))]
        shares = [1 - np.searchsorted(v, tried) / n for v in values]
        for side in (0, 1):
            p, q = shares[side], shares[1 - side]
            # As if there was one more hit on either side: a count of zero is not a chance of zero.
            variance = p * (1 - p) + ratio**2 * q * (1 - q) + (1 + ratio**2) / n
            excess = (p - ratio * q - delta) / np.sqrt(variance / n)
            place = int(np.argmax(excess))
            if excess[place] > best:
                best = float(excess[place])
                chosen = OutputSet(score, direction, sign * float(tried[place]), SIDES[side])
    return chosen
