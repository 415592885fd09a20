"""The result of an audit of a training step."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dpcheck.audits.numbers.number_text import plain
from dpcheck.shown import Shown


@dataclass(frozen=True)
class StepFinding:
    """What one part of a training step shows.

    Attributes
    ----------
    part : str
        ``"accounting"``, ``"sampling"``, ``"divisor"``, ``"empty batch"``, ``"noise"``, ``"clipping"`` or
        ``"release"``.
    verdict : str
        ``"violated"``, ``"inconclusive"`` or ``"consistent"``.
    reason : str
        What was seen.
    change : str
        What to change; where consistent, empty or what does not put the promise at risk.
    """

    part: str
    verdict: str
    reason: str
    change: str = ""


@dataclass(frozen=True)
class TrainingStepAudit(Shown):
    """What a training step shows against its claims.

    Attributes
    ----------
    verdict : str
        ``"violated"``, ``"inconclusive"`` or ``"consistent"``: the worst of the findings.
    audited : float
        Lower confidence bound on epsilon of ``released`` steps together; nan where they were not run.
    certified : float
        Epsilon of all steps if the step does what it claims, at ``delta``; nan where dpcheck certifies none, as with
        noise that is correlated over steps.
    claimed : float
        Epsilon that the accountant promised.
    delta : float
        At which all three are stated.
    steps, released : int
        Steps of the training, and steps audited together.
    findings : tuple of StepFinding
        What each part shows, and what to change.
    """

    verdict: str
    audited: float
    certified: float
    claimed: float
    delta: float
    steps: int
    released: int
    findings: tuple[StepFinding, ...]

    def _sentence(self) -> str:
        first, second = (
            ">" if left > right else "<="
            for left, right in ((self.audited, self.certified), (self.certified, self.claimed))
        )
        sandwich = (
            f"audited {self.audited:.3g} ({self.released} steps) {first} certified as stated {self.certified:.4g} "
            f"{second} claimed {self.claimed:.4g} at delta {self.delta:g}"
        )
        notes = [f"{f.part}: {f.reason}. {f.change}" for f in self.findings if f.change]
        if self.verdict == "consistent":
            notes.insert(0, "no part of the step puts the promise at risk")
        return "\n".join([f"{self.verdict}: {sandwich}", *notes])

    def _facts(self) -> dict[str, Any]:
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {name: plain(v) if isinstance(v, float) else v for name, v in asdict(self).items()}
