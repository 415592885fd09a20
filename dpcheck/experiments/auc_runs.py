"""Runs of AUC maximisation as the papers describe them: data and split, problem, algorithm, noise, test AUC.

A plan names

    data, classes    a data set, and for digits the pairing of its classes
    rows             the public radius that rows are divided by, longer ones by their length
    printed_rows     of ijcnn1, that of the runs whose noise is not certified: their features are scaled to [0, 1]
                     before, by the extremes of the training rows, as is printed and as no certificate covers
    model            "linear" or "mlp", with ``hidden`` units; ``dtype`` "float32" halves the time of large ones
    radius           of the domain
    share            the public share of positives
    algorithm        with ``epochs``, ``batch`` and its ``settings``, clipping norms among them; ``published`` has what
                     is otherwise where noise is as published, or none
    without          settings that are otherwise in a run without noise beside private ones
    epsilon, delta   what is claimed; epsilon null for a run without privacy

    imbalance        of digits, the share of positives that are left in the training rows
    as_printed       true where the algorithm's variant as printed has the noise as published, with clipping

Noise "certified" is what the accountant certifies for gradients that are clipped record by record. Noise "published"
follows Yang et al. 2022, Section 4.1: the largest gradient norms of a run without noise stand in place of the
Lipschitz constants, an accountant gives the noise for them, and nothing is clipped. The norms are read off minibatches,
whose mean gradients are what such a run computes: the paper does not say, and norms of single records, several
times as large, give AUC that falls with epsilon far below the printed one. What that noise is certified at rests on the
constants that are proved for the whole domain, since nothing else bounds a gradient.

Settings that no paper prints are tried on training rows, a run a seed at the privacy of the cell, on four fifths of the
training rows of that seed, scored on the other fifth. The candidate with the largest median is run with further seeds
until it has three runs and leads still, so that no lucky run wins. ``kept/choices.csv`` has the runs, and the leader of
each group in it is the setting, so that no setting is typed by hand; a checkout's ``tests/keep_runs.py`` makes them.

Yang et al. 2022, Table 2, with certified noise: linear scores have the printed step, and clipping norms C in w and C/2
in v; perceptrons have steps as well. Without privacy a perceptron on digits has steps alone, and everything else has
what is printed. Zhang et al. 2025, Table 1, with the noise as published: PrivateDiff has the three steps in w that the
paper names, on Fashion-MNIST with thinned positives.
"""

import csv
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from dpcheck import datasets
from dpcheck.accounting import certify
from dpcheck.algorithms.problem import Array
from dpcheck.algorithms.solver import Solver
from dpcheck.experiments.experiment import (
    CERTIFIED,
    CLIPPED,
    CONTROLS,
    EPSILON,
    NONE,
    PUBLISHED,
    UNCLIPPED,
    Plan,
    settings_for,
)
from dpcheck.problems.auc import AUC, auc_score
from dpcheck.problems.auc_mlp import AUCMLP
from dpcheck.running.executor import one_blas_thread
from dpcheck.solvers import configure

IJCNN1_TRAIN = 39_992  # 80 % of its 49,990 training rows: Table 3 of Yang et al.
_SPLIT = 0
_NORM_MINIBATCHES, _NORM_ITERATES = 32, 10  # where the largest gradient norms are read off
_norms: dict[tuple[str, int], tuple[float, float]] = {}  # by setting and seed: cells differ in epsilon and delta alone


def measure(plan: Plan, noise: str, seed: int) -> dict[str, float]:
    """Return the test AUC of one run, in per cent, the epsilon that its noise is certified at, and its sigma in w."""
    with one_blas_thread():
        train, test = parts(plan, noise, seed)
        problem = problem_of(plan, *train, seed)
        solver = solver_of(plan, problem, noise, seed)
        run = solver.run(problem, seed=seed)
        epsilon = (
            math.inf if noise in (NONE, *CONTROLS) else certify(solver.events(problem), delta=plan["delta"]).epsilon
        )
        values = {"AUC": 100 * auc_score(scores(problem, run.x, test[0]), test[1]), EPSILON: epsilon}
        sigma = getattr(solver, "sigma_w", getattr(solver, "sigma", None))
        return values if sigma is None else values | {"sigma": float(sigma)}


