"""The runs that come with the package: one CSV an experiment, a row a run, with versions and seeds.

    python -m dpcheck.experiments.kept FOLDER EXPERIMENT [CELLS [NOISE]]

runs what the store in FOLDER does not have, one run at a time, and writes ``kept/EXPERIMENT.csv`` after each cell.
CELLS are those of ``dpcheck reproduce --only``; NOISE is "published", "certified" or "none", all by default.
"""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

from dpcheck.experiments import find
from dpcheck.experiments.experiment import EPSILON, Experiment, Trial, key_text
from dpcheck.experiments.runner import Result, chosen, code, run_all, trials
from dpcheck.running.files import write_text

FOLDER = Path(__file__).with_name("kept")
_RUN, _MADE = ("noise", "seed", EPSILON), ("seconds", "dpcheck", "numpy", "numba", "code")
_FIGURES = 8  # beyond the eighth, figures differ from one processor to the next


def path(experiment: Experiment) -> Path:
    """Return the file of an experiment."""
    return FOLDER / f"{experiment.id}.csv"


def read(experiment: Experiment) -> list[Result]:
    """Return the kept runs of the cells that the experiment has now, in its order; none where there is no file."""
    return [result for result, _ in _all(experiment)]


def write(experiment: Experiment, results: Iterable[Result]) -> None:
    """Write runs beside those that are kept, in place of the same runs; of a table what it shows."""
    versions = [metadata.version(name) for name in ("dpcheck", "numpy", "numba")]
    rows = {_name(result.trial): line for result, line in _all(experiment)}
    names = [*experiment.metrics]
    for result in results:
        trial, values = result.trial, result.values
        if experiment.panels and not experiment.panels[0].along:  # of a picture the whole paths
            names = [*experiment.metrics, *(name for name in values if "@" in name)]
        rows[_name(trial)] = {
            **{key: key_text(value) for key, value in trial.cell.keys.items()}, "noise": trial.noise,
            "seed": str(trial.seed), EPSILON: _figure(values[EPSILON]), "seconds": f"{result.seconds:.3g}",
            **dict(zip(_MADE[1:], (*versions, code(experiment)), strict=True)),
            **{name: _figure(values[name]) for name in names if name in values},
        }  # fmt: skip
    order = {_keys(cell.keys.values()): number for number, cell in enumerate(experiment.cells)}
    known = sorted(rows, key=lambda name: (order[name[0]], name[1], name[2]))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [*experiment.keys, *_RUN, *names, *_MADE], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows[name] for name in known)
    FOLDER.mkdir(exist_ok=True)
    write_text(path(experiment), stream.getvalue())


def _all(experiment: Experiment) -> list[tuple[Result, dict[str, str]]]:
    """Return the kept runs, and their rows."""
    file = path(experiment)
    if not file.exists():
        return []
    cells = {_keys(cell.keys.values()): cell for cell in experiment.cells}
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    runs = []
    for row in rows:
        cell = cells.get(tuple(row[key] for key in experiment.keys))
        if cell is not None:
            beside = {*experiment.keys, "noise", "seed", *_MADE}
            values = {name: float(value) for name, value in row.items() if name not in beside and value}
            trial = Trial(cell, row["noise"], int(row["seed"]))
            runs.append((Result(trial, values, float(row["seconds"])), row))
    return runs


def _name(trial: Trial) -> tuple[tuple[str, ...], str, int]:
    return _keys(trial.cell.keys.values()), trial.noise, trial.seed


def _keys(values: Iterable[str | float]) -> tuple[str, ...]:
    return tuple(map(key_text, values))


def _figure(value: float) -> str:
    return f"{value:.{_FIGURES}g}" if math.isfinite(value) else repr(value)


def finished(experiment: Experiment, results: Sequence[Result]) -> int:
    """Count the cells of which all runs are there."""
    runs: dict[tuple[str, ...], int] = {}
    for result in results:
        keys = _keys(result.trial.cell.keys.values())
        runs[keys] = runs.get(keys, 0) + 1
    wanted = {_keys(cell.keys.values()): experiment.seeds_of(cell) * len(cell.noises) for cell in experiment.cells}
    return sum(runs.get(keys, 0) >= count for keys, count in wanted.items())


def keep(folder: str, name: str, only: str | None = None, noise: str | None = None) -> None:
    """Run the cells and write each into the kept results when it is finished."""
    experiment = find(name)
    for cell in chosen(experiment, only):
        asked = [trial for trial in trials(experiment, [cell]) if noise in (None, trial.noise)]
        write(experiment, run_all(experiment, asked, folder=folder, jobs=1))
        print(f"{name}: {cell.name} is kept", file=sys.stderr, flush=True)


if __name__ == "__main__":
    keep(*sys.argv[1:5])
