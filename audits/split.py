"""A lower bound on epsilon from one sample of scores: the first runs choose a threshold, and the others test it.

The bound assumes nothing of the mechanism; the score and its orientation are fixed beforehand. It serves for scores at
hand, where :func:`~dpcheck.audits.membership.audit_privacy` runs a mechanism, learns its scores and may stop early.

Null hypothesis: ``P(E) <= e^epsilon Q(E) + delta`` for the set E = {score >= t} of every t, and ``Q(E) <= e^epsilon
P(E) + delta`` for their complements. Two sets are tested: the best by a cautious estimate and, at a small part of the
level, the best by its counts alone, which a rare event needs. Neither depends on the runs that test it
(:mod:`.limits`), and the levels add up, so that the larger limit exceeds the truth with probability at most
``1 - confidence``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.arguments import checked
from dpcheck.arrays import Floats
from dpcheck.audits import limits
from dpcheck.audits.bands import ThresholdBound, read_scores
from dpcheck.audits.limits import thresholds
from dpcheck.errors import require_confidence, require_count, require_delta

# The share of the runs that choose, and a number of runs that is enough to choose well.
_EARLIER, _ENOUGH = 0.13, 50_000
# Shares of the level for the cautious choice and for that by counts; the fewest hits on which the latter may rest, and
# the hits added to the other side's count.
_CAUTIOUS, _BOLD, _SEEN, _UNSEEN = 0.94, 0.06, 4, 0.5


@checked
def split_bound(
    scores: ArrayLike, other_scores: ArrayLike, *, delta: float = 0.0, confidence: float = 0.95
) -> ThresholdBound:
    """Return a limit on epsilon by the set that the first runs choose and the others test.

    Parameters
    ----------
    scores, other_scores : array_like, (n,)
        Scores of n >= 20 independent runs on each of the two datasets, in the order in which they came, without NaN.
        The score must be one that the first dataset was expected to raise before these runs were seen.
    delta : float
        In [0, 1).
    confidence : float
        Of the limit, in (0.5, 1).

    Returns
    -------
    ThresholdBound
        The limit and the set that shows it; ``trials`` counts the runs that tested it.

    Raises
    ------
    InputError
        For scores that are no such arrays, and for numbers outside their domains.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcheck.audits.split import split_bound
    >>> rng = np.random.default_rng(0)
    >>> bound = split_bound(1 + rng.laplace(size=1000), rng.laplace(size=1000))  # epsilon is 1
    >>> 0.5 < bound.epsilon_lower < 1
    True
    """
    require_delta(delta)
    require_confidence(confidence)
    a, b = read_scores(scores, other_scores)
    require_count(a.size, "trials", least=20)
    earlier, alpha = min(math.ceil(_EARLIER * a.size), _ENOUGH), 1 - confidence
    first, other_first, fresh = np.sort(a[:earlier]), np.sort(b[:earlier]), a.size - earlier
    ways = (first, other_first), (-other_first[::-1], -first[::-1])  # {score >= t}, and its complement, negated
    sets, levels = [], [alpha * _CAUTIOUS, alpha * _BOLD]
    for (up, t), (down, minus_t) in zip(*(_best(*way, fresh, delta, alpha) for way in ways), strict=True):
        sets.append((down > up, -minus_t if down > up else t))
    if sets[0] == sets[1]:
        sets, levels = sets[:1], [alpha]
    best: ThresholdBound | None = None
    for (complement, threshold), level in zip(sets, levels, strict=True):
        x, y = (int((v[earlier:] <= threshold if complement else v[earlier:] >= threshold).sum()) for v in (a, b))
        hits, other = (y, x) if complement else (x, y)
        if best and limits.most(hits, other, fresh, delta=delta, alpha=level) <= best.epsilon_lower:
            continue
        epsilon = limits.epsilon_lower(hits, other, fresh, delta=delta, alpha=level)
        if best is None or epsilon > best.epsilon_lower:
            best = ThresholdBound(epsilon, threshold, complement, hits, other, fresh, delta, confidence)
    assert best
    return best


def _best(
    favoured: Floats, other: Floats, trials: int, delta: float, alpha: float
) -> list[tuple[float, float]]:  # fmt: skip
    """Return what the best set {value >= t} promises on ``trials`` fresh runs, and t: with caution, and by counts."""
    values = [np.ascontiguousarray(v) for v in (favoured, other)]
    at = thresholds.candidates(values)
    p, q, margin = thresholds.estimate(values[0], values[1], at, linear=True)
    apart = [limits.stand_off(alpha * share) for share in (_CAUTIOUS, _BOLD)]
    promises = (
        thresholds.limits(p[None], q[None], margin, trials, delta, apart[0], math.nan)[0],
        thresholds.counted((values[0], values[1]), at, trials, delta, apart[1], _UNSEEN, _SEEN)[0],
    )
    return [(float(promised.max()), float(at[promised.argmax()])) for promised in promises]
