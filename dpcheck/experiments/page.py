"""An experiment's table, with what is to be said of it, as text for a terminal or other programs, and as a page.

    python -m dpcheck.experiments.page docs/reproduce.md

writes the kept results into a page.
Between ``<!-- kept: NAME -->`` and ``<!-- end -->`` stand the table, the remarks and the settings of an experiment, and
after ``<!-- kept: headlines -->`` the sentences on all of them, each number of which is computed from the runs.
"""

import math
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpcheck.experiments import NAMES, find
from dpcheck.experiments.experiment import Cell, Experiment
from dpcheck.experiments.runner import Result, duration, finished_cells, kept_runs
from dpcheck.experiments.table import FAR, NEAR, Table
from dpcheck.report.results import to_json_text
from dpcheck.running.files import write_text
from dpcheck.shown import TABLE_FORMATS, table

Row = dict[str, Any]
_CERTIFIED = ", certified noise"


def headlines() -> list[str]:
    """Return the sentences."""
    yang = _rows("yang2022.table_2")
    first = _row(yang, data="ijcnn1", model="linear", algorithm="dp_sgda", epsilon=0.1)
    later = _row(yang, data="ijcnn1", model="linear", algorithm="dp_sgda", epsilon=1.0)
    xu = _rows("xu2026.table_2")
    zhang = _rows("zhang2025.table_1")
    phi = [row for row in xu if row["metric"] == "Phi"]
    near = " and ".join(f"`{row['method']}`" for row in phi if _near(row, "") and _near(row, _CERTIFIED))
    far = _row(xu, method="sto_spider", metric="Phi")
    cost = first["published"] - first["measured" + _CERTIFIED]
    return [
        "**Strong privacy costs more than is printed.** At epsilon = 0.1 linear scores on ijcnn1 reach an AUC of "
        f"{first['measured' + _CERTIFIED]:.1f} with the clipping and the noise that the promise needs. Yang et al. "
        f"print {first['published']:.1f}, {cost:.0f} points more. At epsilon = 1 it is "
        f"{later['measured' + _CERTIFIED]:.1f} against {later['published']:.1f}.",
        _shares(yang, "linear", "linear scores"),
        _shares(yang, "mlp", "perceptrons"),
        _wasted(zhang),
        _ahead(zhang),
        f"**Of Xu et al.'s Table 2, {near} come out as printed, with either noise.** The printed rows of the "
        "SPIDER baselines match a gradient of a fresh minibatch in every step. With the method as the paper states it "
        f"and certified noise, Sto-SPIDER ends at Phi = {far['measured' + _CERTIFIED]:.2g}; {far['published']:.1f} is "
        "printed.",
    ]


def _rows(name: str) -> list[Row]:
    experiment = find(name)
    return Table(experiment, kept_runs(experiment)).rows


def _row(rows: Sequence[Row], **keys: object) -> Row:
    (row,) = (row for row in rows if all(row[key] == value for key, value in keys.items()))
    return row


def _near(row: Row, noise: str) -> bool:
    return row[f"difference{noise}"] is not None and abs(row[f"difference{noise}"]) <= FAR


def _shares(yang: Sequence[Row], model: str, name: str) -> str:
    """Say in how many private cells certified noise reaches the printed number."""
    private = [
        row for row in yang
        if row["model"] == model and row["epsilon"] != math.inf and row["published"] is not None
        and row["measured" + _CERTIFIED] is not None
    ]  # fmt: skip
    short = [row["published"] - row["measured" + _CERTIFIED] for row in private]
    reached = sum(points <= NEAR for points in short)  # by points: a mean that hardly anything is known of reaches none
    return (
        f"**With certified noise {reached} of {len(private)} private cells of {name} reach the printed AUC**, within "
        f"half a point. The others fall short by up to {max(short):.0f} points."
    )


def _wasted(zhang: Sequence[Row]) -> str:
    """Say what the baseline of a paper reaches with less noise than the paper gives it."""
    private = [row for row in zhang if row["algorithm"] == "dp_sgda" and row["measured" + _CERTIFIED] is not None]
    shares = [row["certified epsilon"] / row["epsilon"] for row in private]
    balanced = [row["measured" + _CERTIFIED] - row["published"] for row in private if row["classes"] == "balanced"]
    above = sum(points > 0 for points in balanced)
    return (
        f"**In Zhang et al.'s Table 1 the baseline DP-SGDA has more noise than it needs**: its formula is certified at "
        f"{min(shares):.2f} to {max(shares):.2f} of the claimed epsilon. With certified noise {above} of "
        f"{len(balanced)} private cells on balanced digits come out above the printed AUC, by up to "
        f"{max(balanced):.1f} points."
    )


