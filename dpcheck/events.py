"""Privacy events: what a run released about its data, described and not analysed.

The multipliers are the noise's standard deviation (Gaussian) or scale (Laplace) over the sensitivity BETWEEN NEIGHBOURS
of the query the noise is added to. Example: the mean of m per-record gradients of norm at most G, under replace-one
neighbours, has sensitivity 2 G / m.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Literal, TypeAlias, get_args

from dpcheck.arguments import checked
from dpcheck.errors import float_below, is_number, require, require_confidence, require_count, require_known

LARGEST = 10**300  # beyond, numbers are no longer what they are taken for


@dataclass(frozen=True)
class _Noise:
    noise_multiplier: float

    def __post_init__(self) -> None:
        value = float_below(self.noise_multiplier)  # first, as what a narrow float is compared with may overflow it
        good = is_number(value) and value >= 0 and (value <= LARGEST or value == math.inf)
        require(good, "noise_multiplier", "be a number >= 0 and at most 1e300, or inf", value)
        object.__setattr__(self, "noise_multiplier", float(value))  # the number that is computed with


@dataclass(frozen=True)
class Gaussian(_Noise):
    """Gaussian noise on a query of the whole data set.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation over l2 sensitivity, in [0, inf]. 0 is no noise at all (epsilon is infinite), inf releases
        nothing about the data.

    Examples
    --------
    >>> from dpcheck.events import Gaussian
    >>> Gaussian(4.0).noise_multiplier
    4.0
    """


@dataclass(frozen=True)
class Laplace(_Noise):
    """Laplace noise on a query of the whole data set.

    Parameters
    ----------
    noise_multiplier : float
        Scale b over l1 sensitivity, in [0, inf], with limits as in :class:`Gaussian`.
    """


@checked
def shift_of(noise_multiplier: float) -> float:
    """Return a sensitivity in units of the noise.

    Parameters
    ----------
    noise_multiplier : float
        In [0, inf].

    Returns
    -------
    float
        1 / multiplier, inf without noise.
    """
    require(is_number(noise_multiplier) and noise_multiplier >= 0, "noise_multiplier", "be >= 0", noise_multiplier)
    return math.inf if noise_multiplier == 0 else float(1 / noise_multiplier)


def _shown(value: int) -> str:
    """Return a long whole number by its length, as Python refuses to print it."""
    return str(value) if value < 10**100 else f"a number of about 10^{math.floor(math.log10(value))}"


Scheme: TypeAlias = Literal["poisson", "without_replacement", "with_replacement"]
Neighbours: TypeAlias = Literal["replace_one", "add_or_remove_one"]
MOST_RECORDS, _MOST_DRAWS, _MOST_BINS = 256, 10**15, 10**7


@dataclass(frozen=True)
class Sampled:
    """Gaussian mechanisms, or a Laplace mechanism, released together on ONE fresh random minibatch.

    Under Poisson sampling with replace-one neighbours each record must moreover contribute at most half of the
    sensitivity to the query (its clipping norm C, against a replace sensitivity 2 C) and an absent record nothing; with
    add-or-remove-one neighbours the sensitivity is C itself.

    Parameters
    ----------
    mechanisms : tuple of Gaussian, or of one Laplace
        Their multipliers are over the sensitivity of the query of the batch, between batches that differ in one record:
        over C under add-or-remove-one neighbours, over 2 C under replace-one. A Laplace mechanism is not drawn for with
        replacement.
    scheme : {"poisson", "without_replacement", "with_replacement"}
        Every record kept independently with probability batch / population; a uniform subset of that size; or that many
        uniform draws. The last two keep the size fixed, so that they are analysed under replace-one neighbours only.
    population : int
        Number of records n, at least 1.
    batch : float
        Size of the minibatch, at most n without replacement; under Poisson sampling the expected one, which may be
        fractional.
    neighbours : {"replace_one", "add_or_remove_one"}
        The neighbouring relation. Left out it is replace_one for a batch of fixed size, and add_or_remove_one under
        Poisson sampling, as in Opacus, dp_accounting and ``dpcheck certify``: a noise multiplier from there, over C,
        then keeps its meaning. Read under replace-one it would stand for twice the noise, and its epsilon be too small.
    records : int
        How many records, from 1 to 256, are added or removed together, each of them drawn on its own: those of one
        person. More than 1 only for Gaussians, Poisson sampling and add_or_remove_one.

    Examples
    --------
    >>> from dpcheck.events import Gaussian, Sampled
    >>> step = Sampled((Gaussian(1.0), Gaussian(1.0)), "poisson", 1_000, 50)
    >>> step.rate, step.neighbours
    (0.05, 'add_or_remove_one')
    """

    mechanisms: tuple[Gaussian, ...] | tuple[Laplace]
    scheme: Scheme
    population: int
    batch: float
    neighbours: Neighbours = None  # type: ignore[assignment]  # never None once made
    records: int = 1

    def __post_init__(self) -> None:
        parts = self.mechanisms if isinstance(self.mechanisms, tuple) else ()
        good = bool(parts) and (self.laplace or all(isinstance(part, Gaussian) for part in parts))
        require(good, "mechanisms", "be a tuple such as (Gaussian(1.5),), or one of a Laplace", self.mechanisms)
        require_known(self.scheme, get_args(Scheme), "scheme")
        if self.neighbours is None:
            object.__setattr__(self, "neighbours", "add_or_remove_one" if self.scheme == "poisson" else "replace_one")
        require_known(self.neighbours, get_args(Neighbours), "neighbours")
        drawn = "not be Laplace when scheme is with_replacement"
        require(not (self.laplace and self.scheme == "with_replacement"), "mechanisms", drawn, self.mechanisms)
        require_count(self.records, "records")
        alone = self.scheme == "poisson" and self.neighbours == "add_or_remove_one" and not self.laplace
        limit = MOST_RECORDS if alone else 1
        require(self.records <= limit, "records", f"be at most {limit} with this sampling", _shown(int(self.records)))
        require_count(self.population, "population")
        require(self.population <= LARGEST, "population", "be at most 1e300", _shown(self.population))
        if self.scheme == "poisson":
            good = is_number(self.batch) and 0 <= self.batch <= self.population
            require(good, "batch", f"lie in [0, population = {self.population}]", self.batch)
            object.__setattr__(self, "batch", self.batch if isinstance(self.batch, int) else float(self.batch))
            return
        require_count(self.batch, "batch", least=0)  # type: ignore[arg-type]  # checked, not assumed
        if self.scheme == "without_replacement":
            most = f"be at most population = {_shown(int(self.population))} without replacement"
            require(self.batch <= self.population, "batch", most, _shown(int(self.batch)))
        else:
            require(self.batch <= _MOST_DRAWS, "batch", "be at most 1e15 with replacement", _shown(int(self.batch)))
        replaced = self.neighbours == "replace_one"
        require(replaced, "neighbours", f"be replace_one when scheme is {self.scheme}", self.neighbours)

    @property
    def laplace(self) -> bool:
        """Whether the mechanism is a Laplace mechanism."""
        return len(self.mechanisms) == 1 and isinstance(self.mechanisms[0], Laplace)

    @property
    def rate(self) -> float:
        """The probability, 0 or at least 1e-300, that a record is in the batch (of several: one; or at least once)."""
        if self.scheme != "with_replacement":
            rate = self.batch / self.population
            if self.records > 1 and rate < 1:
                rate = -math.expm1(self.records * math.log1p(-rate))
        elif self.population == 1:
            return float(self.batch > 0)
        else:
            rate = -math.expm1(self.batch * math.log1p(-1 / self.population))
        return max(rate, 1e-300) if self.batch > 0 else 0.0

    @property
    def rest(self) -> float:
        """The probability that a given record is not in the batch, 1 - rate without its cancellation."""
        if self.scheme != "with_replacement":
            return float(((self.population - self.batch) / self.population) ** self.records)
        if self.population == 1:
            return float(self.batch == 0)
        return math.exp(self.batch * math.log1p(-1 / self.population))

    @property
    def noise_multiplier(self) -> float:
        """The multiplier of the one Gaussian, 1/sqrt(sum 1/z_i^2), that the mechanisms amount to, or of the Laplace."""
        shift = math.hypot(*(shift_of(part.noise_multiplier) for part in self.mechanisms))
        return math.inf if shift == 0 else 1 / shift


@dataclass(frozen=True)
class RandomAllocation:
    """One epoch of Gaussian mechanisms in which each record joins one of the steps, drawn uniformly: balls in bins.

    Neighbours add or remove one record; the steps of the others are drawn independently of it. Several epochs, drawn
    anew, are a :class:`Repeated`.

    Parameters
    ----------
    mechanism : Gaussian
        Of each step; its multiplier is over what one record contributes.
    steps : int
        In an epoch, from 1 to 1e7.

    References
    ----------
    L. Chua, B. Ghazi, C. Harrison, E. Leeman, P. Kamath, R. Kumar, P. Manurangsi, A. Sinha, C. Zhang. Balls-and-bins
    sampling for DP-SGD. AISTATS 2025.

    Examples
    --------
    >>> from dpcheck.events import Gaussian, RandomAllocation, Repeated
    >>> epochs = Repeated(RandomAllocation(Gaussian(1.0), steps=234), 10)
    """

    mechanism: Gaussian
    steps: int
    neighbours: Neighbours = field(default="add_or_remove_one", init=False)

    def __post_init__(self) -> None:
        require(isinstance(self.mechanism, Gaussian), "mechanism", "be a Gaussian", self.mechanism)
        require_count(self.steps, "steps")
        require(self.steps <= _MOST_BINS, "steps", "be at most 1e7", _shown(int(self.steps)))

    @property
    def noise_multiplier(self) -> float:
        """That of the mechanism."""
        return self.mechanism.noise_multiplier


@dataclass(frozen=True)
class Repeated:
    """Repetitions of an event, each free to depend on the earlier outputs.

    Parameters
    ----------
    event : event
        What is repeated.
    count : int
        How often, >= 0.
    """

    event: Event
    count: int

    def __post_init__(self) -> None:
        require(isinstance(self.event, Event), "event", "be a dpcheck event", self.event)
        require_count(self.count, "count", least=0)
        require(self.count <= LARGEST, "count", "be at most 1e300", _shown(int(self.count)))


@dataclass(frozen=True)
class Disjoint:
    """Gaussian mechanisms on disjoint parts of the data, each free to depend on the earlier outputs.

    Replacing one record changes one of the parts: together they are as private as the least private one. Earlier
    outputs may decide which part a record is in, since whichever it is, its shift is bounded. What may NOT decide it is
    the record's own value (a part for each label, or for each cluster): then a replaced record leaves one part and
    enters another, and two parts change; such events are composed, not disjoint.

    Parameters
    ----------
    events : tuple of Gaussian
        One event for each part, at least one.

    References
    ----------
    L. Zhang et al. Bring your own algorithm for optimal differentially private stochastic minimax optimization. NeurIPS
    2022, Lemma A.1 (parts that are fixed beforehand).

    A. Smith, A. Thakurta. Fully adaptive composition for Gaussian differential privacy. 2022.
    """

    events: tuple[Gaussian, ...]

    def __post_init__(self) -> None:
        good = isinstance(self.events, tuple) and all(isinstance(part, Gaussian) for part in self.events)
        require(good and len(self.events) > 0, "events", "be a nonempty tuple of Gaussian", self.events)

    @property
    def worst(self) -> Gaussian:
        """The part with the least noise."""
        return min(self.events, key=lambda part: part.noise_multiplier)


@dataclass(frozen=True)
class Measured:
    """A release whose noise was measured: with this confidence it has at least the noise of an event.

    :meth:`dpcheck.audits.noise.NoiseAudit.event` makes one. The law of the noise is assumed, and only its scale is
    measured. :func:`dpcheck.certify` composes it with other events, and states the confidence.

    Parameters
    ----------
    event : event
        The event, at the lower confidence bound of the noise.
    confidence : float
        Of the bound, in (0.5, 1).

    Examples
    --------
    >>> import dpcheck
    >>> from dpcheck.events import Gaussian, Measured
    >>> certificate = dpcheck.certify([Measured(Gaussian(1.9), 0.95), Gaussian(4.0)], delta=1e-5)
    >>> round(certificate.epsilon, 2), certificate.confidence
    (2.37, 0.95)
    """

    event: Event
    confidence: float

    def __post_init__(self) -> None:
        require(isinstance(self.event, Event), "event", "be a dpcheck event", self.event)
        require_confidence(self.confidence)


Event: TypeAlias = Gaussian | Laplace | Sampled | RandomAllocation | Repeated | Disjoint


@checked
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
    events = list(events)
    require(all(isinstance(event, Event) for event in events), "events", "be events of dpcheck", "others")
    require(is_number(factor) and factor > 0, "factor", "be a number > 0", factor)

    def one(event: Any) -> Any:
        match event:
            case Gaussian() | Laplace():
                return replace(event, noise_multiplier=event.noise_multiplier * factor)
            case Sampled():
                return replace(event, mechanisms=tuple(map(one, event.mechanisms)))
            case RandomAllocation():
                return replace(event, mechanism=one(event.mechanism))
            case Repeated():
                counts = []
                while isinstance(event, Repeated):  # as deep as it may be
                    counts.append(event.count)
                    event = event.event
                return reduce(Repeated, reversed(counts), one(event))
        return replace(event, events=tuple(map(one, event.events)))  # a Disjoint

    return tuple(map(one, events))


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
    items = tuple(events) if isinstance(events, Sequence) and not isinstance(events, str) else (events,)
    if all(isinstance(item, Event) for item in items):
        return items
    from dpcheck.accounting.other_events import read_other_events

    return read_other_events(events, items)
