"""The audits of the catalogue whose evidence has no error rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dpcheck.audits.bugs.testers import Outcome, shown
from dpcheck.events import Event


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """``dataset -> number or array`` without noise: no replaced record moves it by more than ``claimed``."""

    name: ClassVar[str] = "audit_sensitivity"
    data: Any
    replacements: Sequence[Any]
    claimed: float

    @property
    def promise(self) -> str:
        """The claim in words."""
        return f"sensitivity {self.claimed:g} when one record is replaced"

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Search for the worst pair; deterministic evidence."""
        from dpcheck.audits.sensitivity import audit_sensitivity

        found = audit_sensitivity(version, self.data, self.replacements, claimed=self.claimed, seed=seed)
        return Outcome(found.verdict, f"a replaced record moves the query by {found.sensitivity:.6g}")


@dataclass(frozen=True, eq=False)
class Clipping:
    """``batch -> vector`` without noise: a sum of vectors of norm at most ``bound``, one a record, over ``divisor``."""

    name: ClassVar[str] = "audit_clipping"
    records: Any
    bound: float
    divisor: float | Literal["size"] = 1.0
    finite: bool = True

    @property
    def promise(self) -> str:
        """The claim in words."""
        divisor = "the batch's size" if self.divisor == "size" else f"{self.divisor:g}"
        also = "" if self.finite else ", where a record may hold NaN"
        return f"a sum of one vector a record, of norm at most {self.bound:g}, divided by {divisor}{also}"

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Try batches with outliers; deterministic evidence."""
        from dpcheck.audits.clipping import audit_clipping

        found = audit_clipping(
            version, self.records, bound=self.bound, divisor=self.divisor, finite=self.finite, seed=seed
        )
        return Outcome(found.verdict, found.reason)


@dataclass(frozen=True, eq=False)
class Randomness:
    """``(dataset, rng) -> output`` on a pair of neighbours, judged by what it draws."""

    name: ClassVar[str] = "audit_randomness"
    data: Any
    neighbour: Any
    epsilon: float
    delta: float = 0.0

    @property
    def promise(self) -> str:
        """The claim in words."""
        claim = f"({self.epsilon:g}, {self.delta:g})-privacy, with fresh noise from rng,"
        return f"{claim} on {shown(self.data)} and {shown(self.neighbour)}"

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Record and replay a few runs; no error rate."""
        from dpcheck.audits.randomness import audit_randomness

        found = audit_randomness(
            version, self.data, self.neighbour, epsilon=self.epsilon, delta=self.delta, seed=seed
        )  # fmt: skip
        seen = [each for each in found.observations if each.verdict == found.verdict]
        return Outcome(found.verdict, "; ".join(each.reason for each in seen))


@dataclass(frozen=True, eq=False)
class Constants:
    """``dataset -> constants``: what sets a mechanism up is the same on all neighbours."""

    name: ClassVar[str] = "audit_constants"
    promise: ClassVar[str] = "constants that do not depend on the data"
    data: Any
    neighbour: Any

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Compare the pair; deterministic evidence."""
        from dpcheck.audits.constants import audit_constants

        found = audit_constants(version, self.data, [self.neighbour])
        said = [f"{d.name} is {d.on_data} on data and {d.on_neighbour} on neighbour" for d in found.differences]
        return Outcome(found.verdict, "; ".join(said) or f"{found.constants} constants are the same on both")


@dataclass(frozen=True, eq=False)
class EvaluationPoints:
    """``(oracle, rng) -> output``: the answers of ``oracle`` are used through answer + noise alone."""

    name: ClassVar[str] = "audit_evaluation_points"
    promise: ClassVar[str] = "points and output depend on the data through the noisy releases alone"
    oracle: Callable[..., Any]

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Move answers and move their noise back; deterministic evidence."""
        from dpcheck.audits.evaluation_points import audit_evaluation_points

        found = audit_evaluation_points(version, self.oracle, seed=seed)
        return Outcome(found.verdict, found.reason)


@dataclass(frozen=True, eq=False)
class Certified:
    """``(epsilon, delta) -> events``: what a calibration makes a mechanism release costs at most the epsilon asked."""

    name: ClassVar[str] = "certify"
    epsilon: float
    delta: float

    @property
    def promise(self) -> str:
        """The claim in words."""
        return f"({self.epsilon:g}, {self.delta:g})-privacy of what the calibration returns"

    def run(self, version: Callable[..., Sequence[Event] | Event], seed: int, confidence: float) -> Outcome:
        """Certify; the bound of one Gaussian is exact up to rounding, so no slack is given but 0.1 %."""
        from dpcheck.accounting import certify

        found = certify(version(self.epsilon, self.delta), self.delta)
        verdict = "violated" if found.epsilon > 1.001 * self.epsilon else "consistent"
        return Outcome(verdict, f"epsilon {found.epsilon:.4g} at delta {self.delta:g}: {found.method}")
