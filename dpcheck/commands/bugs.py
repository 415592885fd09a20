"""``dpcheck bugs``: bugs that broke privacy, beside their fixed twins."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dpcheck.commands import terminal
from dpcheck.commands.command import SEED, Command, add_format


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument(
        "names", nargs="*", metavar="BUG|FAMILY|all", help="to be explained and audited (default: list all)"
    )
    parser.add_argument("--seed", type=int, default=0, help=SEED)
    add_format(parser, ("terminal", "json", "html"))


def run(options: Namespace) -> int:
    """Run ``dpcheck bugs``."""
    from dpcheck.audits.bugs.bug import examine, find
    from dpcheck.report.bugs import explanation, listing, page

    bugs = find(options.names or ["all"])
    examinations = {}
    with terminal.progress() as watch:
        for done, bug in enumerate(bugs if options.names else []):
            watch("bugs", done, len(bugs))
            examinations[bug.id] = examine(bug, seed=options.seed)
    if options.format == "json":
        terminal.say_json(
            {"schema": "dpcheck.bugs/1", "bugs": [examinations.get(bug.id, bug).to_dict() for bug in bugs]}
        )
    elif options.format == "html":
        terminal.say(page(bugs, examinations).removesuffix("\n"))
    elif examinations:
        terminal.say("\n\n".join(explanation(examination, terminal.width()) for examination in examinations.values()))
    else:
        terminal.say(listing(bugs, terminal.width(terminal.UNWRAPPED)))
    return int(not all(examination.told_apart for examination in examinations.values()))


BUGS = Command(
    name="bugs",
    help="bugs that broke privacy: list them, or audit some of them beside their fixed twins",
    examples=(
        "dpcheck bugs",
        "dpcheck bugs lower-bound-twice",
        "dpcheck bugs all --format html > bugs.html",
    ),
    add_options=add_options,
    run=run,
)
