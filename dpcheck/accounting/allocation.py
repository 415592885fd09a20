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
1. t - 1 of the copies are moved to the multiples of a grid's interval, each to its two neighbours; what lies past the
   ``end`` of the grid is bounded and added, as :class:`dpcheck.accounting.allocation.Far` says;
2. the law of their sum comes from Fourier transforms under several tilts, the least of whose bounds counts at each
   point; what lies past the window is bounded by Chernoff, under P, and added;
3. over the last copy is integrated in closed form: Black and Scholes's price of a call or a put;
4. for more than a few epsilons, delta is linear in e^epsilon between those of a table, above the convex curve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import special

from dpcheck.accounting import allocation_few
from dpcheck.accounting.loss_grids import Grid
from dpcheck.accounting.losses import convolve, tilt_grid
from dpcheck.accounting.privacy_curves import Array, Curve, CurvePair, gaussian_log_delta

_FINE = 0.02  # interval of the grid, in standard deviations of a copy
_COARSEST = 4  # by how much it may grow where single copies decide
_PART = 0.007  # of the steps, that it then is at most
_MOST_POINTS = 2**20
_FLOOR = 1e-14  # least delta that is aimed at
_COMMON = 1e-8  # a floor that suits most epsilons
_LEAST_SHIFT, _LARGEST_SHIFT = 1e-4, 2.5  # outside, no grid is worth it
_EPSILONS, _KNOTS = 900, 2000
_FEW = 32  # so many epsilons need no table


def allocation_curves(steps: int, shift: float, negligible: float) -> CurvePair:
    """Return the curves of an epoch of ``steps`` >= 2; ``negligible`` may be added to delta, as in ``curves_of``."""
    fewer = steps if shift < _LARGEST_SHIFT else min(steps, allocation_few.MANY_STEPS)
    if allocation_few.covers(fewer, shift):

        def few(added: bool) -> Curve:
            def log_delta(epsilon: Array) -> Array:
                bound = allocation_few.log_delta(epsilon, fewer, shift, added=added)
                return np.asarray(np.minimum(bound, gaussian_log_delta(epsilon, shift)))

            return log_delta

        return CurvePair(few(True), few(False))
    if not _LEAST_SHIFT < shift < _LARGEST_SHIFT:
        return CurvePair(*(2 * [lambda epsilon: gaussian_log_delta(epsilon, shift)]))
    floor = max(negligible * 1e8, _FLOOR)
    floors = {10.0 ** math.floor(math.log10(floor))} | ({_COMMON} if floor < _COMMON / 10 and shift > 1 else set())
    epochs = [_epoch(steps, shift, each) for each in sorted(floors)]  # a high floor has a finer grid

    def curve(added: bool) -> Curve:
        def log_delta(epsilon: Array) -> Array:
            bound = np.min([epoch.deltas(epsilon, added) for epoch in epochs], axis=0)
            with np.errstate(divide="ignore"):
                return np.asarray(np.minimum(np.log(bound), gaussian_log_delta(epsilon, shift)))

        return log_delta

    return CurvePair(curve(True), curve(False))


@dataclass(frozen=True)
class _Sum:
    """Bounds on the chances of the sum of t - 1 copies, and delta of what lies below and above its points."""

    points: Array
    chances: Array
    below: float
    above: float


