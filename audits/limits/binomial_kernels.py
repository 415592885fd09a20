"""Exact sums behind :mod:`dpcheck.audits.limits.binomial`: numbers and arrays in, numbers out.

Every signature is spelled out, so that each kernel is compiled once and kept on disk.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Terms of a binomial distribution below this share of the largest are bounded, not summed.
_NEGLIGIBLE = 1e-14
# Enlargement of every sum: far more than double precision loses in these recurrences.
_ROUNDING = 1e-9
# Above this exp overflows; no count of trials supports such an epsilon.
_LARGEST = 700.0
# Cells looked at before a bound is accepted as it stands; probabilities this close need not be told apart.
_CELLS, _FINE = 4000, 1e-8
# Hits or misses expected, and probabilities to be kept below, less than which a cell is bounded by its corner.
_FEW, _RARE = 9.0, 1e-6


@njit("float64(float64, int64, float64)", cache=True, nogil=True)
def lower_limit(count: float, trials: int, z: float) -> float:
    """Lower limit t of a binomial probability, where ``count`` is the upper z-quantile at t.

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


@njit("float64(float64, float64, int64, float64, float64)", cache=True, nogil=True)
def score(x: float, y: float, trials: int, z: float, delta: float) -> float:
    """``log((L(x) - delta) / U(y))``, -inf where L(x) <= delta."""
    gain = lower_limit(x, trials, z) - delta
    return math.log(gain / (1 - lower_limit(trials - y, trials, z))) if gain > 0 else -math.inf


@njit("int64[:](int64, float64, float64, float64, int64, int64)", cache=True, nogil=True)
def front(trials: int, z: float, score: float, delta: float, first: int, last: int) -> Whole:
    """For y = first..last the smallest x with score at least ``score``; ``trials + 1`` if none."""
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


@njit(
    "Tuple((int64, int64, int64, float64, float64, float64))(int64, float64, float64[:])",
    cache=True,
    nogil=True,
)
def _terms(trials: int, p: float, weight: Floats) -> tuple[int, int, int, float, float, float]:
    """Binomial probabilities relative to the mode, written around the middle of ``weight``.

    Returns the first and last count covered, where the first is stored, the sum, and bounds for the
    sums left out below and above (ratios of neighbours only fall further out).
    """
    middle = weight.size // 2
    mode = min(int((trials + 1) * p), trials)
    weight[middle] = 1.0
    if p <= 0.0 or p >= 1.0:
        return mode, mode, middle, 1.0, 0.0, 0.0
    odds = p / (1 - p)
    total = 1.0
    term, count, place, ratio = 1.0, mode, middle, 0.0
    while count > 0 and place > 0 and term >= _NEGLIGIBLE:
        ratio = count / ((trials - count + 1) * odds)
        term *= ratio
        count -= 1
        place -= 1
        weight[place] = term
        total += term
    low, start = count, place
    below = 0.0 if count == 0 else (term * ratio / (1 - ratio) if ratio < 1 else 1.0)
    term, count, place, ratio = 1.0, mode, middle, 0.0
    while count < trials and place < weight.size - 1 and term >= _NEGLIGIBLE:
        ratio = (trials - count) * odds / (count + 1)
        term *= ratio
        count += 1
        place += 1
        weight[place] = term
        total += term
    above = 0.0 if count == trials else (term * ratio / (1 - ratio) if ratio < 1 else 1.0)
    return low, count, start, total, below, above


@njit("float64(int64, float64, float64, float64)", cache=True, nogil=True)
def information(trials: int, p: float, q: float, growth: float) -> float:
    """Fisher's, about q, in X and Y together, where p grows ``growth`` times as fast; inf where p or q is 0 or 1."""
    p_spread, q_spread = p * (1 - p), q * (1 - q)
    return trials * (growth * growth / p_spread + 1 / q_spread) if p_spread > 0 and q_spread > 0 else math.inf


