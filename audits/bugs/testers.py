"""The audits as the catalogue uses them: what is promised, and one call that judges a version of the code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import dpcheck

if TYPE_CHECKING:
    from dpcheck.events import Event


@dataclass(frozen=True)
class Outcome:
    """``evidence`` : a sentence, the witness where there is one."""

    verdict: str
    evidence: str

    def to_dict(self) -> dict[str, str]:
        """Return both verdicts, ready for JSON."""
        return asdict(self)


class Tester(Protocol):
    """``name`` : of the public function;  ``promise`` : what both versions claim, in words."""

    name: ClassVar[str]

    @property
    def promise(self) -> str:
        """What both versions claim."""

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Judge one version."""


def _shown(data: Any) -> str:
    """Return a dataset on one line."""
    import numpy as np

    return repr(data.tolist() if isinstance(data, np.ndarray) else data)


class _Named:
    """The audit of its ``name``, whose arguments its fields are; ``counts`` : it takes a confidence."""

    name: ClassVar[str]
    counts: ClassVar[bool] = True
    how: ClassVar[dict[str, Any]] = {}

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Audit one version."""
        how = {**vars(self), **self.how, **({"confidence": confidence} if self.counts else {})}
        audit = getattr(dpcheck, self.name)(version, **how, seed=seed)
        return Outcome(audit.verdict, self.told(audit))

    def told(self, audit: Any) -> str:
        """Return the evidence of a result."""
        return str(audit.reason)


@dataclass(frozen=True, eq=False)
class Privacy(_Named):
    """``(dataset, rng, size) -> outputs`` on a pair of neighbours, judged by its outputs alone."""

    name: ClassVar[str] = "audit_privacy"
    how: ClassVar[dict[str, Any]] = {"vectorized": True}
    data: Any
    neighbour: Any
    epsilon: float | None = None
    delta: float = 0.0
    claim: Any = None
    trials: int = 20_000

    @property
    def promise(self) -> str:
        from dpcheck.audits.claim import PrivacyClaim

        claim = (
            PrivacyClaim.point(self.epsilon or 0.0, self.delta) if self.claim is None else PrivacyClaim.read(self.claim)
        )
        return f"{claim.words} on {_shown(self.data)} and {_shown(self.neighbour)}"

    def told(self, audit: Any) -> str:
        return f"epsilon >= {audit.epsilon_lower:.3g} at delta {audit.delta:g}; {audit.event}"


@dataclass(frozen=True, eq=False)
class FloatingPoint(_Named):
    """``(dataset, rng, size) -> outputs`` on a pair of neighbours, judged by the low bits of its outputs."""

    name: ClassVar[str] = "audit_floating_point"
    how: ClassVar[dict[str, Any]] = {"vectorized": True}
    data: Any
    neighbour: Any
    epsilon: float
    delta: float = 0.0
    trials: int = 5_000

    @property
    def promise(self) -> str:
        claim = f"({self.epsilon:g}, {self.delta:g})-privacy of every bit of the output"
        return f"{claim} on {_shown(self.data)} and {_shown(self.neighbour)}"


@dataclass(frozen=True, eq=False)
class Noise(_Named):
    """``(dataset, rng) -> output``: a constant plus independent noise of one law and scale."""

    name: ClassVar[str] = "audit_noise"
    data: Any
    distribution: str
    scale: float
    trials: int = 1_000

    @property
    def promise(self) -> str:
        return f"independent {self.distribution} noise of scale {self.scale:g}"


@dataclass(frozen=True, eq=False)
class Sampling:
    """``(population, batch, steps, rng) -> record numbers (steps, capacity)``, unused places -1."""

    name: ClassVar[str] = "audit_sampling"
    scheme: str
    population: int
    batch: int
    steps: int

    @property
    def promise(self) -> str:
        return f"minibatches of {self.batch} of {self.population} records drawn afresh, {self.scheme}"

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Test the minibatches of one run."""
        import numpy as np

        drawn = version(self.population, self.batch, self.steps, np.random.default_rng(seed))
        audit = dpcheck.audit_sampling(
            drawn, scheme=self.scheme, population=self.population, batch=self.batch, confidence=confidence, seed=seed
        )
        return Outcome(audit.verdict, audit.reason)


