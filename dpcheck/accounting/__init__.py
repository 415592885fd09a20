"""Certify epsilon from privacy events: an upper bound, rounded on the safe side."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.accounting.best_of_runs import Best, best_of
from dpcheck.accounting.certificates import Certificate as Certificate
from dpcheck.accounting.certificates import between, certificate, deltas
from dpcheck.accounting.certificates import gaussian_epsilon as gaussian_epsilon
from dpcheck.accounting.event_counts import count_events
from dpcheck.accounting.privacy_curves import Array
from dpcheck.arguments import checked
from dpcheck.errors import float_below, require, require_count, require_delta, require_epsilon, require_positive
from dpcheck.events import Event, Measured, read_events

_SECANTS, _ASIDE = 8, 4e-4  # steps at most of a search for a multiplier, and how far to either side of it they look


@checked
def certify(
    events: Any, delta: float = 1e-5, *, group: int = 1, released: Literal["all", "last"] = "all",
    contraction: float | None = None, diameter: float | None = None,
) -> Certificate:  # fmt: skip
    """Bound the epsilon at which a composition of privacy events is (epsilon, delta)-private from above.

    Parameters
    ----------
    events : event or sequence of events
        Events of :mod:`dpcheck.events`, composed adaptively, where those with measured noise
        (:class:`~dpcheck.events.Measured`) share one confidence (Bonferroni); an accountant of Opacus or its history;
        ``dp_accounting`` events, under that library's conventions (:func:`dpcheck.events.read_events` says which),
        where those of kinds that dpcheck does not compute go to that library's own accountants, which ``method`` then
        names; a :class:`~dpcheck.accounting.best_of_runs.Best` of a random number of runs; or a privacy loss
        distribution with a method ``get_epsilon_for_delta``, which is asked.
    delta : float
        In [0, 1), a number of any type: a fraction or a decimal is rounded down to a float.
    group : int
        How many records, those of one person, neighbours differ in: all added, all removed or all replaced. More than
        one needs events of dpcheck or dp_accounting that dpcheck computes itself.
    released : {"all", "last"}
        What the world sees: what every event releases, or the last iterate alone of z <- P(phi(z) + noise), where the
        events are the steps, all of one kind: Gaussian noise on all records, on disjoint parts that take their turns
        in each epoch (``Repeated(Disjoint((Gaussian(z),) * batches), epochs)``), or on Poisson samples.
    contraction : float, optional
        With ``released="last"``: c >= 0 such that every map phi, whatever the data and the minibatch, is c-Lipschitz in
        the norm in which the noise is spherical; P, such as a projection onto a convex set, does not expand distances.
        Nobody checks it here. The theorems ``bok2024.*_step`` have it for gradient and saddle steps.
    diameter : float, optional
        With ``released="last"``: of the set into which P projects, in units of the sensitivity of a step (how far one
        record moves an iterate); it helps where c is near 1 or above.

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
    Gaussians alone are exact, and so are 2 to 64 Laplace mechanisms of one scale (``dpcheck.accounting.certificates``),
    whose certificates never rise in delta or in the scale; one sampled step or one Laplace is solved on its own curve
    (``dpcheck.accounting.privacy_curves``); all else is composed as privacy loss distributions
    (``dpcheck.accounting.losses``), which adds to epsilon: at most 0.02% in the 375 random compositions of
    ``tests/measured/certificate_sweep.csv``, so that two certificates whose truths differ by less may come in either
    order; .3% at 1e11 steps of one kind and 3% at 1e12; and more for a few different events of which one is rare.
    Poisson sampling and unsampled noise are exact up to that, Laplace noise between replaced records included. How far
    the other bounds were seen above what is known from below is in ``tests/measured/above_*.csv``: sampling without
    replacement is exact for one step, and up to 25% above for several; with replacement up to 21% above;
    random allocation to 2 to 8 steps up to 0.3% above.

    References
    ----------
    B. Balle, Y.-X. Wang. Improving the Gaussian mechanism for differential privacy. ICML 2018, Theorem 8.

    J. Bok, W. Su, J. Altschuler. Shifted interpolation for differential privacy. ICML 2024 (the last iterate).

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
    >>> dpcheck.certify(Repeated(step, 100), delta=1e-5, group=3).terms
    '3 records together, each added or removed, noise per C'
    >>> steps = Repeated(Gaussian(5.0), 1000)
    >>> last = dpcheck.certify(steps, delta=1e-5, released="last", contraction=0.9)
    >>> round(last.epsilon, 2), round(dpcheck.certify(steps, delta=1e-5).epsilon, 2)
    (3.74, 46.21)
    """
    delta = float_below(delta)
    require_delta(delta)
    require_count(group, "group")
    known = isinstance(released, str) and released in ("all", "last")
    require(known, "released", "be 'all' or 'last'", released)
    if isinstance(events, Best):
        require(released == "all", "released", "be left out where the best of several runs is released", released)
        require(group == 1, "group", "be 1 where the best of several runs is released", group)
        return best_of(events, delta)
    if released == "last":
        require(group == 1, "group", "be 1 for the last iterate", group)
        from dpcheck.accounting.last_iterate import last_iterate

        steps = read_events(events)
        return between(last_iterate(steps, delta, contraction, diameter), count_events(steps).neighbours or "any")
    for name, value in (("contraction", contraction), ("diameter", diameter)):
        require(value is None, name, 'come with released="last"', value)
    if group > 1:
        from dpcheck.accounting.groups import group_certificate

        counted = count_events(read_events(events))
        return between(group_certificate(counted, delta, group), counted.neighbours or "any")
    if hasattr(events, "get_epsilon_for_delta"):
        epsilon = float(events.get_epsilon_for_delta(delta))
        said = "a privacy loss distribution's own word, not dpcheck's engine"
        return between(Certificate(epsilon, delta, said), "neighbours and noise of that distribution", "")
    items = tuple(events) if isinstance(events, Sequence) and not isinstance(events, str) else (events,)
    measured = {id(item): item.confidence for item in items if isinstance(item, Measured)}  # one measurement each
    if measured:
        found = certify([item.event if isinstance(item, Measured) else item for item in items], delta)
        confidence = 1 - sum(1 - one for one in measured.values())
        require(confidence > 0.5, "the confidence of all measured events together", "be above 0.5", confidence)
        method = f"{found.method}; the law of measured noise is assumed"
        return dataclasses.replace(found, method=method, confidence=confidence)
    if not all(isinstance(item, Event) for item in items):
        from dpcheck.accounting.other_events import certify_dp_accounting  # here, as runs need no other library's

        if (theirs := certify_dp_accounting(items, delta)) is not None:
            return theirs
        items = read_events(events)
    counted = count_events(items)
    return between(certificate(counted, delta), counted.neighbours or "any")


@checked
def calibrate(make_events: Callable[[float], Any], epsilon: float, delta: float, **certified: Any) -> float:
    """Find the least noise multiplier, to relative 1e-3, whose events are certified at most at ``epsilon``.

    Parameters
    ----------
    make_events : callable
        From a multiplier z > 0 to events as :func:`certify` reads them; their epsilon must not increase in z.
    epsilon : float
        Epsilon to reach, > 0 (natural log); a fraction or a decimal is rounded down to a float, as is delta.
    delta : float
        In [0, 1).
    **certified : object
        ``group``, ``released``, ``contraction`` and ``diameter`` of :func:`certify`.

    Returns
    -------
    float
        z on the safe side: certified at most at ``epsilon``. It is at most 0.1% above the least z of which
        :func:`certify` shows that, and what certify itself adds to epsilon (see its notes) comes on top.

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
    epsilon, delta = float_below(epsilon), float_below(delta)
    require_positive(epsilon, "epsilon")
    require_delta(delta)

    def spent(multiplier: float) -> float:
        return certify(make_events(multiplier), delta, **certified).epsilon

    short, enough_from = _bracket(spent, epsilon)

    def enough(multiplier: float) -> bool:
        """Say whether it is; between the two that are known, by asking."""
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
        if delta == 0:  # Laplace noise alone has an epsilon there
            require(math.isfinite(spent(high)), "delta", "be above 0 with Gaussian noise", delta)
        require(high < 1e12, "make_events", f"reach epsilon {epsilon} at some multiplier", f"none up to {high:g}")
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
    """Return near multipliers, one not enough (or 0) and one enough (or inf), by secants of log epsilon in log z."""
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


@checked
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
        return deltas(counted, wanted.ravel()).reshape(wanted.shape)

    return curve
