"""A multiset of privacy events in normal form: what a list of events amounts to."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from dpcheck.errors import require
from dpcheck.events import Disjoint, Event, Gaussian, Laplace, Neighbours, RandomAllocation, Repeated, Sampled, shift_of

_MOST = 10**300
_SHOWN = 6  # kinds of events that a sentence names
Other: TypeAlias = Laplace | Sampled | RandomAllocation
Single: TypeAlias = Gaussian | Other


@dataclass(frozen=True)
class EventCounts:
    """All Gaussians as one of this ``shift`` (1 / multiplier), and the other events that release something."""

    shift: float
    others: tuple[tuple[Other, int], ...]
    neighbours: Neighbours | None = field(default=None, compare=False)  # None: those of the sensitivity

    @property
    def parts(self) -> list[tuple[Single, int]]:
        """Every event with its count."""
        whole: list[tuple[Single, int]] = list(self.others)
        return [*whole, (Gaussian(1 / self.shift), 1)] if self.shift > 0 else whole

    @property
    def steps(self) -> int:
        """The number of events, all Gaussians counting as one."""
        return sum(count for _, count in self.others) + (self.shift > 0)

    @property
    def unprotected(self) -> bool:
        """Whether something is released without noise."""
        shifts = [shift_of(event.noise_multiplier) for event, _ in self.others]
        return math.isinf(max([self.shift, *shifts]))

    def unsampled(self) -> tuple[float, float]:
        """Return shift and pure epsilon that, composed, are at most as private: each batch holds the record."""
        shifts, pure = [self.shift], 0.0
        for event, count in self.others:
            shift = shift_of(event.noise_multiplier)
            if isinstance(event, Laplace):
                pure += count * shift
            elif isinstance(event, RandomAllocation):  # the record is in one of the steps
                shifts.append(math.sqrt(count) * shift)
            elif event.laplace:
                pure += count * sampled_pure(event, shift)
            else:
                copies = event.batch if event.scheme == "with_replacement" else event.records
                shifts.append(math.sqrt(count) * copies * shift)
        return math.hypot(*shifts), pure

    def __str__(self) -> str:
        """Describe the events for people: ``100 x Gaussian(4) under sampling without replacement 5 of 100, ...``."""
        named = [f"{count} x {_name(event)}" for event, count in self.parts]
        if len(named) > _SHOWN:
            rest = sum(count for _, count in self.parts[_SHOWN - 1 :])
            named = [*named[: _SHOWN - 1], f"{rest} others"]
        return " + ".join(named) or "nothing"


def sampled_pure(event: Sampled, epsilon: float) -> float:
    """Return the pure epsilon of Laplace noise on a sample, which is ``epsilon`` where the record is in it.

    A record that is added, or replaced in a sample of fixed size, changes the law by log(1 + rate (e^epsilon - 1)). In
    a Poisson sample the densities with either record, over the density without one, lie between e^(-epsilon/2) and
    e^(epsilon/2). Opposite records reach both ends, and the ratio of their mixtures is returned.
    """
    rate = event.rate
    if event.scheme == "poisson" and event.neighbours == "replace_one":
        half = epsilon / 2
        if half > 300:  # where the exponential may be no number
            return half + math.log(rate + event.rest * math.exp(-half)) - math.log(event.rest + rate * math.exp(-half))
        return math.log1p(rate * math.expm1(half)) - math.log1p(rate * math.expm1(-half))
    return epsilon if epsilon > 700 else math.log1p(rate * math.expm1(epsilon))


def count_events(events: tuple[Event, ...]) -> EventCounts:
    """Count ``events``; refuses to mix neighbouring relations."""
    counts: Counter[Single] = Counter()
    relations: set[Neighbours] = set()
    for event in events:
        count = 1
        while isinstance(event, Repeated):  # a loop, as events may be nested thousands deep
            count, event = count * int(event.count), event.event
        require(count <= _MOST, "events", "be at most 1e300 in number", "more")
        single = event.worst if isinstance(event, Disjoint) else event
        never = isinstance(single, Sampled) and single.rate == 0
        if count == 0 or never or math.isinf(single.noise_multiplier):
            continue  # nothing is released
        counts[_simplify(single)] += count
        if isinstance(single, Sampled | RandomAllocation):  # also where nothing is left of the sampling
            relations.add(single.neighbours)
    require(len(relations) <= 1, "events", "share one neighbouring relation", sorted(relations))
    shifts: list[float] = []
    others: list[tuple[Other, int]] = []
    for single, count in counts.items():
        if isinstance(single, Gaussian):
            shifts.append(math.sqrt(count) * shift_of(single.noise_multiplier))
        else:
            others.append((single, count))
    return EventCounts(math.hypot(*shifts), tuple(sorted(others, key=repr)), next(iter(relations), None))


def _simplify(event: Single) -> Single:
    if isinstance(event, RandomAllocation) and event.steps == 1:
        return event.mechanism
    if not isinstance(event, Sampled) or event.rest > 0:
        return event
    if event.scheme != "with_replacement":
        noise = event.noise_multiplier / event.records
        return Laplace(noise) if event.laplace else Gaussian(noise)
    return Gaussian(event.noise_multiplier / event.batch) if event.population == 1 else event


def _name(event: Single) -> str:
    if isinstance(event, RandomAllocation):
        noise = f"Gaussian({event.noise_multiplier:.6g})"
        return f"{noise} in one of {event.steps} steps (random allocation, add-or-remove-one)"
    if not isinstance(event, Sampled):
        return f"{type(event).__name__}({event.noise_multiplier:.6g})"
    scheme = "Poisson" if event.scheme == "poisson" else event.scheme.replace("_", " ")
    size = f"{event.batch:.9g} of {event.population:.15g}"
    relation = event.neighbours.replace("_", "-")
    if event.records > 1:
        relation = relation.replace("-one", f"-{event.records}-records")
    return f"{type(event.mechanisms[0]).__name__}({event.noise_multiplier:.6g}) sampling {size} ({scheme}, {relation})"
