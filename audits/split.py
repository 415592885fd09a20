"""A lower bound on epsilon from one sample of scores, its threshold chosen on the first runs and tested on the others.

Assumes nothing of the mechanism; the score and its orientation are fixed beforehand. For scores that are at hand, where
:func:`~dpcheck.audits.membership.audit_privacy` runs a mechanism, learns its scores and may stop early.

Null hypothesis: ``P(E) <= e^epsilon Q(E) + delta`` for the set E = {score >= t} of every t, and
``Q(E) <= e^epsilon P(E) + delta`` for their complements. Two sets are tested, the one that promises most by a cautious
estimate and, at a small part of the level, the one that does by its counts as they stand, which a rare event needs.
Neither depends on the runs that test it (:mod:`.binomial`), and the levels add up, so that the larger limit exceeds the
truth with probability at most ``1 - confidence``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.audits import binomial, survival, thresholds
from dpcheck.audits.bands import ThresholdBound, read_scores
from dpcheck.errors import require_confidence, require_count, require_delta

Floats = NDArray[np.float64]

# Share of the runs that choose, and runs enough to choose well.
_EARLIER, _ENOUGH = 0.13, 50_000
# Share of the level for the set chosen by its counts, hits without which it would be a guess, and those added to the
# other side's.
_BOLD, _SEEN, _UNSEEN = 0.06, 4, 0.5


def split_bound(
    scores: ArrayLike, other_scores: ArrayLike, *, delta: float = 0.0, confidence: float = 0.95
) -> ThresholdBound:
    """Limit by the set that promises most on the first runs, tested on the others; ``trials`` counts these.

    scores, other_scores : (n,) of independent runs on the two datasets, in the order in which they came, n >= 20, no
        NaN; the score is one that the first dataset was expected to raise, before these runs were seen
    """
    require_delta(delta)
    require_confidence(confidence)
    a, b = read_scores(scores, other_scores)
    require_count(a.size, "trials", least=20)
    earlier, alpha = min(math.ceil(_EARLIER * a.size), _ENOUGH), 1 - confidence
    first, other_first, fresh = np.sort(a[:earlier]), np.sort(b[:earlier]), a.size - earlier
    ways = (first, other_first), (-other_first[::-1], -first[::-1])  # {score >= t}, and the complement turned round
    chosen = []
    for level, bold in ((alpha * (1 - _BOLD), False), (alpha * _BOLD, True)):
        upper, lower = (_choose(*way, fresh, delta, level, bold) for way in ways)
        complement = lower[0] > upper[0]
        chosen.append((complement, -lower[1] if complement else upper[1], level))
    if chosen[0][:2] == chosen[1][:2]:
        chosen = [(*chosen[0][:2], alpha)]
    bounds = []
    for complement, threshold, level in chosen:
        x, y = (_count(v[earlier:], complement, threshold) for v in (a, b))
        hits, other = (y, x) if complement else (x, y)
        epsilon = binomial.epsilon_lower(hits, other, fresh, delta=delta, alpha=level)
        bounds.append(ThresholdBound(epsilon, threshold, complement, hits, other, fresh, delta, confidence))
    return max(bounds, key=lambda bound: bound.epsilon_lower)


def _choose(
    favoured: Floats, other: Floats, trials: int, delta: float, alpha: float, bold: bool
) -> tuple[float, float]:  # fmt: skip
    """What the best set {value >= t} promises on ``trials`` fresh runs, and its t."""
    values, apart = [np.ascontiguousarray(v) for v in (favoured, other)], binomial.stand_off(alpha)
    at = thresholds.candidates(values)
    if bold:
        promised = thresholds.counted(values[0], values[1], at, trials, delta, apart, _UNSEEN, _SEEN)[0]
    else:
        p, q, margin = survival.estimate(values[0], values[1], at, linear=True)
        promised = thresholds.limits(p[None], q[None], margin, trials, delta, apart, math.nan)[0]
    place = int(np.argmax(promised))
    return float(promised[place]), float(at[place])


def _count(scores: Floats, complement: bool, threshold: float) -> int:
    return int(np.count_nonzero(scores <= threshold if complement else scores >= threshold))
