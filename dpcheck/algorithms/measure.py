"""Runs of an algorithm over a grid of settings, a row each, as ``dpcheck rate`` reads them.

A row's random numbers follow from its own settings and seed: a fresh data set, and the run on it. So rows are
independent, and neither their order nor the workers nor what else is measured changes a bit of one.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from threading import Event, Lock
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array, Defaults, Problem
from dpcheck.algorithms.run import Run, measured
from dpcheck.errors import InputError, require, require_count, require_work
from dpcheck.problems import problem_class
from dpcheck.running.executor import Executor, Threads, one_blas_thread, workers
from dpcheck.solvers import algorithm, configure

# Column -> the method that a family of problems overrides where it has that closed form.
_METRICS = {
    "gap": "gap", "primal": "primal", "gradient_norm": "primal_gradient", "lambda_min": "primal_hessian",
}  # fmt: skip
_DEFAULTS: dict[str, Any] = {"n": 1000, "d": 3}
_calibration = Lock()  # is plain Python and cached: at once in two threads it would be done twice


@dataclass(frozen=True)
class Row:
    """One run: its settings by name, in the order of the columns, and its seed."""

    settings: Mapping[str, Any]
    seed: int

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies the row, as it stands in a file."""
        return tuple(text(value) for value in (*self.settings.values(), self.seed))

    @property
    def streams(self) -> tuple[np.random.Generator, int]:
        """The stream of the data set, and the seed of the run."""
        said = json.dumps([*zip((*self.settings, "seed"), self.key, strict=True)])
        digest = int.from_bytes(hashlib.sha256(said.encode()).digest(), "big")
        data, noise = np.random.SeedSequence(digest).spawn(2)
        return np.random.default_rng(data), int(noise.generate_state(1, np.uint64)[0])


@dataclass(frozen=True)
class Experiment:
    """Rows to be measured, and the columns of their table.

    family : the class of the problem;  keys : columns that identify a row;  metrics : closed forms at the output
    """

    family: Any
    rows: tuple[Row, ...]
    keys: tuple[str, ...]
    metrics: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the table, in order."""
        return (*self.keys, *self.metrics, "evaluations", "outcome")

    @classmethod
    def of(
        cls, name: str, *, problem: str | None = None, variant: str | None = None, epsilon: float = 1.0,
        delta: float | None = None, fixed: Mapping[str, Any] | None = None,
        vary: Mapping[str, Sequence[float]] | None = None, seeds: int = 20,
    ) -> Experiment:  # fmt: skip
        """Plan ``seeds`` runs of algorithm ``name`` for each combination of the ``vary`` levels, the first outermost.

        fixed, vary : n, d and overrides of the algorithm's schedule; ``vary`` may hold epsilon and delta, too
        problem, variant, delta : by default the algorithm's example, its repaired variant, and 1/n^2
        """
        chosen, fixed, vary = algorithm(name), fixed or {}, vary or {}
        problem = chosen.example if problem is None else problem
        family = _family(problem)
        variant = chosen.variants[-1] if variant is None else variant
        require(variant in chosen.variants, "variant", f"be one of {', '.join(chosen.variants)}", variant)
        require_work(seeds, "seeds")
        settings = _DEFAULTS | {"epsilon": epsilon, "delta": delta} | dict(fixed)
        for setting in vary:
            require(setting not in fixed, "--vary", f"leave out {setting}, which is given", fixed.get(setting))
        if "d" not in inspect.signature(family.sample).parameters:
            require("d" not in {**fixed, **vary}, "d", f"be left out, since {problem} has no other size", settings["d"])
            del settings["d"]
        overrides = sorted({*fixed, *vary} - {"n", "d", "epsilon", "delta"})
        order = [setting for setting in ("n", "d", "epsilon", "delta") if setting in settings] + overrides
        varied = [setting for setting in order if setting in vary]
        rows = []
        for levels in itertools.product(*(vary[setting] for setting in varied)):
            values = settings | dict(zip(varied, levels, strict=True))
            cell = {"algorithm": name, "problem": problem, "variant": variant} | {key: values[key] for key in order}
            for size in ("n", "d"):
                if size in cell:
                    require_count(cell[size], size)
            if cell["delta"] is None:
                cell["delta"] = min(0.5, float(cell["n"]) ** -2.0)
            rows += [Row(cell, seed) for seed in range(seeds)]
        metrics = [
            setting for setting, method in _METRICS.items() if getattr(family, method) is not getattr(Defaults, method)
        ]
        if hasattr(family, "excess"):
            metrics.append("excess")
        return cls(family, tuple(rows), (*rows[0].settings, "seed"), tuple(metrics))

    def measure(self, row: Row, watch: Callable[[int, int], object] | None = None) -> tuple[str, ...]:
        """Return the row of the table, as text;  watch : as that of :meth:`dpcheck.algorithms.solver.Solver.run`."""
        rng, seed = row.streams
        settings = dict(row.settings)
        name, _, variant = (settings.pop(each) for each in ("algorithm", "problem", "variant"))
        sizes = {each: settings.pop(each) for each in ("n", "d") if each in settings}
        try:
            with one_blas_thread():
                problem = self.family.sample(**sizes, rng=rng)
                with _calibration:
                    solver = configure(name, problem, variant=variant, **settings)
                run = solver.run(problem, seed=seed, watch=watch)
                found = metrics_of(problem, run)
        except InputError as error:
            where = ", ".join(f"{each} = {value}" for each, value in zip(self.keys[3:], row.key[3:], strict=True))
            raise InputError(f"{error} (in the run with {where})") from error
        values = [text(found[each]) if each in found else "" for each in self.metrics]
        return (*row.key, *values, text(run.evaluations), run.outcome)

    def measure_all(
        self, rows: Sequence[Row], keep: Callable[[tuple[str, ...]], object], *, jobs: int | None = None,
        executor: Executor | None = None,
    ) -> None:  # fmt: skip
        """Measure ``rows``; ``keep`` has each as soon as it is finished.

        They are measured by ``executor``, by default on so many threads (None: one a core). Where one fails, or Ctrl-C
        is pressed, those at work here are stopped at their next iterate.
        """
        if jobs is not None:
            require_count(jobs, "jobs")
        stopped = Event()

        def stop(done: int, total: int) -> None:
            if stopped.is_set():
                raise KeyboardInterrupt

        with nullcontext(executor) if executor is not None else Threads(workers(jobs)) as pool:
            work = partial(self.measure, watch=stop) if pool.here else self.measure
            try:
                for _, found in pool.finished(work, rows):
                    keep(found)
            finally:
                stopped.set()


def metrics_of(problem: Problem, run: Run) -> dict[str, float]:
    """Return the problem's closed forms at a run's output; ``excess``, a mean over runs, of this one."""
    output: Array = np.concatenate([run.x, run.y])
    found = measured(problem, output)
    excess = getattr(problem, "excess", None)
    return found if excess is None else found | {"excess": float(excess(output[None]))}


def text(value: Any) -> str:
    """Return a value as a table has it: the shortest text that reads back to the same number, words as they are."""
    if isinstance(value, str):
        return value
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    return json.dumps(value)


def _family(problem: str) -> Any:
    """Return the class of problems of this name, which samples data sets."""
    family = problem_class(problem)
    require(hasattr(family, "sample"), "problem", "be a family that samples data sets of any size", problem)
    return family
