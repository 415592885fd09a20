"""``dpcheck report``: a report, or the kept runs of an experiment, in another format."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dpcheck.commands import inputs, terminal
from dpcheck.commands.command import LISTED, Command, add_outputs
from dpcheck.commands.outputs import deliver, require_writable
from dpcheck.commands.reproduce import experiment_text
from dpcheck.errors import require


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument(
        "file", metavar="REPORT.json|EXPERIMENT",
        help="written by `dpcheck check --json-output`, or a name of `dpcheck reproduce`",
    )  # fmt: skip
    add_outputs(parser)


def run(options: Namespace) -> int:
    """Run ``dpcheck report``."""
    from dpcheck.algorithms.registry import titles
    from dpcheck.experiments import NAMES
    from dpcheck.report.findings import Report
    from dpcheck.report.results import Catalogue

    require_writable(options)
    if options.file in NAMES:
        return _report_kept(options)
    report = Report.from_json(inputs.report(options.file), Catalogue(*titles()))
    require(bool(report.findings), "REPORT.json", "hold findings, of which to say something", "none")
    return deliver(report, options)


def _report_kept(options: Namespace) -> int:
    """Show the table of the runs that come with the package."""
    from dpcheck.experiments import find
    from dpcheck.experiments.runner import kept_runs
    from dpcheck.running.files import write_text

    experiment = find(options.file)
    require(options.format in LISTED, "--format", f"be one of {', '.join(LISTED)} for kept runs", options.format)
    text = experiment_text(experiment, kept_runs(experiment), options.format)
    if options.output:
        write_text(options.output, f"{text}\n")
        return 0
    return terminal.say(text)


REPORT = Command(
    name="report",
    help="turn a JSON report, or the kept runs of an experiment, into another format",
    examples=(
        "dpcheck report report.json --verbose",
        "dpcheck report report.json --format junit --output report.xml",
        "dpcheck report report.json --explain privatediff.as_printed.transcript",
        "dpcheck report xu2026.table_2 --format latex    # the kept runs of `dpcheck reproduce`",
    ),
    add_options=add_options,
    run=run,
)
