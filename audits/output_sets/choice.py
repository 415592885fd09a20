"""The witness of a membership audit: an output set chosen on earlier runs, judged on fresh ones."""

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

# Margins taken off a fitted score for each taken off a plain one: it has more ways to be lucky.
_LEARNED = 2.0
# Share of the level for testing a claim of many points; the rest is for the limit at one delta.
_CURVE = 0.75
# Standard deviations of advance for the points of a claim that show most in general.
_PRIOR = 8.0
# Hits added to the other dataset's count of values that repeat: a continuous law has none.
_UNREPEATED = 0.05
# Share of the level for the bold choice, and hits without which it would be a guess; more where the coordinates are
# mixed, which hides a rare leak rather than shows it.
_BOLD = 0.06
_SEEN, _MIXED = 4, 40
# Standard deviations by which a share may move with a score fitted anew.
_DRIFT = 10.0


@dataclass(frozen=True)
class Choice:
    """To be tested on fresh runs at level ``alpha``: ``P(event) <= e^epsilon Q(event) + delta``.

    kind : "steady", "bold", or "curve" for the point of a claim of many that is surest to fail
    promise : what the earlier runs say of it; larger is better, within one kind
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
    """What to test on ``trials`` fresh runs a dataset; the levels add up to ``alpha``.

    ``a`` and ``b`` : (n, k), earlier outputs on data and neighbour;  ``epsilon`` : claimed at ``delta``

    The steady choice is the set that promises most by a cautious estimate: where it promises to break the
    claim, the one surest to; else the one with the largest limit at ``delta``. The bold one, tested at a
    small level, promises most by its counts as they stand: a rare leak has few, which no caution would let
    pass. A claim of many points has a third, the set and the point surest to break it.
    """
    curve = len(claim.epsilons) > 1
    levels = {"steady": alpha * (1 - _BOLD), "bold": alpha * _BOLD}
    if curve:
        levels = {"curve": alpha * _CURVE} | {kind: level * (1 - _CURVE) for kind, level in levels.items()}
    best = dict.fromkeys(levels, -math.inf)
    anything = OutputSet(Coordinate(0, a.shape[1]), ">=", 0.0, "data")
    chosen = {kind: Choice(kind, anything, epsilon, delta, level) for kind, level in levels.items()}
    for score, left, right in _options(a, b):
        for sign, direction, values in _directions(score, left, right):
            places = thresholds.candidates(values)
            judged = _judge(score, values, places, trials, claim, epsilon, delta, levels)
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
        # Its unit does not depend on the runs, so the threshold also fits a score of all of them.
        event = replace(test.event, score=refitted.get(type(test.event.score), test.event.score))
        if _alike(test.event, event, a) and _alike(test.event, event, b):
            chosen[kind] = replace(test, event=event)
    steady, bold = chosen["steady"], chosen.pop("bold")
    if all(np.array_equal(steady.event.contains(v), bold.event.contains(v)) for v in (a, b)):
        chosen["steady"] = replace(steady, alpha=steady.alpha + levels["bold"])
    else:
        chosen["bold"] = bold
    return list(chosen.values())


def _judge(
    score: Score, values: list[Floats], at: Floats, trials: int, claim: PrivacyClaim, epsilon: float, delta: float,
    levels: dict[str, float],
) -> dict[str, tuple[Floats, Points | None]]:  # fmt: skip
    """What each threshold ``at`` promises (2, m), and at which point of the claim."""
    curve = "curve" in levels
    apart = {kind: stand_off(level) for kind, level in levels.items()}
    p, q, margin = _cautious(score, values, at)
    claimed = math.nan if curve else epsilon
    found: dict[str, tuple[Floats, Points | None]] = {
        "steady": (thresholds.limits(p, q, margin, trials, delta, apart["steady"], claimed), None)
    }
    unseen = _UNREPEATED if isinstance(score, Repeats) else 0.5
    least = _MIXED if isinstance(score, Projection | Quadratic) else _SEEN
    bold = thresholds.counted(values[0], values[1], at, trials, delta, apart["bold"], unseen, least)
    found["bold"] = (bold, None)
    if curve:
        p, q, margin = _cautious(score, values, at, smooth=True)
        advance = _PRIOR * claim.weights()
        found["curve"] = thresholds.surest(p * np.exp(-margin), q, trials, claim.epsilons, claim.deltas, advance)
    return found


def _alike(first: OutputSet, other: OutputSet, outputs: Floats) -> bool:
    """Whether both sets hold about as many of the runs: not where noise cancels, and a unit is one of rounding."""
    p, q = first.contains(outputs).mean(), other.contains(outputs).mean()
    return bool(abs(p - q) <= _DRIFT * math.sqrt(max(p * (1 - p), q * (1 - q), 1 / len(outputs)) / len(outputs)))


def _options(a: Floats, b: Floats) -> Iterator[tuple[Score, Floats, Floats]]:
    """Scores, and the runs on which to judge them."""
    for score in (*given(a, b), *exact(a, b)):
        yield score, a, b
    # Fitted scores look better than they are on the runs they were fitted to.
    for score in learned(a[::2], b[::2]):
        yield score, a[1::2], b[1::2]


def _directions(score: Score, left: Floats, right: Floats) -> Iterator[tuple[int, str, list[Floats]]]:
    """The score's values on both, as :func:`~.scores.score.evaluate` gives them either way, each sorted."""
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
    """Tails (2, m) of the favoured dataset and of the other, and a margin (m,) for the log of their ratio."""
    unfitted = isinstance(score, Coordinate | Extreme | Special)
    linear = isinstance(score, Coordinate | Projection)
    p, q, margin = tails.estimate(values[0], values[1], at, linear=linear, smooth=smooth)
    return np.array([p, q]), np.array([q, p]), margin * (1 if unfitted else _LEARNED)
