"""``dpcheck rate``: claimed exponents against the measurements in a file."""

from __future__ import annotations

import textwrap
from argparse import ArgumentParser, Namespace
from collections import Counter
from typing import TYPE_CHECKING

from dpcheck.commands import inputs, terminal
from dpcheck.commands.command import Command, Picture, add_format, add_shared
from dpcheck.commands.files import File
from dpcheck.errors import require
from dpcheck.reading import rows_of, text_of, within

if TYPE_CHECKING:
    import pandas as pd

    from dpcheck.audits.rate_plan import Plan
    from dpcheck.audits.rates import RateFit


def _options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=File.READ,
        metavar="FILE.csv",
        help="a column a quantity, a row a measurement; separated by comma, semicolon or tab",
    )
    parser.add_argument(
        "values", type=File.NONE, nargs="*", metavar="NAME=NUMBER", help="constants of --theorem, such as G_w=1 G_v=1"
    )
    parser.add_argument("--response", type=File.NONE, required=True, help="column that falls or grows")
    parser.add_argument("--factors", type=File.NONE, required=True, help="columns it depends on: n,d or n d")
    parser.add_argument(
        "--claimed", type=File.NONE, default="", help="exponents, such as n=-1/2,d=0.5 (with --theorem: of 0)"
    )
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals (default 0.95)")
    parser.add_argument("--margin", type=float, default=0.1, help="slower than claimed, and still good (default 0.1)")
    parser.add_argument("--equal", action="store_true", help="the claim is an equality, not an upper bound")
    parser.add_argument(
        "--cluster", type=File.NONE, metavar="COLUMN", help="rows with one value share something, such as a data set"
    )
    parser.add_argument(
        "--seed", type=File.NONE, metavar="COLUMN", help="likewise, a random stream; give this or --cluster"
    )
    parser.add_argument(
        "--offset", type=File.NONE, metavar="FORMULA", help='a known factor of the law, such as "log(n)" or a column'
    )
    parser.add_argument(
        "--theorem", type=File.NONE, help="its bound at each row is the known factor, such as yang2022.theorem_2a"
    )
    parser.add_argument("--plan", action="store_true", help="say which sizes and runs would decide an undecided claim")
    parser.add_argument("--plot", type=File.WRITTEN, metavar="FILE", help="write the fit as a picture")
    add_format(parser)
    add_shared(parser, "fail-on")


def _run(options: Namespace) -> int:
    from dpcheck.audits.rates import fit_rate

    picture = Picture(options.plot)
    both = "since rows share one thing"
    require(not (options.cluster and options.seed), "--seed", f"be left out beside --cluster, {both}", options.seed)
    require(not (options.offset and options.theorem), "--offset", "be left out beside --theorem", options.offset)
    settings = [word for word in options.values if "=" in word]  # the others go on with --factors
    alone = "come with --theorem (exponents of --claimed stand between commas)"
    require(bool(options.theorem) or not settings, "settings", alone, " ".join(settings))
    frame = read_table(options.file)
    factors = inputs.parts(",".join([options.factors, *(word for word in options.values if word not in settings)]))
    claimed = inputs.exponents(options.claimed)
    if options.theorem:
        frame = with_bound(frame, options.theorem, inputs.numbers(settings, "settings"))
        claimed = claimed or dict.fromkeys(factors, 0.0)
    fit = fit_rate(
        frame, response=options.response, factors=factors, claimed=claimed, confidence=options.confidence,
        margin=options.margin, cluster=options.cluster or options.seed, offset=options.offset or options.theorem,
        equal=options.equal,
    )  # fmt: skip
    picture.save(fit.plot)
    plan = fit.plan() if options.plan else None
    if options.format == "json":
        planned = {} if plan is None else {"plan": plan.to_dict()}
        terminal.say_json({"schema": "dpcheck.rate/1", **fit.to_dict(), **planned})
    else:
        said = [summary(fit)]
        if plan is not None:
            said.append(planned_text(plan))
        elif fit.undecided:
            said.append("`--plan` says which sizes and runs would decide.")
        terminal.say_verdict(fit.verdict, "\n\n".join(said))
    failing = fit.verdict != "supported" if options.fail_on == "inconclusive" else fit.verdict == "contradicted"
    return int(failing)


_SEPARATORS = (",", ";", "\t")
_COMMENT = "#"


