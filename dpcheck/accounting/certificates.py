"""Counted events to the epsilon or the delta that is certified, each by the sharpest engine that fits.

Laplace mechanisms of one scale have an exact curve here, without a grid and without a difference of like numbers. With
s = 1 / scale, the loss of one is s with probability 1/2, -s with probability e^-s / 2, and has the density
e^((l - s)/2) / 4 between. In units of s the sum of n losses, u of them s, d of them -s and i between, has atoms at
n - 2d and otherwise the density

    e^(s (U - n) / 2) sum_i sum_(u + d = n - i) n! / (u! d! i!) 2^-(n - i) (s/2)^i b_i(U - (u - d)),

b_i that of a sum of i uniform numbers in [-1, 1]: a spline with whole knots, by a recursion that only adds. Gauss and
Legendre's rule between the knots integrates it to rounding.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.optimize import brentq
from scipy.special import gammaln

from dpcheck.accounting.event_counts import EventCounts
from dpcheck.accounting.losses import Composition, compose
from dpcheck.accounting.privacy_curves import Array, Curve, CurvePair, curves_of, gaussian_log_delta
from dpcheck.errors import require_delta
from dpcheck.events import Laplace, RandomAllocation, Sampled, shift_of
from dpcheck.shown import Result

_MOST, _WIDEST = 64, 500.0  # mechanisms, and their epsilons' sum, that are worth it
_STEEP = 8.0  # exponent over one piece that the rule integrates to rounding


@lru_cache(maxsize=64)
def laplace_sum_curve(shift: float, count: int) -> Curve:
    """Return the curve, epsilon (n,) >= 0 to log delta (n,), of ``count`` mechanisms of scale 1 / ``shift``."""
    atoms = count - 2 * np.arange(count + 1, dtype=np.float64)
    log_atoms = _log_ways(count, 0) - np.arange(count + 1) * shift - count * math.log(2)
    pieces = math.ceil(shift / _STEEP)
    edges = np.arange(count * pieces + 1) / pieces  # losses above 0, which alone count
    nodes, weights = leggauss(count // 2 + 20)
    places = (edges[:-1, None] + edges[1:, None] + np.diff(edges)[:, None] * nodes) / 2
    log_parts = _log_density(places.ravel(), shift, count).reshape(places.shape) + np.log(weights / 2 / pieces)

    def one(epsilon: float) -> float:
        epsilon *= 1 - 1e-15  # the rounding of the shift is on the safe side
        least = epsilon / shift
        if least >= count:
            return -math.inf
        first = int(np.searchsorted(edges, least, side="right"))  # pieces from here on are whole
        width = edges[first] - least
        near = least + width * (1 + nodes) / 2
        cut = _log_density(near, shift, count) + np.log(weights * max(width, 1e-300) / 2)
        where = np.concatenate([atoms, places[first:].ravel(), near])
        mass = np.concatenate([log_atoms, log_parts[first:].ravel(), cut])
        above = where > least
        with np.errstate(divide="ignore"):  # at the edge, up to rounding, nothing lies above
            terms = mass[above] + np.log(-np.expm1(epsilon - where[above] * shift))
        largest = float(np.max(terms))
        return min(largest + math.log(math.fsum(np.exp(terms - largest))), 0.0)

    return lambda epsilon: np.array([one(float(each)) for each in np.ravel(epsilon)])


def _log_ways(count: int, between: int) -> Array:
    """Log of n! / (u! d! i!), by d."""
    downs = np.arange(count - between + 1)
    ways = gammaln(count + 1) - gammaln(between + 1) - gammaln(downs + 1) - gammaln(count - between - downs + 1)
    return np.asarray(ways, dtype=np.float64)


def _log_density(places: Array, shift: float, count: int) -> Array:
    """Log density of the sum's loss, in units of the shift, at these places between -count and count."""
    moved = places - np.arange(-count, count + 1)[:, None]  # (2 count + 1, places): u - d along the first axis
    spline = np.where(np.abs(moved) < 1, 0.5, 0.0)
    total = np.zeros_like(places)
    for between in range(1, count + 1):
        if between > 1:  # of one number more, at places one to either side
            rising = np.maximum(moved[1:-1] + between, 0) * spline[:-2]
            spline = (rising + np.maximum(between - moved[1:-1], 0) * spline[2:]) / (2 * (between - 1))
            moved = moved[1:-1]
        ways = _log_ways(count, between) - (count - between) * math.log(2) + between * math.log(shift / 2)
        middle = moved.shape[0] // 2
        chosen = spline[middle - (count - between) : middle + (count - between) + 1 : 2]
        total += np.exp(ways) @ chosen
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + shift * (places - count) / 2)


