"""Privacy events: what a run released about its data, described and not analysed.

The multipliers are the noise's standard deviation (Gaussian) or scale (Laplace) over the
sensitivity BETWEEN NEIGHBOURS of the query the noise is added to. Example: the mean of m
per-record gradients of norm at most G, under replace-one neighbours, has sensitivity 2 G / m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpcheck.errors import InputError
from dpcheck.events.compositions import Disjoint as Disjoint
from dpcheck.events.compositions import Event as Event
from dpcheck.events.compositions import RandomAllocation as RandomAllocation
from dpcheck.events.compositions import Repeated as Repeated
from dpcheck.events.mechanisms import Gaussian as Gaussian
from dpcheck.events.mechanisms import Laplace as Laplace
from dpcheck.events.mechanisms import shift_of as shift_of
from dpcheck.events.sampled import Neighbours as Neighbours
from dpcheck.events.sampled import Sampled as Sampled
from dpcheck.events.sampled import Scheme as Scheme


def scaled(events: Sequence[Event], factor: float) -> tuple[Event, ...]:
    """Multiply all noise of some events by one factor.

    Parameters
    ----------
    events : sequence of events
        What is released.
    factor : float
        Factor on the noise, > 0.

    Returns
    -------
    tuple of events
        The events with their multipliers changed.

    Examples
    --------
    >>> from dpcheck.events import Gaussian, scaled
    >>> scaled([Gaussian(2.0)], 1.5)
    (Gaussian(noise_multiplier=3.0),)
    """

    def one(event: Any) -> Any:
        match event:
            case Gaussian() | Laplace():
                return replace(event, noise_multiplier=event.noise_multiplier * factor)
            case Sampled():
                return replace(event, mechanisms=tuple(one(part) for part in event.mechanisms))
            case RandomAllocation():
                return replace(event, mechanism=one(event.mechanism))
            case Repeated():
                counts = []
                while isinstance(event, Repeated):  # as deep as it may be
                    counts.append(event.count)
                    event = event.event
                event = one(event)
                for count in reversed(counts):
                    event = Repeated(event, count)
                return event
            case Disjoint():
                return replace(event, events=tuple(one(part) for part in event.events))
        raise AssertionError(event)

    return tuple(one(event) for event in events)


def read_events(events: Any) -> tuple[Event, ...]:
    """Read one event or a sequence of them: dpcheck's, dp_accounting's, or a history of an Opacus accountant.

    Parameters
    ----------
    events : event or sequence of events, accountant or history
        Not a mixture. dp_accounting's events are read under its conventions and add-or-remove-one neighbours; if one
        of them draws a batch of fixed size, all are read under replace-one neighbours, where a query changes by up to
        twice what one record contributes. A history of Opacus is an accountant of that library, or its list of
        (noise multiplier, sample rate, steps): Poisson sampling and add-or-remove-one neighbours.

    Returns
    -------
    tuple of events
        dpcheck's events.

    Raises
    ------
    InputError
        For anything else, events of dp_accounting of a kind that dpcheck does not compute included.
    """
    from dpcheck.accounting import other_events

    many = isinstance(events, Sequence) and not isinstance(events, str)
    items = tuple(events) if many else (events,)
    if all(isinstance(item, Event) for item in items):
        return items
    if (history := other_events.history_of(events)) is not None:
        return other_events.read_history(history)
    if all(other_events.is_dp_accounting(item) for item in items):
        try:
            return other_events.read_dp_accounting(items)
        except other_events.OtherEvent as other:
            known = "be dp_accounting events of the kinds that dpcheck computes"
            raise InputError(f"events must {known}, got {other}") from other
    from dpcheck.accounting.strange_events import refuse

    refuse(events, items)
    raise AssertionError
