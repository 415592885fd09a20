"""What is claimed of a mechanism, as the points (epsilon, delta) at which it can be tested.

A mechanism keeps a claim if P(E) <= e^epsilon Q(E) + delta for every output set E, in both directions, at every point
of the claim. The usual promise is one point. A curve epsilon -> delta(epsilon) says more: the Gaussian mechanism with
this noise, the composition that an accountant certifies, a Renyi bound. An audit tests a curve at the point where its
runs promise most, chosen like the output set on earlier runs. The claim implies each single point, so the test is valid
whichever is chosen. Since the curve is convex, its tangent at the best point tests almost as much as the whole curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.arrays import Floats, real_numbers
from dpcheck.errors import InputError, one_line, raised, require, require_delta, require_epsilon, require_positive

if TYPE_CHECKING:
    from dpcheck.events import Event

Curve = Callable[[ArrayLike], ArrayLike]  # epsilon (m,) -> delta (m,), nonincreasing, in [0, 1]

# Points of a curve, denser towards epsilon = 0; the last has a delta of at most ``_LAST``.
_POINTS = 40
_LAST = 1e-9
_LARGEST = 100.0
# Where an epsilon that is computed is stated, unless another delta is asked for.
DELTA = 1e-5
# A rise that rounding explains.
_RISE = 1e-12


@dataclass(frozen=True)
class PrivacyClaim:
    """What is claimed of a mechanism: points (epsilon, delta) at each of which it can be tested.

    :meth:`point`, :meth:`curve`, :meth:`renyi` and :meth:`read` make one.

    Parameters
    ----------
    words : str
        What is claimed, for a report.
    epsilons, deltas : ndarray, (m,)
        The points: epsilon >= 0 (natural log), delta in [0, 1).
    deltas_at : callable, optional
        The whole curve, from epsilons (m,) to deltas (m,); None where the claim is one point.
    events : tuple of events, optional
        What the mechanism is said to release, where that is the claim.

    Examples
    --------
    >>> from dpcheck.audits.claim import PrivacyClaim
    >>> PrivacyClaim.point(1.0, 1e-5).words
    '(1, 1e-05)-privacy'
    """

    words: str
    epsilons: Floats
    deltas: Floats
    deltas_at: Curve | None = field(default=None, repr=False, compare=False)
    events: tuple[Event, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        epsilons, deltas = real_numbers(self.epsilons, "epsilons"), real_numbers(self.deltas, "deltas")
        object.__setattr__(self, "epsilons", epsilons)
        object.__setattr__(self, "deltas", deltas)
        require(epsilons.ndim == 1 and epsilons.size > 0, "epsilons", "have shape (m,), m >= 1", epsilons.shape)
        require(deltas.shape == epsilons.shape, "deltas", f"have the shape of epsilons, {epsilons.shape}", deltas.shape)
        finite = bool(np.isfinite(epsilons).all()) and bool((epsilons >= 0).all() and (np.diff(epsilons) > 0).all())
        require(finite, "epsilons", "be finite, >= 0 and rising", epsilons)
        require(bool(((deltas >= 0) & (deltas < 1)).all()), "deltas", "lie in [0, 1)", deltas)
        require(bool((np.diff(deltas) <= _RISE).all()), "deltas", "never rise with epsilon", deltas)

    @classmethod
    def point(cls, epsilon: float, delta: float) -> PrivacyClaim:
        """Claim (epsilon, delta)-privacy.

        Parameters
        ----------
        epsilon : float
            Claimed epsilon >= 0 (natural log).
        delta : float
            Claimed delta in [0, 1).

        Returns
        -------
        PrivacyClaim
            The claim of this one point.
        """
        require_epsilon(epsilon)
        require_delta(delta)
        return cls(f"({epsilon:g}, {delta:g})-privacy", np.array([float(epsilon)]), np.array([float(delta)]))

    @classmethod
    def curve(cls, curve: Curve, words: str, events: tuple[Event, ...] = ()) -> PrivacyClaim:
        """Claim privacy at (epsilon, curve(epsilon)) for all epsilon >= 0.

        Parameters
        ----------
        curve : callable
            From epsilons (m,) to deltas (m,) in [0, 1]; it never rises, and is below 1 somewhere.
        words : str
            What is claimed, for a report.
        events : tuple of events
            What the mechanism is said to release, if that is the claim.

        Returns
        -------
        PrivacyClaim
            The claim at 40 points of the curve or fewer.
        """
        most = 0.25
        while deltas_of(curve, np.array([most]))[0] > _LAST and most < _LARGEST:
            most *= 2
        epsilons = most * np.linspace(0, 1, _POINTS) ** 2
        deltas = deltas_of(curve, epsilons)
        beyond = np.append(epsilons, np.linspace(most, _LARGEST, _POINTS)[1:] if most < _LARGEST else [])
        rises = bool((np.diff(deltas_of(curve, beyond)) > _RISE).any())
        require(not rises, "claim", "be a curve that never rises", f"one that does, {words}")
        promised = deltas < 1
        require(bool(promised.any()), "claim", "promise a delta below 1 somewhere", words)
        return cls(words, epsilons[promised], deltas[promised], curve, events)

    def weights(self) -> Floats:
        """Return how much each point (m,) would show, in (0, 1], were every privacy loss a little larger than claimed.

        If the loss L grows to (1 + h) L, delta(epsilon), about E max(L - epsilon, 0), becomes (1 + h)
        delta(epsilon/(1 + h)), by h (delta - epsilon delta') more. That is compared with the spread of
        p - e^epsilon q at the edge of the claim, where q = -e^-epsilon delta' and p = delta + e^epsilon q.
        """
        if len(self.epsilons) == 1:
            return np.ones(1)
        slope = np.minimum(np.gradient(self.deltas, self.epsilons), 0.0)
        growth = np.exp(self.epsilons)
        q = -slope / growth
        p = np.minimum(self.deltas + growth * q, 1.0)
        spread = np.sqrt(p * (1 - p) + growth**2 * q * (1 - q))
        shown = (self.deltas - self.epsilons * slope) / np.maximum(spread, 1e-12)
        return np.asarray(shown / shown.max())

    @property
    def points(self) -> list[tuple[float, float]]:
        """Epsilon and delta of each point."""
        return list(zip(self.epsilons.tolist(), self.deltas.tolist(), strict=True))

    def epsilon_at(self, delta: float) -> float:
        """Return the epsilon claimed at a delta, to 1e-9 and rounded up.

        Parameters
        ----------
        delta : float
            In [0, 1).

        Returns
        -------
        float
            Epsilon (natural log); inf where the claim says nothing of this delta.
        """
        if self.events:
            from dpcheck.accounting import certify

            return certify(self.events, delta).epsilon
        if self.deltas_at is None:
            return float(self.epsilons[0]) if delta >= self.deltas[0] else math.inf
        low, high = 0.0, _LARGEST
        if deltas_of(self.deltas_at, np.array([high]))[0] > delta:
            return math.inf
        while high - low > 1e-9:
            middle = (low + high) / 2
            low, high = (low, middle) if deltas_of(self.deltas_at, np.array([middle]))[0] <= delta else (middle, high)
        return 0.0 if deltas_of(self.deltas_at, np.array([0.0]))[0] <= delta else high

    @classmethod
    def read(cls, claim: Any) -> PrivacyClaim:
        """Read a claim in any form that users state it in.

        Parameters
        ----------
        claim : PrivacyClaim, event, sequence of events or callable
            A claim, privacy events, or a curve from epsilons (m,) to deltas (m,).

        Returns
        -------
        PrivacyClaim
            The claim.

        Raises
        ------
        InputError
            For anything else.
        """
        if isinstance(claim, PrivacyClaim):
            return claim
        if callable(claim):
            return cls.curve(claim, getattr(claim, "__name__", "a curve"))
        from dpcheck.events import read_events

        try:
            events = read_events(claim)
        except InputError as error:
            said = f"claim must be a PrivacyClaim, privacy events or a curve, got {one_line(claim)}"
            raise InputError(said[:200]) from error
        from dpcheck.accounting import privacy_curve
        from dpcheck.accounting.event_counts import count_events

        return cls.curve(privacy_curve(events), str(count_events(events)), events)

    @classmethod
    def renyi(cls, bounds: Mapping[float, float]) -> PrivacyClaim:
        """Claim bounds on Renyi divergences, converted to a curve.

        Parameters
        ----------
        bounds : mapping of float to float
            For each order > 1 the largest divergence, > 0.

        Returns
        -------
        PrivacyClaim
            The curve that the best of the orders gives.

        References
        ----------
        C. Canonne, G. Kamath, T. Steinke. The discrete Gaussian for differential privacy. NeurIPS 2020, Proposition 12.
        """
        require(len(bounds) > 0, "bounds", "hold at least one order", "none")
        for order, bound in bounds.items():
            require_positive(order, "order")
            require(order > 1, "order", "be > 1", order)
            require_positive(bound, "bound")
        orders, divergences = (np.array(list(part), float)[:, None] for part in (bounds, bounds.values()))

        def curve(epsilon: ArrayLike) -> Floats:
            exponent = (orders - 1) * (divergences - np.atleast_1d(np.asarray(epsilon, float)))
            logs = exponent + (orders - 1) * np.log1p(-1 / orders) - np.log(orders)
            return np.asarray(np.exp(np.minimum(logs.min(axis=0), 0)))

        return cls.curve(curve, "Renyi divergences " + ", ".join(f"{b:g} at {a:g}" for a, b in bounds.items()))


Claim = PrivacyClaim  # an older name, for code that imports it; `dpcheck.bounds.claim.Claim` is a paper's claim


def delta_of(delta: float | None, *, promised: bool) -> float:
    """Return a delta that may be left out: 0 beside an epsilon that is promised, 1e-5 where one is computed there."""
    if delta is None:
        return 0.0 if promised else DELTA
    require_delta(delta)
    return delta


def stated_claim(epsilon: float | None, delta: float | None, claim: Any) -> tuple[PrivacyClaim, float]:
    """Return what a caller promises, by epsilon or as a claim, and the delta at which epsilon is stated."""
    delta = delta_of(delta, promised=claim is None)
    require(claim is None or epsilon is None, "epsilon", "be left out where a claim is given", epsilon)
    one = "be given, one of them, such as epsilon=1.0, which alone promises delta = 0"
    require(claim is not None or epsilon is not None, "epsilon or claim", one, "neither")
    return (PrivacyClaim.read(claim) if epsilon is None else PrivacyClaim.point(epsilon, delta)), delta


def deltas_of(curve: Curve, epsilons: Floats) -> Floats:
    """Evaluate a curve and refuse deltas of another shape or outside [0, 1]."""
    try:
        deltas = real_numbers(curve(epsilons), "claim", verb="return")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() too
        words = one_line(error) if isinstance(error, InputError) else raised(error)
        raise InputError(f"claim must be a curve epsilon -> delta of arrays, got {words}") from error
    good = deltas.shape == epsilons.shape and bool(((deltas >= 0) & (deltas <= 1)).all())
    require(good, "claim", f"map epsilons of shape {epsilons.shape} to deltas in [0, 1]", deltas)
    return deltas
