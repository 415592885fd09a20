"""A report as a page: one file with everything in it, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpcheck.report.charts import Chart, Strips, charts, epsilon_strips, exponent_strips
from dpcheck.report.drawing import RATES
from dpcheck.report.results import Finding, Results, format_number, standing
from dpcheck.report.summary import Summary
from dpcheck.report.template import fill, part

_TITLES = {"privacy": "Privacy", "rate": "Rates and bounds", "claim": "Claims of the papers", "other": "Inside a run"}
_KINDS = {"privacy": "privacy", "claim": "claim", "rate": "rate", "bound": "rate"}
_INLINE = 300  # findings up to which the evidence stands in the page itself, which then shows it without a script
_SANDWICH = (
    "Each bar runs from the audited lower bound on epsilon to the certified upper bound; a guarantee holds where both "
    "lie left of the claim."
)
_WEIGHTS = ("broken", "undecided", "conditional", "good")
_FEW = 8  # numbers of a list that are written out
_DEPTH = 3
_KNOWN = frozenset({"steps", "readings", "condition", "repaired", "audit"})  # shown in ways of their own
_ABOUT = frozenset({"id", "paper", "kind", "statement", "stated", "location", "verdict", "evidence", "note", "seconds"})
_TRUST = {
    "kernel": "checked by the kernel of Coq", "replayed": "recomputed exactly", "solver": "by an SMT solver",
    "cited": "cited", "search": "a search found nothing", "compared": "compared with the registered theorem",
}  # fmt: skip


Row = dict[str, Any]  # what the page shows of a finding


def to_html(report: Results) -> str:
    """Return the page."""
    summary = Summary(report)
    rows = rows_of(summary)
    inline = len(rows) <= _INLINE
    # the report and, where it is not in the page, the evidence as the page shows it: the reader's browser unpacks them
    evidence = [] if inline else [part("inside", row) for row in rows]
    data = zlib.compress(json.dumps({"report": json.loads(report.to_json()), "shown": evidence}).encode(), 9)
    return fill(
        "report.html", report=report, made=report.made, title=f"dpcheck: {summary.title}", heading=summary.title,
        papers=[f"{id}: {title}" if title else id for id, title in summary.papers.items()],
        result=summary.result, holds=summary.holds, badge=summary.badge if summary.expecting else "",
        changed=[row for row in rows if not row["finding"].ok], rows=rows,
        tiles=[
            {"word": word, "count": count, "tone": standing(word)}
            for word, count in summary.totals.items()
        ],
        sections=_sections(report, rows), stages=summary.stages, about=_about(report), inline=inline,
        data=base64.b64encode(data).decode(),
    )  # fmt: skip


@dataclass(frozen=True)
class Section:
    """A part of the page, which the contents name."""

    title: str
    anchor: str
    groups: list[tuple[str, list[Row]]]  # each under its heading
    words: str = ""
    strips: tuple[Strips, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[tuple[str, list[dict[str, Any]]], ...] = ()

    @property
    def broken(self) -> int:
        """How many of its findings break a guarantee."""
        return sum(row["tone"] == "broken" for _, rows in self.groups for row in rows)


def _sections(report: Results, rows: list[Row]) -> list[Section]:
    parts = {name: [row for row in rows if _KINDS.get(row["finding"].kind, "other") == name] for name in _TITLES}
    several = len(report.algorithms) > 1
    epsilons = [epsilon_strips(report.findings, name) for name in _first_names(parts["privacy"])]
    exponents = exponent_strips(report.tables.get(RATES, []))
    sections = (
        Section(
            _TITLES["privacy"], "privacy", _groups(parts["privacy"], several), _SANDWICH,
            tuple(strips for strips in epsilons if strips),
        ),
        Section(
            _TITLES["rate"], "rates", _groups(parts["rate"], several), strips=(exponents,) if exponents else (),
            charts=tuple(charts(report.tables)),
        ),
        Section(_TITLES["claim"], "claims", _groups(parts["claim"], True)),
        Section(_TITLES["other"], "inside", _groups(parts["other"], several)),
    )  # fmt: skip
    filled = [section for section in sections if section.groups or section.strips or section.charts]
    tables = tuple((title, table) for title, table in report.tables.items() if table)
    return filled + ([Section("Tables", "tables", [], tables=tables)] if tables else [])


def _groups(rows: list[Row], several: bool) -> list[tuple[str, list[Row]]]:
    """The rows by algorithm or paper where there are several."""
    if not several:
        return [("", rows)] if rows else []
    return [(name, [row for row in rows if _first(row) == name]) for name in _first_names(rows)]


def _first_names(rows: Sequence[Row]) -> list[str]:
    """The algorithms or papers of these rows, those with a broken guarantee first."""
    names = dict.fromkeys(map(_first, rows))
    broken = {_first(row) for row in rows if row["tone"] == "broken"}
    return sorted(names, key=lambda name: name not in broken)


def _first(row: Row) -> str:
    return str(row["finding"].id.split(".", 1)[0])


def _about(report: Results) -> list[tuple[str, str]]:
    """Return the date, command, versions, platform and seed that make the report again."""
    made = dict(report.made)
    order = ("date", "command", "platform", "python", "versions")
    facts = [
        ("dpcheck", report.version), ("algorithms", ", ".join(map(str, report.algorithms))),
        ("profile", str(report.profile)), ("seed", str(report.seed)), ("time", f"{report.seconds:.0f} s"),
    ]  # fmt: skip
    return facts + [(name, made.pop(name)) for name in order if name in made] + list(made.items())


def evidence_of(evidence: dict[str, Any]) -> dict[str, Any]:
    """Return the steps, the event and the facts that a page shows; what is not known of the evidence becomes facts."""
    inner = evidence.get("evidence")
    claim = inner if isinstance(inner, dict) else evidence
    steps, audit, readings = claim.get("steps"), evidence.get("audit"), claim.get("readings")
    facts = [(name, str(claim[name])) for name in ("condition", "repaired") if claim.get(name)]
    if isinstance(readings, dict):
        facts += [(f"reading: {reading}", str(verdict)) for reading, verdict in readings.items()]
    left_out = _KNOWN | (_ABOUT if claim is inner else frozenset())
    facts += _facts({name: value for name, value in evidence.items() if name not in left_out})
    return {
        "steps": [_step(step) for step in steps if isinstance(step, dict)] if isinstance(steps, list) else [],
        "event": _event(audit) if isinstance(audit, dict) else None, "facts": facts,
    }  # fmt: skip


def _step(step: dict[str, Any]) -> dict[str, Any]:
    """Return what a step says, its formula as LaTeX and as text, who vouches for it, and whether it breaks a claim."""
    kind, trust, room = str(step.get("kind", "")), str(step.get("trust", "")), step.get("tightness")
    return {
        "says": str(step.get("says", "")), "latex": "" if kind == "cited" else str(step.get("latex", "")),
        "formula": str(step.get("formula", "")), "trust": _TRUST.get(trust, trust),
        "breaks": kind in ("counterexample", "exceeds", "notprivate"),
        "room": str(room.get("says", "")) if isinstance(room, dict) else "",
    }  # fmt: skip


def _event(audit: dict[str, Any]) -> dict[str, Any] | None:
    """Return the set of outputs that an audit compares two data sets by."""
    event = audit.get("event")
    if not isinstance(event, dict) or "hits" not in event:
        return None
    favours = str(event.get("favours", "data"))
    other = "data" if favours == "neighbour" else "neighbour"
    return {
        "words": str(event.get("words", "")), "trials": str(event.get("trials", "")),
        "on": [(favours, str(event["hits"])), (other, str(event.get("other_hits", "")))],
        "confidence": str(audit.get("confidence", "")),
    }  # fmt: skip


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
        return format_number(value)
    if isinstance(value, list | tuple):
        if len(value) > _FEW or any(isinstance(item, list | tuple | dict) for item in value):
            return f"{len(value)} values, in the JSON"
        return ", ".join(_text(item) for item in value)
    return "in the JSON" if isinstance(value, dict) else str(value)


def rows_of(summary: Summary) -> list[Row]:
    """Return what the page shows of each finding, in the report's order."""
    findings = summary.report.findings
    subjects = Counter(f.subject for f in findings)
    # of letters, digits and hyphens, with its place where two would be alike
    anchors = ["f-" + re.sub(r"[^A-Za-z0-9]+", "-", f.id).strip("-") for f in findings]
    anchors = [name if name not in anchors[:i] else f"{name}-{i}" for i, name in enumerate(anchors)]
    return [
        _row(summary, f, i) | {"anchor": anchor, "name": f.id if subjects[f.subject] > 1 else ""}
        for i, (f, anchor) in enumerate(zip(findings, anchors, strict=True))
    ]


def _row(summary: Summary, f: Finding, index: int) -> Row:
    tone = standing(f.verdict)  # a broken guarantee is never good, expected or not
    words = (("audited", f.audited), ("certified", f.certified), ("claimed", f.claimed))
    stated = f.evidence.get("stated") if f.kind == "claim" else None  # with formulas as LaTeX between dollar signs
    return {
        "finding": f, "index": index, "tone": tone,
        # what needs a look comes first: broken, then changed, then undecided
        "weight": 0 if tone == "broken" else 1 if not f.ok else 1 + _WEIGHTS.index(tone),
        "stated": f"{f.evidence.get('location', '')}: {stated}" if isinstance(stated, str) else "",
        "numbers": [(name, format_number(value)) for name, value in words if value is not None],
        "command": summary.command(f), "evidence": evidence_of(f.evidence),
    }  # fmt: skip
