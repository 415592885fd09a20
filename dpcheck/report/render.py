"""One report in the format asked for."""

from __future__ import annotations

import io

from dpcheck.results import Results


def render(report: Results, format: str, *, color: bool = False, width: int = 120, verbose: bool = False) -> str:
    """Return ``report`` as text in a format: "terminal", "json", "junit", "sarif" or "html".

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
    if format == "html":
        from dpcheck.report.html import to_html

        return to_html(report)
    from rich.console import Console

    from dpcheck.report.terminal import print_report

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=color, width=width, highlight=False)
    print_report(report, console, verbose=verbose)
    return stream.getvalue()
