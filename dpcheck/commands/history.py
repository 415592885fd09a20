"""``dpcheck history``: the runs that a store keeps."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from dpcheck.commands import terminal
from dpcheck.commands.command import LISTED, Command, add_format
from dpcheck.shown import TABLE_FORMATS, table


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("folder", metavar="FOLDER", help="where check, audit or measure kept their work")
    add_format(parser, LISTED)


def run(options: Namespace) -> int:
    """Run ``dpcheck history``."""
    from dpcheck.report.history import history

    rows = history(options.folder)
    if options.format == "json":
        return terminal.say_json({"schema": "dpcheck.history/1", "runs": rows})
    if options.format in TABLE_FORMATS:
        return terminal.say(table(rows, options.format))
    return terminal.say(runs_text(rows, terminal.width(terminal.UNWRAPPED)))


def runs_text(rows: Sequence[Mapping[str, Any]], width: int = 120) -> str:
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


HISTORY = Command(
    name="history",
    help="list the runs that a store keeps, and how much changed between them",
    examples=("dpcheck history runs",),
    add_options=add_options,
    run=run,
)
