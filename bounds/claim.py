"""A statement a paper makes, and the verdict on it with the evidence.

A claim sits in the file of its theorem: one entry in ``CLAIMS`` and one function that returns a
:class:`Decision`. Verdicts are earned: :meth:`Claim.decide` recomputes all evidence, and evidence
that does not hold leaves the claim ``unresolved``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from dpcheck.bounds.evidence import Cited, Counterexample, Searched, Step, record
from dpcheck.errors import require

Verdict = Literal["proved", "refuted", "conditional", "unresolved"]


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on.

    ``readings`` gives a verdict for each way the statement can be read; the claim's own verdict is
    for the statement as printed. ``condition`` is the assumption that makes a conditional claim
    true; ``repaired`` says what holds instead of a false one, or why the result built on it stands.
    """

    steps: tuple[Step, ...]
    readings: tuple[tuple[str, Verdict], ...] = ()
    condition: str = ""
    repaired: str = ""

    def broken(self) -> tuple[str, ...]:
        """Recompute every step; the words of those that do not hold."""
        return tuple(step.says for step in self.steps if not step.holds())

    def to_dict(self) -> dict[str, Any]:
        """Plain text throughout, fit for JSON."""
        return {
            "steps": [record(step) for step in self.steps],
            "readings": dict(self.readings),
            "condition": self.condition,
            "repaired": self.repaired,
        }


@dataclass(frozen=True)
class Decision:
    """A verdict before its evidence has been recomputed.

    A refutation needs a counterexample and a word on what can be saved; a conditional verdict
    needs its condition; a proof needs a step that is more than a citation, and a counterexample in
    it must belong to another reading, which is then named and refuted.
    """

    verdict: Verdict
    method: str
    evidence: Evidence
    note: str

    def __post_init__(self) -> None:
        """Refuse a verdict whose evidence is not of the kind it needs."""
        steps, verdict = self.evidence.steps, self.verdict
        broken = any(isinstance(step, Counterexample) for step in steps)
        require(broken or verdict != "refuted", "a refutation", "hold a counterexample", "none")
        apart = not broken or verdict != "proved" or "refuted" in dict(self.evidence.readings).values()
        require(apart, "a counterexample in a proof", "belong to a refuted reading", "none")
        saved = bool(self.evidence.repaired) or verdict != "refuted"
        require(saved, "a refutation", "say what can be repaired", "nothing")
        stated = bool(self.evidence.condition) == (verdict == "conditional")
        require(stated, "a condition", "come with a conditional verdict", verdict)
        shown = verdict == "unresolved" or not all(isinstance(step, Cited | Searched) for step in steps)
        require(shown, "a verdict", "rest on a recomputed step", "citations and searches only")


@dataclass(frozen=True)
class Claim:
    """A checkable statement of a paper.

    ``id`` is the catalogue's (``"Y17"``); ``statement`` is in the words of this project;
    ``location`` says where the paper makes it.
    """

    id: str
    paper: str
    kind: str
    statement: str
    location: str
    decision: Callable[[], Decision]

    def decide(self) -> ClaimResult:
        """Reach the verdict, recomputing all of its evidence."""
        started = time.perf_counter()
        decision = self.decision()
        broken = decision.evidence.broken()
        verdict, note = decision.verdict, decision.note
        if broken:
            verdict, note = "unresolved", f"not decided, since evidence does not hold: {'; '.join(broken)}"
        shown = decision.evidence.to_dict()
        routes = dict.fromkeys(route for step in shown["steps"] for route in step.get("methods", ()))
        method = decision.method.replace("prover", ", ".join(routes) or "prover")  # what it used in fact
        return ClaimResult(self, verdict, method, note, shown, time.perf_counter() - started)

    def undecided(self, why: str) -> ClaimResult:
        """The result when no decision could be reached."""
        return ClaimResult(self, "unresolved", "none", why, Evidence(()).to_dict(), 0.0)


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its verdict: ``proved``, ``refuted``, ``conditional`` or ``unresolved``.

    ``evidence`` is plain text, as :meth:`Evidence.to_dict` gives it; ``seconds`` is wall-clock time.
    """

    claim: Claim
    verdict: Verdict
    method: str
    note: str
    evidence: dict[str, Any]
    seconds: float

    @property
    def rooms(self) -> tuple[dict[str, Any], ...]:
        """How tight each printed constant is: printed and critical value, or vacuous."""
        return tuple(step["tightness"] for step in self.evidence["steps"] if "tightness" in step)

    @property
    def counterexamples(self) -> tuple[str, ...]:
        """What breaks the statement, or a reading of it, in words."""
        kinds = ("counterexample", "exceeds", "notprivate")
        return tuple(step["says"] for step in self.evidence["steps"] if step["kind"] in kinds)

    def to_dict(self) -> dict[str, Any]:
        """Plain text throughout, fit for JSON."""
        return {
            "id": self.claim.id,
            "paper": self.claim.paper,
            "kind": self.claim.kind,
            "statement": self.claim.statement,
            "location": self.claim.location,
            "verdict": self.verdict,
            "method": self.method,
            "seconds": round(self.seconds, 3),
            "evidence": self.evidence,
            "note": self.note,
        }
