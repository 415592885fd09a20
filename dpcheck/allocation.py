"""The privacy curve of random allocation, or balls in bins: a record joins one of t steps, drawn uniformly.

With the record the t outputs follow P = (1/t) sum_i N(v_i in step i), without it Q = N(0); the other records' steps are
shared by both and removed by joint convexity. Under Q the likelihood ratio is S / t, S the sum of the t martingales
M_i = e^(<v_i, x_i> - |v_i|^2 / 2), and

    delta(epsilon) = E (S / t - e^epsilon)^+  with the record added,  E (1 - e^epsilon S / t)^+  with it removed.

Both are means of convex functions of S, also where v_i, of norm at most the ``shift`` s, depends on earlier outputs.
Backwards from the last step: given what is past, the mean over all later steps is convex in M_i; and M_i, lognormal of
mean 1 and variance parameter |v_i|^2 <= s^2, is smaller in convex order than X, lognormal with s^2. So |v_i| = s in all
steps is the worst, and S the sum of t independent copies of X.

That mean is bounded from above by spreads, which keep the mean and are larger in convex order:
1. t - 1 of the copies are moved to the multiples of a grid's interval, each to its two neighbours; past the ``end`` of
   the grid only E (X - end)^+ is added to delta, which is all that its largest slope 1/t allows t times;
2. the law of their sum comes from Fourier transforms under several tilts, the least of whose bounds counts at each
   point; what lies past the window is bounded by Chernoff, under P, and added;
3. over the last copy is integrated in closed form: Black and Scholes's price of a call or a put;
4. in between the epsilons of a table delta is linear in e^epsilon, above the convex curve.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpcheck.loss_grids import Grid
from dpcheck.privacy_curves import Array, Curve, CurvePair, gaussian_log_delta
from dpcheck.tilted_losses import convolve, tilt_grid

_FINE = 0.02  # interval of the grid, in standard deviations of a copy
_MOST_POINTS = 2**20
_FLOOR = 1e-14  # least delta that is aimed at
_COMMON = 1e-8  # a floor that suits most epsilons
_LEAST_SHIFT, _LARGEST_SHIFT = 1e-4, 2.5  # outside, no grid is worth it
_EPSILONS, _KNOTS = 900, 5000
_SAFE = 1 + 1e-9


def allocation_curves(steps: int, shift: float, negligible: float) -> CurvePair:
    """Return the curves of one epoch of ``steps`` >= 2; where they end, those without sampling go on."""
    if not _LEAST_SHIFT < shift < _LARGEST_SHIFT:
        return CurvePair(*(2 * [lambda epsilon: gaussian_log_delta(epsilon, shift)]))
    floor = max(negligible * 1e8, _FLOOR)
    floors = {10.0 ** math.floor(math.log10(floor))} | ({_COMMON} if floor < _COMMON / 10 and shift > 1 else set())
    tables = [_tables(steps, shift, each) for each in sorted(floors)]  # a high floor has a finer grid
    return CurvePair(*(_interpolated([table[i] for table in tables], shift) for i in (0, 1)))


def _interpolated(tables: list[tuple[Array, Array]], shift: float) -> Curve:
    def curve(epsilon: Array) -> Array:
        bound = np.min([between(epsilon, *table) for table in tables], axis=0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.minimum(np.log(bound), gaussian_log_delta(epsilon, shift)))

    def between(epsilon: Array, epsilons: Array, deltas: Array) -> Array:
        last = epsilons.size - 1
        index = np.clip(np.searchsorted(epsilons, epsilon, side="right") - 1, 0, last - 1)
        gap = epsilons[index + 1] - epsilons[index]
        part = np.clip(np.expm1(np.minimum(epsilon - epsilons[index], gap)) / np.expm1(gap), 0, 1)
        return np.where(epsilon >= epsilons[-1], deltas[-1], deltas[index] * (1 - part) + deltas[index + 1] * part)

    return curve


@lru_cache(maxsize=64)
def _tables(steps: int, shift: float, floor: float) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Epsilons and deltas, with the record added and removed."""
    end = _end(shift, floor)
    sums, chances, beyond = _sum_law(steps, shift, end, floor)
    low_sums, low_chances, low_beyond = sums, chances, beyond
    if end > 2 * steps + 4:  # a put is worth nothing where one copy is above all strikes: a short, fine grid is enough
        low_sums, low_chances, low_beyond = _sum_law(steps, shift, 2.0 * steps + 4, floor)
    widest = min(math.sqrt(math.expm1(shift * shift) / steps), 0.3)
    most = max(math.log1p(end / steps) + 1 if shift > 0.3 else 0.0, 20 * widest)
    epsilons = np.sinh(np.linspace(0, math.asinh(most / widest), _EPSILONS)) * widest
    strikes = np.concatenate([np.linspace(0, 2, 4001), np.geomspace(2, steps * math.exp(most) + 2, 8000)[1:]])
    puts = _put(strikes, shift)
    calls = puts + 1 - strikes
    far = strikes >= 1
    calls[far] = np.exp(gaussian_log_delta(np.log(strikes[far]), shift))
    added, removed = np.empty(_EPSILONS), np.empty(_EPSILONS)
    left = _call_beyond(end, shift) + sum(beyond)
    for i, y in enumerate(np.exp(epsilons)):
        strike = steps * y - sums
        price = np.where(strike > 0, np.interp(strike, strikes, calls), 1 - strike)
        added[i] = chances @ price / steps + left
        removed[i] = low_chances @ np.interp(steps / y - low_sums, strikes, puts, left=0.0) * y / steps + low_beyond[0]
    return (epsilons, added * _SAFE), (epsilons, removed * _SAFE)


