"""The report for a person at a terminal: the result on top and again last, what fails first, the rest in counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from dpcheck.report.columns import grid, paragraph, say
from dpcheck.report.summary import KINDS, Summary
from dpcheck.report.verdicts import colour, sign, standing
from dpcheck.results import Finding, Results

_STACKED = "    "
_SANDWICH = ("", "audited", "", "certified", "", "claimed", "slack", "family", "finding")


def print_report(report: Results, console: Console, *, verbose: bool = False) -> None:
    """Print what was found: the summary, what changed, what fails, the sandwich, the rest; the summary again.

    verbose : a row for every finding, what holds too, and every measured table
    """
    summary = Summary(report)
    paragraph(
        console, f"dpcheck {report.version}  {summary.title}  profile {report.profile}, seed {report.seed}, "
        f"{report.seconds:.0f} s", style="bold",
    )  # fmt: skip
    for title in summary.papers.values():
        paragraph(console, title, style="dim")
    _summary(summary, console)
    _blocks("Not as expected", summary.changed, summary, console)
    _blocks("What fails, as expected", [f for f in summary.broken if f.ok], summary, console)
    _sandwiches([f for variant in summary.variants for f in variant.findings], console)
    rest = [f for f in report.findings if f.ok and standing(f.verdict) != "broken"]
    if verbose:
        _blocks("What holds, holds on a condition, or is undecided", rest, summary, console)
        for title, rows in report.tables.items():
            _heading(console, title)
            _table(rows, console)
    else:
        open_ = [f for f in rest if standing(f.verdict) != "good" and f.kind != "privacy"]
        _rows("What holds on a condition, or is undecided", open_, summary, console)
        _folded("What holds", [f for f in rest if standing(f.verdict) == "good"], console)
        tables = f", and {len(report.tables)} measured tables" if report.tables else ""
        say(console, "")
        paragraph(console, f"--verbose prints a row for each finding{tables}.", style="dim")
    _summary(summary, console)


def _summary(summary: Summary, console: Console) -> None:
    """The two statements, apart: what was found, and whether that was expected."""
    say(console, "")
    for number, (words, broken) in enumerate(summary.sentences):
        style = colour("violated") if broken else colour("consistent") if summary.holds else ""
        paragraph(console, words, style=style, first=" " * 12 if number else "Result:     ")
    counts = ", ".join(f"{count} {word}" for word, count in summary.totals.items())
    paragraph(
        console, f"{counts}. Consistent means that no violation was found, not that none exists.", style="dim",
        first=" " * 12,
    )  # fmt: skip
    paragraph(console, summary.badge, style="bold yellow" if summary.changed else "green", first="Regression: ")


def _heading(console: Console, words: str) -> None:
    say(console, "")
    paragraph(console, words, style="bold")


def _blocks(heading: str, findings: Iterable[Finding], summary: Summary, console: Console) -> None:
    """Print findings with all that is said of each: verdict and id, subject, reason, place, command."""
    for number, f in enumerate(findings):
        if number == 0:
            _heading(console, heading)
        word, id = Text.assemble(_word(f), _surprise(f)), Text(f.id, "bold")
        if len(word) + len(id) + 2 <= console.width:
            say(console, word.append("  ").append(id))
        else:
            say(console, word)
            say(console, Text(_STACKED).append(id))
        paragraph(console, f.subject, first=_STACKED)
        paragraph(console, f.reason, first=_STACKED)
        if not f.ok and f.place:
            say(console, Text(f"{_STACKED}in {f.place}", "dim"))
        say(console, Text(_STACKED + summary.command(f), "cyan"))


def _rows(heading: str, findings: Sequence[Finding], summary: Summary, console: Console) -> None:
    """Print findings in a row each: verdict, the command that explains it, what it is about."""
    if not findings:
        return
    _heading(console, heading)
    for group in ([f for f in findings if f.kind == "claim"], [f for f in findings if f.kind != "claim"]):
        rows = [(_word(f), _topic(f), Text(summary.command(f), "cyan")) for f in group]
        if rows and grid(console, ("", "", ""), rows, right=(False, False, False)):
            continue
        for word, topic, command in rows:
            line = Text.assemble(word, "  ", topic)
            alone = len(line) + 2 + len(command) > console.width
            if len(line) <= console.width:
                say(console, line if alone else line.append("  ").append(command))
            else:
                say(console, word)
                paragraph(console, topic, first=_STACKED)
            if alone:
                say(console, Text(_STACKED).append(command))


def _topic(finding: Finding) -> str:
    """What a row is about, in short: the place of a claim in its paper, the subject of any other finding."""
    return finding.subject.partition(": ")[0] if finding.kind == "claim" else finding.subject


def _folded(heading: str, findings: Sequence[Finding], console: Console) -> None:
    """Print how many findings hold, a row a kind."""
    if not findings:
        return
    _heading(console, heading)
    kinds = [kind for kind in KINDS if any(f.kind == kind for f in findings)]
    kinds += sorted({f.kind for f in findings} - {*KINDS})
    for kind in kinds:
        words = [f.verdict for f in findings if f.kind == kind]
        counts = ", ".join(f"{words.count(word)} {word}" for word in sorted(set(words)))
        say(console, Text.assemble(("✓ ", colour("consistent")), f"{KINDS.get(kind, kind):<15} {counts}"))


def _sandwiches(findings: list[Finding], console: Console) -> None:
    """Print audited, certified and claimed epsilon of each finding about privacy, in a row each."""
    if not findings:
        return
    _heading(console, "Privacy: audited lower bound <= certified epsilon <= claimed epsilon")
    for name, group in by_algorithm(findings):
        if name:
            say(console, Text(name, "bold"))
        rows = [_sandwich(f) for f in group]
        if not grid(console, _SANDWICH, rows, right=(False, True, False, True, False, True, True, True, False)):
            for f in group:
                say(console, Text.assemble(_word(f), "  ", f.id))
                say(console, _in_words(f))


def _sandwich(f: Finding) -> tuple[str | Text, ...]:
    return (
        _word(f), number(f.audited), _order(f.audited, f.certified), number(f.certified),
        _order(f.certified, f.claimed), number(f.claimed), "" if f.slack is None else f"{f.slack:.2f}x",
        number(_family(f)), f.id,
    )  # fmt: skip


def _in_words(f: Finding) -> Text:
    """Write a finding's numbers on a line: audited 0.1 <= certified 1 <= claimed 1."""
    line, before = Text(_STACKED), None
    for name, value in (("audited", f.audited), ("certified", f.certified), ("claimed", f.claimed)):
        if value is not None:
            line.append(" ").append(_order(before, value)).append(" " if before is not None else "")
            line.append(f"{name} {number(value)}")
            before = value
    further = [] if f.slack is None else [f"slack {f.slack:.2f}x"]
    if family := _family(f):
        further.append(f"family {number(family)}")
    return line.append(f"  ({', '.join(further)})" if further else "")