_SLACK = 1e-11  # relative error allowed to the delta of a curve
_TOLERANCE = 2e-4  # relative, what the grid of a composition may add to epsilon
_FINE, _FEW = 1e-6, 64  # the same for unsampled events, at most so many: their atoms' places show in epsilon

_ONE_STEP, _COMPOSED = "one step's curve", "privacy loss distribution"
_SHARP = ("exact", _ONE_STEP, _COMPOSED)  # how methods begin that lose no more than the accountant's tolerance
_LOOSE = ("an upper bound, not known to be attained", "an upper bound for several")  # ... and how others end
_CHANGES = {
    "add_or_remove_one": "one record added or removed",
    "replace_one": "one record replaced",
    "any": "any neighbours",
}
_UNITS = {  # what a noise multiplier is over
    "C": "C, the most that one record contributes",
    "2C": "2C, the sensitivity between replaced records that contribute at most C",
    "sensitivity": "the sensitivity between neighbours",
}


@dataclass(frozen=True)
class Certificate(Result):
    """A proof that events are (epsilon, delta)-differentially private.

    Attributes
    ----------
    epsilon : float
        Upper bound (natural log) between neighbours as stated in the events; inf if nothing is guaranteed.
    delta : float
        In [0, 1).
    method : str
        How the bound was computed.
    neighbours : str
        The relation that it holds for: ``"add_or_remove_one"``, ``"replace_one"``, or ``"any"`` where that is the one
        that the sensitivity was taken over, as for noise on the whole data set.
    multiplier_over : str
        The unit of the events' noise multipliers: ``"C"``, the most that one record contributes; ``"2C"``, the
        sensitivity where it is replaced; or ``"sensitivity"``, between neighbours of any relation.
    confidence : float
        With which the bound holds: 1 unless the noise of some event was measured.
    records : int
        How many records, those of one person, are added, removed or replaced together.
    """

    epsilon: float
    delta: float
    method: str
    neighbours: str = dataclasses.field(default="any", compare=False)
    multiplier_over: str = dataclasses.field(default="sensitivity", compare=False)
    confidence: float = 1.0
    records: int = 1

    @property
    def sharp(self) -> bool:
        """Whether a pair of neighbours is known to attain the bound, up to the accountant's tolerance."""
        return self.method.startswith(_SHARP) and not self.method.endswith(_LOOSE)

    @property
    def terms(self) -> str:
        """The relation of neighbours and the unit of the multipliers, in words."""
        change = _CHANGES.get(self.neighbours, self.neighbours.replace("_", " "))
        if self.records > 1:
            change = f"{self.records} records together, {change.replace('one record', 'each')}"
        return f"{change}, noise per {self.multiplier_over}" if self.multiplier_over else change

    @property
    def unit(self) -> str | None:
        """What the multipliers are over, in words; None where there is no unit."""
        return _UNITS.get(self.multiplier_over)

    def _sentence(self) -> str:
        sure = "" if self.confidence == 1 else f" with confidence {self.confidence:g}, as the noise was measured"
        return f"epsilon <= {self.epsilon:.6g} ({self.terms}) at delta {self.delta:g}{sure}"

    def _facts(self) -> dict[str, Any]:
        return {"method": self.method, "multiplier over": self.unit}


