"""``dpcheck reproduce``: the papers' tables and figures run again, published beside measured."""

from __future__ import annotations

import math
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpcheck import tables, terminal
from dpcheck.errors import require

if TYPE_CHECKING:
    from dpcheck.experiments.experiment import Cell, Experiment
    from dpcheck.experiments.runner import Result

SCHEMA = "dpcheck.reproduce/1"


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
    return terminal.say(text(experiment, results, options.format))


def report_kept(options: Namespace) -> int:
    """Run ``dpcheck report EXPERIMENT``: the table of the runs that come with the package."""
    from dpcheck.experiments import find, kept
    from dpcheck.files import write_text

    experiment = find(options.file)
    formats = ("terminal", "json", *tables.FORMATS)
    require(options.format in formats, "--format", f"be one of {', '.join(formats)} for kept runs", options.format)
    said = text(experiment, kept.read(experiment), options.format)
    if options.output:
        write_text(options.output, f"{said}\n")
        return 0
    return terminal.say(said)


def text(experiment: Experiment, results: Sequence[Result], format: str) -> str:
    """Return the table of an experiment in a format."""
    from dpcheck.experiments.table import rows, shown_rows

    if format == "json":
        from dpcheck.results import to_json_text

        return to_json_text(to_dict(experiment, results))
    if format == "csv":
        return tables.table(rows(experiment, results), format)
    shown = shown_rows(experiment, results)
    if format == "latex":
        return tables.table(shown, format)
    body = tables.table(shown, "markdown") if format == "markdown" else aligned(shown)
    after = remarks(experiment, results)
    if format == "markdown":
        return "\n\n".join(part for part in (body, "\n".join(f"- {line}" for line in after)) if part)
    head = f"{experiment.place}: {experiment.title}\nclaimed epsilon: {experiment.claimed}"
    return "\n\n".join(part for part in (head, body, "\n".join(after)) if part)


def to_dict(experiment: Experiment, results: Sequence[Result]) -> dict[str, Any]:
    """Return the whole experiment, fit for JSON: what is not finite is text."""
    from dpcheck.experiments.table import rows

    found = [{name: _finite(value) for name, value in row.items()} for row in rows(experiment, results)]
    runs = [
        {
            **{key: _finite(value) for key, value in result.trial.cell.keys.items()}, "noise": result.trial.noise,
            "seed": result.trial.seed, "seconds": result.seconds,
            "values": {name: _finite(value) for name, value in result.values.items()},
        }
        for result in results
    ]  # fmt: skip
    return {
        "schema": SCHEMA, "experiment": experiment.id, "place": experiment.place, "title": experiment.title,
        "noise as published": experiment.noise, "claimed epsilon": experiment.claimed,
        "settings": [vars(setting) for setting in experiment.settings], "rows": found, "runs": runs,
        "not run": [{"part": part, "why": why} for part, why in not_run(experiment, results)],
    }  # fmt: skip


def _finite(value: Any) -> Any:
    return value if not isinstance(value, float) or math.isfinite(value) else repr(value)


def remarks(experiment: Experiment, results: Sequence[Result]) -> list[str]:
    """Return the sentences below a table: the noise, the causes of differences, and what was not run."""
    from dpcheck.experiments.table import causes

    lines = [f"noise as published: {experiment.noise}"]
    lines += [f"({letter}) {sentence}" for letter, sentence in causes(experiment, results).items()]
    return lines + [f"not run: {part}: {why}" for part, why in not_run(experiment, results)]


def not_run(experiment: Experiment, results: Sequence[Result]) -> list[tuple[str, str]]:
    """Return what has no run among these results, and why."""
    from dpcheck.experiments.runner import duration

    done = {id(result.trial.cell) for result in results}
    left: dict[str, list[Cell]] = {}
    for cell in experiment.cells:
        if id(cell) not in done:
            why = cell.not_run or "run by `dpcheck reproduce " + experiment.id + "`"
            left.setdefault(why, []).append(cell)
    found = []
    for why, cells in left.items():
        cost = sum(cell.seconds * experiment.seeds * len(cell.noises) for cell in cells)
        some = cells[0].name if len(cells) == 1 else f"{len(cells)} cells from {cells[0].name} to {cells[-1].name}"
        found.append((some, f"{why} (about {duration(cost)} of one core)" if cost else why))
    return found + [(missing.part, missing.why) for missing in experiment.missing]


def aligned(shown: Sequence[dict[str, str]]) -> str:
    """Return rows as columns for a terminal, without the columns that are empty."""
    names = [name for name in (shown[0] if shown else {}) if any(row[name] for row in shown)]
    widths = {name: max(len(name), *(len(row[name]) for row in shown)) for name in names}
    lines = [{name: name for name in names}, *shown]
    return "\n".join("  ".join(line[name].ljust(widths[name]) for name in names).rstrip() for line in lines)


def listing() -> list[dict[str, Any]]:
    """Return a row for each experiment: name, place, title, cells kept and in all."""
    from dpcheck.experiments import NAMES, find, kept
    from dpcheck.experiments.runner import duration

    found = []
    for name in NAMES:
        experiment = find(name)
        run = [cell for cell in experiment.cells if not cell.not_run] or experiment.cells
        cost = sum(cell.seconds * len(cell.noises) for cell in run) * experiment.seeds
        found.append({
            "experiment": name, "cells": len(experiment.cells),
            "kept": kept.finished(experiment, kept.read(experiment)),
            "time": duration(cost) if cost else "unknown", "data": ", ".join(experiment.data) or "drawn",
            "what": experiment.title,
        })  # fmt: skip
    return found


def _say_list(format: str) -> int:
    rows = listing()
    if format == "json":
        return terminal.say_json({"schema": SCHEMA, "experiments": rows})
    if format in tables.FORMATS:
        return terminal.say(tables.table(rows, format))
    return terminal.say(aligned([{name: str(value) for name, value in row.items()} for row in rows]))
