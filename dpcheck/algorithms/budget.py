"""What every schedule follows from: the sizes of the problem, the budget, the constants that the problem has, what a
record moves, and the least noise that the accountant certifies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Problem
from dpcheck.errors import require, require_delta, require_positive
from dpcheck.events import Event, Gaussian, Repeated, Sampled, Scheme


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


def certified(sizes: Sizes, events: Callable[[float], tuple[Event, ...]]) -> float:
    """Return the least multiplier whose events are certified at the budget."""
    from dpcheck.accounting import calibrate

    return calibrate(events, epsilon=sizes.epsilon, delta=sizes.delta)


def certified_pair(sizes: Sizes, sampling: Scheme, batch: int, steps: int) -> float:
    """Return the multiplier of each of two Gaussians on the same minibatch, the joint one split evenly."""

    def events(multiplier: float) -> tuple[Event, ...]:
        pair = (Gaussian(multiplier * math.sqrt(2)),) * 2
        return (Repeated(Sampled(pair, sampling, sizes.n, batch, "replace_one"), steps),)

    return certified(sizes, events) * math.sqrt(2)


def moves(problem: Problem, clips: tuple[float, float], batch: int) -> tuple[float, float]:
    """Return how far one record's replacement moves a minibatch mean (l2), in w and in v.

    A record's part of the mean of gradients is at most G/m, so that replacing it moves the mean by at most 2G/m; G is
    the clipping norm or the proved Lipschitz constant, the smaller.
    """
    bounds = (min(problem.lipschitz_w, clips[0]), min(problem.lipschitz_v, clips[1]))
    return 2 * bounds[0] / batch, 2 * bounds[1] / batch


def certified_noise(bounds: Sequence[float], sizes: Sizes, sampling: Scheme, batch: int, steps: int) -> list[float]:
    """Return the noise on minibatch means of blocks with these per-record bounds."""
    multiplier = certified_pair(sizes, sampling, batch, steps)
    return [multiplier * 2 * G / batch for G in bounds]


def gaussian(sigma: float, sensitivity: float) -> Gaussian:
    """Return the event of this noise on a query of this sensitivity."""
    return Gaussian(sigma / sensitivity if sensitivity > 0 else math.inf)


def noise_share(batch: int, population: int, count: int) -> float:
    """Return max(1, batch sqrt(count)/population): a noise multiplier up to the factor that the accountant finds.

    ``count`` minibatches with this share for multiplier cost a privacy that does not grow with ``count`` (Xu et al.
    2026, Algorithm 3, lines 1 and 2). Kinds of releases that differ in size and number are held in this proportion.
    """
    return max(1.0, batch * math.sqrt(count) / population)
