"""What changed between runs, as a terminal shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpcheck.report.changes import Change, Comparison


def said(found: Comparison, before: str, after: str) -> str:
    """A line a change, then what was compared."""
    lines = [f"from {before} to {after}:"]
    lines += [f"  {_said(change)}" for change in found.changes] or ["  nothing changed"]
    compared = (
        f"{found.findings} findings are in both; {found.numbers} measured numbers, of which any is called changed by "
        f"chance with probability {found.level:g} at most"
    )
    return "\n".join([*lines, compared])


def _said(change: Change) -> str:
    if change.what == "finding":
        return f"{change.id}: {'new' if change.before is None else 'gone'}, {change.after or change.before}"
    values = " -> ".join(_text(value) for value in (change.before, change.after))
    if change.interval is None:
        return f"{change.id}: {change.what} {values}"
    if len(change.interval) == 4:
        low, high, other_low, other_high = map(_text, change.interval)
        within = f"the sets that each run chose show {low} to {high}, then {other_low} to {other_high}"
    else:
        within = f"by {_text(change.interval[0])} to {_text(change.interval[1])}"
    return f"{change.id}: {change.what} {values} ({within})"


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def listed(rows: Sequence[Mapping[str, Any]], width: int = 120) -> str:
    """A line a run or, where that is wider than the terminal, the command that made it on a line below."""
    if not rows:
        return "no run came to its end"
    names = ("run", "date", "commit", "findings", "unexpected", "changed", "seconds")
    cells = [[_cell(row[name]) for name in names] for row in rows]
    widths = [max(len(line[k]) for line in (list(names), *cells)) for k in range(len(names))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) for line in (list(names), *cells)]
    commands = ["command", *(_cell(row["command"]) for row in rows)]
    if max(len(f"{line}  {command}") for line, command in zip(lines, commands, strict=True)) <= width:
        return "\n".join(f"{line}  {command}" for line, command in zip(lines, commands, strict=True))
    below = [f"{line.rstrip()}\n    {command}" for line, command in zip(lines[1:], commands[1:], strict=True)]
    return "\n".join([lines[0].rstrip(), *below])


def _cell(value: Any) -> str:
    return "-" if value in (None, "") else str(value)