def parts(plan: Plan, noise: str, seed: int) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return training and test rows with their labels; ``holdout`` scores on a fifth of the training rows instead."""
    X, y, X_test, y_test = _rows(plan["data"], plan.get("classes"), plan["rows"])
    if X_test is None:
        order = np.random.default_rng(_SPLIT).permutation(len(X))  # one for all runs: see the settings of Table 2
        chosen, rest = order[:IJCNN1_TRAIN], order[IJCNN1_TRAIN:]
        X, y, X_test, y_test = X[chosen], y[chosen], X[rest], y[rest]
        if noise in (CERTIFIED, *CONTROLS):
            low, high, radius = np.zeros(X.shape[1]), np.ones(X.shape[1]), plan["rows"]
        else:
            low, high, radius = X.min(0), X.max(0), plan["printed_rows"]
        X, X_test = (into_ball((part - low) / (high - low), radius) for part in (X, X_test))
    if "imbalance" in plan:
        X, y = thinned(X, y, plan["imbalance"], seed)
    if plan.get("holdout"):
        order = np.random.default_rng([seed, 1]).permutation(len(X))
        cut = 4 * len(X) // 5
        return (X[order[:cut]], y[order[:cut]]), (X[order[cut:]], y[order[cut:]])
    return (X, y), (X_test, y_test)


def thinned(X: Array, y: Array, share: float, seed: int) -> tuple[Array, Array]:
    """Return the rows with as many positives, drawn without replacement, as are ``share`` of what is left."""
    positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    count = round(share / (1 - share) * len(negative))
    chosen = np.random.default_rng([seed, 3]).permutation(positive)[:count]
    rows = np.sort(np.concatenate([negative, chosen]))
    return X[rows], y[rows]


@lru_cache(maxsize=2)
def _rows(name: str, classes: str | None, radius: float) -> tuple[Array, Array, Any, Any]:
    """Return digits in the unit ball; of ijcnn1 the training rows alone, as published, which are split."""
    data = datasets.load(name, classes=classes)
    if classes is None:
        return data.X, data.y, None, None
    data = data.unit_ball(radius=radius)
    return data.X, data.y, data.X_test, data.y_test


def into_ball(X: Array, radius: float) -> Array:
    """Return rows x over max(radius, |x|)."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    shrunk: Array = X / np.where(norms <= radius, radius, norms * (1 + 1e-12))
    return shrunk


def problem_of(plan: Plan, X: Array, y: Array, seed: int) -> AUC | AUCMLP:
    """Return the objective; a perceptron's public start follows the seed."""
    share, radius = plan["share"], plan["radius"]
    if plan["model"] == "linear":
        return AUC.from_data(X, y, positive_share=share, radius=radius)
    network = {"hidden": plan["hidden"], "dtype": plan.get("dtype", "float64")}
    return AUCMLP.from_data(X, y, positive_share=share, radius=radius, seed=seed, **network)


def solver_of(plan: Plan, problem: AUC | AUCMLP, noise: str, seed: int) -> Solver:
    """Return the configured algorithm with the noise asked for."""
    asked = settings_of(plan, len(problem.records), noise)
    claim: dict[str, Any] = {"epsilon": plan["epsilon"] or 1.0, "delta": plan["delta"]}
    if noise in (CERTIFIED, CLIPPED):
        solver = configure(plan["algorithm"], problem, **claim, **asked)
        return solver if noise == CERTIFIED else solver.quiet()
    if plan.get("as_printed"):
        return configure(plan["algorithm"], problem, **claim, **asked, variant="as_printed", private=noise != NONE)
    clear = configure(plan["algorithm"], problem, **claim, **asked, private=False)
    if noise in (NONE, UNCLIPPED):
        return clear
    assert noise == PUBLISHED
    setting = json.dumps({**plan, "epsilon": None, "delta": None, "settings": asked}, sort_keys=True), seed
    if setting not in _norms:
        _norms[setting] = largest_norms(plan, clear, problem, seed)
    largest: dict[str, Any] = dict(zip(("clip_w", "clip_v"), _norms[setting], strict=True))
    noisy = configure(plan["algorithm"], problem, **claim, **asked, **largest)
    return replace(noisy, clip_w=math.inf, clip_v=math.inf)  # type: ignore[type-var]


