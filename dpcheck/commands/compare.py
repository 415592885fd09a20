"""``dpcheck compare``: what changed between two runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dpcheck.commands import terminal
from dpcheck.commands.command import Command
from dpcheck.commands.options import add_format


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    for name in ("before", "after"):
        parser.add_argument(
            name, metavar=name.upper(),
            help="REPORT.json, or a run in a store: FOLDER (its last), FOLDER:NUMBER or FOLDER:COMMIT",
        )  # fmt: skip
    add_format(parser)


def run(options: Namespace) -> int:
    """Run ``dpcheck compare``."""
    from dpcheck.report.changes import compare
    from dpcheck.report.comparison import said
    from dpcheck.report.history import find

    before, after = find(options.before), find(options.after)
    found = compare(before.report, after.report)
    if options.format == "json":
        terminal.say_json({"before": before.name, "after": after.name, **found.to_dict()})
    else:
        terminal.say(said(found, before.name, after.name))
    return int(bool(found.changes))


COMPARE = Command(
    name="compare",
    help="say what changed between two runs, and which numbers moved further than chance moves them",
    examples=(
        "dpcheck compare before.json after.json",
        "dpcheck compare runs:1 runs",
        "dpcheck compare runs:3f2a9c1 runs:e84d07b    # what two commits found",
    ),
    add_options=add_options,
    run=run,
    further=(
        "exit code 0 if nothing changed, 1 if a verdict changed, a finding came or went, or a number moved beyond\n"
        "chance (error 5 % over all numbers together)"
    ),
)
