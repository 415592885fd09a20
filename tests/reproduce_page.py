"""The first table and sentences of ``docs/reproduce.md``, made of the kept runs: ``python tests/reproduce_page.py``.

They stand between ``<!-- kept: headlines -->`` and ``<!-- end -->``, each number computed from the kept runs and with
its controls: the same runs without noise, and the paper's noise. A miss is blamed on the noise where the run without it
reaches the printed number, nowhere else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dpcheck.experiments import find
from dpcheck.experiments.experiment import NONE, key_text
from dpcheck.experiments.page import MARK, tuned_by_one_run
from dpcheck.experiments.runner import kept_runs
from dpcheck.experiments.table import FAR, NEAR, PARTS, Table, with_error
from dpcheck.running.files import write_text
from dpcheck.shown import table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reproduce.md"
Row = dict[str, Any]
NO_NOISE, PAPERS, CERTIFIED = "no noise", "median", "median, certified noise"  # columns that are compared
_NOISES = {NO_NOISE: "no noise", PAPERS: "the paper's noise", CERTIFIED: "certified noise"}
_MARKED = re.compile(r"(?<=<!-- kept: headlines -->\n).*?(?=<!-- end -->)", re.S)


def renewed(page: str) -> str:
    """Return the text of a page with table and sentences made anew from the kept runs."""
    return _MARKED.sub(lambda _: f"\n{headlines()}\n\n", page)


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


if __name__ == "__main__":
    write_text(PAGE, renewed(PAGE.read_text("utf-8")))
