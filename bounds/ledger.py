"""The results of claims as plain data, and the verdicts that are expected of the catalogue's.

``ledger.json`` holds for each claim, and each reading of it, the verdict that it comes out as.
``python -m dpcheck.bounds.ledger [PAPER]`` decides the claims again and writes that file. A person reads the
change before it is kept. Claims that quote others are decided again until nothing changes.
"""

from __future__ import annotations

import functools
import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck.bounds.kind import TYPED
from dpcheck.shown import Shown, html_table

if TYPE_CHECKING:
    import pandas as pd

    from dpcheck.bounds.claim import Basis, Claim, Verdict
    from dpcheck.bounds.evidence import Step
    from dpcheck.bounds.statement import Carried

# How much of a statement stands in theorems that Coq's kernel accepted; the last: it accepted nothing.
SHARES = ("all", "the inequality, the rest cited", "steps only", "")


def to_dict(step: Step) -> dict[str, Any]:
    """Return a step as plain text, fit for JSON; an inequality adds how it was shown."""
    shown = {"kind": type(step).__name__.lower(), "says": step.says, "formula": step.formula(), "latex": step.latex()}
    details = getattr(step, "details", None)
    return shown | (details() if details else {}) | {"trust": trust(step)}


def compared(carried: Iterable[Carried]) -> list[dict[str, Any]]:
    """Return the formulas of theorems that a claim is about as plain text, each once with all who have it."""
    alike: dict[str, list[Carried]] = {}
    for step in carried:
        alike.setdefault(step.formula(), []).append(step)
    shown = []
    for steps in alike.values():
        who = ", ".join(f"{step.field} of {step.theorem}" for step in steps)
        sides = dict.fromkeys(side for step in steps for side in step.latex().split(" = ", 1))
        says = steps[0].says if len(steps) == 1 else f"{who}, as registered, are what this claim is about"
        shown.append(to_dict(steps[0]) | {"says": says, "latex": " = ".join(sides)})
    return shown


def trust(step: Step) -> str:
    """Return who vouches for a step.

    ``"kernel"``: the kernel of a proof assistant accepted its statement. ``"replayed"``: exact or
    ball arithmetic recomputes it each time. ``"solver"``: an SMT solver's word. A kind of step whose ``TRUST``
    says so: ``"cited"``, a source's; ``"search"``, nobody, since nothing was found; ``"compared"``, a registered
    theorem says what the claim says. ``"file"``: a function of a file returned it where the file was read.
    """
    from dpcheck.bounds.coq import kernel  # which writes steps out, and so imports them

    kind: str = getattr(type(step), "TRUST", "") or getattr(type(getattr(step, "function", None)), "TRUST", "")
    if kind or kernel.accepted(step):
        return kind or "kernel"
    methods = step.outcome().methods if hasattr(step, "outcome") else ()
    return "solver" if any(method.startswith("solver") for method in methods) else "replayed"