def _family(finding: Finding) -> float | None:
    found: float | None = finding.evidence.get("within the claimed family", {}).get("epsilon")
    return found


def by_algorithm(findings: list[Finding]) -> list[tuple[str, list[Finding]]]:
    """Group findings about privacy, each with its algorithm's name; one group without, if there is but one."""
    groups: dict[str, list[Finding]] = {}
    for f in findings:
        groups.setdefault(f.id.split(".", 1)[0], []).append(f)
    return [*groups.items()] if len(groups) > 1 else [("", findings)]


def _order(left: float | None, right: float | None) -> Text:
    if left is None or right is None:
        return Text()
    return Text("<=") if left <= right else Text(">", colour("violated"))


def _table(rows: list[dict[str, Any]], console: Console) -> None:
    """Print a measured table in columns, or a row after the other where they are wider than the terminal."""
    shown = [[cell if isinstance(cell, str) else number(cell) for cell in row.values()] for row in rows]
    right = [not isinstance(cell, str) for cell in rows[0].values()]
    if not grid(console, list(rows[0]), shown, right=right):
        for row, cells in zip(rows, shown, strict=True):
            said = "  ".join(f"{name} {cell}" for name, cell in zip(row, cells, strict=True) if cell)
            paragraph(console, said, rest=_STACKED)


def number(value: float | int | None) -> str:
    """Print a figure for people: three or four digits, empty for None."""
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    if value != 0 and (abs(value) < 1e-3 or abs(value) >= 1e5):
        return f"{value:.2e}"
    return f"{value:.4g}" if abs(value) >= 1 else f"{value:.3f}"


def _word(finding: Finding) -> Text:
    """The verdict with its sign, coloured by what it says of the guarantee, whatever was expected."""
    return Text(f"{sign(finding.verdict)} {finding.verdict}", colour(finding.verdict))


def _surprise(finding: Finding) -> Text:
    return Text() if finding.ok else Text(f", {finding.surprise}", "bold yellow")
