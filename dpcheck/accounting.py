"""Certify epsilon from privacy events: an upper bound, rounded on the safe side."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from dpcheck.errors import require, require_delta, require_epsilon, require_positive
from dpcheck.event_counts import EventCounts, count_events
from dpcheck.events import Sampled, read_events
from dpcheck.losses import Composition, compose
from dpcheck.other_events import OtherEvent, is_dp_accounting, read_dp_accounting, their_epsilon
from dpcheck.privacy_curves import Array, Curve, CurvePair, curves_of, gaussian_log_delta
from dpcheck.shown import Shown

_SLACK = 1e-11  # relative error allowed to the delta of a curve
_TOLERANCE = 2e-4  # relative, what the grid of a composition may add to epsilon
_SECANTS, _ASIDE = 8, 4e-4  # steps at most of a search for a multiplier, and how far to either side of it they look


@dataclass(frozen=True)
class Certificate(Shown):
    """A proof that events are (epsilon, delta)-differentially private.

    Attributes
    ----------
    epsilon : float
        Upper bound (natural log) between neighbours as stated in the events; inf if nothing is guaranteed.
    delta : float
        In [0, 1).
    method : str
        How the bound was computed.
    """

    epsilon: float
    delta: float
    method: str

    def _sentence(self) -> str:
        return f"epsilon <= {self.epsilon:.6g} at delta {self.delta:g} ({self.method})"

    def _facts(self) -> dict[str, Any]:
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return dataclasses.asdict(self)


def certify(events: Any, delta: float) -> Certificate:
    """Bound the epsilon at which a composition of privacy events is (epsilon, delta)-private from above.

    Parameters
    ----------
    events : event or sequence of events
        Events of :mod:`dpcheck.events`, composed adaptively; an accountant of Opacus or its history; ``dp_accounting``
        events, under that library's conventions (:func:`dpcheck.events.read_events` says which), where those of kinds
        that dpcheck does not compute go to that library's own accountants, which ``method`` then names; or a privacy
        loss distribution with a method ``get_epsilon_for_delta``, which is asked.
    delta : float
        In [0, 1).

    Returns
    -------
    Certificate
        The bound on epsilon (natural log), and how it was computed.

    Raises
    ------
    InputError
        For anything else, and for events whose neighbouring relations do not agree.

    Notes
    -----
    Gaussians alone are exact; one sampled step or one Laplace is solved on its own curve
    (``dpcheck.privacy_curves``, ``dpcheck.replacement``); all else is composed as privacy loss distributions
    (``dpcheck.losses``), which adds about 0.02% to epsilon (0.1% at most where it was measured, for delta above
    1e-50), so that two certificates whose truths differ by less may come in either order. Poisson sampling and
    unsampled noise are exact up to that. Sampling without replacement is exact for one step; for several, up to about
    a fifth of epsilon lies above the worst pair of neighbours that is
    known. Drawing with replacement is within a few per cent of that pair for one step at a small rate; at rates above
    a tenth, or over many steps, the bound is up to two or three times as large.

    References
    ----------
    B. Balle, Y.-X. Wang. Improving the Gaussian mechanism for differential privacy. ICML 2018, Theorem 8.

    V. Doroshenko, B. Ghazi, P. Kamath, R. Kumar, P. Manurangsi. Connect the dots: tighter discrete approximations of
    privacy loss distributions. PoPETs 2022.

    Examples
    --------
    >>> import dpcheck
    >>> from dpcheck.events import Gaussian, Repeated, Sampled
    >>> round(dpcheck.certify(Gaussian(1.0), delta=1e-5).epsilon, 2)
    4.38
    >>> step = Sampled((Gaussian(1.0),), "poisson", 1_000, 10)
    >>> dpcheck.certify(Repeated(step, 100), delta=1e-5).epsilon < 2
    True
    """
    require_delta(delta)
    if hasattr(events, "get_epsilon_for_delta"):
        epsilon = float(events.get_epsilon_for_delta(float(delta)))
        return Certificate(epsilon, float(delta), "a privacy loss distribution's own word, not dpcheck's engine")
    items = list(events) if isinstance(events, Sequence) else [events]
    if items and all(is_dp_accounting(item) for item in items):
        try:
            read = read_dp_accounting(items)
        except OtherEvent:
            epsilon, method = their_epsilon(items, float(delta))
            return Certificate(epsilon, float(delta), method)
        return _certify(count_events(read), float(delta))
    return _certify(count_events(read_events(events)), float(delta))


def calibrate(make_events: Callable[[float], Any], epsilon: float, delta: float) -> float:
    """Find the least noise multiplier, to relative 1e-3, whose events are certified at most at ``epsilon``.

    Parameters
    ----------
    make_events : callable
        From a multiplier z > 0 to events as :func:`certify` reads them; their epsilon must not increase in z.
    epsilon : float
        Epsilon to reach, > 0 (natural log).
    delta : float
        In [0, 1).

    Returns
    -------
    float
        z on the safe side: ``certify(make_events(z), delta).epsilon <= epsilon``.

    Raises
    ------
    InputError
        If no z up to 1e12 is enough.

    Examples
    --------
    >>> from dpcheck.accounting import calibrate
    >>> from dpcheck.events import Gaussian
    >>> round(calibrate(Gaussian, epsilon=1.0, delta=1e-5), 1)
    3.7
    """
    require_positive(epsilon, "epsilon")
    require_delta(delta)

    def spent(multiplier: float) -> float:
        return certify(make_events(multiplier), delta).epsilon

    short, enough_from = _bracket(spent, epsilon)

    def enough(multiplier: float) -> bool:
        """Whether it is; between the two that are known, by asking."""
        nonlocal short, enough_from
        if short < multiplier < enough_from:
            if spent(multiplier) <= epsilon:
                enough_from = multiplier
            else:
                short = multiplier
        return multiplier >= enough_from

    high = 1.0
    while not enough(high):
        high *= 2
        require(high < 1e12, "make_events", f"reach epsilon {epsilon} at some multiplier", high)
    low = high / 2
    while low > 1e-12 and enough(low):
        low, high = low / 2, low
    while high > low * 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    while spent(high) > epsilon:  # where a grid's rounding has it rise by a little
        high *= 1.001
    return high


def _bracket(spent: Callable[[float], float], epsilon: float) -> tuple[float, float]:
    """A multiplier that is not enough and one that is, near each other, by secants of log epsilon in log z.

    0 and inf stand for what is not known: where a secant has no numbers to go by, the search goes on without it.
    """
    short, enough, found = 0.0, math.inf, list[tuple[float, float]]()  # (log z, log epsilon - log claim)
    z = 1.0
    for _ in range(_SECANTS):
        value = spent(z)
        if value <= epsilon:
            enough = min(enough, z)
        else:
            short = max(short, z)
        if enough < short * (1 + 3 * _ASIDE) or not 0 < value < math.inf:
            break
        found.append((math.log(z), math.log(value / epsilon)))
        (x, y), (other_x, other_y) = found[-1], found[-2] if len(found) > 1 else (found[-1][0] + 1, found[-1][1] - 1)
        slope = (y - other_y) / (x - other_x) if x != other_x else 0.0
        if slope >= 0:
            break
        aside = _ASIDE if short > 0 and (enough == math.inf or value > epsilon) else -_ASIDE
        z = math.exp(min(max(x - y / slope, x - 8), x + 8)) * (1 + aside)
    return short, enough


def privacy_curve(events: Any) -> Callable[[ArrayLike], Array]:
    """Compute the whole trade-off between epsilon and delta of a composition of events.

    Parameters
    ----------
    events : event or sequence of events
        As :func:`certify` reads them.

    Returns
    -------
    callable
        From finite epsilons >= 0 (natural log) of any shape to upper bounds on delta of the same shape, for
        compositions sharp down to delta about 1e-30.

    Examples
    --------
    >>> from dpcheck.accounting import privacy_curve
    >>> from dpcheck.events import Gaussian
    >>> privacy_curve(Gaussian(1.0))([0.0, 1.0]).round(3).tolist()
    [0.383, 0.127]
    """
    counted = count_events(read_events(events))

    def curve(epsilon: ArrayLike) -> Array:
        wanted = np.asarray(epsilon, dtype=np.float64)
        for value in wanted.ravel():
            require_epsilon(float(value))
        return _delta(counted, wanted.ravel()).reshape(wanted.shape)

    return curve


@lru_cache(maxsize=512)
def _certify(events: EventCounts, delta: float) -> Certificate:
    if events.steps == 0:
        return Certificate(0.0, delta, "nothing about the data is released")
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
    if events.steps > 1 and plain > 0 and _total_variation(events, delta) <= delta:
        return Certificate(0.0, delta, f"total variation, summed over the steps: {events}")
    if events.steps == 1:
        curves = [parts[0][0].forward for parts in _directions(events, delta)]
        epsilon, method = max(_solve(curve, delta, plain) for curve in curves), "one step's curve"
    elif plain > 0 and (composed := _compositions(events, delta)):
        epsilon = max(_up(composition.epsilon(delta)) for composition in composed)
        method = f"privacy loss distribution, grid {min(c.interval for c in composed):.2g}"
    else:
        epsilon, method = math.inf, ""
    if plain <= epsilon:
        epsilon, method = plain, "bound that ignores sampling"
    return Certificate(epsilon, delta, f"{method}: {events}{_looseness(events)}")


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
    if "with_replacement" in schemes:
        return "; with replacement: an upper bound, not known to be attained"
    if "without_replacement" in schemes and events.steps > 1:
        return "; without replacement: exact for one step, an upper bound for several"
    return ""


def _delta(events: EventCounts, epsilon: Array) -> Array:
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


def _directions(events: EventCounts, delta: float) -> list[list[tuple[CurvePair, int]]]:
    """The pairs of curves with their counts, for each order of the two neighbours that matters."""
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
    composed: list[Composition] = []
    for parts in _directions(events, delta):
        # The larger epsilon counts: the other direction need be no sharper than that.
        floor = max((done.epsilon(delta) for done in composed), default=0.0)
        found = compose(parts, delta, guess=guess, tolerance=_TOLERANCE, floor=floor)
        if found is None:
            return []
        composed.append(found)
    return composed


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return epsilon at which a Gaussian of standard deviation 1, shifted by ``mu`` >= 0, has this delta, rounded up.

    delta : in (0, 1). Balle and Wang (2018), Theorem 8.
    """
    require_delta(delta, zero=False)
    if mu == 0:
        return 0.0
    most = mu * (mu / 2 + math.sqrt(-2 * math.log(delta)))  # by its Renyi divergence
    return _solve(lambda epsilon: gaussian_log_delta(epsilon, mu), delta, most)


def _solve(curve: Curve, delta: float, most: float) -> float:
    """The epsilon in [0, most] at which a decreasing ``curve`` reaches ``delta``, rounded up."""
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