def _end(shift: float, floor: float) -> float:
    """Where the grid of one copy ends: what lies beyond adds less than the floor."""
    u = math.sqrt(-2 * math.log(floor)) + 1
    while u > 1 and _call_beyond(math.exp(shift * (u - 0.1) + shift * shift / 2), shift) <= floor / 10:
        u -= 0.1
    return math.exp(shift * u + shift * shift / 2)


def _call_beyond(strike: float, shift: float) -> float:
    """E (X - strike)^+, strike >= 1."""
    return math.exp(float(gaussian_log_delta(np.array([math.log(strike)]), shift)[0])) * _SAFE


def _put(strikes: Array, shift: float) -> Array:
    """E (strike - X)^+: by the Gaussian's symmetry strike times its delta at -log(strike), and put-call parity."""
    puts = np.zeros_like(strikes)
    near, far = (strikes > 0) & (strikes < 1), strikes >= 1
    puts[near] = strikes[near] * np.exp(gaussian_log_delta(-np.log(strikes[near]), shift))
    puts[far] = strikes[far] - 1 + np.exp(gaussian_log_delta(np.log(strikes[far]), shift))
    return puts


def _one_copy(shift: float, end: float, interval: float) -> Grid:
    """A copy of X on the grid: the second differences of its calls, in excess of those of the number 1."""
    least = math.exp(-shift * 40 - shift * shift / 2)  # nothing that counts lies below
    first = max(0, math.floor(least / interval))
    points = np.asarray((first + np.arange(math.ceil(end / interval) + 2 - first)) * interval, np.float64)
    excess = _put(points, shift) - np.maximum(points - 1, 0)
    far = points >= 1
    excess[far] = np.exp(gaussian_log_delta(np.log(points[far]), shift))
    slope = np.diff(excess * _SAFE) / interval
    mass = np.append(slope, 0.0) - np.insert(slope, 0, 0.0)
    # the number 1 itself, on the grid or between two of its points
    place = min(max(math.floor((1 - points[0]) / interval + 1e-9), 0), points.size - 2)
    part = min(max((1 - points[place]) / interval, 0.0), 1.0)
    mass[place] += 1 - part
    mass[place + 1] += part
    with np.errstate(divide="ignore"):
        return Grid(first, points, np.log(np.maximum(mass, 0)), 0.0)


