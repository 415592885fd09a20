"""Composition of privacy curves on a grid of losses, rounded so that delta never shrinks.

1. Each curve becomes a loss on a grid that dominates it (``dpcheck.accounting.loss_grids``).
2. The losses add up under composition, also adaptive (Zhu, Dong and Wang 2022). Their sum is found by Fourier
   transform after exponential tilting, which makes of every probability p(l) the tilted p(l) e^(tilt l) / M. Many
   events are added in blocks, whose losses are moved to a coarser grid, again upwards in delta: this keeps the
   transforms short.
3. What the transforms leave out or may get wrong is bounded and added: the tail beyond the window by Chernoff, mass
   that wraps around, rounding by its own bound.

With the tilt that centres the sum near the wanted epsilon, rounding errors are relative to delta itself, however small.
An error x of the tilted probabilities adds at most x M e^(-tilt epsilon) to delta at epsilon, whatever is composed
with them: that prices what a Fourier transform gets wrong, and what wraps around in it.

Where to look, for the tilt and the grid, is found beforehand from coarse grids; no bound rests on that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.signal import lfilter

from dpcheck.accounting.loss_grids import Grid, Reach, Rough, discretise
from dpcheck.accounting.privacy_curves import Array, CurvePair

_UNIT = 2.0**-52
_DROP = 30.0  # minus the logarithm of what may wrap around at either end of a window
_NEGLIGIBLE = 1e-8  # of delta: what the tails may add to it
_LEAST_DELTA = 1e-280
_MOST_POINTS = 2_000_000
_LONG = 60_000  # points times kinds of events from which on blocks are worth it
_WIDEST = 100.0  # grid interval whose exponential is still a number
_MOST_EXPONENT = 600.0  # of what a coarse grid's interval is weighed by
_FEWEST = 64  # events that are worth blocks
_MOST_STEPS = 10**13  # beyond, the rounding of one step's loss, so many times, is too much
_WINDOW = 30.0  # minus the logarithm of what lies outside of a window, about
_PASSES = 12
_CLOSE = 0.02  # of epsilon: between points so close delta bends by little, where all but rare losses lie about epsilon
# So many kinds of events are worth a look on a grid that is coarser, by its tolerance, and grids with points left out.
_MANY_KINDS, _GLANCE = 32, 25.0


@dataclass(frozen=True)
class Composition:
    """Upper bound on a composition's curve, linear in e^epsilon between points; past the last, its value there."""

    interval: float
    lowest: int
    log_delta: Array  # [i] bounds log delta at epsilon = (lowest + i) * interval
    tilt: float  # the Chernoff exponent
    most: float = math.inf  # the sum of the largest losses
    log_rest: float = 0.0  # what is left of log delta at ``most``

    def epsilon(self, delta: float) -> float:
        """The least epsilon >= 0 shown to satisfy (epsilon, delta); inf if none is."""
        target = math.log(delta)
        most = self.most if target >= self.log_rest else math.inf
        index = int(np.searchsorted(-self.log_delta, -target))
        if index == self.log_delta.size:
            return most
        if index == 0:
            return min(most, max(0.0, self.lowest * self.interval))
        above, below = self.log_delta[index - 1 : index + 1]
        part = math.expm1(target - above) / math.expm1(below - above)
        left = (self.lowest + index - 1) * self.interval
        return min(most, max(0.0, left + math.log1p(part * math.expm1(self.interval))))

    def delta(self, epsilon: Array) -> Array:
        """Bound delta at each epsilon, (n,) -> (n,), from above; 1 below the window."""
        place = epsilon / self.interval - self.lowest
        last = self.log_delta.size - 1
        index = np.clip(np.floor(place), 0, last).astype(np.int64)
        excess = np.clip(place - index, 0, 1) * self.interval
        part = np.expm1(excess) / math.expm1(self.interval)
        bounds = np.exp(np.minimum(self.log_delta, 0.0))  # no delta is above 1, whatever a bound says
        left, right = bounds[index], bounds[np.minimum(index + 1, last)]
        bound = np.where(place < 0, 1.0, np.minimum(left + part * (right - left), 1.0))
        return np.where(epsilon < self.most, bound, np.minimum(bound, math.exp(self.log_rest)))


@dataclass(frozen=True)
class _Problem:
    """The losses to compose, how far they reach, and the delta to answer for."""

    parts: list[tuple[CurvePair, int]]
    reaches: list[Reach]
    rough: Rough
    delta: float

    @property
    def steps(self) -> int:
        return sum(count for _, count in self.parts)

    @property
    def finest(self) -> float:
        """The finest grid on which one event's loss is not too long."""
        return max(reach.up + reach.down for reach in self.reaches) / _MOST_POINTS


