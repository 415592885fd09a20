"""Delta of a composition from the moments of its loss, by one contour integral.

For L the total loss under P and s = order + it, delta(epsilon) = E (1 - e^(epsilon - L))^+ is

    (1 / 2 pi) integral of E e^(sL) e^(-s epsilon) / (s (s + 1)) dt,    for any order > 0.

Moments of independent losses multiply, so that a composition of any length costs one power. By Poisson's formula the
trapezoidal sum of step h is not only near delta: it IS the sum over all integers k of
e^(order k w) delta(epsilon + k w), w = 2 pi / h. All its terms are positive, and those with k != 0 are bounded by
delta <= 1 below and by Chernoff's inequality above. So delta lies in an interval whose ends are computed; besides
rounding it rests on one assumption, that beyond the last frequency R the moment is no larger than on [R/2, R].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpcheck.checks.accounting.pairs import Array

LogMoment: TypeAlias = Callable[[float, Array], NDArray[np.complex128]]
"""(order, frequencies (k,)) -> log E e^((order + i frequency) L), (k,)."""

_ALIAS = 1e-9  # of delta, what the other terms of Poisson's sum may add
_FALLEN = 1e-11  # of its peak, where the integrand ends
_CHUNK, _MOST = 24, 1024  # frequencies at a time, and at most
_ROUNDING = 1e-10
_SMALLEST = 1e-6  # order looked at
_LEAST = 1e-300  # delta looked at
_BELOW = 0.6  # of the order at which Chernoff's bound is best: the one used, so that the better one bounds the aliases
_FURTHER = (1.3, 1 / 0.6, 2.5)


@dataclass(frozen=True)
class Inversion:
    """The trapezoidal sum for one composition and one ``order``, good near ``epsilon``, for deltas from ``delta``."""

    log_moment: LogMoment
    order: float
    epsilon: float
    delta: float

    @cached_property
    def window(self) -> float:
        """The period w, at which the other terms of Poisson's sum are negligible."""
        little = math.log(_ALIAS * self.delta)
        above = min((bound - order * self.epsilon - little) / (order - self.order) for order, bound in self._further)
        return max(-little / self.order, above)

    @cached_property
    def terms(self) -> tuple[Array, NDArray[np.complex128]]:
        """Frequencies 0, h, 2h, ... and log of the integrand without e^(-s epsilon), relative to its peak."""
        step, times = 2 * math.pi / self.window, np.empty(0)
        values = np.empty(0, np.complex128)
        while times.size < _MOST:
            more = step * np.arange(times.size, times.size + max(_CHUNK, times.size // 4))
            s = self.order + 1j * more
            found = self.log_moment(self.order, np.asarray(more, np.float64)) - np.log(s * (s + 1))
            times, values = np.append(times, more), np.append(values, found)
            late = values.real[times >= times[-1] / 2].max() - values.real[0]
            if late + math.log(times[-1] / step) < math.log(_FALLEN):
                break
        return times, values - values.real[0]

    def interval(self, epsilon: float) -> tuple[float, float]:
        """Return two bounds, between which delta(epsilon) lies."""
        times, values = self.terms
        step = times[1]
        weights = np.where(times == 0, 0.5, 1.0) * step / math.pi
        parts = np.exp(values - 1j * times * epsilon)
        scale = self._peak - self.order * epsilon
        total = float(np.sum(weights * parts.real))
        late = float(np.abs(parts[times >= times[-1] / 2]).max())
        unsure = late * times[-1] / math.pi + _ROUNDING * float(np.sum(weights * np.abs(parts)))
        if scale > 700:
            return 0.0, 1.0
        unsure, total = unsure * math.exp(scale), total * math.exp(scale)
        return max(total - unsure - self._aliases(epsilon), 0.0), min(total + unsure, 1.0)

    @cached_property
    def _peak(self) -> float:
        """Log of the integrand at frequency 0."""
        return float(self.log_moment(self.order, np.zeros(1)).real[0]) - math.log(self.order * (self.order + 1))

    def _aliases(self, epsilon: float) -> float:
        """Return a bound on the terms of Poisson's sum with k != 0, in the unit of delta."""
        w = self.window
        total = 1 / math.expm1(min(self.order * w, 700.0))
        best = math.inf
        for order, bound in self._further:
            ratio = (order - self.order) * w
            exponent = bound - order * epsilon - ratio
            best = min(best, math.exp(min(exponent, 700.0)) / -math.expm1(-ratio))
        return total + best

    @cached_property
    def _further(self) -> list[tuple[float, float]]:
        """Orders above the one used, each with Chernoff's bound: log delta(epsilon) <= bound - order epsilon."""
        return [(order, _chernoff(self.log_moment, order)) for order in (self.order * more for more in _FURTHER)]


def epsilon_interval(log_moment: LogMoment, delta: float) -> tuple[float, float]:
    """Return two bounds, between which the least epsilon >= 0 with delta(epsilon) <= ``delta`` lies."""
    order, most = _best(lambda order: (_chernoff(log_moment, order) - math.log(delta)) / order)
    if most <= 0:
        return 0.0, 0.0
    inversion = Inversion(log_moment, _BELOW * order, most, delta)
    left = most
    while left > 0 and inversion.interval(left)[0] <= delta:
        left = left * 0.95 - 0.01 * most
    if left <= 0:
        return 0.0, _root(lambda e: inversion.interval(e)[1], delta, 0.0, most)
    low = _root(lambda e: inversion.interval(e)[0], delta, left, most)
    return low, _root(lambda e: inversion.interval(e)[1], delta, low, most)


def delta_interval(log_moment: LogMoment, epsilon: float) -> tuple[float, float]:
    """Return two bounds, between which delta(epsilon) lies."""
    order, most = _best(lambda order: _chernoff(log_moment, order) - order * epsilon)
    return Inversion(log_moment, _BELOW * order, epsilon, max(math.exp(most), _LEAST)).interval(epsilon)


def _best(bound: Callable[[float], float]) -> tuple[float, float]:
    """Return the order at which a bound that falls, then rises is about least, and its value there."""
    order, here, ratio = 1.0, bound(1.0), 2.0
    if not bound(2.0) < here:
        ratio = 0.5
    while ratio not in (1.02, 1 / 1.02) and _SMALLEST < order < 1 / _SMALLEST:
        ahead = bound(order * ratio)
        if math.isinf(here) or ahead < here - 1e-4 * abs(here):
            order, here = order * ratio, ahead
        else:
            back = bound(order / math.sqrt(ratio))
            ratio = max(math.sqrt(ratio), 1.02) if ratio > 1 else min(math.sqrt(ratio), 1 / 1.02)
            if back < here:
                ratio = 1 / ratio
    return order, here


def _chernoff(log_moment: LogMoment, order: float) -> float:
    """Bound delta by (1 - e^(epsilon - L))^+ <= e^(order (L - epsilon)) order^order / (1 + order)^(1 + order)."""
    with np.errstate(over="ignore", invalid="ignore"):
        moment = float(log_moment(order, np.zeros(1)).real[0])
    return moment + order * math.log(order) - (1 + order) * math.log1p(order)


def _root(curve: Callable[[float], float], delta: float, low: float, high: float) -> float:
    """Return where a curve falls to ``delta`` in [low, high]."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > delta else (low, middle)
    return high
