"""An experiment's table, with what is to be said of it, as text for a terminal or other programs."""

import textwrap
from collections.abc import Sequence
from typing import Any

from dpcheck.experiments import NAMES, find
from dpcheck.experiments.auc_runs import TUNING_SEEDS
from dpcheck.experiments.experiment import CONTROLS, Cell, Experiment
from dpcheck.experiments.runner import Result, duration, finished_cells, kept_runs
from dpcheck.experiments.table import Table, stale
from dpcheck.report.results import to_json_text
from dpcheck.shown import TABLE_FORMATS, table

MARK = "†"  # of a number whose settings one lucky run may have won
SCHEMA = "dpcheck.reproduce/1"


def text(experiment: Experiment, results: Sequence[Result], format: str) -> str:
    """Return the table of an experiment in a format: "terminal", "json", or one that tables have."""
    if format == "json":
        return to_json_text(to_dict(experiment, results))
    if format == "csv":
        return table(Table(experiment, results).rows, format)
    lines = filled(marked(Table(experiment, results), details=format != "terminal"))
    after = remarks(experiment, results)
    if format == "latex":
        return "\n".join([table(lines, format).rstrip(), *(f"% {line}" for line in after)])
    if not lines:
        body = "None of its runs is kept."
    else:
        body = table(lines, "markdown") if format == "markdown" else _grouped(lines, experiment)
    head = f"{experiment.place}: {experiment.title}\nclaimed: {claim(experiment)}"
    if format == "markdown":
        settings = table([vars(setting) for setting in experiment.settings], "markdown")
        return "\n\n".join([head.replace("\n", "; "), body, "\n".join(f"- {line}" for line in after), settings])
    after = [textwrap.fill(line, 80, subsequent_indent="  ", break_on_hyphens=False) for line in after]
    after.append(f"spreads, certificates, shortfalls, settings: `dpcheck report {experiment.id} --format markdown`")
    return "\n\n".join([head, body, "\n".join(after)])


def claim(experiment: Experiment) -> str:
    """Say which epsilon is claimed: that of each row, or one for all."""
    return f"the {experiment.claimed} of each row" if experiment.claimed in experiment.keys else experiment.claimed


def to_dict(experiment: Experiment, results: Sequence[Result]) -> dict[str, Any]:
    """Return the whole experiment by name: settings, rows, runs, and what was not run."""
    runs = [
        {
            **result.trial.cell.keys, "noise": result.trial.noise, "seed": result.trial.seed,
            "seconds": result.seconds, "values": result.values,
        }
        for result in results
    ]  # fmt: skip
    return {
        "schema": SCHEMA, "experiment": experiment.id, "place": experiment.place, "title": experiment.title,
        "noise as published": experiment.noise, "claimed epsilon": experiment.claimed,
        "settings": [vars(setting) for setting in experiment.settings], "rows": Table(experiment, results).rows,
        "runs": runs,
        "not run": [{"part": part, "why": why} for part, why in not_run(experiment, results)],
        "older tuning": older(experiment, results),
    }  # fmt: skip


def remarks(experiment: Experiment, results: Sequence[Result]) -> list[str]:
    """Return the sentences below a table: the noise, the causes of differences, and what was not run."""
    lines = [f"noise as published: {experiment.noise}"]
    lines += [f"({letter}) {sentence}" for letter, sentence in Table(experiment, results).causes.items()]
    return [
        *lines,
        *(f"{MARK} {line}" for line in older(experiment, results)),
        *(f"not run: {part}: {why}" for part, why in not_run(experiment, results)),
    ]


def not_run(experiment: Experiment, results: Sequence[Result]) -> list[tuple[str, str]]:
    """Return what has no run among these results, and why."""
    done = {(id(result.trial.cell), result.trial.noise) for result in results}
    left: dict[tuple[str, str], list[Cell]] = {}
    costs: dict[tuple[str, str], float] = {}
    for cell in experiment.cells:
        noises = [noise for noise in cell.noises if (id(cell), noise) not in done]
        if noises:
            why = cell.not_run or "run by `dpcheck reproduce " + experiment.id + "`"
            part = "" if len(noises) == len(cell.noises) else f", with {' and '.join(noises)} noise"
            left.setdefault((why, part), []).append(cell)
            cost = experiment.seeds_of(cell) * sum(cell.cost(noise) for noise in noises)
            costs[why, part] = costs.get((why, part), 0.0) + cost
    parts = []
    for (why, part), cells in left.items():
        some = cells[0].name if len(cells) == 1 else f"{len(cells)} cells from {cells[0].name} to {cells[-1].name}"
        cost = costs[why, part]
        parts.append((some + part, f"{why} (about {duration(cost)} of one core)" if cost else why))
    return [*parts, *experiment.missing]