@njit(
    "UniTuple(float64, 2)(int64, float64, float64, float64, int64[:], int64, float64[:], float64[:])",
    cache=True,
    nogil=True,
)
def exceedance(
    trials: int, p: float, q: float, growth: float, fronts: Whole, first: int, ys: Floats, xs: Floats
) -> tuple[float, float]:
    """Upper bounds, tight to rounding, of P(X >= front(Y)) for X ~ Bin(p), Y ~ Bin(q), and of its slope's size.

    The slope is the derivative as q grows, and p ``growth`` times as fast; that in p comes from the front alone, where
    d/dp P(X >= k) = k P(X = k) / p. ``fronts`` starts at y = ``first`` and does not fall; a y outside it counts as a
    hit. ``ys`` and ``xs`` are room to work in. Dividing by the sums of the terms covered, which are less than the
    whole, errs upwards.
    """
    y_low, y_high, y_start, y_total, y_below, y_above = _terms(trials, q, ys)
    x_low, x_high, x_start, x_total, x_below, x_above = _terms(trials, p, xs)
    hit = turn = edge = 0.0
    left_out = (y_below + y_above) / y_total + x_above / x_total
    tail = 0.0
    x = x_high + 1
    for y in range(y_high, y_low - 1, -1):
        weight = ys[y_start + y - y_low]
        if y < first or y - first >= fronts.size:
            left_out += weight / y_total
            continue
        least = fronts[y - first]
        if x_low <= least <= x_high:
            edge += weight * xs[x_start + least - x_low] * least
        while x > max(least, x_low):
            x -= 1
            tail += xs[x_start + x - x_low]
        hit += weight * tail
        turn += weight * tail * (y - trials * q)
    total = x_total * y_total
    value = hit / total * (1 + _ROUNDING) + left_out + 1e-12
    known = information(trials, p, q, growth)
    if not known < math.inf:
        return value, math.inf
    # What the terms left out add to the slope is, by Cauchy and Schwarz, at most the root of their share of it.
    slope = abs(growth * edge / p + turn / (q * (1 - q))) / total
    return value, slope * (1 + _ROUNDING) + 2 * math.sqrt((left_out + x_below / x_total + 1e-12) * known)


@njit("float64(float64, float64, float64, float64)", cache=True, nogil=True)
def crest(value: float, slope: float, known: float, half: float) -> float:
    """The largest M with M <= value + slope half + sqrt(M / 2) known half^2, see :func:`worst_case`."""
    bend = known * half * half / math.sqrt(2)
    root = (bend + math.sqrt(bend * bend + 4 * (value + slope * half))) / 2
    return root * root * (1 + _ROUNDING)


@njit("float64[:](int64)", cache=True, nogil=True)
def room(trials: int) -> Floats:
    """Enough places for the terms above ``_NEGLIGIBLE`` of any binomial of so many trials."""
    return np.empty(int(16 * math.sqrt(trials)) + 300)


@njit(
    "float64(int64, float64, float64, int64[:], int64, float64, float64, float64, float64, float64)",
    cache=True,
    nogil=True,
)
def worst_case(
    trials: int,
    epsilon: float,
    delta: float,
    fronts: Whole,
    first: int,
    p1: float,
    p2: float,
    q1: float,
    q2: float,
    enough: float,
) -> float:
    """Upper bound of F = P(X >= front(Y)) over all ``p <= e^epsilon q + delta`` in the box.

    F grows with p and falls with q, so it is largest on the claim's edge p = e^epsilon q + delta, between where the
    edge passes p1 and where it passes p2. It is covered by cells from left to right, each as wide as keeps its bound
    below ``enough``, or within a hundredth of a value attained. With half its width h, and J the information on it, the
    largest value M in a cell obeys

        M <= F + |F'| h + (1/2) sup |F''| h^2,    |F''| <= sqrt(M) sqrt(2) J,

    F and F' being those of its middle. The latter is by Cauchy and Schwarz: F'' is the mean of the second score (second
    derivative of the likelihood over the likelihood) on the event, and the mean of its square is at most 2 J^2. Where
    few hits or misses are expected J is large, and far below M the root of M is: there the bound is the value at the
    cell's largest p and least q.
    """
    growth = math.exp(epsilon)
    a = max(q1, (p1 - delta) / growth * (1 - _ROUNDING))
    if a > q2:
        return 0.0
    end = max(a, min(q2, (p2 - delta) / growth * (1 + _ROUNDING)))
    ys, xs = room(trials), room(trials)
    half = (end - a) / 64
    largest = attained = 0.0
    spent = 0
    while True:
        b = min(a + 2 * half, end)
        half, middle = (b - a) / 2, (a + b) / 2
        p_a, p_b = min(p2, growth * a + delta), min(p2, growth * b + delta)
        p_middle = min(p2, growth * middle + delta)
        corner = trials * min(a, 1 - b, p_a, 1 - p_b) < _FEW or max(enough, attained) < _RARE
        known = 0.0
        if corner:
            left, right = a * (1 - _ROUNDING), min(p_b * (1 + _ROUNDING), 1.0)
            bound, _ = exceedance(trials, right, left, growth, fronts, first, ys, xs)
        else:
            known = max(information(trials, p_a, a, growth), information(trials, p_b, b, growth))
            value, slope = exceedance(trials, p_middle, middle, growth, fronts, first, ys, xs)
            bound = crest(value, slope, known, half)
        spent += 1
        target = max(enough, 1.01 * attained) if enough > 0 else 1.01 * attained + _FINE
        accepted = bound < target or spent > _CELLS
        if accepted:
            largest = max(largest, bound)
            if b >= end or 0 < enough <= largest:
                return largest
            a = b
        else:
            if corner:
                value, slope = exceedance(trials, p_middle, middle, growth, fronts, first, ys, xs)
            attained = max(attained, value)
            if 0 < enough <= attained:
                return bound
        if spent >= _CELLS:
            half = (end - a) / 2
        elif corner:
            half *= 1.5 if accepted else 0.5
        else:  # as wide as values like these bear
            above = max(target, 1.01 * attained) - value
            likely = 1.8 * above / (slope + math.sqrt(slope * slope + 4 * known * math.sqrt(target / 2) * above))
            half = likely if accepted else min(likely, half / 2)


