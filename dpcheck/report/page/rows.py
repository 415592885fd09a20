"""A finding as a row of a page: its verdict's weight and sign, its words, its numbers, its evidence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dpcheck.report.epsilons import number
from dpcheck.report.page.evidence import Shown, shown
from dpcheck.report.results import Finding
from dpcheck.report.summary import Summary
from dpcheck.report.verdicts import sign, standing

_WEIGHTS = ("broken", "undecided", "conditional", "good")


@dataclass(frozen=True)
class Row:
    """What a page shows of a finding.

    Attributes
    ----------
    anchor : str
        The name of its place on the page.
    index : int
        Its place in the report, and in the JSON that the page holds.
    tone, sign : str
        What the verdict means, as a word for the style and as a sign; a broken guarantee is never good, expected or
        not.
    weight : int
        Its place where what needs a look comes first: broken, then changed, then undecided.
    stated : str
        A claim's statement with its formulas as LaTeX between dollar signs, or nothing.
    numbers : tuple of (str, str)
        Audited, certified and claimed epsilon, as far as there are any.
    command : str
        What to type to see it explained.
    name : str
        The finding's id where another one has the same subject, else nothing.
    """

    finding: Finding
    anchor: str
    index: int
    tone: str
    sign: str
    weight: int
    stated: str
    numbers: tuple[tuple[str, str], ...]
    command: str
    evidence: Shown
    name: str


def rows_of(summary: Summary) -> list[Row]:
    """The rows of a report, in its order."""
    findings = summary.report.findings
    subjects = Counter(f.subject for f in findings)
    return [
        _row(summary, f, i, anchor, f.id if subjects[f.subject] > 1 else "")
        for i, (f, anchor) in enumerate(zip(findings, _anchors(findings), strict=True))
    ]


def _anchors(findings: Sequence[Finding]) -> list[str]:
    """A name for each finding, of letters, digits and hyphens, with its place where two would be alike."""
    names = ["f-" + re.sub(r"[^A-Za-z0-9]+", "-", each.id).strip("-") for each in findings]
    return [name if name not in names[:i] else f"{name}-{i}" for i, name in enumerate(names)]


def _row(summary: Summary, f: Finding, index: int, anchor: str, name: str) -> Row:
    tone = standing(f.verdict)
    weight = 0 if tone == "broken" else 1 if not f.ok else 1 + _WEIGHTS.index(tone)
    words = (("audited", f.audited), ("certified", f.certified), ("claimed", f.claimed))
    stated = f.evidence.get("stated") if f.kind == "claim" else None
    numbers = tuple((name, number(value)) for name, value in words if value is not None)
    return Row(
        f, anchor, index, tone, sign(f.verdict), weight,
        f"{f.evidence.get('location', '')}: {stated}" if isinstance(stated, str) else "",
        numbers, summary.command(f), shown(f.evidence), name,
    )  # fmt: skip
