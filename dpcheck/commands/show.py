"""``dpcheck show``: a theorem in words, formulas and numbers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dpcheck.commands import inputs, terminal
from dpcheck.commands.command import Command
from dpcheck.errors import did_you_mean, one_line, require


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("theorem", metavar="THEOREM", help="such as yang2022.theorem_2a")
    parser.add_argument("values", nargs="*", metavar="NAME=NUMBER", help="put numbers in, such as n=10000 epsilon=1")
    parser.add_argument("--latex", action="store_true", help="the formulas as LaTeX")


def run(options: Namespace) -> int:
    """Run ``dpcheck show``."""
    from dpcheck.bounds.ledger import recorded
    from dpcheck.bounds.registry import carrying, theorem, theorems
    from dpcheck.report.claims import describe

    known = [known_theorem.id for known_theorem in theorems()]
    near = did_you_mean(options.theorem, known)
    must = "be one that `dpcheck list theorems` names (of a claim: `dpcheck prove CLAIM --explain`)"
    require(options.theorem in known, "theorem", must, f"{one_line(options.theorem)[:150]}{near}")
    statement = theorem(options.theorem)
    if options.latex:
        return terminal.say(statement.to_latex())
    decided = [
        (claim, recorded().get(claim.id, {}).get("verdict", "not decided yet")) for claim in carrying(statement.id)
    ]
    return terminal.say(describe(statement, inputs.numbers(options.values, "values"), decided))


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
