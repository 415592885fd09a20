"""What clipping alone does: cells of Yang et al.'s Table 2 clipped as for certified noise, and run without any.

``python -m dpcheck.experiments.clipped`` measures the cells that ``kept/clipped.csv`` does not have, seed 0, and writes
them there. Delta changes nothing of such a run, so Table 5 has the same.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from dpcheck.experiments import auc_runs
from dpcheck.experiments.experiment import CERTIFIED, Cell, shown
from dpcheck.problems.auc import auc_score
from dpcheck.running.files import write_text
from dpcheck.running.streams import one_blas_thread

FILE = Path(__file__).with_name("kept") / "clipped.csv"
KEYS = ("data", "model", "algorithm", "epsilon")


def alone(keys: Mapping[str, Any]) -> float | None:
    """Return the AUC of a cell's run with its clipping and without noise; None where it was not measured."""
    return _kept().get(tuple(shown(keys[key]) for key in KEYS))


@cache
def _kept() -> dict[tuple[str, ...], float]:
    if not FILE.exists():
        return {}
    with FILE.open(encoding="utf-8", newline="") as stream:
        return {tuple(row[key] for key in KEYS): float(row["AUC"]) for row in csv.DictReader(stream)}


def measured(plan: Mapping[str, Any], seed: int = 0) -> float:
    """Return the test AUC, in per cent, of a run with the clipping of certified noise and no noise."""
    with one_blas_thread():
        train, (X, y) = auc_runs.parts(dict(plan), CERTIFIED, seed)
        problem = auc_runs.problem_of(dict(plan), *train, seed)
        noisy: Any = auc_runs.solver_of(dict(plan), problem, CERTIFIED, seed)
        silent = {name: 0.0 for name in ("sigma", "sigma_w", "sigma_v") if hasattr(noisy, name)}
        x = replace(noisy, **silent).run(problem, seed=seed).x
        return 100 * auc_score(auc_runs.scores(problem, x, X), y)


def _write(cells: tuple[Cell, ...]) -> None:
    found = dict(_kept())
    for cell in cells:
        name = tuple(shown(cell.keys[key]) for key in KEYS)
        if name in found or CERTIFIED not in cell.noises or "epochs" not in cell.plan or cell.not_run:
            continue
        found[name] = measured(cell.plan)
        print(*name, f"{found[name]:.6g}", file=sys.stderr, flush=True)
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*KEYS, "AUC"])
        writer.writerows([*each, f"{value:.6g}"] for each, value in found.items())
        write_text(FILE, stream.getvalue())


if __name__ == "__main__":
    from dpcheck.experiments.yang2022_table_2 import EXPERIMENT

    _write(EXPERIMENT.cells)
