"""The privacy loss of one event on a grid of losses, rounded so that delta never shrinks.

A curve is interpolated linearly in e^epsilon between grid points, which is again a curve and lies above (connect the
dots: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). Its loss lives on the grid.

Losses are summed after exponential tilting: every probability p(l) becomes p(l) e^(tilt l) / M. With the tilt that
centres the sum near the wanted epsilon, rounding errors are relative to delta itself, however small. An error x of the
tilted probabilities adds at most x M e^(-tilt epsilon) to delta at epsilon, whatever is composed with them: that prices
what a Fourier transform gets wrong, and what wraps around in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.signal import lfilter
from scipy.special import erfcx

from dpcheck.accounting.privacy_curves import Array, Curve, CurvePair

_LIFT = 1e-9  # of delta: covers the curves' own rounding
_MANY = 400  # points of a grid that are worth choosing among
_ADDED = 0.02  # of a grid's error, that leaving points out may add by the estimate; eight times that was seen
_WIDE = 0.5  # widest gap, by its exponent
_ROUGH_RATIO, _ROUGH_LEAST = 1.2, 1e-9  # the rough grid's points grow by this from this part of the reach


@dataclass(frozen=True)
class Grid:
    """Loss of one event: log probabilities at ``losses``, and mass ``infinite`` at infinity.

    ``losses`` = (lowest, lowest + 1, ...) * interval, (n,).
    """

    lowest: int
    losses: Array
    log_mass: Array
    infinite: float

    @cached_property
    def _felt(self) -> tuple[Array, Array]:
        """The losses that occur, and their log probabilities."""
        felt = np.isfinite(self.log_mass)
        return self.losses[felt], self.log_mass[felt]

    def log_moment(self, order: float) -> float:
        """Return log E e^(order loss) of the finite part."""
        losses, log_mass = self._felt
        exponent = order * losses + log_mass
        largest = float(np.max(exponent))
        return largest + math.log(float(np.sum(np.exp(exponent - largest))))


@dataclass(frozen=True)
class Reach:
    """How far the loss of one event goes: losses above ``up`` and below ``-down`` hardly occur."""

    up: float
    down: float

    @classmethod
    def of(cls, curves: CurvePair, negligible: float) -> Reach:
        """Return the epsilons from which on delta is at most ``negligible``."""
        up = _reach(curves.forward, negligible)
        if curves.symmetric and negligible > 1e-30:  # to look again would win little
            return cls(up, up)
        return cls(up, _reach(curves.backward, max(negligible, 1e-15)))


def _reach(curve: Curve, negligible: float) -> float:
    """An epsilon, at most 1% too large, from which on delta <= ``negligible``."""
    points = np.geomspace(1e-150, 1e15, 121)
    for _ in range(3):
        enough = np.append(curve(points[:-1]) <= math.log(negligible), True)
        index = max(1, int(np.argmax(enough)))
        points = np.geomspace(points[index - 1], points[index], 41)
    return float(points[-1])


def discretise(curves: CurvePair, interval: float, reach: Reach, sparing: Callable[[], Sparing] | None = None) -> Grid:
    """Connect the dots of ``curves`` on the multiples of ``interval`` that the loss reaches.

    ``sparing`` : where multiples may be left out. That is on the safe side too.
    """
    first, last = -math.ceil(reach.down / interval), math.ceil(reach.up / interval)
    if sparing is None or last - first < _MANY:
        places = np.arange(first, last + 1)
    else:
        places = sparing().places(first, last, interval, mirrored=curves.symmetric)
    losses = places.astype(np.float64) * interval
    ahead, behind = losses[places >= 0], -losses[places < 0]
    mass, infinite = _connect(curves, behind, ahead, np.diff(losses))
    whole = np.zeros(last - first + 1)
    whole[places - first] = mass
    with np.errstate(divide="ignore"):
        return Grid(first, np.arange(first, last + 1, dtype=np.float64) * interval, np.log(whole), infinite)


@dataclass(frozen=True)
class Sparing:
    """Which points of a grid to leave out, where a loss hardly is under its tilt.

    ``ends`` (k + 1,) of cells, increasing, and a bound on each cell's tilted probability, (k,).
    """

    ends: Array
    chances: Array
    tilt: float

    def places(self, first: int, last: int, interval: float, *, mirrored: bool) -> NDArray[np.int64]:
        """Multiples of ``interval`` from first to last, 0 among them, the same on both sides if ``mirrored``.

        Gaps g times as wide where the chance is p add p (g^2 - 1) to the grid's error, in parts of it.
        """
        widest = max(1.0, _WIDE / (1 + self.tilt) / interval)
        wide = np.sqrt(1 + _ADDED / self.chances.size / np.maximum(self.chances, 1e-300))
        gaps = np.floor(np.minimum(wide, widest)).astype(np.int64)
        edges = np.clip(np.round(self.ends / interval), first, last).astype(np.int64)
        edges[0], edges[-1] = first, last
        chosen = np.zeros(last - first + 1, dtype=np.bool_)
        for start, end, gap in zip(edges[:-1].tolist(), edges[1:].tolist(), gaps.tolist(), strict=True):
            chosen[start - first : end - first : gap] = True
        chosen[[0, -first, -1]] = True
        if mirrored:
            both = min(-first, last)
            middle = chosen[-first - both : -first + both + 1]
            middle |= middle[::-1].copy()
        return np.flatnonzero(chosen) + first


def _connect(curves: CurvePair, behind: Array, ahead: Array, gaps: Array | float) -> tuple[Array, float]:
    """Probabilities of the losses -behind (descending) and ahead (ascending, from 0), and of infinity.

    Works on the excess of delta over its least possible value max(0, 1 - e^epsilon); for epsilon < 0 that excess is
    e^epsilon times the other direction's delta at -epsilon, small in both tails, so no difference of nearly equal
    numbers is taken. The least curve itself contributes mass 1 at 0.
    """
    right = curves.forward(ahead)
    mirrored = curves.symmetric and behind.size < ahead.size and np.array_equal(behind, ahead[behind.size : 0 : -1])
    left = (right[behind.size : 0 : -1] if mirrored else curves.backward(behind)) - behind
    excess = np.exp(np.concatenate([left, right])) * (1 + _LIFT)
    step = np.diff(excess)
    with np.errstate(over="ignore"):
        rise, fall = step / np.expm1(gaps), step / np.expm1(-np.asarray(gaps))
    mass = np.append(rise, 0.0) + np.insert(fall, 0, -excess[0])
    mass[behind.size] += 1
    # A curve is convex in e^epsilon, so negative mass is rounding; zero is on the safe side.
    return np.maximum(mass, 0), float(excess[-1])


@dataclass(frozen=True)
class Rough:
    """All events' losses on coarse grids of geometric spacing, to aim by: no bound rests on it."""

    losses: Array
    log_mass: Array
    counts: Array

    @classmethod
    def of(cls, parts: list[tuple[CurvePair, int]], reaches: list[Reach]) -> Rough:
        """One row an event, (events, points)."""
        points = math.ceil(-math.log(_ROUGH_LEAST) / math.log(_ROUGH_RATIO))
        shape = np.geomspace(_ROUGH_LEAST, 1, points)
        rows, masses = [], []
        for (curves, _), reach in zip(parts, reaches, strict=True):
            behind, ahead = shape[::-1] * reach.down, np.append(0.0, shape * reach.up)
            losses = np.concatenate([-behind, ahead])
            mass, _ = _connect(curves, behind, ahead, np.diff(losses))
            rows.append(losses)
            with np.errstate(divide="ignore"):
                masses.append(np.log(mass / np.sum(mass)))
        return cls(np.array(rows), np.array(masses), np.array([float(count) for _, count in parts]))

    def sparing(self, row: int, tilt: float) -> Sparing:
        """Where an event's loss hardly is."""
        ends, exponent = self.losses[row], tilt * self.losses[row] + self.log_mass[row]
        chances = np.exp(exponent - np.max(exponent))
        chances /= np.sum(chances)
        return Sparing(ends, chances[:-1] + chances[1:], tilt)

    def cumulants(self, order: float) -> tuple[float, float, float]:
        """Log moment of this order of the sum of losses, and its first two derivatives."""
        exponent = order * self.losses + self.log_mass
        largest = np.max(exponent, axis=1, keepdims=True)
        weight = np.exp(exponent - largest)
        total = np.sum(weight, axis=1, keepdims=True)
        weight /= total
        mean = np.sum(weight * self.losses, axis=1, keepdims=True)
        variance = np.sum(weight * (self.losses - mean) ** 2, axis=1)
        growth = largest[:, 0] + np.log(total[:, 0])
        return float(self.counts @ growth), float(self.counts @ mean[:, 0]), float(self.counts @ variance)

    def order_for(self, delta: float) -> float:
        """The order whose tilted sum lies where delta is about this, epsilon >= 0 there."""
        target = math.log(delta)

        def beyond(order: float) -> bool:
            growth, mean, variance = self.cumulants(order)
            if mean <= 0:
                return False
            width = math.sqrt(variance)
            # As if the tilted sum were Gaussian: exact where all events are.
            stick = float(erfcx(order * width / math.sqrt(2)) - erfcx((order + 1) * width / math.sqrt(2))) / 2
            return stick <= 0 or growth - order * mean + math.log(stick) <= target

        return self._least_order(beyond)

    def order_at(self, loss: float) -> float:
        """The order whose tilted sum has this mean."""
        return self._least_order(lambda order: self.cumulants(order)[1] >= loss)

    def _least_order(self, enough: object) -> float:
        """The least order > 0 that is enough, to a hundredth, among those that the losses can tell apart."""
        widest = float(np.max(np.abs(self.losses)))
        low, high = math.log(1e-6 / widest), math.log(1e9 / widest)
        while high - low > 0.01:
            middle = (low + high) / 2
            low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)  # type: ignore[operator]
        return math.exp(high)


