"""The verdicts on several claims, together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dpcheck.bounds.claim import ClaimResult
from dpcheck.shown import html_table

if TYPE_CHECKING:
    import pandas as pd


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
                "claim": each.claim.id, "paper": each.claim.paper, "location": each.claim.location,
                "verdict": each.verdict, "statement": str(each.claim.statement), "note": each.note,
                "method": each.method, "checked by": each.trust,
            }
            for each in self
        ]  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each claim."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __str__(self) -> str:
        """Return the counts, then a line for each claim."""
        lines = [f"{each.verdict}  {each.claim.id}  {each.claim.location}: {each.note}" for each in self]
        return "\n".join([self._counts(), *lines])

    def _repr_html_(self) -> str:
        return f"<p><strong>{self._counts()}</strong></p>{html_table(self.rows)}"

    def _counts(self) -> str:
        counts = Counter(each.verdict for each in self)
        said = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items(), reverse=True))
        return f"{len(self)} claim{'s' * (len(self) != 1)}: {said}"
