"""Exact sums behind :mod:`dpcheck.audits.limits`: from numbers and arrays to numbers.

Every signature is spelled out, so that each kernel is compiled once, when it is first called, and kept on disk.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from dpcheck.arrays import Floats
from dpcheck.compiled import njit

Whole = NDArray[np.int64]

# Terms of a binomial distribution below this share of the largest are bounded, not summed.
_NEGLIGIBLE = 1e-14
# Every sum is enlarged by this share, far more than double precision loses in these recurrences.
_ROUNDING = 1e-9
# Above this exp overflows; no number of trials supports such an epsilon.
_LARGEST = 700.0
# Cells examined before a bound is accepted as it is; probabilities this close need not be distinguished.
_CELLS, _FINE = 4000, 1e-8
# A cell is bounded at its corner if fewer hits or misses than this are expected, or if the bound sought is smaller.
_FEW, _RARE = 9.0, 1e-6


class Front(NamedTuple):
    """Which counts are hits: for y = ``first`` on those with x at least ``least[y - first]``, for any other y all."""

    least: Whole  # (m,), never falls
    first: int


class Problem(NamedTuple):
    """The pairs of counts that are hits, and the box of the two success probabilities: p1 to p2, and q1 to q2."""

    front: Front
    p1: float
    p2: float
    q1: float
    q2: float


_FLOAT, _COUNT = types.float64, types.int64
_FRONT = types.NamedTuple((types.int64[::1], _COUNT), Front)
_PROBLEM = types.NamedTuple((_FRONT, _FLOAT, _FLOAT, _FLOAT, _FLOAT), Problem)


@njit("Tuple((int64, int64, int64, float64, float64, float64))(int64, float64, float64[:])", nogil=True)
def _terms(trials: int, p: float, weight: Floats) -> tuple[int, int, int, float, float, float]:
    """Write binomial probabilities relative to that of the mode around the middle of ``weight``.

    Return the first and last count covered, the place of the first in ``weight``, the sum, and bounds on the sums left
    out below and above (ratios of successive terms only fall farther out).
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


@njit("float64(int64, float64, float64, float64)", nogil=True)
def information(trials: int, p: float, q: float, growth: float) -> float:
    """Return Fisher's information on q in X and Y, where p grows ``growth`` times as fast; inf if p or q is 0 or 1."""
    p_spread, q_spread = p * (1 - p), q * (1 - q)
    return trials * (growth * growth / p_spread + 1 / q_spread) if p_spread > 0 and q_spread > 0 else math.inf


@njit(types.UniTuple(_FLOAT, 2)(_COUNT, _FLOAT, _FLOAT, _FLOAT, _FRONT, types.float64[:], types.float64[:]), nogil=True)
def exceedance(
    trials: int, p: float, q: float, growth: float, front: Front, ys: Floats, xs: Floats
) -> tuple[float, float]:
    """Return upper bounds, tight up to rounding, on P(X >= front(Y)), X ~ Bin(p), Y ~ Bin(q), and on its slope's size.

    The slope is along q, p growing ``growth`` times as fast; p's part from the front: d/dp P(X >= k) = k P(X = k) / p.
    Dividing by the sums of the terms covered, which are less than the whole, errs upwards.
    """
    y_low, y_high, y_start, y_total, y_below, y_above = _terms(trials, q, ys)
    x_low, x_high, x_start, x_total, x_below, x_above = _terms(trials, p, xs)
    hit = turn = edge = 0.0
    left_out = (y_below + y_above) / y_total + x_above / x_total
    tail = 0.0
    x = x_high + 1
    for y in range(y_high, y_low - 1, -1):
        weight = ys[y_start + y - y_low]
        if y < front.first or y - front.first >= front.least.size:
            left_out += weight / y_total
            continue
        least = front.least[y - front.first]
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


