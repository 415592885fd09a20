"""One report in the format asked for."""

from __future__ import annotations

import io
from typing import Any

from dpcheck import tables
from dpcheck.report.results import Results

_COLUMNS = ("id", "kind", "verdict", "expected", "ok", "audited", "certified", "claimed", "slack", "reason")


def rows(report: Results) -> list[dict[str, Any]]:
    """Return a row for each finding, for a table in any format."""
    return [{column: getattr(f, column) for column in _COLUMNS} for f in report.findings]


def render(report: Results, format: str, *, color: bool = False, width: int = 120, verbose: bool = False) -> str:
    """Return ``report`` as text in a format: "terminal", "json", "junit", "sarif", "html", or a table of its findings.

    color, width, verbose : for the terminal's format: its escapes, its columns, and a row for every finding
    """
    if format == "json":
        return report.to_json() + "\n"
    if format == "junit":
        from dpcheck.report.junit import to_junit

        return to_junit(report)
    if format == "sarif":
        from dpcheck.report.sarif import to_sarif

        return to_sarif(report)
    if format == "github":
        from dpcheck.report.github import to_github

        return to_github(report)
    if format == "html":
        from dpcheck.report.html import to_html

        return to_html(report)
    if format in tables.FORMATS:
        return tables.table(rows(report), format) + "\n"
    from rich.console import Console

    from dpcheck.report.terminal import print_report

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=color, width=width, highlight=False)
    print_report(report, console, verbose=verbose)
    return stream.getvalue()
