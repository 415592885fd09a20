"""Output sets: the outputs whose score lies beyond a threshold. One that a dataset hits too often shows a leak.

A set is chosen from earlier runs and counted on fresh ones; how well it is chosen affects power alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import Floats
from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.limits import stand_off, thresholds
from dpcheck.audits.running import SIDES
from dpcheck.audits.running.datasets import plain, shown
from dpcheck.audits.scores import Coordinate, Score, evaluate
from dpcheck.audits.scores.exact import Extreme, Repeats, Special, Stated, exact, given, seen, stated_once
from dpcheck.audits.scores.learned import Projection, Quadratic, fit, learned


@dataclass(frozen=True)
class OutputSet:
    """An output set ``{score >= threshold}`` (or ``<=``) that one dataset hits more often.

    Attributes
    ----------
    score : Score
        What is computed from an output.
    direction : str
        ``">="`` or ``"<="``.
    threshold : float
        Where the set begins.
    favours : str
        ``"data"`` or ``"neighbour"``, the dataset under which the set is more likely.
    hits, other_hits : int
        Counts in the fresh runs, on the favoured dataset and on the other.
    trials : int
        Fresh runs on each dataset.
    naming : callable, optional
        What writes columns and codes as the user would, where outputs are no numbers of one shape.
    """

    score: Score
    direction: str
    threshold: float
    favours: str
    hits: int = 0
    other_hits: int = 0
    trials: int = 0
    naming: Callable[[str], str] | None = field(default=None, repr=False, compare=False)

    @property
    def sign(self) -> int:
        """1 or -1: the set is where the score times this reaches the threshold times this."""
        return 1 if self.direction == ">=" else -1

    @property
    def counts(self) -> tuple[int, int, int]:
        """Hits on the favoured dataset and on the other, and the runs of each."""
        return self.hits, self.other_hits, self.trials

    def contains(self, outputs: Any) -> NDArray[np.bool_]:
        """Say which outputs lie in the set.

        Parameters
        ----------
        outputs : array_like, (n,) or (n, ...)
            One output a row.

        Returns
        -------
        ndarray of bool, (n,)
            Whether each lies in the set.
        """
        rows = np.asarray(outputs, float)
        return np.asarray(evaluate(self.score, self.sign, rows.reshape(len(rows), -1)) >= self.sign * self.threshold)

    @property
    def words(self) -> str:
        """The set as a sentence would name it."""
        return self.said if self.naming is None else self.naming(self.said)

    @property
    def said(self) -> str:
        """The set by columns and codes, where outputs are no numbers of one shape."""
        if self.sign * self.threshold == -math.inf:
            return "any output"
        describe = getattr(self.score, "describe", None)  # of scores that name their own sets
        if describe is not None:
            return str(describe(self.direction, self.threshold))
        return f"{self.score.words} {self.direction} {shown(self.threshold)}"

    def __str__(self) -> str:
        """Return the set and its counts."""
        other = SIDES[1 - SIDES.index(self.favours)]
        return (
            f"{self.words}: {self.hits} of {self.trials} runs on {self.favours}, "
            f"{self.other_hits} of {self.trials} on {other}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the set in words and in full, and its counts, ready for JSON."""
        names = ("words", "score", "direction", "threshold", "favours", "hits", "other_hits", "trials")
        shown = {name: getattr(self, name) for name in names}
        return shown | {"score": _parameters(self.score), "threshold": plain(self.threshold)}


# Larger arrays and longer lists of parameters are not written out, since the seed reproduces them.
_SHOWN = 2_000
_LISTED = 64


def _parameters(value: Any) -> Any:
    """Return what defines a score, ready for JSON."""
    if is_dataclass(value):
        defining = {f.name: _parameters(getattr(value, f.name)) for f in fields(value)}
        return {"kind": type(value).__name__.lower(), **defining}
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}" if value.size > _SHOWN else _parameters(value.tolist())
    if isinstance(value, tuple) and len(value) > _LISTED:
        return f"{len(value)} times {type(value[0]).__name__.lower()}"
    if isinstance(value, tuple | list):
        return [_parameters(v) for v in value]
    return plain(value)


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
# Share of the level for values that were seen on one dataset alone, where that is looked at.
_ONCE = 0.3
# Standard deviations by which a share may change if the score is fitted again.
_DRIFT = 10.0


