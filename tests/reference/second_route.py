"""The second route from events to epsilon: densities and contour integrals, none of the engine's code.

It reads the events' plain fields alone: how they compose, which pair dominates them and what epsilon is are all
worked out here anew. ``dpcheck.accounting`` composes curves on a grid of losses by Fourier transforms instead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import mpmath
import numpy as np
from numpy.typing import NDArray

from dpcheck.events import Disjoint, Event, Gaussian, Laplace, RandomAllocation, Repeated, Sampled
from reference.pairs import Array, Drawn, Pair, laplace, pairs_of

_QUADRATURE = 1e-9  # relative, allowed to delta by quadrature


@dataclass(frozen=True)
class Interval:
    """Two bounds, between which the epsilon of the dominating pair lies; ``method`` says how they were found."""

    low: float
    high: float
    method: str


@dataclass(frozen=True)
class Composed:
    """One Gaussian of this ``shift``, and pairs with their counts."""

    shift: float
    parts: tuple[tuple[Pair | Drawn, int], ...]

    def log_moment(self, order: float, frequencies: Array) -> NDArray[np.complex128]:
        """Return the log moment of the sum of all losses; a Gaussian's is N(shift^2 / 2, shift^2)."""
        s = order + 1j * frequencies
        total = np.asarray(self.shift**2 * s * (s + 1) / 2, np.complex128)
        for pair, count in self.parts:
            total = total + count * pair.log_moment(order, frequencies)
        return total


def interval_of(events: Sequence[Event], delta: float) -> Interval:
    """Return bounds on the epsilon at which ``events`` composed are (epsilon, delta)-private, delta in (0, 1)."""
    found = [_interval(composed, delta) for composed in directions(events)]
    return Interval(max(one.low for one in found), max(one.high for one in found), found[0].method)


def deltas_of(events: Sequence[Event], epsilon: float) -> tuple[float, float]:
    """Return bounds on delta at this epsilon >= 0."""
    found = [_deltas(composed, epsilon) for composed in directions(events)]
    return max(low for low, _ in found), max(high for _, high in found)


def directions(events: Sequence[Event]) -> list[Composed]:
    """Return the composition for each order of the two neighbours that matters."""
    shift, counts = 0.0, Counter[Laplace | Sampled]()
    for event, count in _single(events, 1):
        if isinstance(event, Gaussian):
            shift = math.hypot(shift, math.sqrt(count) / event.noise_multiplier if event.noise_multiplier else math.inf)
        elif count and (isinstance(event, Laplace) or event.batch > 0):
            counts[event] += count
    pairs = [
        ((laplace(1 / e.noise_multiplier),) if isinstance(e, Laplace) else pairs_of(e), n) for e, n in counts.items()
    ]
    many = max((len(found) for found, _ in pairs), default=1)
    return [Composed(shift, tuple((found[i % len(found)], n) for found, n in pairs)) for i in range(many)]


def _single(events: Sequence[Event], times: int) -> Iterator[tuple[Gaussian | Laplace | Sampled, int]]:
    """Yield each event that is neither a repetition nor a group, with its count; sampling that takes all is none."""
    for event in events:
        if isinstance(event, Repeated):
            yield from _single((event.event,), times * event.count)
        elif isinstance(event, Disjoint):  # a record is in one of the parts: in the worst, say
            yield Gaussian(min(part.noise_multiplier for part in event.events)), times
        elif isinstance(event, Sampled) and event.scheme != "with_replacement" and event.batch == event.population:
            yield from ((part, times) for part in event.mechanisms)
        elif isinstance(event, RandomAllocation):
            raise AssertionError("there is no second route to a random allocation")
        else:
            yield event, times


def _interval(composed: Composed, delta: float) -> Interval:
    if not composed.parts:
        return _gaussian(composed.shift, delta)
    if composed.shift == 0 and sum(count for _, count in composed.parts) == 1:
        stick = composed.parts[0][0].stick
        low, high = (_least(stick, delta * (1 + error)) for error in (_QUADRATURE, -_QUADRATURE))
        return Interval(low, high, "quadrature of one step's densities")
    low, high = epsilon_interval(composed.log_moment, delta)
    return Interval(low, high, "contour integral of the loss's moments")


def _deltas(composed: Composed, epsilon: float) -> tuple[float, float]:
    if not composed.parts:
        value = float(_gaussian_delta(composed.shift, epsilon))
    elif composed.shift == 0 and sum(count for _, count in composed.parts) == 1:
        value = composed.parts[0][0].stick(epsilon)
    else:
        moment: LogMoment = composed.log_moment
        return delta_interval(moment, epsilon)
    return value * (1 - _QUADRATURE), value * (1 + _QUADRATURE)


def _gaussian(shift: float, delta: float) -> Interval:
    """Solve Theorem 8 of Balle and Wang (2018) as it stands, in many digits."""
    method = "closed form of the Gaussian in 60 digits"
    if not math.isfinite(shift):
        return Interval(math.inf, math.inf, "a release without noise")
    if shift == 0:
        return Interval(0.0, 0.0, "nothing is released")
    epsilon = _least(lambda e: float(_gaussian_delta(shift, e)), delta)
    return Interval(epsilon * (1 - 1e-12), epsilon * (1 + 1e-12), method)


def _gaussian_delta(shift: float, epsilon: float) -> mpmath.mpf:
    if shift == 0:
        return mpmath.mpf(0)
    with mpmath.workdps(60):
        mu, e = mpmath.mpf(shift), mpmath.mpf(epsilon)
        below, above = (mpmath.erfc((e / mu + sign * mu / 2) / mpmath.sqrt(2)) / 2 for sign in (-1, 1))
        return below - mpmath.exp(e) * above


def _least(curve: Callable[[float], float], delta: float) -> float:
    """Return the least epsilon >= 0 at which a decreasing curve is at most ``delta``."""
    if curve(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while curve(high) > delta:
        low, high = high, 2 * high
        if high > 1e9:
            return math.inf
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > delta else (low, middle)
    return high


# Delta of a composition from the moments of its loss, by one contour integral.
#
# For L the total loss under P and s = order + it, delta(epsilon) = E (1 - e^(epsilon - L))^+ is
#
#     (1 / 2 pi) integral of E e^(sL) e^(-s epsilon) / (s (s + 1)) dt,    for any order > 0.
#
# Moments of independent losses multiply, so that a composition of any length costs one power. By Poisson's formula the
# trapezoidal sum of step h is not only near delta: it IS the sum over all integers k of
# e^(order k w) delta(epsilon + k w), w = 2 pi / h. All its terms are positive, and those with k != 0 are bounded by
# delta <= 1 below and by Chernoff's inequality above. So delta lies in an interval whose ends are computed; besides
# rounding it rests on one assumption, that beyond the last frequency R the moment is no larger than on [R/2, R].


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
