"""An experiment's table, with what is to be said of it, as text for a terminal or other programs, and as a page.

    python -m dpcheck.experiments.page docs/reproduce.md

writes a page's table and sentences between ``<!-- kept: headlines -->`` and ``<!-- end -->``, each number computed from
the kept runs and with its controls: the same runs without noise, and the paper's noise. A miss is blamed on the noise
where the run without it reaches the printed number, nowhere else.
"""

import math
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dpcheck.experiments import NAMES, find
from dpcheck.experiments.auc_runs import TUNING_SEEDS
from dpcheck.experiments.experiment import CONTROLS, NONE, Cell, Experiment, key_text
from dpcheck.experiments.runner import Result, duration, finished_cells, kept_runs
from dpcheck.experiments.table import FAR, NEAR, PARTS, Table, stale, with_error
from dpcheck.report.results import to_json_text
from dpcheck.running.files import write_text
from dpcheck.shown import TABLE_FORMATS, table

Row = dict[str, Any]


NO_NOISE, PAPERS, CERTIFIED = "no noise", "median", "median, certified noise"  # columns that are compared
MARK = "†"  # of a number whose settings one lucky run may have won


_NOISES = {NO_NOISE: "no noise", PAPERS: "the paper's noise", CERTIFIED: "certified noise"}


_MARKED = re.compile(r"(?<=<!-- kept: headlines -->\n).*?(?=<!-- end -->)", re.S)


def renewed(page: str) -> str:
    """Return the text of a page with table and sentences made anew from the kept runs."""
    return _MARKED.sub(lambda _: f"\n{headlines()}\n\n", page)


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


def headlines() -> str:
    """Return table and sentences as Markdown."""
    experiments = [find(name) for name in ("yang2022.table_2", "zhang2025.table_1", "xu2026.table_2")]
    runs = [kept_runs(experiment) for experiment in experiments]
    yang, zhang, xu = (Table(*pair).rows for pair in zip(experiments, runs, strict=True))
    scores = {"linear": "linear scores", "mlp": "perceptrons"}
    sentences = [*(reached(_cells(yang, model=model), name) for model, name in scores.items()), _ahead(zhang)]
    few = [
        f"{len(cells)} of {experiment.place} ({'no' if noise == NONE else noise} noise)"
        for experiment, results in zip(experiments, runs, strict=True)
        for noise, cells in tuned_by_one_run(results).items()
    ]
    parts = [table(summary(yang, zhang, xu), "markdown"), "\n".join(f"- {sentence}" for sentence in sentences)]
    if few:
        parts.append(
            f"Cells measured with an older tuning, settings chosen by one run: {', '.join(few)}. `dpcheck report "
            f"EXPERIMENT` marks them with {MARK}, and names the commands that choose and run them anew."
        )
    return "\n\n".join(parts)


def summary(yang: Sequence[Row], zhang: Sequence[Row], xu: Sequence[Row]) -> list[dict[str, str]]:
    """Return a line for each group of cells: how many reach the printed number, and the largest shortfall in parts."""
    groups = {
        f"Yang, {name}, {data}": _cells(yang, model=model, data=data)
        for model, name in (("linear", "linear"), ("mlp", "perceptron"))
        for data in ("ijcnn1", "mnist", "fashion_mnist")
    } | {
        f"Zhang, {name}, {classes}": _cells(zhang, algorithm=algorithm, classes=classes)
        for algorithm, name in (("dp_sgda", "DP-SGDA"), ("privatediff", "PrivateDiff"))
        for classes in ("balanced", "imbalanced")
    } | {f"Xu, {row['method']}": [row] for row in xu if row["metric"] == "Phi"}  # fmt: skip
    return [_line(name, cells, _as_printed if "Xu" in name else _enough) for name, cells in groups.items() if cells]


def _line(name: str, cells: Sequence[Row], good: Callable[[Row, str], bool]) -> dict[str, str]:
    line = {"cells": f"{name} ({len(cells)})"}
    for column, heading in _NOISES.items():
        line[heading] = _share(cells, column, good).replace("0 of 0", "not run")
    split = [row for row in cells if row["noise"] is not None and not _enough(row, CERTIFIED)]
    worst: Row = max(split, key=_shortfall, default=dict.fromkeys(PARTS))
    line["largest shortfall"] = f"{_shortfall(worst):.1f}: {_where(worst)}" if split else ""
    for part in PARTS:
        line[part] = "" if worst[part] is None else with_error(worst[part], worst[f"error of {part}"])
    return line


def _cells(rows: Sequence[Row], **keys: object) -> list[Row]:
    """Return the private cells that have a printed number and runs, and are called by these keys."""
    return [
        row for row in rows
        if row["epsilon"] != math.inf and row["published"] is not None and all(row[key] == keys[key] for key in keys)
    ]  # fmt: skip


def _enough(row: Row, column: str) -> bool:
    """Whether a median reaches the printed AUC within half a point."""
    return row[column] is not None and float(row["published"]) - float(row[column]) <= NEAR


