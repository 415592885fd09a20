"""Runs that come with the package: the choice of settings that no paper prints, and the runs of an experiment.

    python tests/keep_runs.py choose [WORD...]

makes the missing runs of the choices with all of these words: data, model, algorithm, noise, epsilon. They go into
``dpcheck/experiments/kept/choices.csv``.

    python tests/keep_runs.py run FOLDER EXPERIMENT [CELLS [NOISE]]

runs what the store in FOLDER does not have, one run at a time, and writes ``kept/EXPERIMENT.csv``, a row a run with
versions and seeds, after each cell. CELLS are those of ``dpcheck reproduce --only``, '' for all that are run unasked;
NOISE is "published", "certified" or "none", all by default, or "clipped" or "unclipped" for the runs without noise that
say what of a shortfall is not the noise's.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import dpcheck
from dpcheck.experiments import auc_runs, find, yang2022, zhang2025
from dpcheck.experiments.auc_runs import COLUMNS, TUNING_SEEDS, best, candidates, group, tried
from dpcheck.experiments.experiment import (
    CERTIFIED,
    CONTROLS,
    EPSILON,
    NONE,
    PUBLISHED,
    Cell,
    Experiment,
    Plan,
    key_text,
)
from dpcheck.experiments.runner import (
    MADE,
    Result,
    Trial,
    chosen,
    kept_path,
    run_all,
    trials,
)
from dpcheck.running.files import write_text
from dpcheck.running.store import digest_of

CONTROL_SEEDS = 3
_PACKAGE = Path(dpcheck.__file__).parent
_FIGURES = 8  # beyond the eighth, figures differ from one processor to the next


class Choice(NamedTuple):
    """The candidates that are compared, each with its plan, and the noise that they are run with."""

    words: set[str]
    plans: dict[str, Plan]
    noise: str


def every_choice() -> Iterator[Choice]:
    """Yield every choice."""
    for cell in yang2022.TABLE_2.cells:
        for noise in cell.noises if "epochs" in cell.plan else ():  # else a schedule of its own
            yield _of_yang(cell, noise)
    for epsilon in (*zhang2025.EPSILONS, math.inf):
        yield _of_zhang(epsilon)


def _of_yang(cell: Cell, noise: str) -> Choice:
    data, model, algorithm, epsilon = cell.keys.values()
    assert isinstance(data, str) and isinstance(model, str) and isinstance(algorithm, str)
    assert isinstance(epsilon, float)
    plans: dict[str, Plan] = {
        json.dumps(candidate): yang2022.plan(data, model, algorithm, epsilon, 1e-6, candidate=candidate)
        | ({"published": {}} if noise == NONE else {})
        for candidate in candidates(data, model, noise)
    }
    return Choice({data, model, algorithm, noise, f"{epsilon:g}"}, plans, noise)


def _of_zhang(epsilon: float) -> Choice:
    plan = zhang2025.auc_plan("fashion_mnist", "imbalanced", "privatediff", epsilon)
    plans: dict[str, Plan] = {
        json.dumps({"eta_x": eta}): plan | {"settings": plan["settings"] | {"eta_x": eta}} for eta in zhang2025.STEPS
    }
    noise = PUBLISHED if epsilon < math.inf else NONE
    return Choice({"fashion_mnist", "mlp", "privatediff", noise, f"{epsilon:g}"}, plans, noise)


def choose(words: Sequence[str]) -> None:
    """Make the choices that have all of these words, as far as they are not made yet."""
    for choice in every_choice():
        if not set(words) <= choice.words or not choice.plans:
            continue
        name = group(next(iter(choice.plans.values())), choice.noise)
        scores_of = {candidate: list(tried().get(name, {}).get(candidate, ())) for candidate in choice.plans}
        while (seed := len(scores_of[candidate := best(scores_of)])) < TUNING_SEEDS:
            auc = auc_runs.measure({**choice.plans[candidate], "holdout": True}, choice.noise, seed)["AUC"]
            scores_of[candidate].append(auc)
            line = [*name, candidate, str(seed), f"{auc:.6g}"]
            print(*line, file=sys.stderr, flush=True)
            _append(line)


def _append(line: Sequence[str]) -> None:
    """Write a further line to the file, below its heading."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if not auc_runs.CHOICES.exists():
        writer.writerow(COLUMNS)
    writer.writerow(line)
    write_text(
        auc_runs.CHOICES, (auc_runs.CHOICES.read_text("utf-8") if auc_runs.CHOICES.exists() else "") + stream.getvalue()
    )