@dataclass(frozen=True)
class _Plan:
    """The tilt, the grid's interval and the coarser one of ``blocks`` sums, as a ratio (1: no blocks)."""

    tilt: float
    interval: float
    ratio: int
    blocks: int


def compose(
    parts: list[tuple[CurvePair, int]], delta: float, *, guess: float, tolerance: float, floor: float = 0.0
) -> Composition | None:
    """Compose ``count`` times each ``(curves, count)``, sharply for ``delta`` in (0, 1) and a ``guess`` above epsilon.

    The grid adds at most ``tolerance`` times the largest of epsilon, ``floor`` and a tenth of the losses' deviation.
    None if ``delta`` is too small or the losses too large for double precision.
    """
    steps = sum(count for _, count in parts)
    if steps > _MOST_STEPS or delta < _LEAST_DELTA * steps or not math.isfinite(guess):
        return None
    reaches = [Reach.of(curves, delta * _NEGLIGIBLE / steps) for curves, _ in parts]
    if max(reach.up + reach.down for reach in reaches) > _WIDEST * _MOST_POINTS:
        return None
    problem = _Problem(parts, reaches, Rough.of(parts, reaches), delta)
    deviation = math.sqrt(problem.rough.cumulants(0.0)[2])
    tilt = problem.rough.order_for(delta)
    epsilon = min(guess, max(0.0, problem.rough.cumulants(tilt)[1]))
    best: Composition | None = None
    last: _Plan | None = None
    for number in range(_PASSES):
        scale, near_zero = (max(epsilon, floor, share * deviation) for share in (0.1, 0.001))
        coarse = _GLANCE if number == 0 and len(parts) >= _MANY_KINDS else 1.0
        plan = _plan(problem, tilt, scale, tolerance * coarse, _CLOSE * near_zero * coarse)
        if plan is None or plan == last:
            break
        result, last = _bounded(problem, plan), plan
        found = result.epsilon(delta)
        if best is None or found <= best.epsilon(delta):
            best = result
        _, centre, variance = problem.rough.cumulants(tilt)
        if found == max(0.0, result.lowest * result.interval) > 0:  # the answer lies below the window
            tilt /= 2
        elif found == math.inf:
            tilt *= 2
        else:
            near = abs(found - centre) <= 4 * math.sqrt(variance) + 0.01 * scale
            settled = max(found, floor, 0.1 * deviation) >= 0.7 * scale
            settled = settled and max(found, floor, 0.001 * deviation) >= 0.7 * near_zero
            if coarse == 1 and near and settled:
                break
            tilt = problem.rough.order_at(min(found, guess))
        epsilon = min(found, guess)
    most = sum(count * reach.up for (_, count), reach in zip(parts, reaches, strict=True))
    return best and replace(best, most=most * (1 + 1e-12), log_rest=math.log(delta * _NEGLIGIBLE))


def _plan(problem: _Problem, tilt: float, scale: float, tolerance: float, close: float) -> _Plan | None:
    """The grid that suits the tilt and epsilon's ``scale``, at most ``close``; None if no grid is long enough."""
    growth, _, variance = problem.rough.cumulants(tilt)
    orders = asides(_deviation(variance, problem.finest), 1)
    growths = np.array([problem.rough.cumulants(tilt + order)[0] for order in orders]) - growth
    ends = (growths + _WINDOW) / orders
    width = float(np.min(ends[orders > 0]) - np.max(ends[orders < 0]))

    def wanted(number: int, tolerance: float) -> float:
        square = 4 * tolerance * scale / (number * (tilt + 1))
        return max(math.sqrt(square), tolerance * scale / number / 2)

    steps, blocks, ratio = problem.steps, 1, 1
    interval = wanted(steps, tolerance)
    if steps >= _FEWEST and len(problem.parts) * width > _LONG * interval:
        blocks = math.isqrt(steps)
        interval = wanted(steps, tolerance / 2)
        coarse = min(wanted(blocks, tolerance / 2), _WIDEST, _MOST_EXPONENT / (1 + tilt))
        ratio = max(1, math.floor(coarse / max(interval, problem.finest)))
        if max(interval, problem.finest, width / _MOST_POINTS / ratio) * ratio * tilt > _MOST_EXPONENT:
            interval, blocks, ratio = wanted(steps, tolerance), 1, 1
    interval = min(interval, close) if blocks == 1 else interval
    interval = min(max(interval, problem.finest, width / _MOST_POINTS / ratio), _WIDEST)
    return _Plan(tilt, interval, ratio, blocks) if width / (interval * ratio) <= 2 * _MOST_POINTS else None