def read_table(file: str) -> pd.DataFrame:
    """Read a table of values apart by commas, semicolons or tabs, with ``#`` before comments; InputError else."""
    import pandas as pd

    with within(file):
        lines = [
            line for line in text_of(file, "FILE.csv").splitlines() if line.strip() and not line.startswith(_COMMENT)
        ]
        rows = rows_of("\n".join(lines), "FILE.csv", max(_SEPARATORS, key=lines[0].count) if lines else ",")
        require(len(rows) > 0, "FILE.csv", "be a table", "no line of names")
        names = [name.strip() for name in rows[0]]
        twice = [name for name, count in Counter(names).items() if count > 1]
        require(not twice, "FILE.csv", "name each column once", f"{', '.join(map(repr, twice))} twice")
        for number, row in enumerate(rows[1:]):
            require(len(row) == len(names), f"row {number} of FILE.csv", f"have {len(names)} values", len(row))
    columns = list(zip(*rows[1:], strict=True)) or [()] * len(names)
    return pd.DataFrame({name: _column(values) for name, values in zip(names, columns, strict=True)})


def with_bound(frame: pd.DataFrame, id: str, constants: dict[str, float]) -> pd.DataFrame:
    """Add a column ``id``: the theorem's bound, or its order without constants, at its columns and ``constants``."""
    from dpcheck.bounds.registry import theorem

    stated = theorem(id)
    named = [str(parameter.symbol) for parameter in stated.parameters]
    for name in constants:
        require(name in named, "settings", f"be parameters of {id} ({', '.join(named)})", name)
        require(name not in frame.columns, "settings", "leave out what is a column of the table", name)
    varied = [name for name in named if name in frame.columns]
    constant = {"constant": 1.0} if stated.bound_formula is None and stated.rate is not None else {}
    known: dict[tuple[float, ...], float] = {}
    for values in frame[varied].itertuples(index=False, name=None):
        if values not in known:
            row = {name: _plain(value, name) for name, value in zip(varied, values, strict=True)}
            known[values] = stated.bound(**row, **constants, **constant)
    return frame.assign(**{id: [known[values] for values in frame[varied].itertuples(index=False, name=None)]})


def _column(values: tuple[str, ...]) -> list[float] | list[str]:
    """Return the column's numbers, or its text as it is if not all are; nothing counts as a missing number."""
    try:
        return [float(value) if value.strip() else float("nan") for value in values]
    except ValueError:
        return list(values)


def _plain(value: object, name: str) -> float:
    require(isinstance(value, int | float), name, "be numeric", value)
    assert isinstance(value, int | float)
    return int(value) if float(value).is_integer() else float(value)


_WIDTH = 80


def summary(fit: RateFit) -> str:
    """The verdict's sentence, then a line a factor, and what the table counts as."""
    lines = textwrap.wrap(fit.reason, _WIDTH, break_long_words=False, break_on_hyphens=False)
    width = max(6, *map(len, fit.exponents))
    lines += ["", f"{'factor':<{width}}  exponent  {f'{fit.confidence:.0%} interval':<18}  claimed  verdict"]
    for name, (low, high) in fit.interval.items():
        claim = f"{fit.claimed[name]:7.4g}" if name in fit.claimed else f"{'-':>7}"
        interval = f"[{low:.3f}, {high:.3f}]"
        line = f"{name:<{width}}  {fit.exponents[name]:8.3f}  {interval:<18}  {claim}  {fit.by_factor.get(name, '-')}"
        lines.append(line.rstrip())
    shared = f", {fit.independent} independent by {fit.cluster}" if fit.cluster else ""
    known = f"; exponents beside {fit.offset}" if fit.offset else ""
    lines += ["", *textwrap.wrap(f"{fit.rows} rows{shared}{known}", _WIDTH)]
    return "\n".join(lines)


def planned_text(plan: Plan) -> str:
    """The plan's sentence, then a line or two a design."""
    lines = [plan.reason, *(f"- {design.told()}" for design in plan.designs)]
    return "\n".join(textwrap.fill(line, _WIDTH, subsequent_indent="  " * line.startswith("-")) for line in lines)


RATE = Command(
    name="rate",
    help="fit a power law to measurements and judge claimed exponents",
    examples=(
        "dpcheck rate gaps.csv --response gap --factors n --claimed n=-1/2",
        "dpcheck rate gaps.csv --response gap --factors n --claimed n=-1/2 --plan",
        "dpcheck rate gaps.csv --response gap --factors n,d --theorem yang2022.theorem_2a G_w=1 G_v=1",
    ),
    add_options=_options,
    run=_run,
)
