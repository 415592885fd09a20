"""Thresholds of a score, and what earlier runs promise of them on fresh ones; no guarantee rests on the promises.

Promises (2, m) are larger for better sets. ``p`` and ``q`` are tails (2, m) of the favoured dataset and of the other;
the first row favours data, the second neighbour.

There are three estimates of a tail, and the first that fits the earlier runs is taken: one noise distribution, shifted
between the two datasets, with a smooth tail; a smooth tail for each dataset; counts.

The log-survival of a smooth tail is quadratic beyond a start and comes from counts before it. That is exact for an
exponential tail and close for a Gaussian one. A tail is one row of numbers, whose places are named below.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpcheck.arrays import Floats
from dpcheck.audits.limits import score
from dpcheck.compiled import njit

# Every signature is spelled out, so that each kernel is compiled once, when it is first called, and kept on disk.
_compiled = partial(njit, nogil=True, error_model="numpy")

# The places in a tail: its start, the unit of what follows, the share of runs beyond the start, the hazard there and
# its growth, and the covariance of these two. An empty row is no tail.
_START, _SCALE, _SHARE, _HAZARD, _GROWTH, _VAR_HAZARD, _COVAR, _VAR_GROWTH = range(8)
# Intervals of the tail whose hazards are fitted, and the runs that must lie beyond the last one.
_INTERVALS = 16
_BEYOND = 6
# A tail starts where the first of these shares of runs lies beyond and its fit holds. Many runs reveal that a whole
# half is not quite quadratic; the part far out still is.
_STARTS = (1 / 2, 1 / 8, 1 / 32, 1 / 128)
# Critical chi-squared statistics by degrees of freedom, at a level of 1 %; a fit that exceeds its own is dropped.
_CRITICAL = special.chdtri(np.arange(400), 0.01)
# Standard errors in a margin, for shifted noise and for counts. Without a margin the luckiest threshold would win in
# place of the best; separate counts vary more by chance from threshold to threshold.
_SHIFTED, _COUNTS = 1.0, 2.0
# The share of values that may repeat if there is to be a tail.
_REPEATED = 0.1
# The share trimmed from either end to estimate a shift.
_TRIM = 0.2


def estimate(
    a: Floats, b: Floats, thresholds: Floats, *, linear: bool, smooth: bool = False
) -> tuple[Floats, Floats, Floats]:
    """Return both tails at thresholds (m,), and a margin for the log of their ratio; noise shifts ``linear`` scores."""
    if linear and (shifted := _shifted(a, b, thresholds, smooth)).size:
        return shifted[0], shifted[1], shifted[2]
    (p, p_error), (q, q_error) = _single(a, thresholds), _single(b, thresholds)
    return p, q, _COUNTS * np.hypot(p_error, q_error)


@_compiled("UniTuple(float64, 2)(float64[::1])")
def _centre(values: Floats) -> tuple[float, float]:
    """Return the trimmed mean of sorted values and its standard error."""
    n = values.size
    cut = int(_TRIM * n)
    low, high = values[cut], values[n - cut - 1]
    total = 0.0
    for i in range(cut, n - cut):
        total += values[i]
    winsorized = (cut * (low + high) + total) / n
    square = cut * ((low - winsorized) ** 2 + (high - winsorized) ** 2)
    for i in range(cut, n - cut):
        square += (values[i] - winsorized) ** 2
    return total / (n - 2 * cut), math.sqrt(square / n) / ((1 - 2 * _TRIM) * math.sqrt(n))


@_compiled("float64[::1](float64[::1], float64, float64[::1], float64)")
def _merged(a: Floats, shift_a: float, b: Floats, shift_b: float) -> Floats:
    """Merge ``a - shift_a`` and ``b - shift_b``, each sorted, into one sorted array."""
    result = np.empty(a.size + b.size)
    i = j = 0
    for k in range(result.size):
        if j == b.size or (i < a.size and a[i] - shift_a <= b[j] - shift_b):
            result[k] = a[i] - shift_a
            i += 1
        else:
            result[k] = b[j] - shift_b
            j += 1
    return result


@_compiled("int64(float64[::1], float64)")
def reach(values: Floats, t: float) -> int:
    """Count the values, which are sorted, that are at least t."""
    low, high = 0, values.size
    while low < high:
        middle = (low + high) // 2
        if values[middle] < t:
            low = middle + 1
        else:
            high = middle
    return values.size - low


@_compiled("float64(float64[::1], float64)")
def _counted(values: Floats, t: float) -> float:
    """Return the share of sorted values that are at least t, of at least half a value."""
    return max(float(reach(values, t)), 0.5) / values.size


@_compiled("float64(float64[::1], float64)")
def _smoothed(values: Floats, t: float) -> float:
    """Return the share of values >= t, smoothed with a normal kernel of a third of their interquartile range."""
    n = values.size
    step = (values[int(0.75 * (n - 1))] - values[int(0.25 * (n - 1))]) / 3
    total = weights = 0.0
    for k in range(-4, 5):
        weight = math.exp(-((k / 2) ** 2) / 2)
        total += weight * _counted(values, t + step * k / 2)
        weights += weight
    return total / weights


@_compiled("float64[::1](float64[::1], float64)")
def _beyond(values: Floats, share: float) -> Floats:
    """Return the tail of the largest ``share`` of the values, fitted to hits of intervals; empty if it does not fit."""
    n = values.size
    none = np.empty(0)
    if n * share <= 4 * _BEYOND:
        return none
    start, end = values[n - int(n * share)], values[n - 1 - _BEYOND]
    if not (np.isfinite(start) and np.isfinite(end) and end > start):
        return none
    at_risk = np.empty(_INTERVALS + 1)
    for i in range(_INTERVALS):
        at_risk[i] = reach(values, start + (end - start) * (i / _INTERVALS))
    at_risk[_INTERVALS] = reach(values, end)
    tail = np.empty(8)
    tail[_START], tail[_SCALE], tail[_SHARE] = start, end - start, at_risk[0] / n
    width = 1 / _INTERVALS
    expected = np.empty(_INTERVALS)
    for i in range(_INTERVALS):
        expected[i] = math.log(at_risk[0] / at_risk[_INTERVALS]) / _INTERVALS
    for _ in range(5):
        aa = ab = bb = ay = by = 0.0
        for i in range(_INTERVALS):
            risk = at_risk[i]
            middle = width * width * (i + 0.5)  # the integral of the growth over the interval
            weight = risk / math.expm1(expected[i])
            hazard = -math.log1p(-(risk - at_risk[i + 1]) / (risk + 0.5))
            aa += weight * width * width
            ab += weight * width * middle
            bb += weight * middle * middle
            ay += weight * width * hazard
            by += weight * middle * hazard
        determinant = aa * bb - ab * ab
        tail[_VAR_HAZARD], tail[_COVAR], tail[_VAR_GROWTH] = bb / determinant, -ab / determinant, aa / determinant
        tail[_HAZARD] = (bb * ay - ab * by) / determinant
        tail[_GROWTH] = (aa * by - ab * ay) / determinant
        for i in range(_INTERVALS):
            expected[i] = max(width * (tail[_HAZARD] + tail[_GROWTH] * width * (i + 0.5)), 1e-3)
    misfit = 0.0
    for i in range(_INTERVALS):
        risk, dying = at_risk[i], -math.expm1(-expected[i])
        spread = math.expm1(expected[i]) * math.exp(-2 * expected[i]) * risk
        misfit += (risk - at_risk[i + 1] - risk * dying) ** 2 / spread
    if tail[_HAZARD] < 0 or not misfit <= _CRITICAL[_INTERVALS - 2]:
        return none
    return tail


@_compiled("float64(float64[::1])")
def _distinct(values: Floats) -> float:
    """Return the share of sorted values that differ from the one before."""
    distinct = 0
    for i in range(1, values.size):
        distinct += values[i] != values[i - 1]
    return distinct / max(values.size - 1, 1)


@_compiled("float64[::1](float64[::1])")
def _fit(values: Floats) -> Floats:
    """Return the longest tail that fits; empty where none does, as with atoms, heavy tails or too few runs."""
    if _distinct(values) >= 1 - _REPEATED:
        for share in _STARTS:
            tail = _beyond(values, share)
            if tail.size:
                return tail
    return np.empty(0)


@_compiled("float64(float64[::1], float64, float64)")
def _variance(tail: Floats, x: float, y: float) -> float:
    """Return the variance of ``x`` times the hazard plus ``y`` times its growth."""
    return float(x * x * tail[_VAR_HAZARD] + 2 * x * y * tail[_COVAR] + y * y * tail[_VAR_GROWTH])


@_compiled("void(float64[::1], float64[::1], float64[::1], float64, float64[::1])")
def _survival(tail: Floats, values: Floats, t: Floats, shift: float, out: Floats) -> None:
    """Write P(value >= t - shift) to ``out``, for t (m,) increasing; by counts where there is no tail."""
    hazard = 0.0
    for i in range(t.size):
        at = t[i] - shift
        if tail.size and at >= tail[_START]:
            u = min((at - tail[_START]) / tail[_SCALE], 1.0)
            hazard = max(hazard, u * tail[_HAZARD] + u * u / 2 * tail[_GROWTH])
            out[i] = tail[_SHARE] * math.exp(-hazard)
        else:
            out[i] = _counted(values, at)


@_compiled("UniTuple(float64[::1], 2)(float64[::1], float64[::1])")
def _single(values: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Return the survival at t, and the standard error of its logarithm."""
    n = values.size
    tail = _fit(values)
    survival, error = np.empty(t.size), np.empty(t.size)
    _survival(tail, values, t, 0.0, survival)
    for i in range(t.size):
        if tail.size and t[i] >= tail[_START]:
            u = min((t[i] - tail[_START]) / tail[_SCALE], 1.0)
            error[i] = math.sqrt(1 / n + _variance(tail, u, u * u / 2))
        else:
            p = survival[i]
            error[i] = math.sqrt((1 - p) / (p * n) + 0.25 / n)
    return survival, error