def between(found: Certificate, neighbours: str, over: str | None = None) -> Certificate:
    """Name the relation of neighbours of a certificate, and what its events' multipliers are over."""
    known = {"add_or_remove_one": "C", "replace_one": "2C", "any": "sensitivity"}
    over = known[neighbours] if over is None else over
    return dataclasses.replace(found, neighbours=neighbours, multiplier_over=over)


@lru_cache(maxsize=512)
def certificate(events: EventCounts, delta: float) -> Certificate:
    """Certify epsilon at ``delta``."""
    if events.steps == 0:
        return Certificate(0.0, delta, "nothing about the data is released: no event, or none that depends on it")
    if events.unprotected:
        return Certificate(math.inf, delta, "no guarantee: a release without noise")
    shift, pure = events.unsampled()
    if delta == 0:
        if shift > 0:
            return Certificate(math.inf, delta, "no guarantee: Gaussian noise needs delta > 0")
        return Certificate(_up(pure), delta, "exact: the Laplace mechanisms' epsilons add up")
    if not events.others:
        method = f"exact: analytic Gaussian, noise multiplier {1 / shift:.6g}"
        return Certificate(gaussian_epsilon(shift, delta), delta, method)
    plain = _up(gaussian_epsilon(shift, delta) + pure)
    if (alone := _laplace_alone(events)) is not None:
        return Certificate(_solve(alone, delta, plain), delta, f"exact: the curve of Laplace mechanisms' sum: {events}")
    if events.steps > 1 and plain > 0 and _total_variation(events, delta) <= delta:
        return Certificate(0.0, delta, f"total variation, summed over the steps: {events}")
    if events.steps == 1:
        curves = [parts[0][0].forward for parts in _directions(events, delta)]
        epsilon, method = max(_solve(curve, delta, plain) for curve in curves), _ONE_STEP
    elif plain > 0 and (composed := _compositions(events, delta)):
        epsilon = max(_up(composition.epsilon(delta)) for composition in composed)
        method = f"{_COMPOSED}, grid {min(c.interval for c in composed):.2g}"
    else:
        epsilon, method = math.inf, ""
    if plain <= epsilon:
        epsilon, method = plain, "bound that ignores sampling"
    return Certificate(epsilon, delta, f"{method}: {events}{_looseness(events)}")


def _laplace_alone(events: EventCounts) -> Curve | None:
    """Return the exact curve, if the events are Laplace mechanisms of one scale and not too many."""
    if events.shift > 0 or len(events.others) != 1:
        return None
    event, count = events.others[0]
    shift = shift_of(event.noise_multiplier)
    alone = isinstance(event, Laplace) and 1 < count <= _MOST and 1e-12 <= shift <= _WIDEST / count
    return laplace_sum_curve(shift, count) if alone else None


def _total_variation(events: EventCounts, delta: float) -> float:
    """Bound delta at epsilon 0 by the sum over the steps, in the worse direction."""
    zero = np.zeros(1)
    return max(
        sum(count * math.exp(float(curves.forward(zero)[0])) for curves, count in parts) * (1 + _SLACK)
        for parts in _directions(events, delta)
    )


def _looseness(events: EventCounts) -> str:
    """Say for which sampling the bound is not known to be sharp."""
    schemes = {event.scheme for event, _ in events.others if isinstance(event, Sampled)}
    if any(isinstance(event, RandomAllocation) for event, _ in events.others):
        return f"; random allocation: {_LOOSE[0]}"
    if "with_replacement" in schemes:
        return f"; with replacement: {_LOOSE[0]}"
    if "without_replacement" in schemes and events.steps > 1:
        return f"; without replacement: exact for one step, {_LOOSE[1]}"
    return ""