def _as_printed(row: Row, column: str) -> bool:
    """Whether a number comes out as printed; one without noise within a tenth, since hardly anything spreads it."""
    if column == NO_NOISE:
        return abs(float(row[column]) / float(row["published"]) - 1) <= 0.1
    difference: float | None = row["difference" + column.removeprefix("median")]
    return difference is not None and abs(difference) <= FAR


def _shortfall(row: Row) -> float:
    points: float = row["published"] - row[CERTIFIED]
    return points


def _where(row: Row) -> str:
    return ", ".join(key_text(row[key]) for key in ("algorithm", "data", "epsilon") if key in row)


def reached(cells: Sequence[Row], name: str) -> str:
    """Say in how many cells the printed number is reached, and in how many of the others noise alone is to blame."""
    missed = [row for row in cells if row[CERTIFIED] is not None and not _enough(row, CERTIFIED)]
    before = [row for row in missed if row[NO_NOISE] is not None and not _enough(row, NO_NOISE)]
    costs = [
        row["noise"] for row in missed
        if _enough(row, NO_NOISE) and row["noise"] is not None and row["noise"] > FAR * row["error of noise"]
    ]  # fmt: skip
    shares = [f"in {_share(cells, column, _enough)} with {heading}" for column, heading in _NOISES.items()]
    words = (
        f"**Yang et al., {name}: of the private cells the printed AUC is reached {', '.join(shares)}.** Of the "
        f"{len(missed)} that certified noise misses, {len(before)} are missed without noise too, on the same rows with "
        f"the same steps and clipping, and {len(costs)} for the noise alone"
    )
    if costs:
        words += f", which costs {min(costs):.1f} to {max(costs):.1f} points there"
    untold = len(missed) - len(before) - len(costs)
    words += f"; {untold} cannot be told" if untold else ""
    fallen = [row for row in cells if row["diverged, certified noise"]]
    if fallen:
        runs = sum(row["diverged, certified noise"] for row in fallen)
        words += f"; with certified noise {runs} runs diverged ({'; '.join(map(_where, fallen))})"
    once = sum(row["runs without noise"] == 1 for row in cells)
    return words + (f"; with no noise {once} cells have one seed." if once else ".")


def _share(cells: Sequence[Row], column: str, good: Callable[[Row, str], bool]) -> str:
    there = [row for row in cells if row[column] is not None]
    return f"{sum(good(row, column) for row in there)} of {len(there)}"


def _ahead(zhang: Sequence[Row]) -> str:
    """Say how often a paper's method is ahead of its baseline: as printed, as measured, and without noise."""
    by_key = {(row["algorithm"], row["data"], row["epsilon"]): row for row in zhang if row["classes"] == "imbalanced"}
    pairs = [
        (row, by_key["dp_sgda", data, epsilon]) for (algorithm, data, epsilon), row in by_key.items()
        if algorithm == "privatediff" and row[PAPERS] is not None
    ]  # fmt: skip
    private = [pair for pair in pairs if pair[0]["epsilon"] != math.inf]
    silent = [row[PAPERS] - other[PAPERS] for row, other in pairs if row["epsilon"] == math.inf]
    printed = [row["published"] - other["published"] for row, other in private]
    alike = [row[PAPERS] - other[PAPERS] for row, other in private]
    certified = [row[PAPERS] - other[CERTIFIED] for row, other in private]
    loosest = max((row for row, _ in private), key=lambda row: row["certified epsilon"] / row["epsilon"])
    return (
        f"**Zhang et al. print PrivateDiff ahead of DP-SGDA in {_more(printed)} of {len(private)} private cells on "
        f"imbalanced digits; with the noise as each is published it is ahead in {_more(alike)} and behind in "
        f"{_less(alike)}**, by more than half a point, and of DP-SGDA with certified noise ahead in "
        f"{_more(certified)} and behind in {_less(certified)}. Without any noise it is ahead in {_more(silent)} of "
        f"{len(silent)}, by "
        f"{min(silent):.1f} to {max(silent):.1f} points, so that a lead is not the noise's alone. PrivateDiff has "
        f"{loosest['runs']} seeds and a step chosen on training rows, DP-SGDA the middle one of the paper's three; "
        f"PrivateDiff's noise is certified at {loosest['certified epsilon']:.1f} where {loosest['epsilon']:g} is "
        "claimed."
    )


def _more(points: Sequence[float]) -> int:
    return sum(difference > NEAR for difference in points)


def _less(points: Sequence[float]) -> int:
    return sum(difference < -NEAR for difference in points)


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
        f"older tuning, settings chosen by one run, noise {noise}: {'; '.join(cells)}. `python -m "
        f"dpcheck.experiments.auc_runs {noise}` chooses by {TUNING_SEEDS} seeds, `python -m dpcheck.experiments.runner "
        f"FOLDER {experiment.id} CELLS {noise}` runs cells with the choice"
        for noise, cells in tuned_by_one_run(results).items()
    ]


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        write_text(file, renewed(file.read_text("utf-8")))
