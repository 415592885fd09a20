"""The order of outcomes behind :mod:`dpcheck.audits.limits.binomial`: which counts contradict a claim more.

Every signature is spelled out, so that each kernel is compiled once, when it is first called, and kept on disk.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcheck.compiled import njit

Whole = NDArray[np.int64]


@njit("float64(float64, int64, float64)", nogil=True)
def lower_limit(count: float, trials: int, z: float) -> float:
    """Return the lower limit t of a binomial probability for which ``count`` is the upper z-quantile.

    The quantile is the normal one with skewness and continuity corrections,
    ``N t + z sqrt(N t (1 - t)) + (z^2 - 1)(1 - 2 t) / 6 + 1/2``; the limit is its smaller root.
    """
    skew = (z * z - 1) / 6
    excess = count - 0.5 - skew
    if excess <= 0:
        return 0.0
    slope = trials - 2 * skew
    variance = z * z * trials
    root = max(4 * excess * (slope - excess) + variance, 0.0)
    return 2 * excess * excess / (2 * excess * slope + variance + math.sqrt(variance * root))


@njit("float64(float64, float64, int64, float64, float64)", nogil=True)
def score(x: float, y: float, trials: int, z: float, delta: float) -> float:
    """Return ``log((L(x) - delta) / U(y))``, or -inf where L(x) <= delta."""
    gain = lower_limit(x, trials, z) - delta
    return math.log(gain / (1 - lower_limit(trials - y, trials, z))) if gain > 0 else -math.inf


@njit("int64[:](int64, float64, float64, float64, int64, int64)", nogil=True)
def front(trials: int, z: float, score: float, delta: float, first: int, last: int) -> Whole:
    """Return for y = first..last the smallest x of score at least ``score``, or ``trials + 1`` if there is none."""
    result = np.empty(last - first + 1, np.int64)
    skew = (z * z - 1) / 6
    top = lower_limit(trials, trials, z)
    for y in range(first, last + 1):
        t = delta + math.exp(score) * (1 - lower_limit(trials - y, trials, z))
        if t > top:
            result[y - first] = trials + 1
        else:
            quantile = trials * t + z * math.sqrt(trials * t * (1 - t)) + skew * (1 - 2 * t) + 0.5
            result[y - first] = min(max(math.ceil(quantile), 0), trials)
    return result
