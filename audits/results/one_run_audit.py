"""The result of an audit of one run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dpcheck.audits.limits.guess_tests import Guesses, IndependentBound
from dpcheck.audits.numbers.number_text import plain
from dpcheck.shown import Shown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class OneRunAudit(Shown):
    """What an audit of one run claimed, ran and showed.

    Attributes
    ----------
    verdict : str
        ``"violated"`` if a test rejects the claim; ``"inconclusive"`` if none would have with all its guesses right;
        else ``"consistent"``, which says that no violation was found, not that there is none.
    epsilon_lower : float
        One-sided lower confidence bound on epsilon (natural log) at ``delta``, for all tests together.
    epsilon : float
        Epsilon claimed at ``delta``; inf where the claim says nothing there.
    delta : float
        The delta at which both are stated.
    claim : str
        The claim in words.
    confidence : float
        One-sided confidence of ``epsilon_lower``.
    canaries, runs : int
        Canaries of all runs, and the runs.
    tests : tuple of Guesses
        The tests, which share the error.
    if_independent : IndependentBound
        What the guesses say under stronger assumptions; it decides no verdict.
    seed : int or None
        Seed of coins and algorithm; None for scores of the caller's own runs.
    version : str
        Version of dpcheck that made the audit.
    """

    verdict: str
    epsilon_lower: float
    epsilon: float
    delta: float
    claim: str
    confidence: float
    canaries: int
    runs: int
    tests: tuple[Guesses, ...]
    if_independent: IndependentBound = field(repr=False)
    seed: int | None
    version: str

    def _sentence(self) -> str:
        return (
            f"{self.verdict}: epsilon >= {self.epsilon_lower:.4f} at delta {self.delta:g} with confidence "
            f"{self.confidence:g}, claimed {self.epsilon:g}; {self.canaries} canaries in {self.runs} runs"
        )

    def _facts(self) -> dict[str, Any]:
        return {"claim": self.claim, "seed": self.seed}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return asdict(self) | {
            "epsilon": plain(self.epsilon),
            "tests": [asdict(test) for test in self.tests],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each test."""
        import pandas as pd

        return pd.DataFrame(asdict(test) for test in self.tests)