def _deviation(variance: float, least: float) -> float:
    return max(math.sqrt(variance), least)


def _bounded(problem: _Problem, plan: _Plan) -> Composition:
    """Compose on the grid of a plan."""
    tilt, interval, delta = plan.tilt, plan.interval, problem.delta
    orders = asides(_deviation(problem.rough.cumulants(tilt)[2], problem.finest), plan.blocks)
    factors, infinite = list[tuple[Tilted, int]](), 0.0
    for row, ((curves, count), reach) in enumerate(zip(problem.parts, problem.reaches, strict=True)):
        sparing = partial(problem.rough.sparing, row, tilt) if len(problem.parts) >= _MANY_KINDS else None
        grid = discretise(curves, interval, reach, sparing)
        factors.append((tilt_grid(grid, tilt, orders), count))
        infinite += count * grid.infinite
    if plan.blocks > 1:
        factors = _in_blocks(factors, plan, orders)
        interval *= plan.ratio

    # Chernoff: delta itself loses a negligible tail above the top.
    outside = delta * _NEGLIGIBLE
    ahead = tilt + orders[orders > 0]
    growth = sum(count * (factor.growths[orders > 0] + factor.log_scale) for factor, count in factors)
    top = float(np.min((growth - math.log(outside)) / ahead))
    points = window(factors, orders, interval, top)
    total = convolve(factors, points)
    losses = (points[0] + np.arange(total.weights.size)) * interval
    stick = np.logaddexp(hockey_stick(total.weights, interval, tilt), math.log(total.lost))
    log_delta = np.logaddexp(total.log_scale + total.rounding - tilt * losses + stick, math.log(outside + infinite))
    return Composition(interval, points[0], np.maximum.accumulate(log_delta[::-1])[::-1], tilt)


def _in_blocks(factors: list[tuple[Tilted, int]], plan: _Plan, orders: Array) -> list[tuple[Tilted, int]]:
    """Add the losses up in about ``blocks`` sums of about as many steps each, on the coarser grid."""
    most = sum(count for _, count in factors) // plan.blocks
    done, waiting, waits = list[tuple[Tilted, int]](), list[tuple[Tilted, int]](), 0

    def add(block: list[tuple[Tilted, int]], count: int) -> None:
        points = window(block, orders, plan.interval)
        total = convolve(block, points)
        done.append((coarsened(total, plan.ratio, plan.interval, plan.tilt, orders), count))

    for factor, count in factors:
        whole, rest = divmod(count, most)
        if whole:
            add([(factor, most)], whole)
        if rest:
            waiting, waits = [*waiting, (factor, rest)], waits + rest
        if waits >= most:
            add(waiting, 1)
            waiting, waits = [], 0
    if waiting:
        add(waiting, 1)
    return done


@dataclass(frozen=True)
class Tilted:
    """A tilted loss on the grid's points lowest, lowest + 1, ..., or an upper bound on each probability."""

    lowest: int
    weights: Array
    log_scale: float  # log M
    growths: Array  # log moments of the tilted loss at the orders of `asides`
    lost: float = 0.0  # bounds tilted probability that is at a wrong place
    rounding: float = 0.0  # bounds the error of log_scale


def asides(deviation: float, blocks: float) -> Array:
    """Orders of Chernoff bounds that suit sums of any part of the events, from all to one in ``blocks``."""
    steps = np.arange(-2, math.ceil(math.log2(max(blocks, 1)) / 2) + 4)
    ladder = math.sqrt(2 * _DROP) / deviation * 2.0**steps
    return np.concatenate([ladder, -ladder])


def tilt_grid(grid: Grid, tilt: float, orders: Array) -> Tilted:
    """Tilt the loss of one event."""
    log_moment = grid.log_moment(tilt)
    exponent = tilt * grid.losses + (grid.log_mass - log_moment)
    growths = np.array([grid.log_moment(tilt + order) for order in orders]) - log_moment
    felt = exponent > -80
    sizes = np.abs(tilt * grid.losses[felt]) + np.abs(grid.log_mass[felt])
    rounding = 4 * _UNIT * (1 + abs(log_moment) + float(np.max(sizes)))
    return Tilted(grid.lowest, np.exp(exponent), log_moment, growths, 0.0, rounding)


