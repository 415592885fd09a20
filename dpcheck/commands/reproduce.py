"""``dpcheck reproduce``: the papers' tables and figures run again, published beside measured."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcheck.commands import terminal
from dpcheck.commands.command import LISTED, Command, add_backend, add_format
from dpcheck.commands.outputs import chosen_executor, kept_when_interrupted, require_picture, save_picture
from dpcheck.errors import require
from dpcheck.shown import TABLE_FORMATS, table

if TYPE_CHECKING:
    from dpcheck.experiments.experiment import Experiment
    from dpcheck.experiments.runner import Result


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("experiment", nargs="?", metavar="EXPERIMENT", help="such as xu2026.table_2")
    parser.add_argument(
        "--only", metavar="CELLS", help="such as ijcnn1,epsilon=1: values of the table's keys; those of one key add up"
    )
    parser.add_argument("--seeds", type=int, help="runs of each cell with each noise (default 5)")
    parser.add_argument(
        "--store", metavar="FOLDER", help="keep each run in FOLDER as it comes; the same command goes on from there"
    )
    parser.add_argument("--jobs", type=int, help="workers (default: one a core); results do not depend on it")
    parser.add_argument("--plot", metavar="FILE", help="write the table or figure as a picture")
    add_backend(parser)
    add_format(parser, LISTED)


def run(options: Namespace) -> int:
    """Run ``dpcheck reproduce``: list the experiments, or run one."""
    from dpcheck.experiments import find
    from dpcheck.experiments.picture import draw
    from dpcheck.experiments.runner import chosen, run_all, trials

    if options.experiment is None:
        for name in ("only", "seeds", "store", "plot", "jobs", "backend", "scheduler"):
            require(getattr(options, name) is None, f"--{name}", "come with an experiment", getattr(options, name))
        return _say_list(options.format)
    experiment = find(options.experiment)
    require_picture(options.plot)
    asked = trials(experiment, chosen(experiment, options.only), options.seeds)
    with kept_when_interrupted(options), chosen_executor(options) as workers, terminal.progress() as watch:
        results = run_all(experiment, asked, folder=options.store, jobs=options.jobs, executor=workers, watch=watch)
    code = terminal.say(experiment_text(experiment, results, options.format))
    if options.plot:
        save_picture(draw(experiment, results), options.plot)
    return code


def experiment_text(experiment: Experiment, results: Sequence[Result], format: str) -> str:
    """Return the table of an experiment in a format of the command."""
    from dpcheck.experiments.page import text, to_dict
    from dpcheck.report.results import to_json_text

    return to_json_text(to_dict(experiment, results)) if format == "json" else text(experiment, results, format)


def _say_list(format: str) -> int:
    from dpcheck.experiments.page import SCHEMA, listing, stacked

    rows = listing()
    if format == "json":
        return terminal.say_json({"schema": SCHEMA, "experiments": rows})
    if format in TABLE_FORMATS:
        return terminal.say(table(rows, format))
    lines = [{name: str(value) for name, value in row.items()} for row in rows]
    return terminal.say(stacked(lines, terminal.width(terminal.UNWRAPPED)))


REPRODUCE = Command(
    name="reproduce",
    help="run a published table or figure again: published beside measured, with its certified epsilon",
    examples=(
        "dpcheck reproduce",
        "dpcheck reproduce xu2026.table_2 --store runs",
        "dpcheck reproduce yang2022.table_2 --only ijcnn1,epsilon=1 --format markdown",
        "dpcheck reproduce xu2026.figure_1 --backend processes --plot paths.png",
    ),
    add_options=add_options,
    run=run,
    further="without a name: list the tables and figures that can be run, and how much of each is kept in the package",
)
