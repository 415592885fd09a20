"""The audits as the catalogue uses them: what is promised, and one call that judges a version of the code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol


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


def shown(data: Any) -> str:
    """Return a dataset on one line."""
    import numpy as np

    return repr(data.tolist() if isinstance(data, np.ndarray) else data)


@dataclass(frozen=True, eq=False)
class Privacy:
    """``(dataset, rng, size) -> outputs`` on a pair of neighbours, judged by its outputs alone."""

    name: ClassVar[str] = "audit_privacy"
    data: Any
    neighbour: Any
    epsilon: float | None = None
    delta: float = 0.0
    claim: Any = None
    trials: int = 20_000

    @property
    def promise(self) -> str:
        """The claim in words."""
        from dpcheck.audits.claim import PrivacyClaim

        claim = (
            PrivacyClaim.point(self.epsilon or 0.0, self.delta) if self.claim is None else PrivacyClaim.read(self.claim)
        )
        return f"{claim.words} on {shown(self.data)} and {shown(self.neighbour)}"

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Audit at most ``trials`` runs a dataset."""
        from dpcheck.audits.membership import audit_privacy

        found = audit_privacy(
            version, self.data, self.neighbour, epsilon=self.epsilon, delta=self.delta, claim=self.claim,
            trials=self.trials, confidence=confidence, seed=seed, vectorized=True,
        )  # fmt: skip
        return Outcome(found.verdict, f"epsilon >= {found.epsilon_lower:.3g} at delta {found.delta:g}; {found.event}")


@dataclass(frozen=True, eq=False)
class FloatingPoint:
    """``(dataset, rng, size) -> outputs`` on a pair of neighbours, judged by the low bits of its outputs."""

    name: ClassVar[str] = "audit_floating_point"
    data: Any
    neighbour: Any
    epsilon: float
    delta: float = 0.0
    trials: int = 5_000

    @property
    def promise(self) -> str:
        """The claim in words."""
        claim = f"({self.epsilon:g}, {self.delta:g})-privacy of every bit of the output"
        return f"{claim} on {shown(self.data)} and {shown(self.neighbour)}"

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Audit at most ``trials`` runs a dataset, twice."""
        from dpcheck.audits.floating import audit_floating_point

        found = audit_floating_point(
            version, self.data, self.neighbour, epsilon=self.epsilon, delta=self.delta, trials=self.trials,
            confidence=confidence, seed=seed, vectorized=True,
        )  # fmt: skip
        return Outcome(found.verdict, found.reason)


@dataclass(frozen=True, eq=False)
class Noise:
    """``(dataset, rng) -> output``: a constant plus independent noise of one law and scale."""

    name: ClassVar[str] = "audit_noise"
    data: Any
    distribution: str
    scale: float
    trials: int = 1_000

    @property
    def promise(self) -> str:
        """The claim in words."""
        return f"independent {self.distribution} noise of scale {self.scale:g}"

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Test ``trials`` outputs on one dataset."""
        from dpcheck.audits.noise import audit_noise

        found = audit_noise(
            version, self.data, distribution=self.distribution, scale=self.scale, trials=self.trials,
            confidence=confidence, seed=seed,
        )  # fmt: skip
        return Outcome(found.verdict, found.reason)


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
        """The claim in words."""
        return f"minibatches of {self.batch} of {self.population} records drawn afresh, {self.scheme}"

    def run(self, version: Callable[..., Any], seed: int, confidence: float) -> Outcome:
        """Test the minibatches of one run."""
        import numpy as np

        from dpcheck.audits.sampling import audit_sampling

        drawn = version(self.population, self.batch, self.steps, np.random.default_rng(seed))
        found = audit_sampling(
            drawn, scheme=self.scheme, population=self.population, batch=self.batch, confidence=confidence, seed=seed
        )
        return Outcome(found.verdict, found.reason)
