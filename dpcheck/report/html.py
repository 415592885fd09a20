"""A report as a page: one file with everything in it, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpcheck.report.figures import RATES
from dpcheck.report.page.charts import HEIGHT, WIDTH, Chart, charts
from dpcheck.report.page.rows import Row, rows_of
from dpcheck.report.page.strips import Strips, exponents, sandwiches
from dpcheck.report.page.template import fill, part
from dpcheck.report.results import Results
from dpcheck.report.summary import Summary
from dpcheck.report.verdicts import sign, standing

_TITLES = {"privacy": "Privacy", "rate": "Rates and bounds", "claim": "Claims of the papers", "other": "Inside a run"}
_KINDS = {"privacy": "privacy", "claim": "claim", "rate": "rate", "bound": "rate"}
_INLINE = 300  # findings up to which the evidence stands in the page itself, which then shows it without a script
_SANDWICH = (
    "Each bar runs from the audited lower bound on epsilon to the certified upper bound; a guarantee holds where both "
    "lie left of the claim."
)


@dataclass(frozen=True)
class Group:
    """Findings under one heading."""

    title: str
    rows: list[Row]


@dataclass(frozen=True)
class Section:
    """A part of the page, which the contents name."""

    title: str
    anchor: str
    groups: list[Group]
    words: str = ""
    strips: tuple[Strips, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[tuple[str, list[dict[str, Any]]], ...] = ()

    @property
    def broken(self) -> int:
        """How many of its findings break a guarantee."""
        return sum(row.tone == "broken" for group in self.groups for row in group.rows)


def to_html(report: Results) -> str:
    """Return the page."""
    summary = Summary(report)
    rows = rows_of(summary)
    inline = len(rows) <= _INLINE
    return fill(
        "report.html", report=report, made=report.made, title=f"dpcheck: {summary.title}", heading=summary.title,
        papers=[f"{id}: {title}" if title else id for id, title in summary.papers.items()],
        result=summary.result, holds=summary.holds, badge=summary.badge if summary.expecting else "",
        changed=[row for row in rows if not row.finding.ok], rows=rows,
        tiles=[
            {"word": word, "count": count, "tone": standing(word), "sign": sign(word)}
            for word, count in summary.totals.items()
        ],
        sections=_sections(report, rows), stages=summary.stages, about=_about(report), inline=inline, width=WIDTH,
        height=HEIGHT, data=_packed(report, [] if inline else rows),
    )  # fmt: skip


def _sections(report: Results, rows: list[Row]) -> list[Section]:
    parts = {name: [row for row in rows if _KINDS.get(row.finding.kind, "other") == name] for name in _TITLES}
    several = len(report.algorithms) > 1
    drawn = [sandwiches(report.findings, name) for name in _first_names(parts["privacy"])]
    found = {
        "privacy": Section(
            _TITLES["privacy"], "privacy", _groups(parts["privacy"], several),
            _SANDWICH, tuple(each for each in drawn if each),
        ),
        "rate": Section(
            _TITLES["rate"], "rates", _groups(parts["rate"], several),
            strips=tuple(filter(None, [exponents(report.tables.get(RATES, []))])), charts=tuple(charts(report.tables)),
        ),
        "claim": Section(_TITLES["claim"], "claims", _groups(parts["claim"], True)),
        "other": Section(_TITLES["other"], "inside", _groups(parts["other"], several)),
    }  # fmt: skip
    sections = [each for each in found.values() if each.groups or each.strips or each.charts]
    tables = tuple((title, table) for title, table in report.tables.items() if table)
    return sections + ([Section("Tables", "tables", [], tables=tables)] if tables else [])


def _groups(rows: list[Row], several: bool) -> list[Group]:
    """The rows by algorithm or paper where there are several."""
    if not several:
        return [Group("", rows)] if rows else []
    return [Group(name, [row for row in rows if _first(row) == name]) for name in _first_names(rows)]


def _first_names(rows: Sequence[Row]) -> list[str]:
    """The algorithms or papers of these rows, those with a broken guarantee first."""
    names = dict.fromkeys(map(_first, rows))
    broken = {_first(row) for row in rows if row.tone == "broken"}
    return sorted(names, key=lambda name: name not in broken)


def _first(row: Row) -> str:
    return row.finding.id.split(".", 1)[0]


def _about(report: Results) -> list[tuple[str, str]]:
    """Return the date, command, versions, platform and seed that make the report again."""
    made = dict(report.made)
    order = ("date", "command", "platform", "python", "versions")
    found = [
        ("dpcheck", report.version), ("algorithms", ", ".join(map(str, report.algorithms))),
        ("profile", str(report.profile)), ("seed", str(report.seed)), ("time", f"{report.seconds:.0f} s"),
    ]  # fmt: skip
    return found + [(name, made.pop(name)) for name in order if name in made] + list(made.items())


def _packed(report: Results, rows: list[Row]) -> str:
    """The report and, for these rows, the evidence as the page shows it, for the reader's browser to unpack."""
    text = json.dumps({"report": json.loads(report.to_json()), "shown": [part("inside", row) for row in rows]})
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
