"""The report for a person at a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpcheck.results import BROKEN, Finding, Results

_GOOD = {"consistent", "proved", "supported"}
_HEADINGS = {
    "privacy": "Privacy:  audited lower bound  <=  certified epsilon  <=  claimed epsilon",
    "utility": "Utility",
    "rate": "Rates and bounds",
    "inside": "Inside a run",
    "claim": "Claims of the paper",
}
_SECTION = {
    "noise": "inside", "sampling": "inside", "sensitivity": "inside", "feasibility": "inside", "bound": "rate",
    "schedule": "inside", "accounting": "inside", "stopped": "inside", "missing": "inside",
}  # fmt: skip


def print_report(report: Results, console: Console) -> None:
    """Print everything found, in plain words, the verdict last."""
    console.print(
        f"[bold]dpcheck {report.version}[/]  {', '.join(report.algorithms)}  "
        f"profile {report.profile}, seed {report.seed}, {report.seconds:.0f} s"
    )
    for section, heading in _HEADINGS.items():
        found = [f for f in report.findings if _SECTION.get(f.kind, f.kind) == section]
        if found:
            console.print(f"\n[bold]{heading}[/]")
            console.print(_sandwiches(found) if section == "privacy" else _rows(found))
    for title, rows in report.tables.items():
        console.print(f"\n[bold]{title}[/]")
        console.print(_table(rows))
    console.print()
    console.print(_verdict(report))


def _rows(findings: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, expand=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=2)
    table.add_column(overflow="fold", ratio=3)
    for finding in findings:
        table.add_row(_word(finding), finding.subject, Text(finding.reason, style="dim"))
    return table


def _sandwiches(findings: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading, justify in (
        ("verdict", "left"), ("what was released", "left"), ("audited", "right"), ("", "left"),
        ("certified", "right"), ("", "left"), ("claimed", "right"), ("slack", "right"), ("in its family", "right"),
    ):  # fmt: skip
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for name, group in by_algorithm(findings):
        if name:
            table.add_row("", Text(name, style="bold"))
        for f in group:
            family = f.evidence.get("within the claimed family", {}).get("epsilon")
            table.add_row(
                _word(f), f.subject, number(f.audited), _order(f.audited, f.certified), number(f.certified),
                _order(f.certified, f.claimed), number(f.claimed), "" if f.slack is None else f"{f.slack:.2f}x",
                number(family),
            )  # fmt: skip
    return table


def by_algorithm(findings: list[Finding]) -> list[tuple[str, list[Finding]]]:
    """Group findings about privacy, each with its algorithm's name; one group without, if there is but one."""
    groups: dict[str, list[Finding]] = {}
    for f in findings:
        groups.setdefault(f.id.split(".", 1)[0], []).append(f)
    return [*groups.items()] if len(groups) > 1 else [("", findings)]


def _order(left: float | None, right: float | None) -> str:
    if left is None or right is None:
        return ""
    return "<=" if left <= right else "[red]>[/]"


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in rows[0]:
        table.add_column(heading, justify="left" if isinstance(rows[0][heading], str) else "right")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, str) else number(cell) for cell in row.values()))
    return table


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
    verdict = finding.verdict
    if not finding.ok:
        return Text(f"✗ {verdict}, {finding.surprise}", style="bold red")
    if verdict in _GOOD:
        return Text(f"✓ {verdict}", style="green")
    return Text(f"• {verdict}", style="yellow" if verdict in BROKEN else "cyan")


def _verdict(report: Results) -> RenderableType:
    counts: dict[str, int] = {}
    for finding in report.findings:
        counts[finding.verdict] = counts.get(finding.verdict, 0) + 1
    summary = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
    surprises = [f for f in report.findings if not f.ok]
    if not surprises:
        return Group(
            Text("Verdict: every finding is as expected.", style="bold green"),
            Text(f"{summary}. Consistent means that no violation was found, not that none exists."),
        )
    lines = [Text(f"Verdict: {len(surprises)} finding(s) are not as expected.", style="bold red")]
    for f in surprises:
        lines.append(Text(f"  {f.id}: {f.verdict}, {f.surprise}. {f.reason}"))
        if f.place:
            lines.append(Text(f"    in {f.place}", style="dim"))
    return Group(*lines, Text(summary))
