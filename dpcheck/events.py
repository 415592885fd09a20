"""Privacy events: what a run released about its data, described and not analysed.

The multipliers are the noise's standard deviation (Gaussian) or scale (Laplace) over the
sensitivity BETWEEN NEIGHBOURS of the query the noise is added to. Example: the mean of m
per-record gradients of norm at most G, under replace-one neighbours, has sensitivity 2 G / m.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, TypeAlias, get_args

from dpcheck.errors import InputError, require, require_count

Scheme: TypeAlias = Literal["poisson", "without_replacement", "with_replacement"]
Neighbours: TypeAlias = Literal["replace_one", "add_or_remove_one"]


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise on a query of the whole data set.

    ``noise_multiplier``: standard deviation over l2 sensitivity, in [0, inf]. 0 is no noise at
    all (epsilon is infinite), inf releases nothing about the data.
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        """Check the fields."""
        _require_multiplier(self.noise_multiplier)


@dataclass(frozen=True)
class Laplace:
    """Laplace noise on a query of the whole data set.

    ``noise_multiplier``: scale over l1 sensitivity, in [0, inf], limits as in :class:`Gaussian`.
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        """Check the fields."""
        _require_multiplier(self.noise_multiplier)


@dataclass(frozen=True)
class Sampled:
    """Gaussian mechanisms released together on ONE fresh random minibatch.

    ``mechanisms``: the multipliers refer to the query of the batch, between batches that differ
    in one record. Under Poisson sampling with replace-one neighbours each record must moreover
    contribute at most half of that sensitivity to the query (its clipping norm C, against a
    replace sensitivity 2 C) and an absent record nothing; with add-or-remove-one neighbours the
    sensitivity is C itself.

    ``scheme``: ``"poisson"`` (every record kept independently with probability
    batch / population; batch is the expected size and may be fractional),
    ``"without_replacement"`` (a uniform subset of that size) or ``"with_replacement"``
    (that many uniform draws). The last two keep the size fixed, so they are analysed under
    replace-one neighbours only.
    """

    mechanisms: tuple[Gaussian, ...]
    scheme: Scheme
    population: int
    batch: float
    neighbours: Neighbours = "replace_one"

    def __post_init__(self) -> None:
        """Check the fields."""
        good = isinstance(self.mechanisms, tuple) and len(self.mechanisms) > 0
        good = good and all(isinstance(part, Gaussian) for part in self.mechanisms)
        require(good, "mechanisms", "be a nonempty tuple of Gaussian", self.mechanisms)
        schemes, relations = get_args(Scheme), get_args(Neighbours)
        require(self.scheme in schemes, "scheme", f"be one of {', '.join(schemes)}", self.scheme)
        known = f"be one of {', '.join(relations)}"
        require(self.neighbours in relations, "neighbours", known, self.neighbours)
        require_count(self.population, "population")
        if self.scheme == "poisson":
            good = _is_real(self.batch) and 0 <= self.batch <= self.population
            require(good, "batch", f"lie in [0, population = {self.population}]", self.batch)
            return
        require_count(self.batch, "batch", least=0)  # type: ignore[arg-type]  # checked, not assumed
        if self.scheme == "without_replacement":
            most = f"be at most population = {self.population} without replacement"
            require(self.batch <= self.population, "batch", most, self.batch)
        only = f"be replace_one when scheme is {self.scheme}"
        require(self.neighbours == "replace_one", "neighbours", only, self.neighbours)

    @property
    def rate(self) -> float:
        """Probability that a given record is in the batch (with replacement: at least once)."""
        if self.scheme != "with_replacement":
            return self.batch / self.population
        if self.population == 1:
            return float(self.batch > 0)
        return -math.expm1(self.batch * math.log1p(-1 / self.population))

    @property
    def noise_multiplier(self) -> float:
        """Of the one Gaussian that all mechanisms on this batch amount to: 1/sqrt(sum 1/z_i^2)."""
        shift = math.hypot(*(shift_of(part.noise_multiplier) for part in self.mechanisms))
        return math.inf if shift == 0 else 1 / shift


