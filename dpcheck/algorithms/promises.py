"""What a run is promised by its theorem, and which of the theorem's assumptions it breaks.

The catalogue's theorems list their assumptions, each with a name and its place in the paper. A run answers every one
of them: a relation between numbers is tested on the run's numbers; a condition on the problem or the run is looked up
in what the problem declares and the run does; and what no run can know without reading its records is listed as
``UNKNOWN`` in the folder of the paper. An assumption without an answer is an error, so that none is passed over.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.registry import CATALOGUE
from dpcheck.errors import InputError

if TYPE_CHECKING:  # what a run of an algorithm loads does without sympy
    from dpcheck.bounds.theorem import Assumption, Theorem


@dataclass(frozen=True)
class Promise:
    """A theorem that a run is meant for, with the run's answers to its assumptions.

    theorem : id in the catalogue;  label : what notes call it
    values : the theorem's letters, at the run's numbers
    conditions : name of a condition that numbers cannot test -> what breaks it, "" where nothing does
    """

    theorem: str
    label: str
    values: Mapping[str, float]
    conditions: Mapping[str, str]

    def broken(self) -> Iterator[tuple[Assumption, str]]:
        """Return each assumption that fails, and what makes it fail."""
        stated = catalogued(self.theorem)
        known = {name: value for name, value in self.values.items() if 0 < value < math.inf}
        for assumption in stated.assumptions:
            if assumption.relation is not None:
                try:
                    fails = stated.violated(assumption, **known)
                except InputError:
                    if len(known) == len(self.values):
                        raise
                    continue  # a constant that the problem has not: the assumption that there is one has failed
                if fails:
                    letters = sorted(map(str, assumption.relation.free_symbols))
                    yield assumption, ", ".join(f"{name} = {known[name]:.6g}" for name in letters if name in known)
            elif assumption.name in self.conditions:
                if self.conditions[assumption.name]:
                    yield assumption, self.conditions[assumption.name]
            elif assumption.name not in importlib.import_module(f"{CATALOGUE}.{stated.paper}").UNKNOWN:
                raise LookupError(f"no answer to {assumption.name} of {self.theorem}")


@cache
def catalogued(id: str) -> Theorem:
    """Return the theorem of this id; its own module alone is loaded, as the whole catalogue takes a second."""
    from dpcheck.bounds.registry import theorem

    return theorem(id)


def breaches(problem: Problem, side: str = "wv", **clips: tuple[float, float]) -> dict[str, str]:
    """Return what a problem breaks of each condition that several theorems make, "" where it meets it.

    side : the blocks that are to start at 0;  clips : name=(threshold, bound), which are to leave gradients as they are
    """
    name, walls = problem.name, problem.domain_w[:, 3]
    ends = {"W": np.isfinite(walls), "V": np.isfinite(problem.domain_v[:, 3])}
    start = {"w": problem.start[: problem.dim_w], "v": problem.start[problem.dim_w :]}
    steep = [block for block in "wv" if math.isinf(getattr(problem, f"lipschitz_{block}"))]
    cut = [f"{name} has no bound in {' and '.join(steep)}"] if steep else []
    cut += [
        f"{threshold} = {clip:.6g} cuts gradients of up to {bound:.6g}"
        for threshold, (clip, bound) in clips.items()
        if clip < bound < math.inf
    ]
    bent = [f"{name} is not convex in w"] if problem.convexity < 0 else []
    bent += [f"{name} is not concave in v"] if problem.concavity < 0 else []
    free = [block for block, bounded in ends.items() if not bounded.all()]
    away = ", ".join(f"|{block}| = {np.linalg.norm(start[block]):.4g}" for block in side if np.any(start[block]))
    return {
        "Lipschitz": " and ".join(cut),
        "smooth": f"{name} is not" if math.isinf(problem.smoothness) else "",
        "convex-concave": " and ".join(bent),
        "strongly concave": f"{name} is not" if problem.empirical_concavity <= 0 else "",
        "start": f"it starts at {away}" if away else "",
        "bounded": f"{' and '.join(free)} {'are' if len(free) > 1 else 'is'} unbounded" if free else "",
        "V": "V is unbounded" if "V" in free else "",
        "W": f"w is projected onto W, of radius {walls[ends['W']].min():g}" if ends["W"].any() else "",
    }