@njit(
    "float64(int64, float64, float64, int64[:], int64, float64, float64, float64, float64)",
    cache=True,
    nogil=True,
)
def rough_case(
    trials: int,
    epsilon: float,
    delta: float,
    fronts: Whole,
    first: int,
    p1: float,
    p2: float,
    q1: float,
    q2: float,
) -> float:
    """The largest of the same probability on 6 points: where to look, no bound."""
    growth = math.exp(epsilon)
    q1 = max(q1, (p1 - delta) / growth)
    if q1 > q2:
        return 0.0
    ys, xs = room(trials), room(trials)
    a, b = math.sqrt(q1), math.sqrt(q2)
    largest = 0.0
    for i in range(6):
        q = (a + (b - a) * i / 5) ** 2
        p = min(p2, growth * q + delta)
        largest = max(largest, exceedance(trials, p, q, growth, fronts, first, ys, xs)[0])
    return largest


@njit(
    "float64(int64, float64, int64[:], int64, float64, float64, float64, float64, float64, float64, float64, float64)",
    cache=True,
    nogil=True,
)
def invert(
    trials: int,
    delta: float,
    fronts: Whole,
    first: int,
    p1: float,
    p2: float,
    q1: float,
    q2: float,
    level: float,
    guess: float,
    spread: float,
    step: float,
) -> float:
    """An epsilon whose worst case is certainly below ``level``, close to the largest; 0 if none.

    ``guess`` is where to start; ``step`` the precision, as a share of ``spread``.
    """
    # Below a level of 5 % the logarithm of the probability grows at least this fast, in units of the spread.
    near = 1.6 * step
    low, high = 0.0, -1.0
    below, above = -1.0, 1.0  # logarithms of the probability over the level, at low and at high
    at, push = max(guess, spread / 8), 1.0
    while at < _LARGEST and (high < 0 or high - low > step * spread / 2):
        value = math.log(max(rough_case(trials, at, delta, fronts, first, p1, p2, q1, q2), 1e-300) / level)
        if value < 0:
            low, below = at, value
            if value > -near:
                break
        else:
            high, above = at, value
        stride = (abs(value) + near / 2) * spread / 2 * push
        if high < 0:
            at, push = low + stride, 2 * push
        elif low == 0.0 and high > step * spread:
            at, push = max(high - stride, high / 2), 2 * push
        elif low == 0.0:
            return 0.0
        else:  # nearly a line: aim a little below where it crosses
            share = (-near / 2 - below) / (above - below)
            at = low + (high - low) * min(max(share, 0.03), 0.97)
    back = step * spread
    while back < low:
        if worst_case(trials, low - back, delta, fronts, first, p1, p2, q1, q2, level) < level:
            return low - back
        back *= 2
    return 0.0
