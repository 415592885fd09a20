"""``dpcheck rate``: claimed exponents against measurements."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dpcheck.commands import inputs, terminal
from dpcheck.commands.command import Command
from dpcheck.commands.options import add_fail_on, add_format
from dpcheck.commands.outputs import exit_code, require_picture, save_picture
from dpcheck.errors import require


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument(
        "file",
        metavar="FILE.csv",
        help="a column a quantity, a row a measurement; separated by comma, semicolon or tab",
    )
    parser.add_argument("values", nargs="*", metavar="NAME=NUMBER", help="constants of --theorem, such as G_w=1 G_v=1")
    parser.add_argument("--response", required=True, help="column that falls or grows")
    parser.add_argument("--factors", required=True, help="columns it depends on: n,d or n d")
    parser.add_argument("--claimed", default="", help="exponents, such as n=-1/2,d=0.5 (with --theorem: of 0)")
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals (default 0.95)")
    parser.add_argument("--margin", type=float, default=0.1, help="slower than claimed, and still good (default 0.1)")
    parser.add_argument("--equal", action="store_true", help="the claim is an equality, not an upper bound")
    parser.add_argument("--cluster", metavar="COLUMN", help="rows with one value share something, such as a data set")
    parser.add_argument("--seed", metavar="COLUMN", help="likewise, a random stream; give this or --cluster")
    parser.add_argument("--offset", metavar="FORMULA", help='a known factor of the law, such as "log(n)" or a column')
    parser.add_argument("--theorem", help="its bound at each row is the known factor, such as yang2022.theorem_2a")
    parser.add_argument("--plot", metavar="FILE", help="write the fit as a picture")
    add_format(parser)
    add_fail_on(parser)


def run(options: Namespace) -> int:
    """Run ``dpcheck rate``."""
    from dpcheck.audits.rates import fit_rate
    from dpcheck.commands import rate_files
    from dpcheck.report.rate import summary

    require_picture(options.plot)
    both = "since rows share one thing"
    require(not (options.cluster and options.seed), "--seed", f"be left out beside --cluster, {both}", options.seed)
    require(not (options.offset and options.theorem), "--offset", "be left out beside --theorem", options.offset)
    settings = [each for each in options.values if "=" in each]  # the others go on with --factors
    alone = "come with --theorem (exponents of --claimed stand between commas)"
    require(bool(options.theorem) or not settings, "settings", alone, " ".join(settings))
    frame = rate_files.read(options.file)
    factors = inputs.parts(",".join([options.factors, *(each for each in options.values if each not in settings)]))
    claimed = inputs.exponents(options.claimed)
    if options.theorem:
        frame = rate_files.with_bound(frame, options.theorem, inputs.numbers(settings, "settings"))
        claimed = claimed or dict.fromkeys(factors, 0.0)
    fit = fit_rate(
        frame, response=options.response, factors=factors, claimed=claimed, confidence=options.confidence,
        margin=options.margin, cluster=options.cluster or options.seed, offset=options.offset or options.theorem,
        equal=options.equal,
    )  # fmt: skip
    if options.plot:
        save_picture(fit.plot(), options.plot)
    if options.format == "json":
        terminal.say_json({"schema": "dpcheck.rate/1", **fit.to_dict()})
    else:
        terminal.say_verdict(fit.verdict, summary(fit))
    return exit_code(options, broken=fit.verdict == "contradicted", undecided=fit.verdict != "supported")


RATE = Command(
    name="rate",
    help="fit a power law to measurements and judge claimed exponents",
    examples=(
        "dpcheck rate gaps.csv --response gap --factors n --claimed n=-1/2",
        "dpcheck rate gaps.csv --response gap --factors n,d --theorem yang2022.theorem_2a G_w=1 G_v=1",
    ),
    add_options=add_options,
    run=run,
)
