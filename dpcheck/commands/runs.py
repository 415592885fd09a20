"""``dpcheck reproduce``, ``report``, ``history`` and ``compare``: published tables run again, and what runs left."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dpcheck.commands import terminal
from dpcheck.commands.command import (
    LISTED,
    Command,
    Picture,
    add_format,
    add_outputs,
    add_shared,
    at_work,
    deliver,
)
from dpcheck.commands.files import File
from dpcheck.errors import InputError, require
from dpcheck.reading import text_of, within
from dpcheck.shown import TABLE_FORMATS, table

if TYPE_CHECKING:
    from dpcheck.report.history import Named


def _reproduce_options(parser: ArgumentParser) -> None:
    parser.add_argument("experiment", type=File.NONE, nargs="?", metavar="EXPERIMENT", help="such as xu2026.table_2")
    parser.add_argument(
        "--only",
        type=File.NONE,
        metavar="CELLS",
        help="such as ijcnn1,epsilon=1: values of the table's keys; those of one key add up",
    )
    parser.add_argument("--seeds", type=int, help="runs of each cell with each noise (default 5)")
    parser.add_argument(
        "--store",
        type=File.STORE,
        metavar="FOLDER",
        help="keep each run in FOLDER as it comes; the same command goes on from there",
    )
    add_shared(parser, "jobs")
    parser.add_argument("--plot", type=File.WRITTEN, metavar="FILE", help="write the table or figure as a picture")
    add_shared(parser, "backend", "scheduler")
    add_format(parser, LISTED)


def _reproduce(options: Namespace) -> int:
    from dpcheck.experiments import find
    from dpcheck.experiments.page import listed, text
    from dpcheck.experiments.picture import draw
    from dpcheck.experiments.runner import chosen, kept_controls, run_all, trials

    if options.experiment is None:
        for name in ("only", "seeds", "store", "plot", "jobs", "backend", "scheduler"):
            require(getattr(options, name) is None, f"--{name}", "come with an experiment", getattr(options, name))
        return terminal.say(listed(options.format, terminal.width(terminal.UNWRAPPED)))
    experiment = find(options.experiment)
    picture = Picture(options.plot)
    asked = trials(experiment, chosen(experiment, options.only), options.seeds)
    with at_work(options) as (workers, watch):
        results = run_all(experiment, asked, folder=options.store, jobs=options.jobs, executor=workers, watch=watch)
    code = terminal.say(text(experiment, [*results, *kept_controls(experiment, asked)], options.format))
    picture.save(lambda: draw(experiment, results))
    return code


REPRODUCE = Command(
    name="reproduce",
    help="run a published table or figure again: published beside measured, with its certified epsilon",
    examples=(
        "dpcheck reproduce",
        "dpcheck reproduce xu2026.table_2 --store runs",
        "dpcheck reproduce yang2022.table_2 --only ijcnn1,epsilon=1 --format markdown",
        "dpcheck reproduce xu2026.figure_1 --backend processes --plot paths.png",
    ),
    add_options=_reproduce_options,
    run=_reproduce,
    further="without a name: list the tables and figures that can be run, and how much of each is kept in the package",
)


def _report_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", type=File.READ, metavar="REPORT.json|EXPERIMENT",
        help="written by `dpcheck check --json-output`, or a name of `dpcheck reproduce`",
    )  # fmt: skip
    add_outputs(parser)


def _report(options: Namespace) -> int:
    from dpcheck.algorithms.registry import titles
    from dpcheck.experiments import NAMES
    from dpcheck.report.findings import Report
    from dpcheck.report.results import Catalogue

    if options.file in NAMES:
        return _report_kept(options)
    with within(options.file):
        report = Report.from_json(text_of(options.file, "REPORT.json"), Catalogue(*titles()))
        require(bool(report.findings), "REPORT.json", "hold findings, of which to say something", "none")
    return deliver(report, options)


def _report_kept(options: Namespace) -> int:
    """Show the table of the runs that come with the package."""
    from dpcheck.experiments import find
    from dpcheck.experiments.page import text
    from dpcheck.experiments.runner import kept_runs
    from dpcheck.running.files import write_text

    experiment = find(options.file)
    require(options.format in LISTED, "--format", f"be one of {', '.join(LISTED)} for kept runs", options.format)
    shown = text(experiment, kept_runs(experiment), options.format)
    if options.output:
        write_text(options.output, f"{shown}\n")
        return 0
    return terminal.say(shown)


REPORT = Command(
    name="report",
    help="turn a JSON report, or the kept runs of an experiment, into another format",
    examples=(
        "dpcheck report report.json --verbose",
        "dpcheck report report.json --format junit --output report.xml",
        "dpcheck report report.json --explain privatediff.as_printed.transcript",
        "dpcheck report xu2026.table_2 --format latex    # the kept runs of `dpcheck reproduce`",
    ),
    add_options=_report_options,
    run=_report,
)


def _history_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=File.STORE, metavar="FOLDER", help="where check, audit or measure kept their work"
    )
    add_format(parser, LISTED)


def _history(options: Namespace) -> int:
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
    add_options=_history_options,
    run=_history,
)


def _compare_options(parser: ArgumentParser) -> None:
    for name in ("before", "after"):
        parser.add_argument(
            name, type=File.READ, metavar=name.upper(),
            help="REPORT.json, a baseline, or a run in a store: FOLDER (its last), FOLDER:NUMBER or FOLDER:COMMIT",
        )  # fmt: skip
    add_format(parser, ("terminal", "json", "markdown"))


def _named(text: str) -> Named:
    """Return the report that an argument names, or the known findings of a baseline as one."""
    from dpcheck.commands.baseline import Baseline
    from dpcheck.report.history import Named, find

    try:
        return find(text)
    except InputError:
        with suppress(InputError):
            return Named(text, Baseline.read(text).report)
        raise


def _compare(options: Namespace) -> int:
    from dpcheck.report.history import comment, compare

    before, after = _named(options.before), _named(options.after)
    comparison = compare(before.report, after.report)
    if options.format == "json":
        terminal.say_json({"before": before.name, "after": after.name, **comparison.to_dict()})
    elif options.format == "markdown":
        terminal.say(comment(before.report, after.report))
    else:
        terminal.say(f"from {before.name} to {after.name}:\n{comparison}")
    return int(bool(comparison.changes))


COMPARE = Command(
    name="compare",
    help="say what changed between two runs, and which numbers moved further than chance moves them",
    examples=(
        "dpcheck compare before.json after.json",
        "dpcheck compare runs:1 runs",
        "dpcheck compare known.json after.json --format markdown    # a comment for a pull request",
        "dpcheck compare runs:3f2a9c1 runs:e84d07b    # what two commits found",
    ),
    add_options=_compare_options,
    run=_compare,
    further=(
        "exit code 0 if nothing changed, 1 if a verdict changed, a finding came or went, or a number moved beyond\n"
        "chance (error 5 % over all numbers together)"
    ),
)