@dataclass(frozen=True, eq=False)
class _Epoch:
    """One epoch's deltas: from ``high`` with the record added, and from ``low``, shorter and finer, with it removed."""

    steps: int
    most: float
    widest: float
    high: _Sum
    low: _Sum
    strikes: Array  # where the last copy's calls and puts are known
    calls: Array
    puts: Array
    far: Far  # what copies past the grid add

    def deltas(self, epsilon: Array, added: bool) -> Array:
        """Bound delta at these epsilons >= 0, with the record added or removed."""
        one = self._added if added else self._removed
        if epsilon.size <= _FEW:
            return np.array([one(math.exp(min(each, self.most))) for each in epsilon])
        epsilons, deltas = self._table[0], self._table[1 if added else 2]
        last = epsilons.size - 1
        index = np.clip(np.searchsorted(epsilons, epsilon, side="right") - 1, 0, last - 1)
        gap = epsilons[index + 1] - epsilons[index]
        part = np.clip(np.expm1(np.minimum(epsilon - epsilons[index], gap)) / np.expm1(gap), 0, 1)
        return np.where(epsilon >= epsilons[-1], deltas[-1], deltas[index] * (1 - part) + deltas[index + 1] * part)

    @cached_property
    def _table(self) -> tuple[Array, Array, Array]:
        """Epsilons, and delta with the record added and removed."""
        epsilons = np.sinh(np.linspace(0, math.asinh(self.most / self.widest), _EPSILONS)) * self.widest
        ratios = np.exp(epsilons).tolist()
        return epsilons, np.array([self._added(y) for y in ratios]), np.array([self._removed(y) for y in ratios])

    def _added(self, y: float) -> float:
        strike = self.steps * y - self.high.points
        price = np.where(strike > 0, np.interp(strike, self.strikes, self.calls), 1 - strike)
        beyond = self.far.delta(self.steps * y) + self.high.below + self.high.above
        return float(self.high.chances @ price / self.steps + beyond) * SAFE

    def _removed(self, y: float) -> float:
        strike = self.steps / y - self.low.points
        price = np.interp(strike, self.strikes, self.puts, left=0.0)
        return float(self.low.chances @ price * y / self.steps + self.low.below) * SAFE


@lru_cache(maxsize=1024)
def _epoch(steps: int, shift: float, floor: float) -> _Epoch:
    """Bound the deltas of one epoch; ``floor`` : what may be added to them."""
    far = Far.of(steps, shift, floor)
    end = far.end
    high = low = _sum(steps, shift, end, floor, heavy=far.heavy)
    if far.heavy or end > 2 * steps + 4:  # puts are worth nothing where one copy is above all strikes
        low = _sum(steps, shift, min(2.0 * steps + 4, far.plain), floor)
    widest = min(math.sqrt(math.expm1(shift * shift) / steps), 0.3)
    most = max(math.log1p(end / steps) + 1 if shift > 0.3 else 0.0, 20 * widest)
    strikes = np.concatenate([np.linspace(0, 2, 4001), np.geomspace(2, steps * math.exp(most) + 2, 8000)[1:]])
    puts = put(strikes, shift)
    calls = puts + 1 - strikes
    large = strikes >= 1
    calls[large] = np.exp(gaussian_log_delta(np.log(strikes[large]), shift))
    return _Epoch(steps, most, widest, high, low, strikes, calls, puts, far)


def _sum(steps: int, shift: float, end: float, floor: float, *, heavy: bool = False) -> _Sum:
    """Bound the chances of the sum of t - 1 copies, each moved to a grid's points."""
    number, variance = steps - 1, math.expm1(shift * shift)
    spread = 12 * math.sqrt(number * min(variance, end)) + end
    wanted = _interval(steps, variance) if variance < end else _FINE * math.sqrt(end)
    wanted = max(wanted, 1.5 * spread / _MOST_POINTS)
    interval = 1 / math.floor(1 / wanted) if wanted < 1 else float(math.ceil(wanted))
    grid = on_grid(shift, end, interval, heavy)
    deviation = math.sqrt(number * float(np.exp(grid.log_mass) @ (grid.losses - 1) ** 2))
    low = max(0.0, number - math.sqrt(2 * number * math.exp(shift * shift) * -math.log(floor)))
    order = (number - low) / (number * math.exp(shift * shift))
    below = math.exp(min(number * grid.log_moment(-order) + order * low, 0.0)) if low > 0 else 0.0
    past = _Past(shift, grid, number, deviation, heavy=heavy)
    above, top = 1.0, 0.0
    for reach in (0.5, 1.0, 1.3, 1.7, 2.5, 4.0):
        top = number + reach * end + 10 * deviation
        above = past.bound(top)
        if above <= floor or (top - low) / interval > 2 * _MOST_POINTS:
            break
    points = range(math.floor(low / interval), math.ceil(top / interval) + 1)
    sums = np.array(points) * interval
    chances = _chances(grid, number, points, deviation, top)
    knots = _knots(number, deviation, float(sums[0]), float(sums[-1]))
    index = np.clip(np.searchsorted(knots, sums, side="right") - 1, 0, knots.size - 2)
    part = np.clip((sums - knots[index]) / (knots[index + 1] - knots[index]), 0, 1)
    law = np.bincount(index, chances * (1 - part), knots.size) + np.bincount(index + 1, chances * part, knots.size)
    return _Sum(knots, np.asarray(law, np.float64), below * SAFE, above * SAFE)


