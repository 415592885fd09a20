"""``dpcheck history``: the runs that a store keeps."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dpcheck.commands import terminal
from dpcheck.commands.command import Command
from dpcheck.commands.options import LISTED, add_format


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("folder", metavar="FOLDER", help="where check, audit or measure kept their work")
    add_format(parser, LISTED)


def run(options: Namespace) -> int:
    """Run ``dpcheck history``."""
    from dpcheck import tables
    from dpcheck.report.comparison import listed
    from dpcheck.report.history import history

    rows = history(options.folder)
    if options.format == "json":
        return terminal.say_json({"schema": "dpcheck.history/1", "runs": rows})
    if options.format in tables.FORMATS:
        return terminal.say(tables.table(rows, options.format))
    return terminal.say(listed(rows, terminal.width(terminal.UNWRAPPED)))


HISTORY = Command(
    name="history",
    help="list the runs that a store keeps, and how much changed between them",
    examples=("dpcheck history runs",),
    add_options=add_options,
    run=run,
)