@_compiled("boolean(float64[::1], float64[::1], float64[::1])")
def _contradicts(values: Floats, survival: Floats, t: Floats) -> bool:
    """Say whether a chi-squared test on intervals that should hold five runs or more rejects the model."""
    n = values.size
    # The walk goes inwards and keeps the thresholds that enclose enough.
    intervals, misfit, last, counted = 0, 0.0, 0.0, 0
    for i in range(t.size - 1, -1, -1):
        expected = n * (survival[i] - last)
        if expected >= 5:
            beyond = reach(values, t[i])
            misfit += (beyond - counted - expected) ** 2 / expected
            intervals, last, counted = intervals + 1, survival[i], beyond
    return intervals < 4 or misfit > _CRITICAL[intervals - 1]


@_compiled("float64[:, ::1](float64[::1], float64[::1], float64[::1], boolean)")
def _shifted(a: Floats, b: Floats, t: Floats, smooth: bool) -> Floats:
    """Return both survivals and the margin (3, m) if ``a`` and ``b`` are one noise about two centres; else empty."""
    none = np.empty((0, 0))
    if min(_distinct(a), _distinct(b)) < 1 - 2 * _REPEATED:  # then both together have no tail either
        return none
    centres = np.array([_centre(a), _centre(b)])
    if not np.isfinite(centres).all():
        return none
    noise = _merged(a, centres[0, 0], b, centres[1, 0])
    tail = _fit(noise)
    if tail.size == 0:
        return none
    n, m = noise.size, t.size
    result, used = np.zeros((3, m)), np.empty((2, m))
    for side in range(2):
        centre = centres[side, 0]
        _survival(tail, noise, t, centre, result[side])
        if _contradicts(b if side else a, result[side], t):
            return none
        for i in range(m):
            used[side, i] = min(max((t[i] - centre - tail[_START]) / tail[_SCALE], 0.0), 1.0)
            if smooth and t[i] - centre < tail[_START]:
                result[side, i] = _smoothed(noise, t[i] - centre)
            if result[side, i] > tail[_SHARE]:
                result[2, i] += (1 - result[side, i]) / (result[side, i] * n)
    off = math.hypot(centres[0, 1], centres[1, 1]) / tail[_SCALE]
    for i in range(m):
        u, v = used[0, i], used[1, i]
        upper = max(u, v)
        hazard = tail[_HAZARD] + tail[_GROWTH] * upper if upper > 0 else 0.0
        result[2, i] += (hazard * off) ** 2 + _variance(tail, u - v, (u * u - v * v) / 2)
        result[2, i] = _SHIFTED * math.sqrt(result[2, i])
    return result


