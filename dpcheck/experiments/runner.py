"""The runs of an experiment: chosen by cell, made one by one and stored, kept with the package, begun as one's own."""

import csv
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.errors import InputError, require, require_count, require_work
from dpcheck.experiments import find
from dpcheck.experiments.experiment import CERTIFIED, CONTROLS, Cell, Experiment, key_text, settings_for
from dpcheck.running.executor import Executor, Threads, workers
from dpcheck.running.store import Store
from dpcheck.running.trust import NEW_FOLDER


@dataclass(frozen=True)
class Trial:
    """One run of a cell."""

    cell: Cell
    noise: str
    seed: int

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the algorithm that the plan gives."""
        return settings_for(self.cell.plan, self.noise)


FILE = "reproduce.sqlite"  # of the store, in the folder that the user names
_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Result:
    """What one run measured: numbers by metric, and the seconds that it took."""

    trial: Trial
    values: dict[str, float]
    seconds: float
    settings: str = ""  # of a kept run, as JSON: those of its trial may be others by now


def trials(experiment: Experiment, cells: Iterable[Cell], seeds: int | None = None) -> list[Trial]:
    """Return the runs of these cells, by cell, noise and seed; ``seeds`` : of each, by default those of the cell."""
    if seeds is not None:
        require_work(seeds, "seeds")
    return [
        Trial(cell, noise, seed)
        for cell in cells for noise in cell.noises for seed in range(seeds or experiment.seeds_of(cell))
    ]  # fmt: skip


def chosen(experiment: Experiment, only: str | None) -> list[Cell]:
    """Return the cells that ``only`` names, or all that are run unless somebody asks for others.

    ``only`` : ``NAME=VALUE`` and values between commas; values of one key are alternatives, keys all hold
    """
    if not only:
        return [cell for cell in experiment.cells if not cell.not_run]
    wanted: dict[str, set[str]] = {}
    known = {key: {key_text(cell.keys[key]) for cell in experiment.cells} for key in experiment.keys}
    for part in (piece.strip() for piece in only.split(",") if piece.strip()):
        name, equals, value = part.partition("=")
        value = _number(value if equals else name)
        keys = [name] if equals else [key for key in experiment.keys if value in known[key]]
        good = bool(keys) and all(key in known and value in known[key] for key in keys)
        everything = "; ".join(f"{key}={'|'.join(sorted(values))}" for key, values in known.items())
        require(good, "--only", f"name cells of {experiment.id} ({everything})", part)
        for key in keys[:1]:
            wanted.setdefault(key, set()).add(value)
    cells = [cell for cell in experiment.cells if all(key_text(cell.keys[key]) in wanted[key] for key in wanted)]
    require(bool(cells), "--only", f"leave cells of {experiment.id}", only)
    return cells


def _number(text: str) -> str:
    """Write a number as keys are shown."""
    try:
        return key_text(float(text))
    except ValueError:
        return text


def run_all(
    experiment: Experiment, asked: Sequence[Trial], *, folder: str | None = None, jobs: int | None = None,
    executor: Executor | None = None, watch: Callable[[str, int, int], object] = lambda stage, done, total: None,
) -> list[Result]:  # fmt: skip
    """Run what is not yet in the store of ``folder``, and return the results in the order asked for.

    Each result is stored as soon as it is there, so that a run that was killed goes on with the same bits. ``watch`` is
    told the stage with the time that is left. The runs are made by ``executor``, by default on ``jobs`` threads, one a
    core.
    """
    if jobs is not None:
        require_count(jobs, "jobs")
    store = None if folder is None else opened(experiment, folder)
    results: dict[int, Result] = {}
    for number, trial in enumerate(asked):
        stored = None if store is None else store.get(key(experiment, trial))
        if stored is not None:
            results[number] = Result(trial, _numbers(stored["values"]), stored["seconds"])
    missing = [number for number in range(len(asked)) if number not in results]
    clock = _Clock(len(asked), [_cost(asked[number]) for number in missing])
    watch(f"{experiment.id}{clock.left}", len(results), len(asked))
    work = partial(_measured, experiment, asked)
    own = Threads(max(1, min(workers(jobs), len(missing))))
    with nullcontext(executor) if executor is not None else own as pool:
        for number, (values, seconds) in pool.finished(work, missing):
            trial = asked[number]
            if store is not None:
                store.put(key(experiment, trial), {"values": _text(values), "seconds": seconds})
            results[number] = Result(trial, values, seconds)
            clock.tick(_cost(trial))
            watch(f"{experiment.id}{clock.left}", len(results), len(asked))
    if store is not None:
        store.close()
    return [results[number] for number in range(len(asked))]


def _cost(trial: Trial) -> float:
    return trial.cell.cost(trial.noise)


def _measured(experiment: Experiment, asked: Sequence[Trial], number: int) -> tuple[dict[str, float], float]:
    """Return what one run measures, and the seconds that it took."""
    trial, started = asked[number], time.perf_counter()
    try:
        values = experiment.measure(trial.cell.plan, trial.noise, trial.seed)
    except InputError as error:
        where = f"{trial.cell.name}, {trial.noise} noise, seed {trial.seed}"
        raise InputError(f"{error} (in the run of {where})") from error
    return values, round(time.perf_counter() - started, 3)


def opened(experiment: Experiment, folder: str) -> Store:
    """Open the store of a folder for an experiment's runs; a folder is made where there is none."""
    place = Path(folder)
    try:
        place.mkdir(NEW_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--store must be a folder that can be written, got {folder}: {error.strerror}") from error
    return Store(place / FILE)  # whose key holds all of the package's code, and the libraries


def key(experiment: Experiment, trial: Trial) -> list[Any]:
    """Return what a run is stored under; experiments that share a run share what is stored."""
    plan = dict(trial.cell.plan)
    if trial.noise in CONTROLS:  # which have nothing of it
        plan |= {"epsilon": None, "delta": None}
    return [experiment.measure.__module__, plan, trial.noise, trial.seed]


def _text(values: dict[str, float]) -> dict[str, str]:
    """Return numbers as the shortest text that reads back to the same bits, infinity included."""
    return {name: repr(float(value)) for name, value in values.items()}


def _numbers(values: dict[str, str]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


class _Clock:
    """The time left, from what runs are expected to cost and from how long they took here."""

    def __init__(self, total: int, costs: Sequence[float]) -> None:
        self._started, self._done, self._left = time.perf_counter(), 0, len(costs)
        self._costs_done, self._costs_left = 0.0, sum(costs)

    def tick(self, cost: float) -> None:
        """Note that a run is finished."""
        self._done, self._left = self._done + 1, self._left - 1
        self._costs_done, self._costs_left = self._costs_done + cost, self._costs_left - cost

    @property
    def left(self) -> str:
        """Return the words for the time left; none where nothing is."""
        if not self._left:
            return ""
        spent = time.perf_counter() - self._started
        if not self._done:
            return f", about {duration(self._costs_left)} of work" if self._costs_left > 0 else ""
        if self._costs_done > 0:
            return f", about {duration(spent * self._costs_left / self._costs_done)} left"
        return f", about {duration(spent * self._left / self._done)} left"


def duration(seconds: float) -> str:
    """Return seconds as people say them."""
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


FOLDER = Path(__file__).with_name("kept")
MADE = ("seconds", "dpcheck", "numpy", "numba", "code", "settings")  # columns on how a kept run was made


def kept_path(experiment: Experiment) -> Path:
    """Return the file of an experiment."""
    return FOLDER / f"{experiment.id}.csv"


def kept_runs(experiment: Experiment) -> list[Result]:
    """Return the kept runs of the cells that the experiment has now, in its order; none where there is no file."""
    file = kept_path(experiment)
    if not file.exists():
        return []
    cells = {_keys(cell.keys.values()): cell for cell in experiment.cells}
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    runs = []
    beside = {*experiment.keys, "noise", "seed", *MADE}
    for row in rows:
        cell = cells.get(tuple(row[key] for key in experiment.keys))
        if cell is not None:
            values = {name: float(value) for name, value in row.items() if name not in beside and value}
            trial = Trial(cell, row["noise"], int(row["seed"]))
            runs.append(Result(trial, values, float(row["seconds"] or 0), row["settings"]))
    return runs


def kept_controls(experiment: Experiment, asked: Iterable[Trial]) -> list[Result]:
    """Return the kept runs without noise of cells that are asked for, and of those that differ in epsilon alone."""
    wanted = {_keys({**trial.cell.keys, "epsilon": ""}.values()) for trial in asked}
    return [
        result for result in kept_runs(experiment)
        if result.trial.noise in CONTROLS and _keys({**result.trial.cell.keys, "epsilon": ""}.values()) in wanted
    ]  # fmt: skip


def _keys(values: Iterable[str | float]) -> tuple[str, ...]:
    return tuple(map(key_text, values))


def finished_cells(experiment: Experiment, results: Sequence[Result]) -> int:
    """Count the cells of which all runs are there."""
    runs: dict[tuple[str, ...], int] = {}
    for result in results:
        keys = _keys(result.trial.cell.keys.values())
        runs[keys] = runs.get(keys, 0) + (result.trial.noise not in CONTROLS)
    wanted = {_keys(cell.keys.values()): experiment.seeds_of(cell) * len(cell.noises) for cell in experiment.cells}
    return sum(runs.get(keys, 0) >= count for keys, count in wanted.items())


@dataclass(frozen=True)
class Start:
    """A cell of an experiment as the beginning of runs of one's own.

    problem : the objective with its training rows;  settings : overrides of the algorithm's schedule;  delta : of the
    cell;  epsilon : of the cell, None where it has none;  score : the released w -> what the experiment measures
    """

    cell: Cell
    problem: Any
    settings: dict[str, Any]
    epsilon: float | None
    delta: float
    score: Callable[[Array], dict[str, float]]


def start(text: str, algorithm: str, epsilon: float | None, seed: int) -> Start:
    """Return the cell that ``EXPERIMENT:CELLS`` names, of this algorithm; InputError where there is none.

    ``epsilon`` : where cells differ in it, the one with the nearest is taken, by ratio; 1 by default
    """
    name, _, only = text.partition(":")
    experiment = find(name)
    cells = chosen(experiment, only) if only else list(experiment.cells)
    running = [cell for cell in cells if cell.plan.get("algorithm", cell.plan.get("method")) == algorithm]
    require(bool(running), "--like", f"name a cell of {experiment.id} that runs {algorithm}", text)
    wanted = 1.0 if epsilon is None else epsilon
    private = [cell for cell in running if cell.plan.get("epsilon", wanted) is not None] or running
    cell = min(private, key=lambda cell: abs(np.log((cell.plan.get("epsilon") or wanted) / wanted)))
    return _start_of(experiment, cell, seed)


def _start_of(experiment: Experiment, cell: Cell, seed: int) -> Start:
    from dpcheck.experiments import auc_runs, xu2026
    from dpcheck.problems.auc import auc_score
    from dpcheck.problems.matrix_sensing import MatrixSensing
    from dpcheck.problems.sensing import Sensing

    plan = cell.plan
    if experiment.measure is xu2026.measure:
        sensing = MatrixSensing.sample(xu2026.RECORDS, xu2026.SIDE, np.random.default_rng(seed), size=plan["size"])
        problem: Any = sensing if plan["method"] in ("dp_rgda", "privatediff") else Sensing.of(sensing)
        claim = xu2026.CLAIM
        settings = xu2026.settings_of(plan)
        return Start(cell, problem, settings, claim["epsilon"], claim["delta"], lambda w: xu2026.columns(sensing, w))
    require(
        experiment.measure is auc_runs.measure, "--like", "name an experiment on AUC or matrix sensing", experiment.id
    )
    (X, y), (X_test, y_test) = auc_runs.parts(plan, CERTIFIED, seed)
    problem = auc_runs.problem_of(plan, X, y, seed)

    def score(w: Array) -> dict[str, float]:
        return {
            "training AUC": auc_score(auc_runs.scores(problem, w, X), y),
            "test AUC": auc_score(auc_runs.scores(problem, w, X_test), y_test),
        }

    return Start(cell, problem, auc_runs.settings_of(plan, len(y)), plan["epsilon"], plan["delta"], score)