def window(factors: list[tuple[Tilted, int]], orders: Array, interval: float, top: float | None = None) -> range:
    """The grid points outside of which the tilted sum hardly is, reaching up to ``top`` at least."""
    growths = sum(count * factor.growths for factor, count in factors)
    least = sum(count * factor.lowest for factor, count in factors)
    most = least + sum(count * (factor.weights.size - 1) for factor, count in factors)
    ends = (growths + _DROP) / orders
    high, low = float(np.min(ends[orders > 0])), float(np.max(ends[orders < 0]))
    if top is not None:
        high = max(high, top)
    first = min(max(_whole(low / interval), least), most)
    return range(first, max(min(_whole(high / interval) + 1, most), first) + 1)


def _whole(place: float) -> int:
    return math.floor(min(max(place, -1e15), 1e15))


def convolve(factors: list[tuple[Tilted, int]], points: range) -> Tilted:
    """Bound the tilted probabilities of a sum, each factor so many times, on a window that holds nearly all of it."""
    size = int(next_fast_len(len(points), real=True))
    # Error of a Fourier coefficient of a distribution, and of each factor in raising it.
    unit = 4 * _UNIT * (math.log2(size) + 4)
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    bound, smallest = np.ones(size // 2 + 1), np.full(size // 2 + 1, math.inf)
    log_scale, rounding, lost, steps = 0.0, 0.0, 2 * math.exp(-_DROP), 0.0
    for factor, count in factors:
        power = float(count)
        place = (factor.lowest + np.arange(factor.weights.size)) % size
        transform = rfft(np.bincount(place, factor.weights, minlength=size))
        product *= transform**power
        magnitude = np.abs(transform) + unit
        bound *= magnitude**power
        smallest = np.minimum(smallest, magnitude)
        log_scale += power * factor.log_scale
        rounding += power * factor.rounding
        lost += power * factor.lost
        steps += power
    wrong = 4 * unit * (steps * float(np.mean(bound / smallest)) + float(np.mean(bound)))
    mass = np.roll(irfft(product, size), -(points[0] % size))
    growths = np.asarray(sum(count * factor.growths for factor, count in factors))
    return Tilted(points[0], np.maximum(mass, 0) + wrong, log_scale, growths, lost, rounding)


def coarsened(loss: Tilted, ratio: int, interval: float, tilt: float, orders: Array) -> Tilted:
    """Move the loss to every ``ratio``-th point, keeping the mean of e^-loss, so that delta does not shrink."""
    first = loss.lowest // ratio
    before = loss.lowest - first * ratio
    blocks = -(-(before + loss.weights.size) // ratio)
    table = np.zeros(blocks * ratio)
    table[before : before + loss.weights.size] = loss.weights
    inside = np.arange(ratio) * interval
    upper = np.expm1(-inside) / math.expm1(-ratio * interval)
    rows = table.reshape(blocks, ratio)
    weights = np.zeros(blocks + 1)
    weights[:-1] = rows @ ((1 - upper) * np.exp(-tilt * inside))
    weights[1:] += rows @ (upper * np.exp(tilt * (ratio * interval - inside)))
    total = float(np.sum(weights))
    weights /= total
    losses = (first + np.arange(blocks + 1) - loss.lowest / ratio) * (ratio * interval)
    here = loss.lowest * interval  # as a sum of large and small numbers loses digits, the large is kept apart
    growths = np.array([_log_mean(weights, order * losses) + order * here for order in orders])
    log_scale, rounding = loss.log_scale + math.log(total), loss.rounding + 8 * _UNIT * (1 + abs(loss.log_scale))
    return Tilted(first, weights, log_scale, growths, loss.lost, rounding)


def _log_mean(weights: Array, exponent: Array) -> float:
    largest = float(np.max(exponent[weights > 0]))  # elsewhere exponents may be out of reach of the rest
    return largest + math.log(float(weights @ np.exp(np.minimum(exponent - largest, 0))))


def hockey_stick(mass: Array, interval: float, tilt: float) -> Array:
    """Return log of sum_{j > i} (1 - e^(l_i - l_j)) e^(-tilt (l_j - l_i)) mass_j for each i, (n,).

    By two recursions from the top that only add: e_i = sum_{j >= i} e^(-(1 + tilt) (l_j - l_i)) mass_j, then
    s_{i-1} = e^(-tilt interval) (s_i + (1 - e^-interval) e_i).
    """
    fall = math.exp(-tilt * interval)
    inner = lfilter([1.0], [1.0, -fall * math.exp(-interval)], mass[::-1])
    outer = lfilter([0.0, -fall * math.expm1(-interval)], [1.0, -fall], inner)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(outer[::-1]))