def settings_of(plan: Plan, n: int, noise: str = CERTIFIED) -> dict[str, Any]:
    """Return the algorithm's settings with the number of steps that ``epochs`` are; an extragradient step takes two
    minibatches."""
    asked = settings_for(plan, noise)
    if "epochs" in plan:
        steps = math.ceil(plan["epochs"] * n / plan["batch"])
        name = "rounds" if plan["algorithm"] == "privatediff" else "steps"
        asked |= {name: steps // 2 if plan["algorithm"] == "nseg" else steps, "batch": plan["batch"]}
    return asked


def largest_norms(plan: Plan, solver: Solver, problem: AUC | AUCMLP, seed: int) -> tuple[float, float]:
    """Return the largest norms of minibatches' mean gradients along a run, in w and in v.

    At ten iterates spread evenly, over 32 minibatches of the plan's size.
    """
    last = solver.iterations(problem) - 1
    at = sorted({round(last * k / (_NORM_ITERATES - 1)) for k in range(_NORM_ITERATES)})
    return norms_at(plan, problem, solver.run(problem, seed=seed, at=at).history.path, seed)


def norms_at(plan: Plan, problem: AUC | AUCMLP, path: Iterable[Array], seed: int) -> tuple[float, float]:
    """Return the largest norms of minibatches' mean gradients at some points (w, v), over 32 minibatches each."""
    out_w, out_v, d = np.empty(problem.dim_w), np.empty(problem.dim_v), problem.dim_w
    rng, largest = np.random.default_rng([seed, 2]), [0.0, 0.0]
    for x in path:
        for _ in range(_NORM_MINIBATCHES):
            mean_w, mean_v = np.zeros_like(out_w), np.zeros_like(out_v)
            for record in problem.records[rng.integers(0, len(problem.records), plan["batch"])]:
                problem.gradient(problem.params, record, x[:d], x[d:], out_w, out_v)
                mean_w += out_w / plan["batch"]
                mean_v += out_v / plan["batch"]
            largest = [max(largest[0], float(np.linalg.norm(mean_w))), max(largest[1], float(np.linalg.norm(mean_v)))]
    return largest[0], largest[1]


def scores(problem: AUC | AUCMLP, w: Array, X: Array) -> Array:
    """Return the scores of rows at the released w."""
    return problem.scores(w, X) if isinstance(problem, AUCMLP) else X @ w[:-2]


CHOICES = Path(__file__).with_name("kept") / "choices.csv"
COLUMNS = ("data", "model", "algorithm", "epsilon", "delta", "hidden", "batch", "noise", "candidate", "seed", "AUC")
TUNING_SEEDS = 3  # runs behind a candidate that is chosen
Group = tuple[str, ...]
Scores = dict[str, list[float]]  # candidate as JSON -> its AUC on the rows held out, by seed


def group(plan: Mapping[str, Any], noise: str) -> Group:
    """Return what a choice is made for: all of a plan that matters to it, as text."""
    epsilon = math.inf if plan["epsilon"] is None else plan["epsilon"]
    return (
        plan["data"], plan["model"], plan["algorithm"], f"{epsilon:g}", f"{plan['delta']:g}",
        " ".join(map(str, plan.get("hidden", ()))), str(plan.get("batch", "")), NONE if epsilon == math.inf else noise,
    )  # fmt: skip


@cache
def tried() -> dict[Group, Scores]:
    """Return for each group the candidates with their AUC on the rows held out."""
    groups: dict[Group, Scores] = {}
    if CHOICES.exists():
        with CHOICES.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                name = tuple(row[column] for column in COLUMNS[:-3])
                groups.setdefault(name, {}).setdefault(row["candidate"], []).append(float(row["AUC"]))
    return groups


def best(scores_of: Scores) -> str:
    """Return the candidate with the largest median; one without a run comes before all."""
    return max(scores_of, key=lambda candidate: median(scores_of[candidate] or [math.inf]))


def chosen(plan: Mapping[str, Any], noise: str = CERTIFIED) -> dict[str, Any]:
    """Return the best candidate in the group of a plan, nothing where none was tried.

    A plan with another delta, batch or number of units than those of Table 2 has the choice that was made there.
    """
    scores_of = _scores(plan, noise)
    return dict(json.loads(best(scores_of))) if scores_of else {}


def runs_behind(plan: Mapping[str, Any], noise: str = CERTIFIED) -> int:
    """Return how many runs of the chosen candidate the choice for a plan rests on."""
    scores_of = _scores(plan, noise)
    return len(scores_of[best(scores_of)]) if scores_of else 0


def _scores(plan: Mapping[str, Any], noise: str) -> Scores:
    data, model, algorithm, epsilon, *_, noise = exact = group(plan, noise)
    usual = (data, model, algorithm, epsilon, "1e-06", "256" if model == "mlp" else "", "64", noise)
    return tried().get(exact) or tried().get(usual) or {}


CLIPS = (0.25, 0.5, 1.0, 2.0)
SMALL = {"eta": (0.005, 0.015, 0.05, 0.15), "clip": (0.1, 0.3, 1.0)}
DIGITS = {"eta": (0.05, 0.2, 0.8), "clip": (0.1, 0.3, 1.0)}
LARGEST = 0.1  # product of a step and a clipping norm on digits: at 0.2 noise alone moves a weight by 0.3 and more
WITHOUT = (0.1, 0.35, 1.0)


def candidates(data: str, model: str, noise: str) -> list[dict[str, Any]]:
    """Return what is tried in a group; nothing where all is printed."""
    grid = SMALL if data == "ijcnn1" else DIGITS
    if noise == CERTIFIED:
        if model == "linear":
            return [_clips(clip) for clip in CLIPS]
        pairs = [(eta, clip) for eta in grid["eta"] for clip in grid["clip"]]
        return [{"eta": eta} | _clips(clip) for eta, clip in pairs if data == "ijcnn1" or eta * clip <= LARGEST]
    if model == "linear" or data == "ijcnn1":
        return []
    return [{"eta": eta} for eta in (WITHOUT if noise == NONE else grid["eta"])]


def _clips(clip: float) -> dict[str, Any]:
    return {"clip_w": clip, "clip_v": clip / 2}
