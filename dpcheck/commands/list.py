"""``dpcheck list``: what there is to check, prove, solve and audit."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dpcheck.commands import terminal
from dpcheck.commands.command import Command
from dpcheck.commands.options import LISTED, add_format


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument(
        "words", nargs="*", metavar="KIND|WORD",
        help="a kind, such as theorems, and words of the names and titles to show (default: a page of all names)",
    )  # fmt: skip
    add_format(parser, LISTED)


def run(options: Namespace) -> int:
    """Run ``dpcheck list``."""
    from dpcheck import tables
    from dpcheck.report.columns import listed
    from dpcheck.report.listing import chosen, listing, page

    found = listing()
    if options.words:
        found = chosen(found, options.words)
    elif options.format == "terminal":
        return terminal.say("\n".join(page(found, terminal.width())))
    if options.format == "json":
        return terminal.say_json({"schema": "dpcheck.list/1", **found})
    if options.format in tables.FORMATS:
        return terminal.say(
            tables.table([{"kind": kind, **each} for kind, rows in found.items() for each in rows], options.format)
        )
    lines = []
    for kind, entries in found.items():
        named = [(entry["id"], entry["title"]) for entry in entries]
        lines += [f"{kind}:", *listed(named, terminal.width(terminal.UNWRAPPED), longest=34)]
    return terminal.say("\n".join(lines))


LIST = Command(
    name="list",
    help="name theorems, algorithms, base solvers, problems, testers and data sets",
    examples=(
        "dpcheck list",
        "dpcheck list theorems xu2026",
        "dpcheck list problems auc",
        "dpcheck list --format csv",
    ),
    add_options=add_options,
    run=run,
)