def _sum_law(steps: int, shift: float, end: float, floor: float) -> tuple[Array, Array, tuple[float, float]]:
    """Points and bounds on the chances of the sum of t - 1 copies, and delta of what lies below and above them."""
    number, variance = steps - 1, math.expm1(shift * shift)
    spread = 12 * math.sqrt(number * min(variance, end)) + end
    wanted = max(_FINE * math.sqrt(min(variance, end)), 1.5 * spread / _MOST_POINTS)
    interval = 1 / math.floor(1 / wanted) if wanted < 1 else float(math.ceil(wanted))
    grid = _one_copy(shift, end, interval)
    deviation = math.sqrt(number * float(np.exp(grid.log_mass) @ (grid.losses - 1) ** 2))
    low = max(0.0, number - math.sqrt(2 * number * math.exp(shift * shift) * -math.log(floor)))
    order = (number - low) / (number * math.exp(shift * shift))
    below = math.exp(min(number * grid.log_moment(-order) + order * low, 0.0)) if low > 0 else 0.0
    above, top = 1.0, 0.0
    for reach in (0.5, 1.0, 1.3, 1.7, 2.5, 4.0):
        top = number + reach * end + 10 * deviation
        above = _past(grid, number, top, deviation)
        if above <= floor or (top - low) / interval > 2 * _MOST_POINTS:
            break
    points = range(math.floor(low / interval), math.ceil(top / interval) + 1)
    sums = np.array(points) * interval
    best = np.full(len(points), math.inf)
    orders = np.array([1.0, -1.0]) / deviation  # no window is sought with them; what lies past it wraps, and only adds
    tilts = np.array([-12, -8, -5, -3, -1.5, 0, 1.5, 3, 5, 8, 12]) / deviation
    for tilt in (*tilts, *(np.array([15, 30]) / (top - number))):
        total = convolve([(tilt_grid(grid, float(tilt), orders), number)], points)
        bound = np.log(total.weights[: len(points)]) + total.log_scale + total.rounding - tilt * sums
        best = np.minimum(best, bound)
    knots = _knots(number, deviation, float(sums[0]), float(sums[-1]))
    chances = np.exp(np.minimum(best, 0))
    index = np.clip(np.searchsorted(knots, sums, side="right") - 1, 0, knots.size - 2)
    part = np.clip((sums - knots[index]) / (knots[index + 1] - knots[index]), 0, 1)
    law = np.bincount(index, chances * (1 - part), knots.size) + np.bincount(index + 1, chances * part, knots.size)
    return knots, np.asarray(law, np.float64), (below * _SAFE, above * _SAFE)


def _past(grid: Grid, number: int, top: float, deviation: float) -> float:
    """A bound on E (S / t; sum of the t - 1 > top): Chernoff's, with one of all copies under P."""
    least = math.inf
    mass = np.exp(grid.log_mass)
    for order in np.geomspace(2 / top, 200 / deviation, 60):
        if order * grid.losses[-1] > 600:
            break
        moment = grid.log_moment(float(order))
        tilted = float(np.sum(mass * grid.losses * np.exp(order * grid.losses - moment)))
        least = min(least, number * moment - order * top + math.log(max(tilted, 1.0)))
    return math.exp(min(least, 0.0))


def _knots(number: int, deviation: float, first: float, last: float) -> Array:
    """Fewer points, close around the mean."""
    low, high = max(first, number - 12 * deviation), min(number + 12 * deviation, last)
    near = np.linspace(low, high, _KNOTS)
    far = np.geomspace(high, last, 1500)[1:] if last > high else np.empty(0)
    before = np.linspace(first, low, 200)[:-1] if low > first else np.empty(0)
    return np.concatenate([before, near, far])
