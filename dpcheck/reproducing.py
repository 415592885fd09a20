"""``dpcheck reproduce``: the papers' tables and figures run again, published beside measured."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcheck import tables, terminal
from dpcheck.errors import require

if TYPE_CHECKING:
    from dpcheck.experiments.experiment import Experiment
    from dpcheck.experiments.runner import Result


def run_reproduce(options: Namespace) -> int:
    """Run ``dpcheck reproduce``: list the experiments, or run one."""
    from dpcheck.commands import _require_picture, _save
    from dpcheck.experiments import find
    from dpcheck.experiments.picture import draw
    from dpcheck.experiments.runner import chosen, run_all, trials

    if options.experiment is None:
        for name in ("only", "seeds", "store", "plot", "jobs"):
            require(getattr(options, name) is None, f"--{name}", "come with an experiment", getattr(options, name))
        return _say_list(options.format)
    experiment = find(options.experiment)
    _require_picture(options.plot)
    cells = chosen(experiment, options.only)
    require(bool(cells), "--only", f"name cells of {experiment.id}, none of which is run unasked", options.only)
    asked = trials(experiment, cells, experiment.seeds if options.seeds is None else options.seeds)
    try:
        with terminal.progress() as watch:
            results = run_all(experiment, asked, folder=options.store, jobs=options.jobs, watch=watch)
    except KeyboardInterrupt:
        if options.store is not None:
            print(f"dpcheck: finished runs are in {options.store}; the same command goes on", file=sys.stderr)
        raise
    if options.plot:
        _save(draw(experiment, results), options.plot)
    return terminal.say(_text(experiment, results, options.format))


def report_kept(options: Namespace) -> int:
    """Run ``dpcheck report EXPERIMENT``: the table of the runs that come with the package."""
    from dpcheck.experiments import find, kept
    from dpcheck.files import write_text

    experiment = find(options.file)
    formats = ("terminal", "json", *tables.FORMATS)
    require(options.format in formats, "--format", f"be one of {', '.join(formats)} for kept runs", options.format)
    said = _text(experiment, kept.read(experiment), options.format)
    if options.output:
        write_text(options.output, f"{said}\n")
        return 0
    return terminal.say(said)


def _text(experiment: Experiment, results: Sequence[Result], format: str) -> str:
    """Return the table of an experiment in a format of the command."""
    from dpcheck.experiments.rendering import text, to_dict
    from dpcheck.results import to_json_text

    return to_json_text(to_dict(experiment, results)) if format == "json" else text(experiment, results, format)


def _say_list(format: str) -> int:
    from dpcheck.experiments.rendering import SCHEMA, aligned, listing

    rows = listing()
    if format == "json":
        return terminal.say_json({"schema": SCHEMA, "experiments": rows})
    if format in tables.FORMATS:
        return terminal.say(tables.table(rows, format))
    return terminal.say(aligned([{name: str(value) for name, value in row.items()} for row in rows]))
