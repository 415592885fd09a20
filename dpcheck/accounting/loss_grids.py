"""The privacy loss of one event on a grid of losses, rounded so that delta never shrinks.

A curve is interpolated linearly in e^epsilon between grid points, which is again a curve and lies above (connect the
dots: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). Its loss lives on the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from dpcheck.accounting.privacy_curves import Array, Curve, CurvePair

_LIFT = 1e-9  # of delta: covers the curves' own rounding
_MANY = 400  # points of a grid that are worth choosing among
_ADDED = 0.02  # of a grid's error, that leaving points out may add by the estimate; eight times that was seen
_WIDE = 0.5  # widest gap, by its exponent
_ROUGH_RATIO, _ROUGH_LEAST = 1.2, 1e-9  # the rough grid's points grow by this from this part of the reach


@dataclass(frozen=True)
class Grid:
    """Loss of one event: log probabilities at ``losses``, and mass ``infinite`` at infinity."""

    lowest: int
    losses: Array  # (n,): lowest, lowest + 1, ..., times the interval
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
    """Connect the dots of ``curves`` on the multiples of ``interval`` that the loss reaches, save what is spared."""
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
    """Which points of a grid to leave out, where a loss hardly is under its tilt."""

    ends: Array  # (k + 1,) of cells, increasing
    chances: Array  # (k,), bounds on each cell's tilted probability
    tilt: float

    def places(self, first: int, last: int, interval: float, *, mirrored: bool) -> NDArray[np.int64]:
        """Multiples of ``interval`` from first to last, 0 among them, the same on both sides if ``mirrored``."""
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

    Works on the excess of delta over max(0, 1 - e^epsilon), small in both tails, so that no like numbers are subtracted
    (the least curve itself contributes mass 1 at 0).
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
