"""The evidence of a finding as steps and facts that people read; all of it is in the JSON beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dpcheck.report.epsilons import number

_FEW = 8  # numbers of a list that are written out
_DEPTH = 3
_KNOWN = frozenset({"steps", "readings", "condition", "repaired", "audit"})  # shown in ways of their own
_ABOUT = frozenset({"id", "paper", "kind", "statement", "stated", "location", "verdict", "evidence", "note", "seconds"})
_TRUST = {
    "kernel": "checked by the kernel of Coq", "replayed": "recomputed exactly", "solver": "by an SMT solver",
    "cited": "cited", "search": "a search found nothing", "compared": "compared with the registered theorem",
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One step: what it says, its formula as LaTeX and as text, who vouches for it, and what a solver was asked."""

    says: str
    latex: str = ""
    formula: str = ""
    trust: str = ""
    breaks: bool = False
    room: str = ""
    queries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Event:
    """The set of outputs that an audit compares two data sets by."""

    words: str
    trials: str
    on: tuple[tuple[str, str], ...]  # (data set, hits)
    confidence: str


@dataclass(frozen=True)
class Shown:
    """The steps, the event and the facts that a page shows of a finding."""

    steps: tuple[Step, ...] = ()
    event: Event | None = None
    facts: tuple[tuple[str, str], ...] = field(default=())


def shown(evidence: dict[str, Any]) -> Shown:
    """Read what is known of the evidence; whatever else it holds becomes facts."""
    inner = evidence.get("evidence")
    claim = inner if isinstance(inner, dict) else evidence
    steps = claim.get("steps")
    facts = [(name, str(claim[name])) for name in ("condition", "repaired") if claim.get(name)]
    readings = claim.get("readings")
    if isinstance(readings, dict):
        facts += [(f"reading: {reading}", str(verdict)) for reading, verdict in readings.items()]
    audit = evidence.get("audit")
    left_out = _KNOWN | (_ABOUT if claim is inner else frozenset())
    facts += _facts({name: value for name, value in evidence.items() if name not in left_out})
    return Shown(
        tuple(_step(each) for each in steps if isinstance(each, dict)) if isinstance(steps, list) else (),
        _event(audit) if isinstance(audit, dict) else None,
        tuple(facts),
    )


def _step(step: dict[str, Any]) -> Step:
    kind, trust, room = str(step.get("kind", "")), str(step.get("trust", "")), step.get("tightness")
    formula = str(step.get("formula", ""))
    return Step(
        str(step.get("says", "")), "" if kind == "cited" else str(step.get("latex", "")), formula,
        _TRUST.get(trust, trust), kind in ("counterexample", "exceeds", "notprivate"),
        str(room.get("says", "")) if isinstance(room, dict) else "",
        tuple(str(each) for each in step.get("queries") or ()),
    )  # fmt: skip


def _event(audit: dict[str, Any]) -> Event | None:
    event = audit.get("event")
    if not isinstance(event, dict) or "hits" not in event:
        return None
    favours = str(event.get("favours", "data"))
    other = "data" if favours == "neighbour" else "neighbour"
    return Event(
        str(event.get("words", "")), str(event.get("trials", "")),
        ((favours, str(event["hits"])), (other, str(event.get("other_hits", "")))),
        str(audit.get("confidence", "")),
    )  # fmt: skip


def _facts(values: dict[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Name and text of every value, those of a nested one under both names."""
    for name, value in values.items():
        full = f"{prefix}{name}"
        if isinstance(value, dict) and depth < _DEPTH:
            yield from _facts(value, f"{full}: ", depth + 1)
        elif value not in (None, "", [], {}):
            yield full, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list | tuple):
        if len(value) > _FEW or any(isinstance(each, list | tuple | dict) for each in value):
            return f"{len(value)} values, in the JSON"
        return ", ".join(_text(each) for each in value)
    return "in the JSON" if isinstance(value, dict) else str(value)
