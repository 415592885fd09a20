"""The privacy curves of one event, chosen by its noise and by how its records are sampled."""

from __future__ import annotations

from dpcheck.accounting.allocation import allocation_curves
from dpcheck.accounting.privacy_curves import (
    Curve,
    CurvePair,
    amplified,
    amplified_back,
    gaussian_log_delta,
    laplace_log_delta,
    laplace_replace,
    poisson_replace,
)
from dpcheck.accounting.replacement import multiplicities, with_replacement
from dpcheck.events import Gaussian, Laplace, RandomAllocation, Sampled, shift_of


def curves_of(event: Gaussian | Laplace | Sampled | RandomAllocation, *, negligible: float) -> CurvePair:
    """The curves of one event with noise (multiplier > 0) that releases something.

    ``negligible`` > 0: a probability that may be added to delta to end an infinite sum.
    """
    shift = shift_of(event.noise_multiplier)
    match event:
        case Gaussian():
            return _both(lambda epsilon: gaussian_log_delta(epsilon, shift))
        case Laplace():
            return _both(lambda epsilon: laplace_log_delta(epsilon, shift))
        case RandomAllocation():
            return allocation_curves(int(event.steps), shift, negligible)
    noise = laplace_log_delta if event.laplace else gaussian_log_delta
    match event:
        case Sampled(scheme="poisson", neighbours="replace_one"):
            if event.laplace:
                return _both(lambda epsilon: laplace_replace(epsilon, event, shift))
            return _both(lambda epsilon: poisson_replace(epsilon, event, shift))
        case Sampled(scheme="poisson"):
            return CurvePair(
                lambda epsilon: amplified(epsilon, event, shift, noise),
                lambda epsilon: amplified_back(epsilon, event, shift, noise),
            )
        case Sampled(scheme="without_replacement"):
            # Balle, Barthe and Gaboardi (2018). Pair each batch that holds the record
            # with the batches in which it is exchanged for another; advanced joint convexity
            # gives this curve for epsilon >= 0 in both directions. Completed by duality for
            # epsilon < 0 it is convex with a kink at 0, hence the curve of some pair, and that
            # pair dominates under adaptive composition (Zhu, Dong and Wang 2022).
            return _both(lambda epsilon: amplified(epsilon, event, shift, noise))
    draws = multiplicities(event, negligible)
    return _both(lambda epsilon: with_replacement(epsilon, event, draws, shift))


def _both(curve: Curve) -> CurvePair:
    return CurvePair(curve, curve)