def code(experiment: Experiment) -> str:
    """A digest of the source that the runs' numbers depend on, and not of what shows them."""
    return _digest(experiment.measure.__module__.rpartition(".")[2])


@cache
def _digest(module: str) -> str:
    folders = ("algorithms", "catalogue", "problems", "solvers", "data", "accounting")
    files = [path for folder in folders for path in (_PACKAGE / folder).rglob("*.py")]
    further = ("datasets.py", "events.py", "running/executor.py", f"experiments/{module}.py")
    return digest_of([*files, *(_PACKAGE / name for name in further)])


def keep_runs(experiment: Experiment, results: Iterable[Result]) -> None:
    """Write runs beside those that are kept, in place of the same runs; of a table what it shows."""
    file = kept_path(experiment)
    lines = list(csv.DictReader(file.open(encoding="utf-8", newline=""))) if file.exists() else []
    cells = {tuple(map(key_text, cell.keys.values())): number for number, cell in enumerate(experiment.cells)}
    rows = {name: line for line in lines if (name := _name(experiment, line))[0] in cells}
    versions = [metadata.version(name) for name in ("dpcheck", "numpy", "numba")]
    names = [*experiment.metrics]
    for result in results:
        trial, values = result.trial, result.values
        if experiment.panels and not experiment.panels[0].along:  # of a picture the whole paths
            names = [*experiment.metrics, *(name for name in values if "@" in name)]
        row = {
            **{key: key_text(value) for key, value in trial.cell.keys.items()}, "noise": trial.noise,
            "seed": str(trial.seed), EPSILON: _figure(values[EPSILON]), "seconds": f"{result.seconds:.3g}",
            **dict(zip(MADE[1:], (*versions, code(experiment), json.dumps(trial.settings)), strict=True)),
            **{name: _figure(values[name]) for name in names if name in values},
        }  # fmt: skip
        rows[_name(experiment, row)] = row
    known = sorted(rows, key=lambda name: (cells[name[0]], *name[1:]))
    stream = io.StringIO()
    columns = [*experiment.keys, "noise", "seed", EPSILON, *names, *MADE]
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows[name] for name in known)
    file.parent.mkdir(exist_ok=True)
    write_text(file, stream.getvalue())


def _name(experiment: Experiment, row: dict[str, str]) -> tuple[tuple[str, ...], str, int]:
    return tuple(row[key] for key in experiment.keys), row["noise"], int(row["seed"])


def _figure(value: float) -> str:
    return f"{value:.{_FIGURES}g}" if math.isfinite(value) else repr(value)


def keep(folder: str, name: str, only: str | None = None, noise: str | None = None) -> None:
    """Run the cells and write each into the kept results when it is finished."""
    experiment = find(name)
    for cell in chosen(experiment, only):
        asked = [trial for trial in trials(experiment, [cell]) if noise in (None, trial.noise)]
        if noise in CONTROLS and CERTIFIED in cell.noises:
            asked = [Trial(cell, noise, seed) for seed in range(CONTROL_SEEDS)]
        keep_runs(experiment, run_all(experiment, asked, folder=folder, jobs=1))
        print(f"{name}: {cell.name} is kept", file=sys.stderr, flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["choose", *words]:
            choose(words)
        case ["run", folder, name, *further] if len(further) <= 2:
            keep(folder, name, *further)
        case _:
            sys.exit(__doc__)
