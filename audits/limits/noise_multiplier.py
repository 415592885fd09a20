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
_CLOSE = 1.005  # the ratio of a multiplier that is rejected and one that is not, at the end of the search
_LINES = 10  # steps along lines, after which the search halves


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
        return binomial.rejects(x, y, trials, epsilon, delta=min(delta, 1 - 1e-12), alpha=alpha)

    if not rejects(0.0):  # not even at delta = 0
        return math.inf
    edge = _height(_largest(rejects))
    least = guess / 16
    kept, multiplier, z = least, 1e6 * guess, guess
    tried: list[tuple[float, float]] = []
    while multiplier > kept * _CLOSE:
        delta = float(curve(z)(epsilon))
        tried.append((math.log(z), _height(delta)))
        kept, multiplier = (kept, z) if rejects(delta) else (z, multiplier)
        z = _next(tried, edge, kept, multiplier)
    return least if kept == least and rejects(float(curve(least)(epsilon))) else multiplier


def _largest(rejects: Callable[[float], bool]) -> float:
    """Return the largest delta that is rejected, to a thousandth: where the curve crosses it, the search looks."""
    low, high = 1e-12, 1.0
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if rejects(middle) else (low, middle)
    return low


def _height(delta: float) -> float:
    """Return a delta on a scale on which Gaussian curves are nearly straight in log z, near 0 as near 1."""
    return math.log(-math.log1p(-min(max(delta, 1e-15), 1 - 1e-12)))


def _next(tried: list[tuple[float, float]], edge: float, low: float, high: float) -> float:
    """Return where to look next between two multipliers: where a line through the last two places meets the edge.

    A little above it or below it, so that both ends close in; in the middle where the line does not help.
    """
    x, y = tried[-1]
    slope = -1.0
    if len(tried) > 1 and y != tried[-2][1]:
        slope = min((y - tried[-2][1]) / (x - tried[-2][0]), -0.1)
    found = math.exp(x + max(-3.0, min(3.0, (edge - y) / slope)))
    found *= _CLOSE**0.4 if high > found * _CLOSE else _CLOSE**-0.4
    if found <= low:
        found = low * _CLOSE**0.8
    return found if found < high and len(tried) < _LINES else math.sqrt(low * high)