def _interval(steps: int, variance: float) -> float:
    """Return the grid's interval, coarser where single copies decide and not the sum of many."""
    deviation, heavy = math.sqrt(variance), variance / math.expm1(1)
    coarse = _COARSEST * (2.5 if heavy > 0.05 * steps else 1.0)
    return deviation * max(_FINE, min(_FINE * min(heavy, coarse), _PART * steps / deviation))


def _chances(grid: Grid, number: int, points: range, deviation: float, top: float) -> Array:
    """Bound the chances of a sum under several tilts, each of which has its roundings at another place.

    A call of the sum is at most the sum, and a put at most its strike, so that no delta is too large by more than the
    bounds on the chances and on the mean are; the first tilt that hardly lowers these is the last.
    """
    sums = np.array(points) * (grid.losses[1] - grid.losses[0])
    felt = 1 + sums / max(float(number), 1.0)
    best, excess = np.full(len(points), math.inf), math.inf
    mass = np.exp(grid.log_mass)
    true = float(mass.sum() + number * (mass @ grid.losses) / max(float(number), 1.0))
    for tilt in (0.0, 30 / (top - number), 15 / (top - number), *(np.array([-3, 3, -8, 8, 1.5, 5, 12]) / deviation)):
        total = convolve([(tilt_grid(grid, float(tilt), np.empty(0)), number)], points)
        bound = np.log(total.weights[: len(points)]) + total.log_scale + total.rounding - tilt * sums
        best = np.minimum(best, bound)  # what lies past the window wraps, and only adds
        before, excess = excess, float(np.exp(np.minimum(best, 0)) @ felt) - true
        if tilt < 0 and excess > 0.9 * before:
            break
    chances: Array = np.exp(np.minimum(best, 0))
    return chances


class _Past:
    """Chernoff's bounds on E (S / t; sum of the t - 1 > top), with one of all copies under P.

    The moments are those of a copy on few points of the grid, which is larger in convex order.
    """

    def __init__(self, shift: float, grid: Grid, number: int, deviation: float, *, heavy: bool) -> None:
        self._number = number
        last, two = grid.losses.size - 1, min(2 / (grid.losses[1] - grid.losses[0]), grid.losses.size - 1.0)
        places = np.concatenate([np.linspace(0, two, 201), np.geomspace(max(two, 1), last, 600)])
        points = grid.losses[np.unique(np.clip(np.round(places), 0, last).astype(np.int64))]
        mass = masses(shift, points, heavy)
        orders = np.geomspace(0.1 / (number + points[-1] + deviation), 200 / deviation, 90)
        self._orders = orders[orders * points[-1] < 600]
        rising = np.exp(np.multiply.outer(self._orders, points)) * mass
        moments = np.sum(rising, axis=1)
        self._moments = np.log(moments)
        self._tilted = np.log(np.maximum(rising @ points / moments, 1.0))

    def bound(self, top: float) -> float:
        """Return the least of the bounds."""
        exponents = self._number * self._moments - self._orders * top + self._tilted
        return math.exp(min(float(np.min(exponents)), 0.0))


def _knots(number: int, deviation: float, first: float, last: float) -> Array:
    """Fewer points, close around the mean."""
    low, high = max(first, number - 12 * deviation), min(number + 12 * deviation, last)
    near = np.linspace(low, high, _KNOTS)
    far = np.geomspace(high, last, 600)[1:] if last > high else np.empty(0)
    before = np.linspace(first, low, 200)[:-1] if low > first else np.empty(0)
    return np.concatenate([before, near, far])


SAFE = 1 + 1e-9
_HEAVY = 1.0  # from this shift on tails are heavy


