"""Events that are made of others: epochs, repetitions, and releases on disjoint parts of the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from dpcheck.errors import require, require_count
from dpcheck.events.mechanisms import LARGEST, Gaussian, Laplace, shown
from dpcheck.events.sampled import Neighbours, Sampled

_MOST_BINS = 10**7


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
        """Check the fields."""
        require(isinstance(self.mechanism, Gaussian), "mechanism", "be a Gaussian", self.mechanism)
        require_count(self.steps, "steps")
        require(self.steps <= _MOST_BINS, "steps", "be at most 1e7", shown(int(self.steps)))

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
        """Check the fields."""
        require(isinstance(self.event, Event), "event", "be a dpcheck event", self.event)
        require_count(self.count, "count", least=0)
        require(self.count <= LARGEST, "count", "be at most 1e300", shown(int(self.count)))


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
        """Check the fields."""
        good = isinstance(self.events, tuple) and len(self.events) > 0
        good = good and all(isinstance(part, Gaussian) for part in self.events)
        require(good, "events", "be a nonempty tuple of Gaussian", self.events)

    @property
    def worst(self) -> Gaussian:
        """The part with the least noise."""
        return min(self.events, key=lambda part: part.noise_multiplier)


Event: TypeAlias = Gaussian | Laplace | Sampled | RandomAllocation | Repeated | Disjoint
