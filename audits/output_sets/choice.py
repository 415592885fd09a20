"""The choice of output sets from earlier runs, to be tested on fresh ones; how well it is made affects power alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.limits import tails, thresholds
from dpcheck.audits.limits.binomial import stand_off
from dpcheck.audits.output_sets.output_set import OutputSet
from dpcheck.audits.running.run_plan import SIDES
from dpcheck.audits.scores.candidates import exact, given, learned
from dpcheck.audits.scores.discriminants import Projection, Quadratic, fit
from dpcheck.audits.scores.histograms import Coordinate
from dpcheck.audits.scores.nan_or_minus_zero import Special
from dpcheck.audits.scores.repeats import Repeats
from dpcheck.audits.scores.score import Score
from dpcheck.audits.scores.smallest_or_largest import Extreme

Floats = NDArray[np.float64]
Points = NDArray[np.int64]

# Margins subtracted for a fitted score where one is for a plain score: chance has more ways to flatter it.
_LEARNED = 2.0
# Share of the level that tests a claim of many points; the rest goes to the limit at one delta.
_CURVE = 0.75
# Standard deviations added in advance at the points of a claim that reveal most in general.
_PRIOR = 8.0
# Hits added to the other dataset's count of values that repeat: few, since a continuous law repeats none.
_UNREPEATED = 0.05
# Share of the level for the bold choice, and the fewest hits on which it may rest; more for a discriminant, which mixes
# the numbers of an output and so hides a rare leak.
_BOLD = 0.06
_SEEN, _MIXED = 4, 40
# Standard deviations by which a share may change if the score is fitted again.
_DRIFT = 10.0


@dataclass(frozen=True)
class Choice:
    """A set to be tested on fresh runs at level ``alpha``: ``P(event) <= e^epsilon Q(event) + delta``.

    kind : "steady", "bold", or "curve" for the point of a claim of many that is surest to fail
    promise : how well the set does by the earlier runs; larger is better, within one kind
    """

    kind: str
    event: OutputSet
    epsilon: float
    delta: float
    alpha: float
    promise: float = -math.inf


def choose(
    a: Floats, b: Floats, trials: int, claim: PrivacyClaim, *, epsilon: float, delta: float, alpha: float
) -> list[Choice]:
    """Choose what to test on ``trials`` fresh runs of each dataset, at levels that add up to ``alpha``.

    a, b : (n, k), earlier outputs on data and neighbour;  epsilon : claimed at ``delta``

    The steady choice is the best set by a cautious estimate: the one surest to break the claim, if any promises to;
    else the one with the largest limit at ``delta``. The bold choice, tested at a small level, is the best set by its
    counts alone: a rare leak has few hits, which a cautious estimate would dismiss. A claim of many points, or
    of one at another delta, has a third choice, the set and the point surest to break it.
    """
    levels = {"steady": alpha * (1 - _BOLD), "bold": alpha * _BOLD}
    if len(claim.epsilons) > 1 or claim.at(0) != (epsilon, delta):  # a point at another delta is tested there
        levels = {"curve": alpha * _CURVE} | {kind: level * (1 - _CURVE) for kind, level in levels.items()}
    best = dict.fromkeys(levels, -math.inf)
    anything = OutputSet(Coordinate(0, a.shape[1]), ">=", 0.0, "data")
    chosen = {kind: Choice(kind, anything, epsilon, delta, level) for kind, level in levels.items()}
    aim = _Aim(trials, claim, epsilon, delta, levels)
    for score, left, right in _options(a, b):
        for sign, direction, values in _directions(score, left, right):
            places = thresholds.candidates(values)
            judged = _judge(score, values, places, aim)
            for kind, (promised, points) in judged.items():
                side, place = divmod(int(np.argmax(promised)), places.size)
                if promised[side, place] > best[kind]:
                    best[kind] = float(promised[side, place])
                    event = OutputSet(score, direction, sign * float(places[place]), SIDES[side])
                    at = (epsilon, delta) if points is None else claim.at(int(points[side, place]))
                    chosen[kind] = Choice(kind, event, *at, levels[kind], best[kind])
    mixing = {kind: test for kind, test in chosen.items() if isinstance(test.event.score, Projection | Quadratic)}
    refitted: dict[type, Score] = {type(score): score for score in fit(a, b)} if mixing else {}
    for kind, test in mixing.items():
        # The unit of the score does not depend on the runs, so the threshold also fits a score fitted to all of them.
        event = replace(test.event, score=refitted.get(type(test.event.score), test.event.score))
        if _alike(test.event, event, a) and _alike(test.event, event, b):
            chosen[kind] = replace(test, event=event)
    steady, bold = chosen["steady"], chosen.pop("bold")
    if all(np.array_equal(steady.event.contains(v), bold.event.contains(v)) for v in (a, b)):
        chosen["steady"] = replace(steady, alpha=steady.alpha + levels["bold"])
    else:
        chosen["bold"] = bold
    return list(chosen.values())


@dataclass(frozen=True)
class _Aim:
    """What the fresh runs are to show: that a claim fails, at a level for each kind of choice."""

    trials: int
    claim: PrivacyClaim
    epsilon: float
    delta: float
    levels: dict[str, float]


def _judge(
    score: Score, values: list[Floats], at: Floats, aim: _Aim
) -> dict[str, tuple[Floats, Points | None]]:  # fmt: skip
    """Return what each threshold ``at`` promises (2, m), and at which point of the claim, for each kind of choice."""
    trials, claim, delta = aim.trials, aim.claim, aim.delta
    curve = "curve" in aim.levels
    apart = {kind: stand_off(level) for kind, level in aim.levels.items()}
    p, q, margin = _cautious(score, values, at)
    claimed = math.nan if curve else aim.epsilon
    found: dict[str, tuple[Floats, Points | None]] = {
        "steady": (thresholds.limits(p, q, margin, trials, delta, apart["steady"], claimed), None)
    }
    unseen = _UNREPEATED if isinstance(score, Repeats) else 0.5
    least = _MIXED if isinstance(score, Projection | Quadratic) else _SEEN
    bold = thresholds.counted((values[0], values[1]), at, trials, delta, apart["bold"], unseen, least)
    found["bold"] = (bold, None)
    if curve:
        p, q, margin = _cautious(score, values, at, smooth=True)
        advance = _PRIOR * claim.weights()
        found["curve"] = thresholds.surest(p * np.exp(-margin), q, trials, claim.epsilons, claim.deltas, advance)
    return found


def _alike(first: OutputSet, other: OutputSet, outputs: Floats) -> bool:
    """Say whether both sets hold about as many runs; not so where noise cancels and only rounding sets the unit."""
    p, q = first.contains(outputs).mean(), other.contains(outputs).mean()
    return bool(abs(p - q) <= _DRIFT * math.sqrt(max(p * (1 - p), q * (1 - q), 1 / len(outputs)) / len(outputs)))


def _options(a: Floats, b: Floats) -> Iterator[tuple[Score, Floats, Floats]]:
    """Yield scores, each with the runs on which to judge it."""
    for score in (*given(a, b), *exact(a, b)):
        yield score, a, b
    # Fitted scores look better than they are on the runs they were fitted to.
    for score in learned(a[::2], b[::2]):
        yield score, a[1::2], b[1::2]


def _directions(score: Score, left: Floats, right: Floats) -> Iterator[tuple[int, str, list[Floats]]]:
    """Yield both directions of a score, with its values on both datasets as ``evaluate`` returns them, sorted."""
    with np.errstate(all="ignore"):
        ordered = [np.sort(score(v)) for v in (left, right)]
    undefined = [int(np.isnan(v).sum()) for v in ordered]  # they come last, and lie in no tail
    defined = [v[: v.size - k] for v, k in zip(ordered, undefined, strict=True)]
    for sign, direction, values in ((1, ">=", defined), (-1, "<=", [-v[::-1] for v in defined])):
        yield (
            sign,
            direction,
            [np.concatenate([np.full(k, -np.inf), v]) for v, k in zip(values, undefined, strict=True)],
        )


def _cautious(score: Score, values: list[Floats], at: Floats, *, smooth: bool = False) -> tuple[Floats, Floats, Floats]:
    """Return tails (2, m) of the favoured dataset and of the other, and a margin (m,) for the log of their ratio."""
    unfitted = isinstance(score, Coordinate | Extreme | Special)
    linear = isinstance(score, Coordinate | Projection)
    p, q, margin = tails.estimate(values[0], values[1], at, linear=linear, smooth=smooth)
    return np.array([p, q]), np.array([q, p]), margin * (1 if unfitted else _LEARNED)
