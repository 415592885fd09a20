"""Mechanisms on a random minibatch: amplification by sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from dpcheck.errors import is_number, require, require_count
from dpcheck.events.mechanisms import LARGEST, Gaussian, Laplace, shift_of, shown

Scheme: TypeAlias = Literal["poisson", "without_replacement", "with_replacement"]
Neighbours: TypeAlias = Literal["replace_one", "add_or_remove_one"]
_MOST_DRAWS = 10**15


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

    def __post_init__(self) -> None:
        """Check the fields."""
        good = isinstance(self.mechanisms, tuple) and len(self.mechanisms) > 0
        good = good and (all(isinstance(part, Gaussian) for part in self.mechanisms) or self.laplace)
        require(good, "mechanisms", "be a nonempty tuple of Gaussian, or one Laplace", self.mechanisms)
        schemes, relations = get_args(Scheme), get_args(Neighbours)
        require(self.scheme in schemes, "scheme", f"be one of {', '.join(schemes)}", self.scheme)
        if self.neighbours is None:
            object.__setattr__(self, "neighbours", "add_or_remove_one" if self.scheme == "poisson" else "replace_one")
        known = f"be one of {', '.join(relations)}"
        require(self.neighbours in relations, "neighbours", known, self.neighbours)
        drawn = "not be Laplace when scheme is with_replacement"
        require(not (self.laplace and self.scheme == "with_replacement"), "mechanisms", drawn, self.mechanisms)
        require_count(self.population, "population")
        require(self.population <= LARGEST, "population", "be at most 1e300", shown(self.population))
        if self.scheme == "poisson":
            good = is_number(self.batch) and 0 <= self.batch <= self.population
            require(good, "batch", f"lie in [0, population = {self.population}]", self.batch)
            object.__setattr__(self, "batch", self.batch if isinstance(self.batch, int) else float(self.batch))
            return
        require_count(self.batch, "batch", least=0)  # type: ignore[arg-type]  # checked, not assumed
        if self.scheme == "without_replacement":
            most = f"be at most population = {shown(int(self.population))} without replacement"
            require(self.batch <= self.population, "batch", most, shown(int(self.batch)))
        else:
            require(self.batch <= _MOST_DRAWS, "batch", "be at most 1e15 with replacement", shown(int(self.batch)))
        only = f"be replace_one when scheme is {self.scheme}"
        require(self.neighbours == "replace_one", "neighbours", only, self.neighbours)

    @property
    def laplace(self) -> bool:
        """Whether the mechanism is a Laplace mechanism."""
        return len(self.mechanisms) == 1 and isinstance(self.mechanisms[0], Laplace)

    @property
    def rate(self) -> float:
        """The probability that a given record is in the batch (with replacement: at least once).

        If it is not 0, it is at least 1e-300.
        """
        if self.scheme != "with_replacement":
            rate = self.batch / self.population
        elif self.population == 1:
            return float(self.batch > 0)
        else:
            rate = -math.expm1(self.batch * math.log1p(-1 / self.population))
        return max(rate, 1e-300) if self.batch > 0 else 0.0

    @property
    def rest(self) -> float:
        """The probability that a given record is not in the batch, 1 - rate without its cancellation."""
        if self.scheme != "with_replacement":
            return (self.population - self.batch) / self.population
        if self.population == 1:
            return float(self.batch == 0)
        return math.exp(self.batch * math.log1p(-1 / self.population))

    @property
    def noise_multiplier(self) -> float:
        """The multiplier of the one Gaussian that all mechanisms on this batch amount to, 1/sqrt(sum 1/z_i^2).

        The Laplace mechanism's own if it is one.
        """
        shift = math.hypot(*(shift_of(part.noise_multiplier) for part in self.mechanisms))
        return math.inf if shift == 0 else 1 / shift
