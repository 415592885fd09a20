"""The least noise that the accountant certifies, and how kinds of releases share it."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpcheck.algorithms.budget import Sizes
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


def gaussian(sigma: float, sensitivity: float) -> Gaussian:
    """Return the event of this noise on a query of this sensitivity."""
    return Gaussian(sigma / sensitivity if sensitivity > 0 else math.inf)


def noise_share(batch: int, population: int, count: int) -> float:
    """Return max(1, batch sqrt(count)/population): a noise multiplier up to the factor that the accountant finds.

    ``count`` minibatches with this share for multiplier cost a privacy that does not grow with ``count`` (Xu et al.
    2026, Algorithm 3, lines 1 and 2). Kinds of releases that differ in size and number are held in this proportion.
    """
    return max(1.0, batch * math.sqrt(count) / population)