@dataclass(frozen=True)
class Choice:
    """A set to be tested on fresh runs at level ``alpha``: ``P(event) <= e^epsilon Q(event) + delta``.

    kind : "steady", "bold", "seen" for values that were seen on one dataset alone, or "curve" for the point of a claim
        of many that is surest to fail
    promise : how well the set does by the earlier runs; larger is better, within one kind
    """

    kind: str
    event: OutputSet
    epsilon: float
    delta: float
    alpha: float
    promise: float = -math.inf


def choose(
    a: Floats,
    b: Floats,
    trials: int,
    claim: PrivacyClaim,
    *,
    epsilon: float,
    delta: float,
    alpha: float,
    codes: int = 0,
) -> list[Choice]:
    """Choose what to test on ``trials`` fresh runs of each dataset, at levels that add up to ``alpha``.

    a, b : (n, k), earlier outputs on data and neighbour;  epsilon : claimed at ``delta``
    codes : so many of the last columns hold codes of statements

    The steady choice is the best set by a cautious estimate: the one surest to break the claim, if any promises to;
    else the one with the largest limit at ``delta``. The bold choice, tested at a small level, is the best set by its
    counts alone: a rare leak has few hits, which a cautious estimate would dismiss. A claim of many points, or
    of one at another delta, has a third choice, the set and the point surest to break it.
    """
    again = seen(a, b, codes)
    once = None if again is None else OutputSet(again, ">=", 0.5, "data")
    if again is None and codes and (alone := stated_once(a, b, codes)) is not None:
        once = OutputSet(alone[0], ">=", 0.5, "data") if alone[1] > 0 else OutputSet(alone[0], "<=", -0.5, "neighbour")
    if once is not None:
        full, alpha = alpha, alpha * (1 - _ONCE)
    levels = {"steady": alpha * (1 - _BOLD), "bold": alpha * _BOLD}
    if claim.points != [(epsilon, delta)]:  # a point at another delta is tested there
        levels = {"curve": alpha * _CURVE} | {kind: level * (1 - _CURVE) for kind, level in levels.items()}
    apart = {kind: stand_off(level) for kind, level in levels.items()}
    best = dict.fromkeys(levels, -math.inf)
    anything = OutputSet(Coordinate(0, a.shape[1]), ">=", 0.0, "data")
    chosen = {kind: Choice(kind, anything, epsilon, delta, level) for kind, level in levels.items()}
    plain_scores, fitted = [*given(a, b, codes), *exact(a, b, codes)], learned(a[::2], b[::2], codes)
    for number, score in enumerate((*plain_scores, *fitted)):
        # Fitted scores look better than they are on the runs they were fitted to.
        runs = (a, b) if number < len(plain_scores) else (a[1::2], b[1::2])
        if codes and best["steady"] >= thresholds.HOPELESS and not hasattr(score, "describe"):
            continue  # a set that promises to break the claim, and that has words, is enough
        for sign, direction, values in _directions(score, *runs):
            places = thresholds.candidates(values)
            judged = _judge(score, values, places, trials, claim, epsilon, delta, apart)
            for kind, (promised, points) in judged.items():
                side, place = divmod(int(np.argmax(promised)), places.size)
                if promised[side, place] > best[kind]:
                    best[kind] = float(promised[side, place])
                    event = OutputSet(score, direction, sign * float(places[place]), SIDES[side])
                    at = (epsilon, delta) if points is None else claim.points[int(points[side, place])]
                    chosen[kind] = Choice(kind, event, *at, levels[kind], best[kind])
    mixing = {kind: test for kind, test in chosen.items() if isinstance(test.event.score, Projection | Quadratic)}
    refitted: dict[type, Score] = {type(score): score for score in fit(a, b)} if mixing else {}
    for kind, test in mixing.items():
        # The unit of the score does not depend on the runs, so the threshold also fits a score fitted to all of them.
        event = replace(test.event, score=refitted.get(type(test.event.score), test.event.score))
        if _alike(test.event, event, a) and _alike(test.event, event, b):
            chosen[kind] = replace(test, event=event)
    steady, bold = chosen["steady"], chosen.pop("bold")
    one, other = steady.event, bold.event
    if np.array_equal(one.contains(a), other.contains(a)) and np.array_equal(one.contains(b), other.contains(b)):
        chosen["steady"] = replace(steady, alpha=steady.alpha + levels["bold"])
    else:
        chosen["bold"] = bold
    tests = list(chosen.values())
    if once is not None:
        tests.append(Choice("seen", once, epsilon, delta, full * _ONCE))
    return tests


