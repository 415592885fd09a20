"""The witness of a membership audit: an output set chosen on earlier runs, judged on fresh ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits import survival
from dpcheck.audits.binomial import predicted_limit
from dpcheck.audits.scores import (
    Coordinate,
    Histogram,
    Patterns,
    Projection,
    Quadratic,
    Score,
    evaluate,
    given,
    learned,
    parameters,
)

Floats = NDArray[np.float64]
SIDES = ("data", "neighbour")

# Thresholds tried per score.
_THRESHOLDS = 160
# Margins taken off a fitted score for each taken off a plain one: it has more ways to be lucky.
_LEARNED = 2.0
# Puts every set without a limit behind every set with one.
_HOPELESS = 1e6
# Share of the level for the bold choice, and hits without which it would be a guess.
_BOLD = 0.06
_SEEN = 4


@dataclass(frozen=True)
class Event:
    """An output set ``{score >= threshold}`` (or ``<=``) that one dataset hits more often.

    favours : "data" or "neighbour", the dataset under which the set is more likely
    hits, other_hits : counts in the fresh runs, on the favoured dataset and on the other
    trials : fresh runs a dataset
    """

    score: Score
    direction: str
    threshold: float
    favours: str
    hits: int = 0
    other_hits: int = 0
    trials: int = 0

    def values(self, outputs: Floats) -> Floats:
        """What is compared: (n,) from outputs (n, k); the set is where it reaches :attr:`level`."""
        return evaluate(self.score, 1 if self.direction == ">=" else -1, outputs)

    @property
    def level(self) -> float:
        """The threshold of :meth:`values`."""
        return self.threshold if self.direction == ">=" else -self.threshold

    def contains(self, outputs: Any) -> NDArray[np.bool_]:
        """Which outputs, (n,) or (n, ...), lie in the set."""
        rows = np.asarray(outputs, float)
        return np.asarray(self.values(rows.reshape(len(rows), -1)) >= self.level)

    @property
    def words(self) -> str:
        """The set as a sentence would name it."""
        if isinstance(self.score, Histogram | Patterns):
            return self.score.describe(self.direction, self.threshold)
        return f"{self.score.words} {self.direction} {self.threshold:.6g}"

    def __str__(self) -> str:
        """The set and its counts."""
        other = SIDES[1 - SIDES.index(self.favours)]
        return (
            f"{self.words}: {self.hits} of {self.trials} runs on {self.favours}, "
            f"{self.other_hits} of {self.trials} on {other}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The set in words and in full, and its counts; ready for JSON."""
        return {
            "words": self.words,
            "score": parameters(self.score),
            "direction": self.direction,
            "threshold": self.threshold if math.isfinite(self.threshold) else str(self.threshold),
            "favours": self.favours,
            "hits": self.hits,
            "other_hits": self.other_hits,
            "trials": self.trials,
        }


def choose(a: Floats, b: Floats, trials: int, *, delta: float, alpha: float) -> list[tuple[Event, float]]:
    """Sets to test on ``trials`` fresh runs a dataset; their levels add up to ``alpha``.

    ``a`` and ``b`` : (n, k), earlier outputs on data and neighbour. The steady choice is the set
    that promises most by a cautious estimate. The bold one, tested at a small level, promises most
    by its counts as they stand: a rare leak has few, which no caution would let pass.
    """
    width = a.shape[1]
    options: list[tuple[Score, Floats, Floats]] = [(s, a, b) for s in given(width)]
    # Fitted scores look better than they are on the runs they were fitted to.
    options += [(s, a[1::2], b[1::2]) for s in learned(a[::2], b[::2])]
    alphas = alpha * (1 - _BOLD), alpha * _BOLD
    best = [-math.inf, -math.inf]
    chosen = [Event(Coordinate(0, width), ">=", 0.0, "data")] * 2
    for score, left, right in options:
        for sign, direction in ((1, ">="), (-1, "<=")):
            values = [np.sort(evaluate(score, sign, v)) for v in (left, right)]
            thresholds = _thresholds(np.sort(np.concatenate(values)))
            kinds = [_cautious(score, values, thresholds, trials, delta, alphas[0])]
            if not isinstance(score, Projection | Quadratic):
                # They mix the coordinates, which hides a rare leak rather than shows it.
                kinds.append(_counted(values, thresholds, trials, delta, alphas[1]))
            for kind, promises in enumerate(kinds):
                side, place = np.unravel_index(int(np.argmax(promises)), promises.shape)
                if promises[side, place] > best[kind]:
                    best[kind] = float(promises[side, place])
                    chosen[kind] = Event(score, direction, sign * float(thresholds[place]), SIDES[side])
    if isinstance(chosen[0].score, Projection):
        # Its unit is the noise's spread, so the threshold also fits a better direction.
        better = [s for s in learned(a, b) if isinstance(s, Projection)]
        chosen[0] = replace(chosen[0], score=(*better, chosen[0].score)[0])
    steady, bold = ([event.contains(v) for v in (a, b)] for event in chosen)
    if np.array_equal(steady, bold):
        return [(chosen[0], alpha)]
    return list(zip(chosen, alphas, strict=True))


def _thresholds(values: Floats) -> Floats:
    """Values of both datasets together, sorted: dense in the upper tail, then even."""
    n = values.size
    ranks = np.concatenate([np.geomspace(1, n, _THRESHOLDS // 2), np.linspace(1, n, _THRESHOLDS // 2)])
    return np.unique(values[n - np.unique(ranks.astype(int))])


def _cautious(
    score: Score, values: list[Floats], thresholds: Floats, trials: int, delta: float, alpha: float
) -> Floats:
    """Predicted limit less a margin (2, m): with data favoured, with neighbour favoured."""
    plain = isinstance(score, Coordinate)
    linear = plain or isinstance(score, Projection)
    left, right = values
    *tails, margin = survival.estimate(left, right, thresholds, linear=linear)
    promises = np.empty((2, thresholds.size))
    for favoured in (0, 1):
        p, q = tails[favoured], tails[1 - favoured]
        limit = predicted_limit(p, q, trials, delta=delta, alpha=alpha)
        with np.errstate(all="ignore"):
            error = margin * np.maximum(p / (p - delta), 1) * (1 if plain else _LEARNED)
        # Where delta covers everything, the largest difference is still the best witness.
        promises[favoured] = np.where(np.isfinite(limit), limit - error, p - q - _HOPELESS)
    return promises


def _counted(values: list[Floats], thresholds: Floats, trials: int, delta: float, alpha: float) -> Floats:
    """Predicted limit (2, m) if the earlier counts are typical; -inf for sets hardly ever hit."""
    counts = [v.size - np.searchsorted(v, thresholds, side="left") for v in values]
    promises = np.empty((2, thresholds.size))
    for favoured in (0, 1):
        hits, other = counts[favoured], counts[1 - favoured] + 0.5
        n = values[0].size
        limit = predicted_limit(hits / n, other / n, trials, delta=delta, alpha=alpha)
        promises[favoured] = np.where(hits >= _SEEN, limit, -np.inf)
    return promises