_UNIT = 2.0**-52
_DROP = 30.0  # minus the logarithm of what may wrap around at either end of a window


@dataclass(frozen=True)
class Tilted:
    """A tilted loss on the grid's points lowest, lowest + 1, ..., or an upper bound on each probability.

    ``log_scale`` is log M. ``lost`` bounds tilted probability that is at a wrong place, ``rounding`` the error of
    log_scale. ``growths`` are log moments of the tilted loss at the orders of :func:`asides`.
    """

    lowest: int
    weights: Array
    log_scale: float
    growths: Array
    lost: float = 0.0
    rounding: float = 0.0


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
    """Move the loss to every ``ratio``-th point of its grid, whose spacing is ``interval``.

    Each probability is shared between the two points around it so that its mean of e^-loss stays: delta, convex in
    e^-loss whatever is composed, does not shrink.
    """
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
    largest = float(
        np.max(exponent[weights > 0])
    )  # where there is no weight, exponents may be out of reach of the rest
    return largest + math.log(float(weights @ np.exp(np.minimum(exponent - largest, 0))))


def hockey_stick(mass: Array, interval: float, tilt: float) -> Array:
    """Return log of sum_{j > i} (1 - e^(l_i - l_j)) e^(-tilt (l_j - l_i)) mass_j for each i, (n,).

    By two recursions from the top that only add: first
    e_i = sum_{j >= i} e^(-(1 + tilt) (l_j - l_i)) mass_j, then
    s_{i-1} = e^(-tilt interval) (s_i + (1 - e^-interval) e_i).
    """
    fall = math.exp(-tilt * interval)
    inner = lfilter([1.0], [1.0, -fall * math.exp(-interval)], mass[::-1])
    outer = lfilter([0.0, -fall * math.expm1(-interval)], [1.0, -fall], inner)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(outer[::-1]))
