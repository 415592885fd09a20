"""The configurations that are looked at from inside: each algorithm in every variant, on a small problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.solver import Solver
from dpcheck.catalogue.zhang2022.output_perturbation import Phased
from dpcheck.problems import example
from dpcheck.solvers import algorithm, configure

EPSILON, DELTA = 1.0, 1e-5


@dataclass(frozen=True, eq=False)
class Case:
    """label : of the variant and its settings, in ids;  others : an instance whose records may replace the problem's"""

    label: str
    solver: Solver
    problem: Problem
    others: Problem

    @property
    def words(self) -> str:
        """The label in a sentence."""
        return self.label.replace("_", " ").replace(".", ", ")


# What the two variants leave out: schemes and theorems of their own, by label.
_FURTHER: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "dp_sgda": {"repaired.poisson": ("repaired", {"sampling": "poisson"})},
    "nseg": {
        "repaired.poisson": ("repaired", {"sampling": "poisson"}),
        "repaired.with_replacement": ("repaired", {"sampling": "with_replacement"}),
    },
    "nispp": {"repaired.with_replacement": ("repaired", {"sampling": "with_replacement", "batch": 5, "lam": 10.0})},
    "dp_rgda": {
        "repaired.theorem_2": (
            "repaired", {"theorem": "2", "alpha": 0.9, "steps": 8, "period": 4, "K": 3, "escapes": 1, "t_thres": 3},
        ),
    },
}  # fmt: skip


# in place of the example, where a difference of two gradients of one record tells nothing about it
_PROBLEMS = {"ada_dp_spider": "sensing", "dp_rgda": "tanh_auc", "dp_spider": "sensing"}


def cases(name: str) -> Iterator[Case]:
    """Yield small runs of algorithm ``name`` that reach all that it releases."""
    chosen = algorithm(name)
    problem, others = (example(_PROBLEMS.get(name, chosen.example), seed=seed) for seed in (0, 1))
    given = {variant: (variant, dict(chosen.tiny)) for variant in chosen.variants}
    for label, (variant, settings) in _FURTHER.get(name, {}).items():
        given[label] = (variant, settings if "theorem" in settings else dict(chosen.tiny) | settings)
    for label, (variant, settings) in given.items():
        if issubclass(chosen, Phased) and problem.dim_v > 0:
            settings["base"] = "extragradient"  # without chance, so that a replay goes the same way
        yield Case(
            label, configure(name, problem, epsilon=EPSILON, delta=DELTA, variant=variant, **settings), problem, others
        )
