"""Settings that no paper prints: what is tried on training rows, what came out, and so what is chosen.

The best candidate of each group in ``kept/choices.csv`` is the setting, so that no setting is typed by hand.
``python -m dpcheck.experiments.choices [data] [model]`` tries the candidates of each group that is not yet there and
writes them. A candidate is run at the privacy of its cell, with seed 0, on four fifths of the training rows of that
seed, and scored on the other fifth.

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
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dpcheck.experiments.experiment import CERTIFIED, NONE, PUBLISHED, Cell
from dpcheck.running.files import write_text

FILE = Path(__file__).with_name("kept") / "choices.csv"
COLUMNS = ("data", "model", "algorithm", "epsilon", "delta", "hidden", "batch", "candidate", "AUC")
Group = tuple[str, ...]


def group(plan: Mapping[str, Any]) -> Group:
    """Return what a choice is made for: all of a plan that matters to it, as text."""
    epsilon = math.inf if plan["epsilon"] is None else plan["epsilon"]
    return (
        plan["data"], plan["model"], plan["algorithm"], f"{epsilon:g}", f"{plan['delta']:g}",
        " ".join(map(str, plan.get("hidden", ()))), str(plan.get("batch", "")),
    )  # fmt: skip


@cache
def tried() -> dict[Group, list[tuple[float, dict[str, Any]]]]:
    """Return for each group the candidates with their AUC on the rows held out."""
    groups: dict[Group, list[tuple[float, dict[str, Any]]]] = {}
    if FILE.exists():
        with FILE.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                name = tuple(row[column] for column in COLUMNS[:-2])
                groups.setdefault(name, []).append((float(row["AUC"]), json.loads(row["candidate"])))
    return groups


def chosen(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the candidate with the largest AUC in the group of a plan, nothing where none was tried.

    A plan with another delta, batch or number of units than those of Table 2 has the choice that was made there.
    """
    pairs = _candidates(plan)
    return dict(max(pairs, key=lambda pair: pair[0])[1]) if pairs else {}


def unchosen(plan: Mapping[str, Any]) -> str:
    """Say why a plan cannot be run yet; nothing where a choice was made for it."""
    return "" if _candidates(plan) else "its settings are not chosen yet"


def _candidates(plan: Mapping[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    data, model, algorithm, epsilon, *_ = exact = group(plan)
    usual = (data, model, algorithm, epsilon, "1e-06", "256" if model == "mlp" else "", "64")
    return tried().get(exact) or tried().get(usual) or []


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
    from dpcheck.experiments import yang2022, zhang2025

    for cell in yang2022.TABLE_2.cells:
        if "epochs" in cell.plan:  # no schedule of its own
            yield _of_yang(cell)
    for epsilon in (*zhang2025.EPSILONS, math.inf):
        yield _of_zhang(epsilon)


def _of_yang(cell: Cell) -> Choice:
    from dpcheck.experiments import yang2022

    data, model, algorithm, epsilon = cell.keys.values()
    assert isinstance(data, str) and isinstance(model, str) and isinstance(algorithm, str)
    assert isinstance(epsilon, float)
    private, plans = cell.noises != (NONE,), []
    for candidate in candidates(data, model, private):
        plan = yang2022.plan(data, model, algorithm, epsilon, 1e-6, candidate=candidate)
        plans.append((candidate, plan if private else plan | {"published": {}}))
    return Choice({data, model, algorithm}, plans, CERTIFIED if private else NONE)


def _of_zhang(epsilon: float) -> Choice:
    from dpcheck.experiments import zhang2025

    plans = []
    for eta in zhang2025.STEPS:
        plan = zhang2025.auc_plan("fashion_mnist", "imbalanced", "privatediff", epsilon)
        plans.append(({"eta_x": eta}, plan | {"settings": plan["settings"] | {"eta_x": eta}}))
    return Choice({"fashion_mnist", "mlp", "privatediff"}, plans, PUBLISHED if epsilon < math.inf else NONE)


def choose(words: Sequence[str]) -> None:
    """Make the choices that have all of these words and are not made yet."""
    from dpcheck.experiments import auc_runs

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