def deltas(events: EventCounts, epsilon: Array) -> Array:
    """Certify delta at each ``epsilon`` (m,)."""
    if events.steps == 0:
        return np.zeros_like(epsilon)
    if events.unprotected:
        return np.ones_like(epsilon)
    shift, pure = events.unsampled()
    bound = np.ones_like(epsilon)
    spent = epsilon >= pure
    rest = gaussian_log_delta(epsilon[spent] - pure, shift) if shift > 0 else -math.inf
    bound[spent] = np.minimum(np.exp(rest) * (1 + _SLACK), 1)
    if not events.others:
        return bound
    if (alone := _laplace_alone(events)) is not None:
        return np.asarray(np.minimum(np.exp(alone(epsilon)) * (1 + _SLACK), bound))
    if events.steps == 1:
        curves = [parts[0][0].forward for parts in _directions(events, 1e-280)]
        worst = np.max([np.exp(curve(epsilon)) for curve in curves], axis=0)
        return np.asarray(np.minimum(worst * (1 + _SLACK), bound))
    # Each composition bounds delta everywhere and is sharp near its own level of delta.
    for level in [0.5, *(10.0**exponent for exponent in range(-4, -32, -4))]:
        composed = _compositions(events, level)
        if composed:
            sharp = np.max([composition.delta(epsilon) for composition in composed], axis=0)
            bound = np.minimum(bound, sharp)
        if np.min(bound) > level:
            break
    return bound


@lru_cache(maxsize=4)
def _directions(events: EventCounts, delta: float) -> list[list[tuple[CurvePair, int]]]:
    """Return the pairs of curves with their counts, for each order of the two neighbours that matters."""
    negligible = max(delta * 1e-12 / events.steps, 1e-300)
    parts = [(curves_of(event, negligible=negligible), count) for event, count in events.parts]
    if all(curves.symmetric for curves, _ in parts):
        return [parts]
    return [parts, [(curves.reversed(), count) for curves, count in parts]]


@lru_cache(maxsize=16)
def _compositions(events: EventCounts, delta: float) -> list[Composition]:
    """Return a composition for each direction, or none if ``delta`` is beyond double precision."""
    shift, pure = events.unsampled()
    guess = shift * (shift / 2 + math.sqrt(-2 * math.log(delta))) + pure
    unsampled = events.steps <= _FEW and all(isinstance(event, Laplace) for event, _ in events.others)
    tolerance = _FINE if unsampled else _TOLERANCE
    composed: list[Composition] = []
    for parts in _directions(events, delta):
        # The larger epsilon counts: the other direction need be no sharper than that.
        floor = max((done.epsilon(delta) for done in composed), default=0.0)
        found = compose(parts, delta, guess=guess, tolerance=tolerance, floor=floor)
        if found is None:
            return []
        composed.append(found)
    return composed


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return epsilon of N(mu, 1) against N(0, 1) at delta in (0, 1), rounded up (Balle and Wang 2018, Theorem 8)."""
    require_delta(delta, zero=False)
    if mu == 0:
        return 0.0
    most = mu * (mu / 2 + math.sqrt(-2 * math.log(delta)))  # by its Renyi divergence
    return _solve(lambda epsilon: gaussian_log_delta(epsilon, mu), delta, most)


def _solve(curve: Curve, delta: float, most: float) -> float:
    """Return the epsilon in [0, most] at which a decreasing ``curve`` reaches ``delta``, rounded up."""
    if not math.isfinite(most):
        return math.inf

    def above(epsilon: float) -> float:
        excess = float(curve(np.array([epsilon]))[0]) + _SLACK - math.log(delta)
        return max(excess, -1e3)  # past the end of a curve its logarithm is -inf

    if above(0.0) <= 0:
        return 0.0
    if above(most) > 0:
        return most
    root, step = float(brentq(above, 0.0, most, xtol=1e-300, rtol=1e-15, maxiter=1000)), 1e-15
    while above(root) > 0:
        root, step = root * (1 + step), 2 * step
    return _up(root)


def _up(epsilon: float) -> float:
    """Raise a number past the rounding of the last few operations."""
    return epsilon * (1 + 1e-13)
