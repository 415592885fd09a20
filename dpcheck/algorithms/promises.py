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
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.registry import CATALOGUE
from dpcheck.errors import InputError

if TYPE_CHECKING:  # what a run of an algorithm loads does without sympy
    from dpcheck.algorithms.solver import Solver
    from dpcheck.bounds.theorem import Assumption, Theorem


@dataclass(frozen=True)
class Given:
    """What a configuration was asked for: the budget, the variant and the overrides."""

    epsilon: float
    delta: float
    variant: str
    overrides: Mapping[str, Any]

    def option(self, solver: Solver, name: str) -> Any:
        """Return the override, or what every schedule of the algorithm has."""
        default = getattr(solver.schedule_of(self.variant, self.overrides), name)
        return self.overrides.get(name, default.own(None))

    def letters(self, problem: Problem) -> dict[str, float]:
        """The letters n, d = max(d_w, d_v), epsilon and delta with their values."""
        d = max(problem.dim_w, problem.dim_v)
        return {"n": len(problem.records), "d": d, "epsilon": self.epsilon, "delta": self.delta}


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
            elif assumption.name not in unknown(stated.paper):
                raise LookupError(f"no answer to {assumption.name} of {self.theorem}")


@cache
@cache
def catalogued(id: str) -> Theorem:
    """Return the theorem of this id; its own module alone is loaded, as the whole catalogue takes a second."""
    from dpcheck.bounds.registry import theorem

    return theorem(id)


def unknown(paper: str) -> Mapping[str, str]:
    """Return the assumptions of a paper's theorems that no run can answer: it would have to read its records without
    noise, or know where they come from.
    """
    listed: Mapping[str, str] = importlib.import_module(f"{CATALOGUE}.{paper}").UNKNOWN
    return listed


def broken(solver: Solver, problem: Problem, given: Given) -> Iterator[str]:
    """Return a sentence for each assumption that the run breaks, once where two theorems share it."""
    mentioned = set()
    for promise in solver.promises(problem, given):
        for assumption, what in promise.broken():
            shared = (assumption.name if assumption.relation is None else assumption.sentence, what)
            if shared not in mentioned:
                mentioned.add(shared)
                yield f"{promise.label} assumes {assumption}; here {what}"
    yield from solver.unmet(problem)


# Answers that several theorems ask for: what breaks a condition, "" where nothing does.


def any_of(*answers: str) -> str:
    """Join all that breaks a condition of several parts."""
    return " and ".join(filter(None, answers))


def lipschitz(problem: Problem, **clips: tuple[float, float]) -> str:
    """Require a bound on the gradients of f, whatever clipping leaves of them; ``clips`` is name=(threshold, bound)."""
    free = [side for side in ("w", "v") if math.isinf(getattr(problem, f"lipschitz_{side}"))]
    below = [
        f"{name} = {clip:.6g} cuts gradients of up to {bound:.6g}"
        for name, (clip, bound) in clips.items()
        if clip < bound < math.inf
    ]
    return any_of(f"{problem.name} has no bound in {' and '.join(free)}" if free else "", *below)


def smooth(problem: Problem) -> str:
    """Require a Lipschitz constant of the joint gradient of every record."""
    return f"{problem.name} is not" if math.isinf(problem.smoothness) else ""


def curved(problem: Problem, *, convex: bool = False) -> str:
    """Require f to be convex in w and concave in v."""
    return any_of(
        f"{problem.name} is not convex in w" if convex and problem.convexity < 0 else "",
        f"{problem.name} is not concave in v" if problem.concavity < 0 else "",
    )


def strongly_concave(problem: Problem) -> str:
    """Require the mean over the records to be strongly concave in v."""
    return f"{problem.name} is not" if problem.empirical_concavity <= 0 else ""


def at_zero(problem: Problem, side: str = "wv") -> str:
    """Require runs to start at 0."""
    parts = {"w": problem.start[: problem.dim_w], "v": problem.start[problem.dim_w :]}
    away = [f"|{name}| = {np.linalg.norm(parts[name]):.4g}" for name in side if np.any(parts[name])]
    return f"it starts at {', '.join(away)}" if away else ""


def bounded(problem: Problem, side: str = "wv") -> str:
    """Require bounded domains."""
    free = [name.upper() for name in side if not finite(getattr(problem, f"domain_{name}"))]
    return f"{' and '.join(free)} {'are' if len(free) > 1 else 'is'} unbounded" if free else ""


def projected(problem: Problem) -> str:
    """Require W to be the whole space."""
    walls = problem.domain_w[:, 3]
    return (
        "" if not np.isfinite(walls).any() else f"w is projected onto W, of radius {walls[np.isfinite(walls)].min():g}"
    )


def finite(domain: Array) -> bool:
    """Whether all blocks of a domain are bounded."""
    return bool(np.isfinite(domain[:, 3]).all())