@dataclass(frozen=True)
class Far:
    """Where the grid of one copy ends, and delta of the copies that lie past it.

    Light tails end where E (X - end)^+ is below the floor, which is all that the largest slope 1/t of delta allows t
    times. Of heavy tails, which this would take far, copies past the end count as 0. Two of them are rare under P, also
    where one is its step: (t - 1) Q(X > end). One alone adds E (X - t y; X > end) / t for each of t - 1 copies, beside
    the last, which has no end.
    """

    steps: int
    shift: float
    end: float
    plain: float
    heavy: bool

    @classmethod
    def of(cls, steps: int, shift: float, floor: float) -> Far:
        """Return the end for this floor."""
        plain = _end(shift, floor)
        if shift <= _HEAVY:
            return cls(steps, shift, plain, plain, False)
        u = -float(special.ndtri(floor / 10 / steps))
        return cls(steps, shift, math.exp(shift * u - shift * shift / 2), plain, True)

    @cached_property
    def _call(self) -> float:
        return _call_beyond(self.end, self.shift)

    @cached_property
    def _cut(self) -> float:
        return chance_beyond(self.end, self.shift) * SAFE

    def delta(self, strike: float) -> float:
        """Return what is added where the sum has to exceed ``strike``."""
        if not self.heavy:
            return self._call
        alone = self._call + (self.end - strike) * self._cut  # E (X - end)^+ + (end - strike) Q(X > end)
        if strike > self.end:
            alone = _call_beyond(strike, self.shift)
        return (self.steps - 1) * (self._cut + alone / self.steps)


def _end(shift: float, floor: float) -> float:
    """Where the grid of one copy ends: what lies beyond adds less than the floor."""
    u = math.sqrt(-2 * math.log(floor)) + 1
    while u > 1 and _call_beyond(math.exp(shift * (u - 0.1) + shift * shift / 2), shift) <= floor / 10:
        u -= 0.1
    return math.exp(shift * u + shift * shift / 2)


def _call_beyond(strike: float, shift: float) -> float:
    """E (X - strike)^+, strike >= 1."""
    return math.exp(float(gaussian_log_delta(np.array([math.log(strike)]), shift)[0])) * SAFE


def put(strikes: Array, shift: float) -> Array:
    """E (strike - X)^+: by the Gaussian's symmetry strike times its delta at -log(strike), and put-call parity."""
    puts = np.zeros_like(strikes)
    near, far = (strikes > 0) & (strikes < 1), strikes >= 1
    puts[near] = strikes[near] * np.exp(gaussian_log_delta(-np.log(strikes[near]), shift))
    puts[far] = strikes[far] - 1 + np.exp(gaussian_log_delta(np.log(strikes[far]), shift))
    return puts


def chance_beyond(value: float, shift: float) -> float:
    """Q(X > value)."""
    return float(special.ndtr(-(math.log(value) / shift + shift / 2)))


def masses(shift: float, points: Array, heavy: bool) -> Array:
    """Return the masses of a copy X moved to rising points, each part to its two neighbours, so that its mean stays.

    What lies past the last point ends there, or, of heavy tails, counts as 0, which is then the first point.
    They are second differences of X's puts, here of what these exceed those of the number 1 by, which is put in last.
    """
    excess = put(points, shift) - np.maximum(points - 1, 0)
    far = points >= 1
    excess[far] = np.exp(gaussian_log_delta(np.log(points[far]), shift))
    slope = np.diff(excess * SAFE) / np.diff(points) + (chance_beyond(float(points[-1]), shift) if heavy else 0.0)
    mass = np.append(slope, 0.0) - np.insert(slope, 0, 0.0)
    place = min(max(int(np.searchsorted(points, 1 + 1e-9, side="right")) - 1, 0), points.size - 2)
    part = min(max((1 - points[place]) / (points[place + 1] - points[place]), 0.0), 1.0)
    mass[place] += 1 - part
    mass[place + 1] += part
    return np.asarray(np.maximum(mass, 0), np.float64)


def on_grid(shift: float, end: float, interval: float, heavy: bool) -> Grid:
    """Return the law of a copy on the interval's multiples up to the end; ``heavy`` tails count as 0 past it."""
    least = math.exp(-shift * 40 - shift * shift / 2)  # nothing that counts lies below
    first = max(0, math.floor(least / interval)) if not heavy else 0
    points = np.asarray((first + np.arange(math.ceil(end / interval) + 2 - first)) * interval, np.float64)
    with np.errstate(divide="ignore"):
        return Grid(first, points, np.log(masses(shift, points, heavy)), 0.0)