@njit("float64(float64, float64, float64, float64)", nogil=True)
def crest(value: float, slope: float, known: float, half: float) -> float:
    """Return the largest M with M <= value + slope half + sqrt(M / 2) known half^2; :func:`worst_case` needs it."""
    bend = known * half * half / math.sqrt(2)
    root = (bend + math.sqrt(bend * bend + 4 * (value + slope * half))) / 2
    return root * root * (1 + _ROUNDING)


@njit("float64[:](int64)", nogil=True)
def room(trials: int) -> Floats:
    """Return work space for the terms above ``_NEGLIGIBLE`` of any binomial with this number of trials."""
    return np.empty(int(16 * math.sqrt(trials)) + 300)


@njit(_FLOAT(_COUNT, _FLOAT, _FLOAT, _PROBLEM, _FLOAT), nogil=True)
def worst_case(trials: int, epsilon: float, delta: float, problem: Problem, enough: float) -> float:
    """Return an upper bound on F = P(X >= front(Y)) over all ``p <= e^epsilon q + delta`` in the box.

    F grows with p and falls with q, so it is largest on the claim's edge p = e^epsilon q + delta, between where the
    edge passes p1 and where it passes p2. Cells cover that part from left to right, each as wide as its bound stays
    below ``enough``, or within a hundredth of a value attained. In a cell of half width h with information at most J,
    the largest value M obeys

        M <= F + |F'| h + (1/2) sup |F''| h^2,    |F''| <= sqrt(M) sqrt(2) J,

    where F and F' are taken at its middle. The second inequality is by Cauchy and Schwarz: F'' is the mean of the
    second score (second derivative of the likelihood over the likelihood) on the event, and the mean of its square is
    at most 2 J^2. Where few hits or misses are expected, J is large, and where M is tiny its root is far larger than
    it: there the bound is the value at the cell's largest p and least q.
    """
    front, p1, p2, q1, q2 = problem
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
            bound, _ = exceedance(trials, right, left, growth, front, ys, xs)
        else:
            known = max(information(trials, p_a, a, growth), information(trials, p_b, b, growth))
            value, slope = exceedance(trials, p_middle, middle, growth, front, ys, xs)
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
                value, slope = exceedance(trials, p_middle, middle, growth, front, ys, xs)
            attained = max(attained, value)
            if 0 < enough <= attained:
                return bound
        if spent >= _CELLS:
            half = (end - a) / 2
        elif corner:
            half *= 1.5 if accepted else 0.5
        else:  # as wide as values like these allow
            above = max(target, 1.01 * attained) - value
            likely = 1.8 * above / (slope + math.sqrt(slope * slope + 4 * known * math.sqrt(target / 2) * above))
            half = likely if accepted else min(likely, half / 2)


@njit(_FLOAT(_COUNT, _FLOAT, _FLOAT, _PROBLEM), nogil=True)
def rough_case(trials: int, epsilon: float, delta: float, problem: Problem) -> float:
    """Return the largest of the same probabilities at 6 points: it says where to look, and bounds nothing."""
    front, p1, p2, q1, q2 = problem
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
        largest = max(largest, exceedance(trials, p, q, growth, front, ys, xs)[0])
    return largest


@njit(_FLOAT(_COUNT, _FLOAT, _PROBLEM, _FLOAT, _FLOAT, _FLOAT, _FLOAT), nogil=True)
def invert(
    trials: int, delta: float, problem: Problem, level: float, guess: float, spread: float, step: float
) -> float:
    """Return an epsilon whose worst case is certainly below ``level``, nearly the largest; ``guess`` is the start."""
    # Below a level of 5 % the logarithm of the probability grows at least this fast, in units of the spread.
    near = 1.6 * step
    low, high = 0.0, -1.0
    below, above = -1.0, 1.0  # logarithms of the probability over the level, at low and at high
    at, push = max(guess, spread / 8), 1.0
    while at < _LARGEST and (high < 0 or high - low > step * spread / 2):
        value = math.log(max(rough_case(trials, at, delta, problem), 1e-300) / level)
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
        if worst_case(trials, low - back, delta, problem, level) < level:
            return low - back
        back *= 2
    return 0.0
