"""Annotations that GitHub shows beside the lines of a pull request."""

from __future__ import annotations

from dpcheck.report.results import BROKEN, Finding, Results
from dpcheck.report.summary import Summary


def to_github(report: Results) -> str:
    """Return a workflow command a line: an error for what is new or changed, a notice for a known breach."""
    summary = Summary(report)
    shown = [f for f in report.findings if not f.ok or f.verdict in BROKEN]
    lines = [_command(f) for f in sorted(shown, key=lambda f: f.ok)]
    return (
        "\n".join([*lines, *map(_plain, summary.result), *[f"Regression: {summary.badge}"] * summary.expecting]) + "\n"
    )


def _command(f: Finding) -> str:
    file, _, line = (f.place or "").rpartition(":")
    where = f"file={_property(file)},line={line}," if file else ""
    surprise = "" if f.ok else f" ({f.surprise})"
    level = "notice" if f.ok else "error"
    title, said = f"dpcheck: {f.id}", f"{f.subject}: {f.verdict}{surprise}. {f.reason}"
    return f"::{level} {where}title={_property(title)}::{_text(said)}"


def _plain(line: str) -> str:
    """A line that is no workflow command, whatever a report says."""
    said = " ".join(line.split())
    return f"- {said}" if said.startswith(("::", "##[")) else said


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
