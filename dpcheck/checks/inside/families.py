"""The problems whose gradients an algorithm's checks rely on, as small instances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpcheck.algorithms.problem import Problem
from dpcheck.checks.inside.small_runs import CASES
from dpcheck.checks.privacy.worst_case import WorstCase
from dpcheck.problems import example
from dpcheck.solvers import algorithm

# Of the rates' experiments and of the utility on real data.
_OF_THE_RATES = {
    "dp_rgda": ("cosine", "quartic", "quadratic"),
    "dp_sgda": ("hinge_game", "polyak", "auc", "bilinear", "tanh_auc"),
    "dp_sgda_clipped": ("quadratic",),
    "nispp": ("hinge_game", "bilinear"),
    "nseg": ("hinge_game", "bilinear"),
    "dp_spider": ("mean_estimation",),
    "phased_primal": ("ill_conditioned", "quadratic"),
    "phased_dual": ("ill_conditioned", "quadratic"),
    "phased_output_perturbation": ("mean_estimation",),
}


def families(name: str) -> Iterator[tuple[str, Problem]]:
    """Yield a label and an instance: its own example, those of its small runs, of the games and of the rates."""
    seen: dict[str, Problem] = {"worst_case": _worst_case(name)}
    for case in CASES[name]() if name in CASES else ():
        seen.setdefault(case.problem.name, case.problem)
    for family in (algorithm(name).example, *_OF_THE_RATES.get(name, ())):
        if family not in seen:
            seen[family] = example(family)
    yield from seen.items()


def _worst_case(name: str) -> Problem:
    """Return the games' problem on records in general position, with or without v as the algorithm takes it."""
    dim_v = 1 if example(algorithm(name).example).dim_v else 0
    rows = np.random.default_rng(5).normal(size=(8, 5))
    return WorstCase(rows, convexity=0.3, concavity=0.7, dim_v=dim_v)
