"""Learning from past outputs which dataset the next one came from: several scores, weighed by success.

Everything here depends on past outputs alone, so that whatever is made of it is a fair bet on the
next (:mod:`.betting`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.label_tree import LabelTree
from dpcheck.audits.sampling_plan import SIDES
from dpcheck.audits.scores import Coordinate, Histogram, Score, evaluate, learned
from dpcheck.audits.witness import Event

Floats = NDArray[np.float64]

# Scores are fitted anew once there are this many times the runs, on so many runs at most.
_REFIT = 1.5
_FITTED_ON = 10_000
# Runs a dataset before any score is fitted.
_FIRST = 20
# Coordinates that are scores by themselves, the same from the first run on.
_COORDINATES = 32
# Share of a score's past success that still counts after each update.
_MEMORY = 0.8
# Thresholds tried for a set in words, and the largest epsilon for which they are weighed.
_THRESHOLDS = 200
_LARGEST = 100.0


@dataclass(frozen=True, eq=False)
class _Expert:
    """A score with the chances learned for its values; ``prior`` is its weight before any success."""

    name: str
    score: Score
    tree: LabelTree
    prior: float

    def __call__(self, outputs: Floats) -> Floats:
        return self.tree(evaluate(self.score, 1, outputs))


@dataclass(eq=False)
class Predictor:
    """The chance that an output came from the data, by a weighted mean over scores.

    success : by the name of a score, its past log-likelihood ratio against guessing, faded
    """

    width: int
    success: dict[str, float] = field(default_factory=dict)
    _experts: list[_Expert] = field(default_factory=list)
    _fitted: list[Score] = field(default_factory=list)
    fitted_on: int = 0

    def __call__(self, outputs: Floats) -> Floats:
        """Chances (n,) in (0, 1) for outputs (n, width)."""
        weights = self._weights()
        return np.asarray(sum(w * expert(outputs) for w, expert in zip(weights, self._experts, strict=True)))

    def judge(self, x: Floats, y: Floats) -> None:
        """Note how well each score would have predicted fresh outputs x on the data, y on the neighbour."""
        for e in self._experts:
            gain = np.log(2 * e(x)).sum() + np.log(2 * (1 - e(y))).sum()
            self.success[e.name] = self.success.get(e.name, 0.0) * _MEMORY + float(gain)

    def learn(self, a: Floats, b: Floats) -> None:
        """Learn anew from all past outputs (n, width) on data and neighbour, the earlier ones among them."""
        n = len(a)
        if n >= max(_FIRST, _REFIT * self.fitted_on):
            past = slice(_start(n), n, 2)
            self._fitted = [s for s in learned(a[past], b[past]) if not _plain(s)]
            self.fitted_on = n
        # Chances are learned on other runs than the score: it looks too good on its own.
        fresh = np.ones(n, bool)
        fresh[_start(self.fitted_on) : self.fitted_on : 2] = False
        plain = [Coordinate(index, self.width) for index in range(min(self.width, _COORDINATES))]
        share = 1 / (2 if self._fitted else 1)
        self._experts = [_expert(f"coordinate {i}", s, a, b, share / len(plain)) for i, s in enumerate(plain)] + [
            _expert(f"{type(s).__name__.lower()} {i}", s, a[fresh], b[fresh], (1 - share) / len(self._fitted))
            for i, s in enumerate(self._fitted)
        ]

    def restore(self, success: dict[str, float], fitted_on: int, a: Floats, b: Floats) -> None:
        """Learn what an earlier predictor had learned from a and b, its scores from the first ``fitted_on``."""
        self.success = dict(success)
        if fitted_on:
            self.learn(a[:fitted_on], b[:fitted_on])
        self.learn(a, b)

    def witness(self, a: Floats, b: Floats, epsilon: float, delta: float) -> Event:
        """The set of the best score that shows most, chosen on every other past run; its counts are in the rest."""
        scores = [self._experts[int(np.argmax(self._weights()))].score]
        if isinstance(scores[0], Coordinate):
            tree = LabelTree.fit(*(evaluate(scores[0], 1, v[::4]) for v in (a, b)))
            scores.append(Histogram(scores[0], tree.edges, np.log(tree.chances / (1 - tree.chances))))
        event = _strongest(scores, a[2::4], b[2::4], math.exp(min(epsilon, _LARGEST)), delta)
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


def _start(n: int) -> int:
    """The first of the past runs that scores are fitted to: every other one, by even numbers, to the n-th."""
    return max(0, n // 2 - _FITTED_ON) * 2


def _expert(name: str, score: Score, a: Floats, b: Floats, prior: float) -> _Expert:
    return _Expert(name, score, LabelTree.fit(evaluate(score, 1, a), evaluate(score, 1, b)), prior)


def _strongest(scores: list[Score], a: Floats, b: Floats, ratio: float, delta: float) -> Event:
    """The score, threshold, direction and side for which the claim is exceeded by most standard errors."""
    best, n = -math.inf, len(a)
    chosen = Event(scores[0], ">=", 0.0, SIDES[0])
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
                chosen = Event(score, direction, sign * float(tried[place]), SIDES[side])
    return chosen
