"""A claim with its verdict, once every step has been recomputed, and several of them together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcheck.bounds.decision import Basis, Verdict
from dpcheck.bounds.statement import Statement
from dpcheck.shown import Shown, html_table

if TYPE_CHECKING:
    import pandas as pd

    from dpcheck.bounds.claim import Claim


@dataclass(frozen=True)
class ClaimResult(Shown):
    """A claim with its verdict.

    Attributes
    ----------
    claim : Claim
        What was decided.
    verdict : str
        ``"proved"``, ``"refuted"``, ``"conditional"`` or ``"unresolved"``.
    method : str
        How it was reached.
    note : str
        A sentence for the reader.
    evidence : dict
        Plain text, as :meth:`Evidence.to_dict` gives it.
    seconds : float
        Wall-clock time.
    basis : str
        Who reached the verdict: ``"judged"``, or a person's argument whose steps the machine checked.
    """

    claim: Claim
    verdict: Verdict
    method: str
    note: str
    evidence: dict[str, Any]
    seconds: float
    basis: Basis

    @property
    def trust(self) -> str:
        """Who vouches for the steps: the weakest word of the machine, and what is cited.

        ``kernel``, ``replayed`` or ``solver`` for the steps that a machine checked, with ``cited``
        where the argument also rests on sources, and ``by hand`` where a person argued.
        """
        words = {step["trust"] for step in self.evidence["steps"]}
        machine = next((word for word in ("solver", "replayed", "kernel") if word in words), "")
        by_hand = "by hand" if self.basis != "judged" else ""
        return ", ".join(word for word in (machine, "cited" if "cited" in words else "", by_hand) if word)

    @property
    def rooms(self) -> tuple[dict[str, Any], ...]:
        """How tight each printed constant is: printed and critical value, or vacuous."""
        return tuple(step["tightness"] for step in self.evidence["steps"] if "tightness" in step)

    @property
    def counterexamples(self) -> tuple[str, ...]:
        """What breaks the statement, or a reading of it, in words."""
        kinds = ("counterexample", "exceeds", "notprivate")
        return tuple(step["says"] for step in self.evidence["steps"] if step["kind"] in kinds)

    def _sentence(self) -> str:
        return f"{self.claim.id} is {self.verdict}: {self.note}"

    def _facts(self) -> dict[str, Any]:
        place = f"{self.claim.paper}, {self.claim.location}"
        return {"claim": str(self.claim.statement), "place": place, "method": self.method, "checked by": self.trust}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain text throughout, fit for JSON."""
        return {
            "id": self.claim.id,
            "paper": self.claim.paper,
            "kind": self.claim.kind,
            "statement": str(self.claim.statement),
            "stated": self.claim.statement.latex() if isinstance(self.claim.statement, Statement) else None,
            "location": self.claim.location,
            "verdict": self.verdict,
            "method": self.method,
            "basis": self.basis,
            "trust": self.trust,
            "seconds": round(self.seconds, 3),
            "evidence": self.evidence,
            "note": self.note,
        }


class ClaimResults(tuple[ClaimResult, ...]):
    """A tuple of results, which prints a line for each, is a table in a notebook, and becomes a data frame.

    Examples
    --------
    >>> import dpcheck
    >>> print(dpcheck.prove("004:(38)", jobs=1))
    1 claim: 1 refuted
    refuted  004:(38)  version with proofs, equation (38): The two coefficients have changed places.
    """

    __slots__ = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each claim: id, paper, place, verdict, statement, why, method, who vouches."""
        return [
            {
                "claim": result.claim.id, "paper": result.claim.paper, "location": result.claim.location,
                "verdict": result.verdict, "statement": str(result.claim.statement), "note": result.note,
                "method": result.method, "checked by": result.trust,
            }
            for result in self
        ]  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each claim."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __str__(self) -> str:
        """Return the counts, then a line for each claim."""
        lines = [f"{result.verdict}  {result.claim.id}  {result.claim.location}: {result.note}" for result in self]
        return "\n".join([self._counts(), *lines])

    def _repr_html_(self) -> str:
        return f"<p><strong>{self._counts()}</strong></p>{html_table(self.rows)}"

    def _counts(self) -> str:
        counts = Counter(result.verdict for result in self)
        said = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items(), reverse=True))
        return f"{len(self)} claim{'s' * (len(self) != 1)}: {said}"