def _ahead(zhang: Sequence[Row]) -> str:
    """Say how often a paper's method is ahead of its baseline, as printed and as measured; half a point counts."""
    by_key = {(row["algorithm"], row["data"], row["epsilon"]): row for row in zhang if row["classes"] == "imbalanced"}
    pairs = [
        (row, by_key["dp_sgda", data, epsilon]) for (algorithm, data, epsilon), row in by_key.items()
        if algorithm == "privatediff" and epsilon != math.inf and row["measured"] is not None
    ]  # fmt: skip
    printed = [row["published"] - other["published"] for row, other in pairs]
    alike = [row["measured"] - other["measured"] for row, other in pairs]
    certified = [row["measured"] - other["measured" + _CERTIFIED] for row, other in pairs]
    loosest = max((row for row, _ in pairs), key=lambda row: row["certified epsilon"] / row["epsilon"])
    return (
        f"**Zhang et al. print PrivateDiff ahead of DP-SGDA in {_more(printed)} of {len(pairs)} private cells on "
        f"imbalanced digits**, by more than half a point. Measured with the noise as each is published, it is ahead in "
        f"{_more(alike)} and behind in {_less(alike)}. Of DP-SGDA with certified noise it is ahead in "
        f"{_more(certified)} and behind in {_less(certified)}. PrivateDiff has two seeds and a step that is chosen on "
        "training rows; DP-SGDA has five and the middle one of the paper's three. PrivateDiff's noise as published is "
        f"certified at {loosest['certified epsilon']:.1f} where {loosest['epsilon']:g} is claimed."
    )


def _more(points: Sequence[float]) -> int:
    return sum(difference > NEAR for difference in points)


def _less(points: Sequence[float]) -> int:
    return sum(difference < -NEAR for difference in points)


_MARKED = re.compile(r"(?<=<!-- kept: )(\S+)( -->\n).*?(?=<!-- end -->)", re.S)


def renewed(page: str) -> str:
    """Return the text of a page with its marked parts made anew from the kept runs."""
    return _MARKED.sub(lambda match: f"{match[1]}{match[2]}\n{section(match[1])}\n\n", page)


def section(name: str) -> str:
    """Return table, remarks and settings of an experiment as Markdown."""
    if name == "headlines":
        return "\n".join(f"- {sentence}" for sentence in headlines())
    experiment = find(name)
    results = kept_runs(experiment)
    parts = [
        f"{experiment.place}: {experiment.title}. Claimed: {claim(experiment)}.",
        text(experiment, results, "markdown"),
    ]
    parts.append(_settings(experiment))
    return "\n\n".join(part for part in parts if part)


def _settings(experiment: Experiment) -> str:
    """Return the settings; where an experiment further up has them, name it, and return what is added to them."""
    above = [find(name) for name in NAMES[: NAMES.index(experiment.id)]]
    shared = next(
        (experiment_above for experiment_above in above if set(experiment_above.settings) <= set(experiment.settings)),
        None,
    )
    known = () if shared is None else shared.settings
    further = [vars(setting) for setting in experiment.settings if setting not in known]
    parts = [] if shared is None else [f"The settings of {shared.place}, above, hold here{' too' if further else ''}."]
    return "\n\n".join([*parts, table(further, "markdown")] if further else parts)


SCHEMA = "dpcheck.reproduce/1"


def text(experiment: Experiment, results: Sequence[Result], format: str) -> str:
    """Return the table of an experiment in a format: "terminal", "json", or one that tables have."""
    if format == "json":
        return to_json_text(to_dict(experiment, results))
    if format == "csv":
        return table(Table(experiment, results).rows, format)
    lines = Table(experiment, results).shown
    after = remarks(experiment, results)
    if format == "latex":
        return "\n".join([table(lines, format).rstrip(), *(f"% {line}" for line in after)])
    if not lines:
        body = "None of its runs is kept."
    else:
        body = table(filled(lines), "markdown") if format == "markdown" else aligned(lines)
    if format == "markdown":
        return "\n\n".join(part for part in (body, "\n".join(f"- {line}" for line in after)) if part)
    head = f"{experiment.place}: {experiment.title}\nclaimed: {claim(experiment)}"
    return "\n\n".join(part for part in (head, body, "\n".join(after)) if part)


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
    }  # fmt: skip


def remarks(experiment: Experiment, results: Sequence[Result]) -> list[str]:
    """Return the sentences below a table: the noise, the causes of differences, and what was not run."""
    lines = [f"noise as published: {experiment.noise}"]
    lines += [f"({letter}) {sentence}" for letter, sentence in Table(experiment, results).causes.items()]
    return lines + [f"not run: {part}: {why}" for part, why in not_run(experiment, results)]


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
    """Return rows as columns for a terminal, without the columns that are empty."""
    rows = filled(rows)
    names = list(rows[0]) if rows else []
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    lines = [{name: name for name in names}, *rows]
    return "\n".join("  ".join(line[name].ljust(widths[name]) for name in names).rstrip() for line in lines)


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


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        write_text(file, renewed(file.read_text("utf-8")))
