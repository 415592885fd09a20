# PYTHON_ARGCOMPLETE_OK
"""The command line: what can be asked, and the exit code of the answer."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from dpcheck import __version__, certify_options
from dpcheck.cli_examples import epilog
from dpcheck.completion import complete
from dpcheck.tables import FORMATS as TABLES

FORMATS = ("terminal", "json", "junit", "sarif", "html", "github")
_RUNS_OTHERS_CODE = ("audit", "check", "prove")
_INTERRUPTED = 130
_LONGEST = 300  # letters of an error
_SEED = "all randomness follows from it (default 0)"
EXIT_CODES = """\
exit codes: 0 every verdict is the expected one, 1 a guarantee is violated (or undecided, where there
is --fail-on inconclusive), 2 wrong usage or input, 3 internal error, 130 interrupted"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    if arguments is not None:
        return _run(_parse(arguments))
    options = _parse(sys.argv[1:])
    if options.command not in _RUNS_OTHERS_CODE:
        code = _run(options)
        if code == _INTERRUPTED:  # without waiting for threads that are at work
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError, AttributeError):
                    stream.flush()
            os._exit(code)
        return code
    from dpcheck.errors import InputError
    from dpcheck.processes import supervised

    try:
        return supervised(lambda: _run(options))
    except InputError as error:
        print(f"dpcheck: error: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    """Carry out what was asked, and say what went wrong."""
    for stream in (sys.stdout, sys.stderr):  # a terminal without our signs is no reason to fail
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        from dpcheck import commands  # here, so that --help waits for no library

        return commands.run(options)
    except KeyboardInterrupt:
        print("dpcheck: interrupted; no result was written", file=sys.stderr)
        return _INTERRUPTED
    except BaseException as error:  # of other people's code, too: none of them may leave with an exit code of its own
        from dpcheck.errors import InputError

        if isinstance(error, InputError | MemoryError):
            said = f"the work must fit into memory: {error}" if isinstance(error, MemoryError) else error
            print(f"dpcheck: error: {said}", file=sys.stderr)
            return 2
        import traceback

        traceback.print_exc()
        print(f"dpcheck {__version__}: internal error, please report it", file=sys.stderr)
        return 3


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; options may stand before, between and after what else a command takes."""
    parser, commands = _parsers()
    complete(parser, commands)
    name, *rest = arguments or ["--help"]
    if name not in commands:
        near = difflib.get_close_matches(name, commands, 1)
        if near:
            parser.error(f"unknown command {name}: did you mean dpcheck {near[0]}?")
        return parser.parse_args([name, *rest])  # which knows --help and --version, and what is wrong with the rest
    options = commands[name].parse_intermixed_args(rest, argparse.Namespace(command=name))
    if name == "audit":
        _require_one_or_all(commands[name], options)
    return options


def _require_one_or_all(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Require data and a claim of one mechanism; a file of mechanisms has them."""
    if options.all:
        if options.mechanism is not None:
            parser.error("argument MODULE:FUNCTION: not allowed with argument --all")
        return
    given = {
        "MODULE:FUNCTION": options.mechanism, "--data": options.data, "--neighbour": options.neighbour,
        "--epsilon or --claim": options.claim if options.epsilon is None else "given",
    }  # fmt: skip
    missing = ", ".join(name for name, value in given.items() if value is None)
    if missing:
        other = "" if options.mechanism else "; or --all"
        parser.error(f"the following arguments are required: {missing}{other}")


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the whole command line, and the part of each command."""
    parser = _Parser(
        prog="dpcheck",
        description="Checks differentially private optimisation: the published guarantee, its derivation, "
        "the algorithm, and the privacy and rate it delivers.",
        epilog=f"examples:\n  dpcheck check privatediff\n  dpcheck prove 003:Thm5 --explain\n"
        f"  dpcheck check --help    # each command has examples of its own\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"dpcheck {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, help: str, further: str = "") -> argparse.ArgumentParser:
        return subparsers.add_parser(
            name, help=help, description=f"{help}\n\n{further}".strip(), epilog=f"{epilog(name)}\n\n{EXIT_CODES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip

    check = command(
        "check", "check algorithms end to end: dpcheck's own on bundled real data, or one of yours",
    )  # fmt: skip
    check.add_argument(
        "names", nargs="*", metavar="NAME|FILE.py",
        help="algorithms by name, or files that declare them (default: all of dpcheck's own; see `dpcheck list`)",
    )  # fmt: skip
    check.add_argument(
        "--profile",
        choices=("quick", "full"),
        default="quick",
        help="a minute or two an algorithm, or the long experiments too",
    )
    check.add_argument("--seed", type=int, default=0, help=_SEED)
    check.add_argument("--jobs", type=int, help="workers (default: one a core); results do not depend on it")
    _add_store(check)
    _add_backend(check)
    _add_outputs(check)

    lister = command("list", "list theorems, algorithms, base solvers, problems, testers and data sets")
    _add_format(lister, ("terminal", "json", *TABLES))

    show = command("show", "show a theorem: assumptions, schedule, noise, bound, rate")
    show.add_argument("theorem", metavar="THEOREM", help="such as yang2022.theorem_2a")
    show.add_argument("values", nargs="*", metavar="NAME=NUMBER", help="put numbers in, such as n=10000 epsilon=1")
    show.add_argument("--latex", action="store_true", help="the formulas as LaTeX")

    prove = command(
        "prove", "decide the papers' claims, with evidence",
        "ids of claims: Z.. zhang2022, Y.. yang2022, 002:.. xu2026, 003:.. and 004:.. zhang2025 (main text and\n"
        "version with proofs); after the colon stands the place in the paper",
    )  # fmt: skip
    prove.add_argument(
        "target", nargs="*", metavar="PAPER|CLAIM|THEOREM|WORD|FILE.py",
        help="such as yang2022, Y17, yang2022.theorem_2a, words of a statement, or a file of your own that states "
        "claims (default: all)",
    )  # fmt: skip
    prove.add_argument("--explain", action="store_true", help="show every step, in plain text and LaTeX")
    prove.add_argument("--jobs", type=int, help="processes (default: one a core)")
    prove.add_argument("--seconds", type=float, default=60.0, help="time for one claim (default 60)")
    prove.add_argument("--export-coq", metavar="FOLDER", help="write every claim's steps as theorems of Coq")
    _add_format(prove, ("terminal", "json", *TABLES))

    audit = command("audit", "audit a mechanism of your own: bound its epsilon from below")
    audit.add_argument("mechanism", nargs="?", metavar="MODULE:FUNCTION", help="(dataset, rng) -> number or array")
    audit.add_argument(
        "--all", nargs="?", const="pyproject.toml", metavar="FILE.toml",
        help="audit every mechanism of [tool.dpcheck] in FILE.toml (default pyproject.toml) in place of one",
    )  # fmt: skip
    audit.add_argument("--data", help="dataset: JSON, or a .npy, .csv or .json file")
    audit.add_argument("--neighbour", help="the neighbouring dataset, likewise")
    claimed = audit.add_mutually_exclusive_group()
    claimed.add_argument("--epsilon", type=float, help="claimed epsilon (natural log)")
    claimed.add_argument("--claim", metavar="MODULE:NAME", help="privacy events or a curve, claimed at every delta")
    audit.add_argument("--delta", type=float, default=0.0, help="claimed delta (default 0)")
    audit.add_argument("--trials", type=int, default=100_000, help="runs a dataset (default 100000)")
    audit.add_argument("--confidence", type=float, default=0.95, help="one-sided (default 0.95)")
    audit.add_argument("--seed", type=int, default=0, help=_SEED)
    audit.add_argument("--unseeded", action="store_true", help="the function's randomness is its own, not rng's")
    audit.add_argument("--jobs", type=int, help="processes (default 1)")
    audit.add_argument(
        "--isolate", action="store_true", help="run the function apart: it cannot print, start processes or run on"
    )
    audit.add_argument("--call-seconds", type=float, help="longest call of the function, with --isolate (default 10)")
    audit.add_argument("--megabytes", type=float, help="memory that it may use, with --isolate (default 2048)")
    audit.add_argument("--vectorized", action="store_true", help="the function is (dataset, rng, size) -> array")
    audit.add_argument("--sequential", action="store_true", help="stop as soon as the evidence is in; may go on later")
    audit.add_argument("--earlier", metavar="AUDIT.json", help="a sequential audit to go on with")
    _add_store(audit)
    _add_backend(audit)
    audit.add_argument("--plot", metavar="FILE", help="write the score histograms as a picture")
    audit.add_argument("--baseline", metavar="FILE.json", help="findings that are known: the others and changes fail")
    audit.add_argument(
        "--write-baseline", metavar="FILE.json", help="write the findings as known ones, and exit with 0"
    )
    _add_outputs(audit)

    certify = command("certify", certify_options.HELP, certify_options.FURTHER)
    certify_options.add_options(certify)
    _add_format(certify)

    bugs = command("bugs", "bugs that broke privacy: list them, or audit some of them beside their fixed twins")
    bugs.add_argument(
        "names", nargs="*", metavar="BUG|FAMILY|all", help="to be explained and audited (default: list all)"
    )
    bugs.add_argument("--seed", type=int, default=0, help=_SEED)
    _add_format(bugs, ("terminal", "json", "html"))

    rate = command("rate", "fit a power law to measurements and judge claimed exponents")
    rate.add_argument(
        "file",
        metavar="FILE.csv",
        help="a column a quantity, a row a measurement; separated by comma, semicolon or tab",
    )
    rate.add_argument("values", nargs="*", metavar="NAME=NUMBER", help="constants of --theorem, such as G_w=1 G_v=1")
    rate.add_argument("--response", required=True, help="column that falls or grows")
    rate.add_argument("--factors", required=True, help="columns it depends on, comma-separated")
    rate.add_argument("--claimed", default="", help="exponents, such as n=-1/2,d=0.5 (with --theorem: of 0)")
    rate.add_argument("--confidence", type=float, default=0.95, help="of the intervals (default 0.95)")
    rate.add_argument("--margin", type=float, default=0.1, help="slower than claimed, and still good (default 0.1)")
    rate.add_argument("--equal", action="store_true", help="the claim is an equality, not an upper bound")
    rate.add_argument("--cluster", metavar="COLUMN", help="rows with one value share something, such as a data set")
    rate.add_argument("--seed", metavar="COLUMN", help="likewise, a random stream; give this or --cluster")
    rate.add_argument("--offset", metavar="FORMULA", help='a known factor of the law, such as "log(n)" or a column')
    rate.add_argument("--theorem", help="its bound at each row is the known factor, such as yang2022.theorem_2a")
    rate.add_argument("--plot", metavar="FILE", help="write the fit as a picture")
    _add_format(rate)
    _add_fail_on(rate)

    measure = command(
        "measure", "run an algorithm over a grid of settings, and write the table that `dpcheck rate` reads",
    )  # fmt: skip
    measure.add_argument("algorithm", metavar="ALGORITHM", help="see `dpcheck list`")
    measure.add_argument(
        "settings", nargs="*", metavar="NAME=VALUE",
        help="the same in all runs: n (default 1000) and d (default 3) of the data sets, and what is to stand in "
        "place of the theorem's schedule, such as steps=1000",
    )  # fmt: skip
    measure.add_argument(
        "--vary", action="append", default=[], metavar="NAME=LEVELS",
        help="n, d, epsilon, delta or a setting, over numbers such as n=1000,2000,4000, or over what doubles from the "
        "first to the last, such as n=2^10..2^14 or epsilon=.25..4; give it again for a grid",
    )  # fmt: skip
    measure.add_argument(
        "--seeds", type=int, default=20, help="runs of each setting, on data of their own (default 20)"
    )
    measure.add_argument("--problem", help="one that samples data sets (default: the algorithm's example)")
    measure.add_argument("--variant", help="as_printed or repaired (default: repaired where there is one)")
    measure.add_argument("--epsilon", type=float, help="natural log (default 1)")
    measure.add_argument("--delta", type=float, help="default 1/n^2")
    measure.add_argument("--jobs", type=int, help="workers (default: one a core); results do not depend on it")
    measure.add_argument(
        "--output", metavar="FILE.csv",
        help="write to FILE.csv instead of stdout, a row as soon as it is measured; rows that it has are not measured "
        "again, so that the same command goes on where it was stopped",
    )  # fmt: skip

    _add_store(measure)
    _add_backend(measure)

    reproduce = command(
        "reproduce", "run a published table or figure again: published beside measured, with its certified epsilon",
        "without a name: list the tables and figures that can be run, and how much of each is kept in the package",
    )  # fmt: skip
    reproduce.add_argument("experiment", nargs="?", metavar="EXPERIMENT", help="such as xu2026.table_2")
    reproduce.add_argument(
        "--only", metavar="CELLS", help="such as ijcnn1,epsilon=1: values of the table's keys; those of one key add up"
    )
    reproduce.add_argument("--seeds", type=int, help="runs of each cell with each noise (default 5)")
    reproduce.add_argument(
        "--store", metavar="FOLDER", help="keep each run in FOLDER as it comes; the same command goes on from there"
    )
    reproduce.add_argument("--jobs", type=int, help="workers (default: one a core); results do not depend on it")
    reproduce.add_argument("--plot", metavar="FILE", help="write the table or figure as a picture")
    _add_format(reproduce, ("terminal", "json", *TABLES))

    history = command("history", "list the runs that a store keeps, and how much changed between them")
    history.add_argument("folder", metavar="FOLDER", help="where check, audit or measure kept their work")
    _add_format(history, ("terminal", "json", *TABLES))

    compare = command(
        "compare", "say what changed between two runs, and which numbers moved further than chance moves them",
        "exit code 0 if nothing changed, 1 if a verdict changed, a finding came or went, or a number moved beyond\n"
        "chance (error 5 % over all numbers together)",
    )  # fmt: skip
    for name in ("before", "after"):
        compare.add_argument(
            name, metavar=name.upper(),
            help="REPORT.json, or a run in a store: FOLDER (its last), FOLDER:NUMBER or FOLDER:COMMIT",
        )  # fmt: skip
    _add_format(compare)

    solve = command("solve", "run an algorithm")
    solve.add_argument("algorithm", metavar="ALGORITHM", help="see `dpcheck list`")
    solve.add_argument(
        "settings", nargs="*", metavar="NAME=VALUE", help="in place of the theorem's schedule, such as steps=1000"
    )
    where = solve.add_mutually_exclusive_group()
    where.add_argument("--problem", help="see `dpcheck list` (default: the algorithm's example)")
    where.add_argument(
        "--like", metavar="EXPERIMENT:CELLS",
        help="data, problem and settings of an experiment's cell, such as yang2022.table_2:ijcnn1; what is given "
        "beside it stands in their place",
    )  # fmt: skip
    where.add_argument("--data", help="AUC maximisation on this data set with two classes, such as a9a (bundled)")
    solve.add_argument("--radius", type=float, help="of the domain, with --data (default 4)")
    solve.add_argument(
        "--positive-share", type=float,
        help="public share of positive labels, with --data (default 0.25)",
    )  # fmt: skip
    solve.add_argument("--variant", help="as_printed or repaired (default: repaired where there is one)")
    solve.add_argument("--epsilon", type=float, help="natural log (default 1)")
    solve.add_argument("--delta", type=float, help="default 1/n^2, or that of --like")
    solve.add_argument("--seed", type=int, default=0, help=_SEED)
    solve.add_argument("--plot", metavar="FILE", help="write the history as a picture")
    _add_format(solve)

    report = command("report", "turn a JSON report, or the kept runs of an experiment, into another format")
    report.add_argument(
        "file", metavar="REPORT.json|EXPERIMENT",
        help="written by `dpcheck check --json-output`, or a name of `dpcheck reproduce`",
    )  # fmt: skip
    _add_outputs(report)
    return parser, dict(subparsers.choices)


class _Parser(argparse.ArgumentParser):
    """A parser whose error is one line of a readable length, whatever was typed."""

    def error(self, message: str) -> NoReturn:
        from dpcheck.errors import one_line

        said = one_line(message)
        super().error(said if len(said) <= _LONGEST else f"{said[:_LONGEST]} ...")


def _add_format(parser: argparse.ArgumentParser, formats: Sequence[str] = ("terminal", "json")) -> None:
    parser.add_argument("--format", choices=formats, default="terminal", help="of what goes to stdout")


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    _add_format(parser, (*FORMATS, *TABLES))
    parser.add_argument("--output", metavar="FILE", help="write to FILE instead of stdout")
    for name in FORMATS[1:]:
        parser.add_argument(f"--{name}-output", metavar="FILE", help=f"also write {name} to FILE")
    parser.add_argument("--verbose", action="store_true", help="a row for every finding, and every measured table")
    parser.add_argument(
        "--explain", action="append", default=[], metavar="ID",
        help="print all that is known of this finding, in place of the report; may be given again",
    )  # fmt: skip
    _add_fail_on(parser)


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", metavar="FOLDER",
        help="keep what is measured in FOLDER as it comes, so that the same command goes on where it was stopped",
    )  # fmt: skip


def _add_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend", choices=("threads", "processes", "dask", "ray"),
        help="who does the work (default: threads for compiled code, else processes); results do not depend on it",
    )  # fmt: skip
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a cluster of Dask or Ray (default: this machine)")


def _add_fail_on(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fail-on", choices=("violated", "inconclusive"), default="violated", help="what makes the exit code 1"
    )