def _judge(
    score: Score, values: list[Floats], at: Floats, trials: int, claim: PrivacyClaim, epsilon: float, delta: float,
    apart: dict[str, float],
) -> dict[str, tuple[Floats, Points | None]]:  # fmt: skip
    """Return what each threshold ``at`` promises (2, m), and at which point of the claim, for each kind of choice.

    apart : for each kind of choice by how many standard deviations its limits stand off
    """
    linear = isinstance(score, Coordinate | Projection)
    alone = isinstance(score, Stated) and score.values.size == 1
    caution = 1 if alone or isinstance(score, Coordinate | Extreme | Special) else _LEARNED
    # The tails of the favoured dataset and of the other (2, m), and a margin (m,) for the log of their ratio.
    p, q, margin = thresholds.estimate(values[0], values[1], at, linear=linear)
    tails = np.array([p, q]), np.array([q, p])
    claimed = math.nan if "curve" in apart else epsilon
    steady = thresholds.limits(*tails, margin * caution, trials, delta, apart["steady"], claimed)
    unseen = _UNREPEATED if type(score) is Repeats else 0.5
    least = _MIXED if isinstance(score, Projection | Quadratic) else _SEEN
    bold = thresholds.counted((values[0], values[1]), at, trials, delta, apart["bold"], unseen, least)
    judged: dict[str, tuple[Floats, Points | None]] = {"steady": (steady, None), "bold": (bold, None)}
    if "curve" in apart:
        p, q, margin = thresholds.estimate(values[0], values[1], at, linear=linear, smooth=True)
        least_tails = np.array([p, q]) * np.exp(-margin * caution)
        advance = _PRIOR * claim.weights()
        judged["curve"] = thresholds.surest(
            least_tails, np.array([q, p]), trials, claim.epsilons, claim.deltas, advance
        )
    return judged


def _alike(first: OutputSet, other: OutputSet, outputs: Floats) -> bool:
    """Say whether both sets hold about as many runs; not so where noise cancels and only rounding sets the unit."""
    p, q = first.contains(outputs).mean(), other.contains(outputs).mean()
    return bool(abs(p - q) <= _DRIFT * math.sqrt(max(p * (1 - p), q * (1 - q), 1 / len(outputs)) / len(outputs)))


def _directions(score: Score, left: Floats, right: Floats) -> Iterator[tuple[int, str, list[Floats]]]:
    """Yield both directions of a score, with its values on both datasets as ``evaluate`` returns them, sorted."""
    with np.errstate(all="ignore"):
        ordered = [np.sort(score(v)) for v in (left, right)]
    undefined = [int(np.isnan(v).sum()) for v in ordered]  # they come last, and lie in no tail
    defined = [v[: v.size - k] for v, k in zip(ordered, undefined, strict=True)]
    for sign, direction, values in ((1, ">=", defined), (-1, "<=", [-v[::-1] for v in defined])):
        whole = [np.concatenate([np.full(k, -np.inf), v]) for v, k in zip(values, undefined, strict=True)]
        yield sign, direction, whole
