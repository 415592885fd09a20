"""What the declared events of an algorithm allow to be released, group by group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dpcheck.events import Disjoint, Event, Gaussian, Laplace, Repeated, Sampled


@dataclass(frozen=True)
class Group:
    """What is released together, ``count`` times.

    multipliers : of the Gaussians, or of the one Laplace;  sampled : the minibatch that they read, None for all records
    """

    multipliers: tuple[float, ...]
    sampled: Sampled | None = None
    laplace: bool = False
    count: int = 1


def declared(events: Sequence[Event]) -> tuple[Group, ...]:
    """Return all that these events allow to be released."""
    return tuple(group for event in events for group in _groups(event))


def _groups(event: Event) -> Iterator[Group]:
    match event:
        case Gaussian(z):
            yield Group((float(z),))
        case Laplace(z):
            yield Group((float(z),), laplace=True)
        case Sampled(mechanisms):
            yield Group(tuple(float(part.noise_multiplier) for part in mechanisms), event)
        case Disjoint(parts):
            yield from (Group((float(part.noise_multiplier),)) for part in parts)
        case Repeated(inner, count):
            yield from (replace(group, count=group.count * count) for group in _groups(inner))
