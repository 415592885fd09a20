"""Exact sums behind :mod:`dpcheck.audits.binomial`: numbers and arrays in, numbers out.

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
# Cells looked at before a bound is accepted as it stands.
_CELLS = 4000


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


@njit(
    "float64(int64, float64, float64, int64[:], int64, float64[:], float64[:])",
    cache=True,
    nogil=True,
)
def exceedance(trials: int, p: float, q: float, fronts: Whole, first: int, ys: Floats, xs: Floats) -> float:
    """Upper bound, tight to rounding, of P(X >= front(Y)) for X ~ Bin(p), Y ~ Bin(q).

    ``fronts`` starts at y = ``first`` and does not fall; a y outside it counts as a hit. ``ys`` and
    ``xs`` are room to work in. Dividing by the sums of the terms covered, which are less than the
    whole, errs upwards.
    """
    y_low, y_high, y_start, y_total, y_below, y_above = _terms(trials, q, ys)
    x_low, x_high, x_start, x_total, _, x_above = _terms(trials, p, xs)
    hit = 0.0
    left_out = (y_below + y_above) / y_total + x_above / x_total
    tail = 0.0
    x = x_high + 1
    for y in range(y_high, y_low - 1, -1):
        weight = ys[y_start + y - y_low]
        if y < first or y - first >= fronts.size:
            left_out += weight / y_total
            continue
        least = max(fronts[y - first], x_low)
        while x > least:
            x -= 1
            tail += xs[x_start + x - x_low]
        hit += weight * tail
    return hit / (x_total * y_total) * (1 + _ROUNDING) + left_out + 1e-12


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
    """Upper bound of P(X >= front(Y)) over all ``p <= e^epsilon q + delta`` in the box.

    For one q the probability is largest at the largest p, the claim's edge or p2; the edge passes
    p1 where q is ``(p1 - delta) e^-epsilon``. Cells in q are halved until each is below ``enough``,
    or within a hundredth of a value attained.
    """
    growth = math.exp(epsilon)
    q1 = max(q1, (p1 - delta) / growth * (1 - _ROUNDING))
    if q1 > q2:
        return 0.0
    ys, xs = room(trials), room(trials)
    cells = np.empty((256, 2))
    held = 32
    a, b = math.sqrt(q1), math.sqrt(q2)  # the standard deviation of sqrt(Y/N) hardly changes
    for i in range(held):
        cells[i, 0] = a + (b - a) * i / held
        cells[i, 1] = a + (b - a) * (i + 1) / held
    cells[held - 1, 1] = b
    largest = attained = 0.0
    spent = 0
    while held > 0:
        held -= 1
        a, b = cells[held, 0], cells[held, 1]
        right = min(b * b * (1 + _ROUNDING), 1.0)
        left = a * a * (1 - _ROUNDING)
        bound = exceedance(trials, min(p2, growth * right + delta), left, fronts, first, ys, xs)
        spent += 1
        if bound < enough or bound <= 1.01 * attained or spent > _CELLS or held > 253:
            largest = max(largest, bound)
            if 0 < enough <= largest:
                return largest
            continue
        middle = (a + b) / 2
        q = middle * middle
        value = exceedance(trials, min(p2, growth * q + delta), q, fronts, first, ys, xs)
        attained = max(attained, value)
        if 0 < enough <= attained:
            return bound
        cells[held, 0], cells[held, 1] = a, middle
        cells[held + 1, 0], cells[held + 1, 1] = middle, b
        held += 2
    return largest


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
    """The same probability on 24 points: where to look, no bound."""
    growth = math.exp(epsilon)
    q1 = max(q1, (p1 - delta) / growth)
    if q1 > q2:
        return 0.0
    ys, xs = room(trials), room(trials)
    a, b = math.sqrt(q1), math.sqrt(q2)
    largest = 0.0
    for i in range(24):
        q = (a + (b - a) * i / 23) ** 2
        p = min(p2, growth * q + delta)
        largest = max(largest, exceedance(trials, p, q, fronts, first, ys, xs))
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
    at, stride = max(guess, spread / 8), spread / 4
    while at < _LARGEST and (high < 0 or high - low > step * spread / 2):
        value = math.log(max(rough_case(trials, at, delta, fronts, first, p1, p2, q1, q2), 1e-300) / level)
        if value < 0:
            low, below = at, value
            if value > -near:
                break
        else:
            high, above = at, value
        if high < 0:
            at = low + stride
            stride *= 2
        elif low == 0.0 and high > step * spread:
            at = max(high - stride, high / 2)
            stride *= 2
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