Points = NDArray[np.int64]

# Thresholds tried per score.
_THRESHOLDS = 160
# Puts every set without a limit after every set with one, and sets that break the claim before all others.
HOPELESS = 1e6
# So many standard deviations beyond the claim count as certain.
_SURE = 3.0
# Hits added for the spread of the count of a set that was never hit.
_UNSEEN = 3.0


def candidates(values: list[Floats]) -> Floats:
    """Return thresholds at values of either dataset (each sorted), dense in the upper tail and then evenly spread."""
    a, b = values
    return np.unique(np.concatenate([a[a.size - _ranks(a.size)], b[b.size - _ranks(b.size)]]))


@lru_cache(maxsize=16)
def _ranks(n: int) -> NDArray[np.int64]:
    most = _THRESHOLDS // 4
    return np.unique(np.concatenate([np.geomspace(1, n, most), np.linspace(1, n, most)]).astype(np.int64))


@_compiled(
    "float64[:, ::1](float64[:, ::1], float64[:, ::1], float64[::1], int64, float64, float64, float64)"
)  # fmt: skip
def limits(p: Floats, q: Floats, margin: Floats, trials: int, delta: float, z: float, claimed: float) -> Floats:
    """Return promises (2, m) of the largest limit, or of the surest to break ``claimed``, which is else NaN."""
    promises = np.empty(p.shape)
    for side in range(p.shape[0]):
        for i in range(margin.size):
            x, y = p[side, i], q[side, i]
            limit = score(x * trials, y * trials, trials, z, delta)
            steep = x / (x - delta) if x > delta else 1.0
            limit -= margin[i] * steep
            if not math.isfinite(limit):
                # Where delta covers everything, the largest difference is still the best evidence.
                limit = x - y - HOPELESS
            elif limit > claimed:
                sure = (limit - claimed) / math.sqrt(((1 - x) / x * steep**2 + (1 - y) / y) / trials)
                limit = 2 * HOPELESS + limit if sure > _SURE else HOPELESS + sure
            promises[side, i] = limit
    return promises


@_compiled("float64[:, ::1](UniTuple(float64[::1], 2), float64[::1], int64, float64, float64, float64, int64)")
def counted(
    values: tuple[Floats, Floats], at: Floats, trials: int, delta: float, z: float, unseen: float, least: int
) -> Floats:  # fmt: skip
    """Return limits (2, m) if the earlier counts plus ``unseen`` hits are typical; -inf below ``least`` hits."""
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
    """Return how surely, in standard deviations plus ``advance`` (m,), each set breaks a claim, and at which point."""
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
