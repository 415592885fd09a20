"""What every schedule follows from: the sizes of the problem, the budget, and the constants that the problem has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Problem
from dpcheck.errors import require, require_delta, require_positive


@dataclass(frozen=True)
class Sizes:
    """n records in d = max(d_w, d_v) dimensions at (epsilon, delta), all checked."""

    n: int
    d: int
    epsilon: float
    delta: float

    @classmethod
    def of(cls, problem: Problem, epsilon: float, delta: float, variant: str, variants: tuple[str, ...]) -> Sizes:
        """Check what every ``configure`` is given."""
        require_positive(epsilon, "epsilon")
        require_delta(delta, zero=False)
        require(variant in variants, "variant", f"be one of {', '.join(variants)}", variant)
        return cls(len(problem.records), max(problem.dim_w, problem.dim_v), epsilon, delta)

    @property
    def privacy_error(self) -> float:
        """sqrt(d log(1/delta))/(n epsilon), the papers' rate of private optimisation."""
        return float(np.sqrt(self.d * -np.log(self.delta)) / (self.n * self.epsilon))


def smoothness_for_eta(problem: Problem) -> float:
    """Return L > 0 for a default ``eta`` = 1/(L ...); InputError where the problem has no such constant."""
    L = problem.smoothness
    require(math.isfinite(L), "eta", f"be given (its default is 1/(L ...), and {problem.name} has no such L)", None)
    return max(L, 1e-12)


def gradient_bounds(schedule: Any) -> tuple[float, float]:
    """Return what bounds a record's gradients in w and in v: the problem's constants, or the clipping norms."""
    problem = schedule.problem
    return min(problem.lipschitz_w, schedule.clip_w), min(problem.lipschitz_v, schedule.clip_v)


def modulus(problem: Problem) -> float:
    """Return the strong concavity in v of every record, or where that is none of the mean, which the records decide."""
    return problem.concavity if problem.concavity > 0 else problem.empirical_concavity


def private_modulus(problem: Problem) -> tuple[str, ...]:
    """Say that the schedule rests on a number which the records decide, where it does."""
    mu = problem.empirical_concavity
    sentence = f"only the mean over these records is strongly concave in v; its modulus {mu:.4g} is taken as public"
    return (sentence,) if problem.concavity <= 0 < mu else ()
