"""Thresholds of a score, and what earlier runs promise of them on fresh ones; no guarantee rests on the promises.

Promises (2, m) are larger for better sets. ``p`` and ``q`` are tails (2, m) of the favoured dataset and of the other;
the first row favours data, the second neighbour.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.limits.binomial_order import score
from dpcheck.audits.limits.tails import reach
from dpcheck.compiled import njit

Floats = NDArray[np.float64]
Points = NDArray[np.int64]

# Every signature is spelled out, so that each kernel is compiled once, when it is first called, and kept on disk.
_compiled = partial(njit, nogil=True, error_model="numpy")

# Thresholds tried per score.
_THRESHOLDS = 160
# Puts every set without a limit after every set with one, and sets that break the claim before all others.
_HOPELESS = 1e6
# So many standard deviations beyond the claim count as certain.
_SURE = 3.0
# Hits added for the spread of the count of a set that was never hit.
_UNSEEN = 3.0


def candidates(values: list[Floats]) -> Floats:
    """Return thresholds at values of either dataset (each sorted), dense in the upper tail and then evenly spread."""
    return np.unique(np.concatenate([ordered[ordered.size - _ranks(ordered.size)] for ordered in values]))


@lru_cache(maxsize=16)
def _ranks(n: int) -> NDArray[np.int64]:
    most = _THRESHOLDS // 4
    return np.unique(np.concatenate([np.geomspace(1, n, most), np.linspace(1, n, most)]).astype(np.int64))


@_compiled(
    "float64[:, ::1](float64[:, ::1], float64[:, ::1], float64[::1], int64, float64, float64, float64)"
)  # fmt: skip
def limits(p: Floats, q: Floats, margin: Floats, trials: int, delta: float, z: float, claimed: float) -> Floats:
    """Return promises by which to take the set of the largest limit on epsilon, or the surest to break ``claimed``.

    margin : (m,), for the log of the ratio of the tails;  z : standard deviations by which each limit stands off
    claimed : the epsilon to break; NaN for the largest limit
    """
    promises = np.empty(p.shape)
    for side in range(p.shape[0]):
        for i in range(margin.size):
            x, y = p[side, i], q[side, i]
            limit = score(x * trials, y * trials, trials, z, delta)
            steep = x / (x - delta) if x > delta else 1.0
            limit -= margin[i] * steep
            if not math.isfinite(limit):
                # Where delta covers everything, the largest difference is still the best evidence.
                limit = x - y - _HOPELESS
            elif limit > claimed:
                sure = (limit - claimed) / math.sqrt(((1 - x) / x * steep**2 + (1 - y) / y) / trials)
                limit = 2 * _HOPELESS + limit if sure > _SURE else _HOPELESS + sure
            promises[side, i] = limit
    return promises


@_compiled("float64[:, ::1](UniTuple(float64[::1], 2), float64[::1], int64, float64, float64, float64, int64)")
def counted(
    values: tuple[Floats, Floats], at: Floats, trials: int, delta: float, z: float, unseen: float, least: int
) -> Floats:  # fmt: skip
    """Return limits on epsilon if the earlier counts plus ``unseen`` hits are typical; -inf below ``least`` hits.

    values : sorted ones on data and on neighbour;  at : thresholds (m,)
    """
    a, b = values
    promises = np.full((2, at.size), -np.inf)
    for i in range(at.size):
        hits = reach(a, at[i]), reach(b, at[i])
        for side in range(2):
            if hits[side] >= least:
                x, y = hits[side] / a.size, (hits[1 - side] + unseen) / a.size
                promises[side, i] = score(x * trials, y * trials, trials, z, delta)
    return promises


@_compiled(
    "Tuple((float64[:, ::1], int64[:, ::1]))(float64[:, ::1], float64[:, ::1], int64, float64[::1], float64[::1],"
    " float64[::1])"
)  # fmt: skip
def surest(
    p: Floats, q: Floats, trials: int, epsilons: Floats, deltas: Floats, advance: Floats
) -> tuple[Floats, Points]:
    """Return how surely each set breaks a claim of many points, in standard deviations, and at which point.

    Where the earlier runs leave this open, chance would decide between the points; ``advance`` (m,) is added to prevent
    that.
    """
    best, points = np.full(p.shape, -np.inf), np.zeros(p.shape, np.int64)
    for number in range(epsilons.size):
        growth = math.exp(epsilons[number])
        for side in range(2):
            for i in range(p.shape[1]):
                x, y = p[side, i], q[side, i]
                # A count of zero is not known to be one of a probability of zero.
                variance = (x * (1 - x) + growth * growth * (y * (1 - y) + _UNSEEN / trials)) / trials
                sure = (x - growth * y - deltas[number]) / math.sqrt(variance) + advance[number]
                if sure > best[side, i]:
                    best[side, i], points[side, i] = sure, number
    return best, points
