"""Choose what the papers do not print, by one rule and on training rows alone.

``python -m dpcheck.experiments.choosing [data] [model]`` tries the candidates of each group that is not yet in
``kept/choices.csv`` and writes them there. A candidate is run at the privacy of its cell, with seed 0, on four fifths
of the training rows of that seed, and scored on the other fifth.

Yang et al. 2022, Table 2, with certified noise: linear scores have the printed step, and clipping norms C in w and C/2
in v; perceptrons have steps as well. Without privacy a perceptron on digits has steps alone, and everything else has
what is printed.

Zhang et al. 2025, Table 1, with the noise as published: PrivateDiff has the three steps in w that the paper names, on
Fashion-MNIST with thinned positives.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from dpcheck.experiments import auc_runs, yang2022_table_2, zhang2025_table_1
from dpcheck.experiments.choices import COLUMNS, FILE, group, tried
from dpcheck.experiments.experiment import CERTIFIED, NONE, PUBLISHED, Cell
from dpcheck.running.files import write_text

CLIPS = (0.25, 0.5, 1.0, 2.0)
SMALL = {"eta": (0.005, 0.015, 0.05, 0.15), "clip": (0.1, 0.3, 1.0)}
DIGITS = {"eta": (0.05, 0.2, 0.8), "clip": (0.1,)}
WITHOUT = (0.1, 0.35, 1.0)


def candidates(data: str, model: str, private: bool) -> list[dict[str, Any]]:
    """Return what is tried in a group."""
    digits = data != "ijcnn1"
    if model == "linear":
        return [_clips(clip) for clip in CLIPS] if private else []
    if not private:
        return [{"eta": eta} for eta in WITHOUT] if digits else []
    grid = DIGITS if digits else SMALL
    return [{"eta": eta} | _clips(clip) for eta in grid["eta"] for clip in grid["clip"]]


def _clips(clip: float) -> dict[str, Any]:
    return {"clip_w": clip, "clip_v": clip / 2}


class Choice(NamedTuple):
    """The candidates that are compared, each with its plan, and the noise that they are run with."""

    words: set[str]
    plans: list[tuple[dict[str, Any], dict[str, Any]]]
    noise: str


def every_choice() -> Iterator[Choice]:
    """Yield every choice."""
    for cell in yang2022_table_2.EXPERIMENT.cells:
        if "epochs" in cell.plan:  # no schedule of its own
            yield _of_yang(cell)
    for epsilon in (*zhang2025_table_1.EPSILONS, math.inf):
        yield _of_zhang(epsilon)


def _of_yang(cell: Cell) -> Choice:
    data, model, algorithm, epsilon = cell.keys.values()
    assert isinstance(data, str) and isinstance(model, str) and isinstance(algorithm, str)
    assert isinstance(epsilon, float)
    private, plans = cell.noises != (NONE,), []
    for candidate in candidates(data, model, private):
        plan = yang2022_table_2.plan(data, model, algorithm, epsilon, 1e-6, candidate=candidate)
        plans.append((candidate, plan if private else plan | {"published": {}}))
    return Choice({data, model, algorithm}, plans, CERTIFIED if private else NONE)


def _of_zhang(epsilon: float) -> Choice:
    plans = []
    for eta in zhang2025_table_1.STEPS:
        plan = zhang2025_table_1.plan("fashion_mnist", "imbalanced", "privatediff", epsilon)
        plans.append(({"eta_x": eta}, plan | {"settings": plan["settings"] | {"eta_x": eta}}))
    return Choice({"fashion_mnist", "mlp", "privatediff"}, plans, PUBLISHED if epsilon < math.inf else NONE)


def choose(words: Sequence[str]) -> None:
    """Make the choices that have all of these words and are not made yet."""
    for choice in every_choice():
        if not set(words) <= choice.words or not choice.plans or group(choice.plans[0][1]) in tried():
            continue
        lines = []
        for candidate, plan in choice.plans:
            auc = auc_runs.measure(plan | {"holdout": True}, choice.noise, 0)["AUC"]
            lines.append([*group(plan), json.dumps(candidate), f"{auc:.6g}"])
            print(*lines[-1], file=sys.stderr, flush=True)
        _append(lines)


def _append(lines: Sequence[Sequence[str]]) -> None:
    """Write further lines to the file, below its heading."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if not FILE.exists():
        writer.writerow(COLUMNS)
    writer.writerows(lines)
    write_text(FILE, (FILE.read_text("utf-8") if FILE.exists() else "") + stream.getvalue())


if __name__ == "__main__":
    choose(sys.argv[1:])
