"""One report in the format asked for."""

from __future__ import annotations

import io

from dpcheck.results import Results


def render(report: Results, format: str, *, color: bool = False) -> str:
    """Return ``report`` as text in a format: "terminal", "json", "junit", "sarif" or "html"."""
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
    width = None if color else 140
    console = Console(file=stream, force_terminal=color, width=width or Console().width, highlight=False)
    print_report(report, console)
    return stream.getvalue()
