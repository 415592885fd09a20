"""The second route from events to epsilon: densities and contour integrals, none of the engine's code.

It reads the events' plain fields alone: how they compose, which pair dominates them and what epsilon is are all
worked out here anew. ``dpcheck.accounting`` composes curves on a grid of losses by Fourier transforms instead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import mpmath
import numpy as np
from numpy.typing import NDArray

from dpcheck.checks.accounting.inversion import LogMoment, delta_interval, epsilon_interval
from dpcheck.checks.accounting.pairs import Array, Pair, laplace, pairs_of
from dpcheck.checks.accounting.replacement import Drawn
from dpcheck.events import Disjoint, Event, Gaussian, Laplace, RandomAllocation, Repeated, Sampled

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