# The testers from here on give evidence without an error rate.


@dataclass(frozen=True, eq=False)
class Sensitivity(_Named):
    """``dataset -> number or array`` without noise: no replaced record moves it by more than ``claimed``."""

    name: ClassVar[str] = "audit_sensitivity"
    counts: ClassVar[bool] = False
    dataset: Any
    replacements: Sequence[Any]
    claimed: float

    @property
    def promise(self) -> str:
        return f"sensitivity {self.claimed:g} when one record is replaced"

    def told(self, audit: Any) -> str:
        return f"a replaced record moves the query by {audit.sensitivity:.6g}"


@dataclass(frozen=True, eq=False)
class Clipping(_Named):
    """``batch -> vector`` without noise: a sum of vectors of norm at most ``bound``, one a record, over ``divisor``."""

    name: ClassVar[str] = "audit_clipping"
    counts: ClassVar[bool] = False
    records: Any
    bound: float
    divisor: float | Literal["size"] = 1.0
    finite: bool = True

    @property
    def promise(self) -> str:
        divisor = "the batch's size" if self.divisor == "size" else f"{self.divisor:g}"
        also = "" if self.finite else ", where a record may hold NaN"
        return f"a sum of one vector a record, of norm at most {self.bound:g}, divided by {divisor}{also}"


@dataclass(frozen=True, eq=False)
class Randomness(_Named):
    """``(dataset, rng) -> output`` on a pair of neighbours, judged by what it draws."""

    name: ClassVar[str] = "audit_randomness"
    counts: ClassVar[bool] = False
    data: Any
    neighbour: Any
    epsilon: float
    delta: float = 0.0

    @property
    def promise(self) -> str:
        claim = f"({self.epsilon:g}, {self.delta:g})-privacy, with fresh noise from rng,"
        return f"{claim} on {_shown(self.data)} and {_shown(self.neighbour)}"

    def told(self, audit: Any) -> str:
        return "; ".join(seen.reason for seen in audit.observations if seen.verdict == audit.verdict)


@dataclass(frozen=True, eq=False)
class Constants:
    """``dataset -> constants``: what sets a mechanism up is the same on all neighbours."""

    name: ClassVar[str] = "audit_constants"
    promise: ClassVar[str] = "constants that do not depend on the data"
    data: Any
    neighbour: Any

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Compare the pair; deterministic evidence."""
        audit = dpcheck.audit_constants(version, self.data, [self.neighbour])
        differ = [f"{d.name} is {d.on_data} on data and {d.on_neighbour} on neighbour" for d in audit.differences]
        return Outcome(audit.verdict, "; ".join(differ) or f"{audit.constants} constants are the same on both")


@dataclass(frozen=True, eq=False)
class EvaluationPoints:
    """``(oracle, rng) -> output``: the answers of ``oracle`` are used through answer + noise alone."""

    name: ClassVar[str] = "audit_evaluation_points"
    promise: ClassVar[str] = "points and output depend on the data through the noisy releases alone"
    oracle: Callable[..., Any]

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Move answers and move their noise back; deterministic evidence."""
        audit = dpcheck.audit_evaluation_points(version, self.oracle, seed=seed)
        return Outcome(audit.verdict, audit.reason)


@dataclass(frozen=True, eq=False)
class Certified:
    """``(epsilon, delta) -> events``: what a calibration makes a mechanism release costs at most the epsilon asked."""

    name: ClassVar[str] = "certify"
    epsilon: float
    delta: float

    @property
    def promise(self) -> str:
        return f"({self.epsilon:g}, {self.delta:g})-privacy of what the calibration returns"

    def run(self, version: Callable[..., Sequence[Event] | Event], seed: int, confidence: float) -> Outcome:
        """Certify; the bound of one Gaussian is exact up to rounding, so no slack is given but 0.1 %."""
        certificate = dpcheck.certify(version(self.epsilon, self.delta), self.delta)
        verdict = "violated" if certificate.epsilon > 1.001 * self.epsilon else "consistent"
        return Outcome(verdict, f"epsilon {certificate.epsilon:.4g} at delta {self.delta:g}: {certificate.method}")