@dataclass(frozen=True)
class Repeated:
    """``count`` >= 0 repetitions of an event, each free to depend on the earlier outputs."""

    event: Event
    count: int

    def __post_init__(self) -> None:
        """Check the fields."""
        require(isinstance(self.event, Event), "event", "be a dpcheck event", self.event)
        require_count(self.count, "count", least=0)


@dataclass(frozen=True)
class Disjoint:
    """Gaussian mechanisms on disjoint parts of the data, each free to depend on the earlier outputs.

    Replacing one record changes one of the parts: together they are as private as the least private one
    (Zhang et al. 2022, Lemma A.1, for parts that are fixed beforehand). Earlier outputs may decide which part
    a record is in, since whichever it is, its shift is bounded (Smith and Thakurta 2022, on adaptive composition
    of Gaussian mechanisms).
    """

    events: tuple[Gaussian, ...]

    def __post_init__(self) -> None:
        """Check the fields."""
        good = isinstance(self.events, tuple) and len(self.events) > 0
        good = good and all(isinstance(part, Gaussian) for part in self.events)
        require(good, "events", "be a nonempty tuple of Gaussian", self.events)

    @property
    def worst(self) -> Gaussian:
        """The part with the least noise."""
        return min(self.events, key=lambda part: part.noise_multiplier)


Event: TypeAlias = Gaussian | Laplace | Sampled | Repeated | Disjoint


def scaled(events: Sequence[Event], factor: float) -> tuple[Event, ...]:
    """The same events with all noise multiplied by ``factor`` > 0."""

    def one(event: Any) -> Any:
        match event:
            case Gaussian() | Laplace():
                return replace(event, noise_multiplier=event.noise_multiplier * factor)
            case Sampled():
                return replace(event, mechanisms=tuple(one(part) for part in event.mechanisms))
            case Repeated():
                return replace(event, event=one(event.event))
            case Disjoint():
                return replace(event, events=tuple(one(part) for part in event.events))
        raise AssertionError(event)

    return tuple(one(event) for event in events)


def shift_of(noise_multiplier: float) -> float:
    """Sensitivity in units of the noise, 1 / multiplier (inf without noise)."""
    return math.inf if noise_multiplier == 0 else 1 / float(noise_multiplier)


def read_events(events: Any) -> tuple[Event, ...]:
    """One event or a sequence of them, dpcheck's or dp_accounting's (not mixed), as a tuple.

    dp_accounting's events are read under its own conventions and add-or-remove-one neighbours.
    """
    many = isinstance(events, Sequence) and not isinstance(events, str)
    items = tuple(events) if many else (events,)
    if all(isinstance(item, Event) for item in items):
        return items
    if all(type(item).__module__.startswith("dp_accounting") for item in items):
        return tuple(ours for item in items for ours in _translate(item))
    what = "be dpcheck events, or dp_accounting events, not a mixture of both"
    strange = [item for item in items if not isinstance(item, Event)]
    require(False, "events", what, strange[0])
    raise AssertionError


def _translate(event: Any) -> tuple[Event, ...]:
    from dp_accounting import dp_event

    match event:
        case dp_event.NoOpDpEvent():
            return ()
        case dp_event.NonPrivateDpEvent():
            return (Gaussian(0.0),)
        case dp_event.GaussianDpEvent():
            return (Gaussian(event.noise_multiplier),)
        case dp_event.LaplaceDpEvent():
            return (Laplace(event.noise_multiplier),)
        case dp_event.ComposedDpEvent():
            return tuple(ours for part in event.events for ours in _translate(part))
        case dp_event.SelfComposedDpEvent():
            return tuple(Repeated(ours, event.count) for ours in _translate(event.event))
        case dp_event.PoissonSampledDpEvent(event=dp_event.GaussianDpEvent() as inner):
            rate, parts = event.sampling_probability, (Gaussian(inner.noise_multiplier),)
            return (Sampled(parts, "poisson", 1, rate, "add_or_remove_one"),)
    raise InputError(f"events must be supported dp_accounting events, got {event!r}"[:300])


def _require_multiplier(value: Any) -> None:
    good = _is_real(value) and value >= 0
    require(good, "noise_multiplier", "be a number >= 0 (inf allowed)", value)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)
