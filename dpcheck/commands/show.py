"""``dpcheck show``: a theorem in words, formulas and numbers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dpcheck import inputs, terminal
from dpcheck.commands.command import Command


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("theorem", metavar="THEOREM", help="such as yang2022.theorem_2a")
    parser.add_argument("values", nargs="*", metavar="NAME=NUMBER", help="put numbers in, such as n=10000 epsilon=1")
    parser.add_argument("--latex", action="store_true", help="the formulas as LaTeX")


def run(options: Namespace) -> int:
    """Run ``dpcheck show``."""
    from dpcheck.bounds.registry import theorem
    from dpcheck.report.theorem import describe

    statement = theorem(options.theorem)
    if options.latex:
        return terminal.say(statement.to_latex())
    return terminal.say(describe(statement, inputs.numbers(options.values, "values")))


SHOW = Command(
    name="show",
    help="show a theorem: assumptions, schedule, noise, bound, rate",
    examples=(
        "dpcheck show yang2022.theorem_2a",
        "dpcheck show yang2022.theorem_1 n=10000 epsilon=0.5 delta=1e-8 T=100 G_w=1 G_v=2",
        "dpcheck show yang2022.theorem_2a --latex",
    ),
    add_options=add_options,
    run=run,
)
