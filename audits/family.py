"""The least noise that the data reject: a bound within the claimed family of mechanisms.

Labelled, because it assumes more than a bound for any mechanism: that the pair of output laws obeys
the claimed family's privacy curve for SOME noise multiplier. The null at multiplier z is the whole
curve, P(E) <= e^eps Q(E) + delta_z(eps) for every eps, on one event E chosen on earlier samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import require_confidence, require_count

Array = NDArray[np.float64]
Curve = Callable[[Array], Array]  # epsilons -> deltas, an upper bound


@dataclass(frozen=True)
class FamilyBound:
    """``multiplier``: it and all larger ones are rejected (inf: none is); counts on each side."""

    multiplier: float
    threshold: float
    hits: tuple[int, int]
    trials: int
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self)


def rejected_multiplier(
    scores: Array, neighbour_scores: Array, curve: Callable[[float], Curve], *, guess: float,
    confidence: float = 0.95,
) -> FamilyBound:  # fmt: skip
    """Least noise multiplier that the scores reject, to 0.5 %: the noise is smaller than that.

    scores, neighbour_scores : (N,) of independent runs on either data set, large where the first is
        likelier;  curve(z) : the family's privacy curve at multiplier z;  guess : the claimed one

    A tenth of the runs picks the threshold; Clopper-Pearson limits on the others (half the level
    each) bound P and Q. Larger multipliers give lower curves, so the rejected ones form a ray. It is
    not followed below a sixteenth of the guess.
    """
    from scipy.special import betaincinv

    require_confidence(confidence)
    require_count(len(scores), "trials", least=100)
    first = len(scores) // 10
    threshold = _best_threshold(scores[:first], neighbour_scores[:first])
    x = int((scores[first:] >= threshold).sum())
    y = int((neighbour_scores[first:] >= threshold).sum())
    n, alpha = len(scores) - first, 1 - confidence
    low = float(betaincinv(x, n - x + 1, alpha / 2)) if x > 0 else 0.0
    high = float(betaincinv(y + 1, n - y, 1 - alpha / 2)) if y < n else 1.0
    epsilons = np.linspace(0, 10, 401)

    def rejected(z: float) -> bool:
        return bool(low > (np.exp(epsilons) * high + curve(z)(epsilons)).min())

    multiplier = math.inf
    if low > high:
        kept, multiplier = guess / 16, guess
        while not rejected(multiplier):
            kept, multiplier = multiplier, 2 * multiplier
        if rejected(kept):
            kept = multiplier = kept
        while multiplier / kept > 1.005:
            middle = math.sqrt(multiplier * kept)
            kept, multiplier = (kept, middle) if rejected(middle) else (middle, multiplier)
    return FamilyBound(multiplier, threshold, (x, y), n, confidence)


def _best_threshold(ours: Array, theirs: Array) -> float:
    """Where the two distribution functions are farthest apart in standard errors."""
    grid = np.quantile(np.concatenate([ours, theirs]), np.linspace(0.02, 0.98, 97))
    p = 1 - np.searchsorted(np.sort(ours), grid) / len(ours)
    q = 1 - np.searchsorted(np.sort(theirs), grid) / len(theirs)
    error = np.sqrt(p * (1 - p) + q * (1 - q)) + 1e-3
    return float(grid[np.argmax((p - q) / error)])