@dataclass(frozen=True)
class ClaimResult(Shown):
    """A claim with its verdict.

    Attributes
    ----------
    claim : Claim
        What was decided.
    verdict : str
        ``"proved"``, ``"conditional"``, ``"misprint"``, ``"refuted"`` or ``"unresolved"``.
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
    kernel : str
        How much of the statement stands in theorems that Coq's kernel accepted: ``"all"``, ``"the inequality, the rest
        cited"``, ``"steps only"``, or nothing where it accepted no step.
    judged, judged_latex : str
        What was judged, of a judged claim: relations and domains, written from the steps that were checked.
    coq : str
        The claim of a file as theorems of Coq, where that was asked for.
    """

    claim: Claim
    verdict: Verdict
    method: str
    note: str
    evidence: dict[str, Any]
    seconds: float
    basis: Basis
    kernel: str = ""
    judged: str = ""
    judged_latex: str = ""
    coq: str = ""

    @property
    def statement(self) -> str:
        """What the verdict is about: the relations that were judged, or the words that a person's argument is about."""
        return self.judged or str(self.claim.statement)

    @property
    def words(self) -> str:
        """The author's words for what was judged, which nobody checked; nothing where they are the statement."""
        return str(self.claim.statement) if self.judged and self.claim.kind != TYPED else ""

    @property
    def trust(self) -> str:
        """Who vouches for the steps: the weakest word of the machine, and what is cited.

        ``kernel``, ``replayed`` or ``solver`` for the steps that a machine checked, with ``cited``
        where the argument also rests on sources, and ``by hand`` where a person argued; ``file`` where a step is what
        a function of the file returned.
        """
        words = {step["trust"] for step in self.evidence["steps"]}
        machine = next((word for word in ("file", "solver", "replayed", "kernel") if word in words), "")
        by_hand = "by hand" if self.basis != "judged" else ""
        return ", ".join(word for word in (machine, "cited" if "cited" in words else "", by_hand) if word)

    @property
    def rooms(self) -> tuple[dict[str, Any], ...]:
        """How tight each printed constant is: printed and critical value, or vacuous."""
        return tuple(step["tightness"] for step in self.evidence["steps"] if "tightness" in step)

    @property
    def counterexamples(self) -> tuple[str, ...]:
        """The steps that break the statement, or a reading of it, in words."""
        kinds = ("counterexample", "exceeds", "notprivate")
        return tuple(step["says"] for step in self.evidence["steps"] if step["kind"] in kinds)

    def _sentence(self) -> str:
        return f"{self.claim.id} is {self.verdict}: {self.note}"

    def _facts(self) -> dict[str, Any]:
        place = f"{self.claim.paper}, {self.claim.location}"
        checked = {"checked by": self.trust, "in the kernel": self.kernel or "nothing"}
        words = {"in the author's words": self.words} if self.words else {}
        return {"claim": self.statement, **words, "place": place, "method": self.method} | checked

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain text throughout, fit for JSON."""
        return {
            "id": self.claim.id,
            "paper": self.claim.paper,
            "kind": self.claim.kind,
            "statement": self.statement,
            "stated": self.judged_latex or self._stated(),
            "words": self.words,
            "location": self.claim.location,
            "verdict": self.verdict,
            "method": self.method,
            "basis": self.basis,
            "trust": self.trust,
            "kernel": self.kernel,
            "seconds": round(self.seconds, 3),
            "evidence": self.evidence,
            "note": self.note,
        }

    def fields(self) -> list[Any]:
        """Return all but the claim, in order, fit to cross from one process to another."""
        return [getattr(self, field.name) for field in fields(self)[1:]]

    def _stated(self) -> str | None:
        return None if isinstance(self.claim.statement, str) else self.claim.statement.latex()


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
        """A row for each claim: id, paper, place, verdict, statement, why, method, who vouches, share in the kernel."""
        return [
            {
                "claim": result.claim.id, "paper": result.claim.paper, "location": result.claim.location,
                "verdict": result.verdict, "statement": result.statement, "note": result.note,
                "method": result.method, "checked by": result.trust, "in the kernel": result.kernel or "nothing",
            }
            for result in self
        ]  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each claim."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __str__(self) -> str:
        """Return the counts, then a line for each claim."""
        lines = [
            f"{result.verdict}  {result.statement}: {result.note}"
            if result.claim.id == TYPED
            else f"{result.verdict}  {result.claim.id}  {result.claim.location}: {result.note}"
            for result in self
        ]
        return "\n".join([self._counts(), *lines])

    def _repr_html_(self) -> str:
        return f"<p><strong>{self._counts()}</strong></p>{html_table(self.rows)}"

    def _counts(self) -> str:
        counts = Counter(result.verdict for result in self)
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items(), reverse=True))
        return f"{len(self)} claim{'s' * (len(self) != 1)}: {verdicts}"


@functools.cache
def recorded() -> dict[str, dict[str, Any]]:
    """Return for each claim its paper, expected verdict, method, basis, trust, kernel, and each reading's verdict."""
    text = resources.files("dpcheck.bounds").joinpath("ledger.json").read_text("utf-8")
    entries: dict[str, dict[str, Any]] = json.loads(text)
    return entries


def _lines(entries: dict[str, dict[str, Any]]) -> str:
    return "{\n" + ",\n".join(f"  {json.dumps(id)}: {json.dumps(entry)}" for id, entry in entries.items()) + "\n}\n"


def _entry(result: ClaimResult) -> dict[str, Any]:
    entry = {
        "paper": result.claim.paper, "verdict": result.verdict, "method": result.method, "basis": result.basis,
        "trust": result.trust, "kernel": result.kernel,
    }  # fmt: skip
    readings = result.evidence["readings"]
    return {**entry, "readings": readings} if readings else entry


def _write(paper: str | None) -> None:
    """Decide the claims again, those of one paper or all, until the verdicts they quote are their own."""
    from dpcheck.bounds.registry import claims, prove

    here = Path(__file__)
    order = [claim.id for claim in claims()]
    while True:
        results = prove(paper)
        entries = {**recorded(), **{result.claim.id: _entry(result) for result in results}}
        before, after = here.with_name("ledger.json").read_text("utf-8"), _lines({id: entries[id] for id in order})
        here.with_name("ledger.json").write_text(after, "utf-8")
        recorded.cache_clear()
        if before == after:
            break


if __name__ == "__main__":
    _write(sys.argv[1] if len(sys.argv) > 1 else None)
