"""The least noise multiplier that the runs reject: a bound that assumes the claimed family of mechanisms.

The bound assumes more than one for any mechanism, and is labelled for that: the pair of output laws obeys the claimed
family's privacy curve for SOME noise multiplier. The null hypothesis at multiplier z is that the total variation of the
two laws is at most the curve's value at epsilon = 0, so that P(E) - Q(E) <= delta_z(0). The event E, a score of at
least 0, is fixed beforehand; for a log-likelihood ratio it attains the total variation. One exact joint test of the two
counts decides (:mod:`.binomial`).

The same holds at any other epsilon fixed beforehand, for sets farther out (:func:`least_rejected`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.audits.limits import binomial
from dpcheck.errors import require, require_confidence, require_count, require_positive

Array = NDArray[np.float64]
Curve = Callable[[ArrayLike], Array]  # epsilon -> delta, an upper bound


@dataclass(frozen=True)
class MultiplierBound:
    """The noise multipliers that the runs reject: ``multiplier`` and all larger ones (inf: none).

    hits : runs with a score of at least 0, on the first dataset and on the other, of ``trials`` each
    """

    multiplier: float
    hits: tuple[int, int]
    trials: int
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return asdict(self)


def rejected_multiplier(
    scores: Array, neighbour_scores: Array, curve: Callable[[float], Curve], *, guess: float, confidence: float = 0.95
) -> MultiplierBound:
    """Return the least noise multiplier that the scores reject, to 0.5 %: the noise is smaller than that.

    scores, neighbour_scores : (N,) log-likelihood ratios, first law over second, of independent runs on each dataset
    curve : from a multiplier to the family's privacy curve
    guess : the claimed multiplier, where the search starts; it ends at a sixteenth of it
    """
    require_confidence(confidence)
    require_positive(guess, "guess")
    n = len(scores)
    require_count(n, "trials", least=100)
    require(len(neighbour_scores) == n, "neighbour_scores", f"have as many runs as scores, {n}", len(neighbour_scores))
    x, y = int((np.asarray(scores) >= 0).sum()), int((np.asarray(neighbour_scores) >= 0).sum())
    multiplier = least_rejected(x, y, n, curve, epsilon=0.0, guess=guess, alpha=1 - confidence)
    return MultiplierBound(multiplier, (x, y), n, confidence)


def least_rejected(
    x: int, y: int, trials: int, curve: Callable[[float], Curve], *, epsilon: float, guess: float, alpha: float
) -> float:
    """Return the least z, to 0.5 %, at which the counts reject ``P <= e^epsilon Q + curve(z)(epsilon)``; inf if none.

    The output set, hit ``x`` and ``y`` times in ``trials`` runs, and ``epsilon`` must have been fixed beforehand.
    Larger multipliers have lower curves, so that the rejected ones form a ray.
    """

    def rejects(delta: float) -> bool:
        return binomial.rejects(x, y, trials, epsilon, delta=delta, alpha=alpha)

    def rejected(z: float) -> bool:
        return rejects(min(float(curve(z)(epsilon)), 1 - 1e-12))

    if not rejects(0.0):  # not even at delta = 0
        return math.inf
    kept, multiplier = guess / 16, guess
    while not rejected(multiplier) and multiplier < 1e6 * guess:
        kept, multiplier = multiplier, 2 * multiplier
    if rejected(kept):
        multiplier = kept
    while multiplier / kept > 1.005:
        middle = math.sqrt(multiplier * kept)
        kept, multiplier = (kept, middle) if rejected(middle) else (middle, multiplier)
    return multiplier
