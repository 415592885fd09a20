"""One copy X of random allocation's lognormal, of mean 1: calls and puts, where its grid ends, its law on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from dpcheck.accounting.loss_grids import Grid
from dpcheck.accounting.privacy_curves import Array, gaussian_log_delta

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
    """Return the law of a copy on the multiples of the interval, up to the first past the end.

    heavy : whether copies past the end count as 0, see :class:`Far`
    """
    least = math.exp(-shift * 40 - shift * shift / 2)  # nothing that counts lies below
    first = max(0, math.floor(least / interval)) if not heavy else 0
    points = np.asarray((first + np.arange(math.ceil(end / interval) + 2 - first)) * interval, np.float64)
    with np.errstate(divide="ignore"):
        return Grid(first, points, np.log(masses(shift, points, heavy)), 0.0)