def filled(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return rows without the columns that are empty."""
    names = [name for name in (rows[0] if rows else {}) if any(row[name] for row in rows)]
    return [{name: row[name] for name in names} for row in rows]


def aligned(rows: Sequence[dict[str, str]]) -> str:
    """Return rows as columns for a terminal."""
    names = list(rows[0]) if rows else []
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    lines = [{name: name for name in names}, *rows]
    return "\n".join("  ".join(line[name].ljust(widths[name]) for name in names).rstrip() for line in lines)


def _grouped(rows: Sequence[dict[str, str]], experiment: Experiment) -> str:
    """Return rows as columns for a terminal, below a line for all keys of a table but the last, which they share."""
    shared = [*experiment.keys, "metric"] if "metric" in rows[0] else [*experiment.keys]
    shared = [name for name in shared[:-1] if name in rows[0]]
    title, *lines = aligned([{name: row[name] for name in row if name not in shared} for row in rows]).splitlines()
    shown, before = [f"  {title}"], ""
    for row, line in zip(rows, lines, strict=True):
        head = ", ".join(row[name] for name in shared)
        shown += [head] * (head != before) + [f"  {line}"]
        before = head
    return "\n".join(shown)


def _stacked(rows: Sequence[dict[str, str]], width: int) -> str:
    """Return rows as columns or, where those are wider than the terminal, with the last column on a line below."""
    text = aligned(rows)
    if not rows or max(map(len, text.splitlines())) <= width:
        return text
    last = [*rows[0]][-1]
    head, *lines = aligned([{name: row[name] for name in row if name != last} for row in rows]).splitlines()
    below = [textwrap.fill(row[last], width, initial_indent="    ", subsequent_indent="    ") for row in rows]
    return "\n".join([head, *(f"{line}\n{last_cell}" for line, last_cell in zip(lines, below, strict=True))])


def listed(format: str, width: int) -> str:
    """Return the list of all experiments in a format; at a terminal in ``width`` columns."""
    rows = listing()
    if format == "json":
        return to_json_text({"schema": SCHEMA, "experiments": rows})
    if format in TABLE_FORMATS:
        return table(rows, format)
    return _stacked([{name: str(value) for name, value in row.items()} for row in rows], width)


def listing() -> list[dict[str, Any]]:
    """Return a row for each experiment: name, place, title, cells kept and in all."""

    lines = []
    for name in NAMES:
        experiment = find(name)
        run = [cell for cell in experiment.cells if not cell.not_run] or experiment.cells
        cost = sum(experiment.seeds_of(cell) * cell.cost(noise) for cell in run for noise in cell.noises)
        lines.append({
            "experiment": name, "cells": len(experiment.cells),
            "kept": finished_cells(experiment, kept_runs(experiment)),
            "time": duration(cost) if cost else "unknown", "data": ", ".join(experiment.data) or "drawn",
            "what": experiment.title,
        })  # fmt: skip
    return lines


def tuned_by_one_run(results: Sequence[Result]) -> dict[str, list[str]]:
    """Return by noise the cells whose settings one lucky run may have won."""
    few: dict[str, dict[str, None]] = {}
    for result in results:
        cell, noise = result.trial.cell, result.trial.noise
        if noise not in CONTROLS and (stale(result) or cell.tuning.get(noise, TUNING_SEEDS) < TUNING_SEEDS):
            few.setdefault(noise, {})[cell.name] = None
    return {noise: list(cells) for noise, cells in few.items()}


def marked(shown: Table, *, details: bool) -> list[dict[str, str]]:
    """Return the rows as people read them, with a mark at each number of an older tuning."""
    few, lines = tuned_by_one_run(shown.results), shown.shown(details=details)
    for row, line in zip(shown.rows, lines, strict=True):
        cell = next(one for one in shown.experiment.cells if one.keys.items() <= row.items())
        for noise in (noise for noise, names in few.items() if cell.name in names):
            line["certified noise" if f"{noise} noise" in line else "paper's noise"] += MARK
    return lines


def older(experiment: Experiment, results: Sequence[Result]) -> list[str]:
    """Say which runs have an older tuning, and how settings are chosen anew and cells run again."""
    return [
        f"older tuning, settings chosen by one run, noise {noise}: {'; '.join(cells)}. In a checkout "
        f"`python tests/keep_runs.py choose {noise}` chooses by {TUNING_SEEDS} seeds, `python tests/keep_runs.py run "
        f"FOLDER {experiment.id} CELLS {noise}` runs cells with the choice"
        for noise, cells in tuned_by_one_run(results).items()
    ]
