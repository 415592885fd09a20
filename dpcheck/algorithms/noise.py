"""The least noise that the accountant certifies, how kinds of releases share it, and what a record moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dpcheck.algorithms.budget import Sizes
from dpcheck.algorithms.problem import Problem
from dpcheck.events import Event, Gaussian, Repeated, Sampled, Scheme


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
