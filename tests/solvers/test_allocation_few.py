"""Random allocation to few steps, heavy tails: the bounds beside an integral of two copies, and beside each other."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from slices import first

from dpcheck import certify
from dpcheck.accounting.allocation_below import allocation_epsilon_below
from dpcheck.accounting.allocation_few import log_delta
from dpcheck.events import Gaussian, RandomAllocation


def copy_call(strike: float, s: float) -> float:
    """Return E (X - strike)^+ for X lognormal of mean 1, by Black and Scholes."""
    if strike <= 0:
        return 1 - strike
    x = -math.log(strike) / s
    return float(norm.cdf(x + s / 2) - strike * norm.cdf(x - s / 2))


def copy_put(strike: float, s: float) -> float:
    """Return E (strike - X)^+."""
    if strike <= 0:
        return 0.0
    x = math.log(strike) / s
    return float(strike * norm.cdf(x + s / 2) - norm.cdf(x - s / 2))


def two_steps(epsilon: float, s: float, added: bool) -> float:
    """Return delta of two steps, integrated over one copy, the other in closed form."""
    strike = 2 * math.exp(epsilon if added else -epsilon)

    def part(x: float) -> float:
        first = math.exp(s * x - s * s / 2)
        return float(norm.pdf(x)) * (copy_call if added else copy_put)(strike - first, s)

    bend = math.log(strike) / s + s / 2  # where the first copy alone is the strike
    edges = sorted({-12.0, *np.clip([bend - s, bend, bend + s, s], -12, 14 + s).tolist(), 14.0 + s})
    total = sum(quad(part, a, b, epsabs=0, epsrel=1e-9, limit=200)[0] for a, b in itertools.pairwise(edges))
    return total / (2 if added else strike)


@pytest.mark.parametrize("seed", first(6, range(200)))
def test_two_steps_are_bounded_closely(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = [1.1, 1.5, 2.0, 3.0, 5.0][seed % 5]
    added = bool(rng.random() < 0.7)
    epsilon = np.array([rng.uniform(0, s * s / 2 + 4 * s) if added else rng.uniform(0, 2 * s)])
    exact = two_steps(float(epsilon[0]), s, added)
    high = math.exp(float(log_delta(epsilon, 2, s, added=added)[0]))
    assert exact * (1 - 1e-8) <= high <= exact * 1.005 + 1e-14
    if added:
        low = math.exp(float(log_delta(epsilon, 2, s, added=True, above=False)[0]))
        assert exact * 0.995 - 1e-14 <= low <= exact * (1 + 1e-8)


@pytest.mark.parametrize("many", [1, 100])  # between the grid's points, where there are so many epsilons
@pytest.mark.parametrize(("steps", "s"), [(3, 1.2), (5, 2.0), (8, 4.0), (64, 2.5)])
def test_simulated_epochs_lie_within_the_bounds(steps: int, s: float, many: int) -> None:
    """A hundred thousand epochs with the record, whose losses give delta, and a hundred thousand without it."""
    rng = np.random.default_rng(steps)
    logs = s * rng.standard_normal((100_000, steps)) - s * s / 2
    removed = np.log(np.exp(logs).mean(axis=1))
    logs[:, 0] += s * s
    added = np.log(np.exp(logs).mean(axis=1))
    for epsilon in (0.2, 1.0, s, s * s / 2 + s - math.log(steps)):
        for losses, sign in ((added, 1), (-removed, -1)):
            shown = -np.expm1(np.minimum(epsilon - losses, 0))
            error = 5 * shown.std() / math.sqrt(shown.size) + 2e-4
            high = math.exp(float(log_delta(np.full(many, epsilon), steps, s, added=sign > 0)[0]))
            assert shown.mean() - error <= high <= shown.mean() * 1.03 + error


@pytest.mark.parametrize(("z", "steps"), first(2, [(0.5, 2), (0.5, 8), (0.8, 4), (0.35, 3)]))
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
def test_the_certificate_is_near_the_tangents(z: float, steps: int, delta: float) -> None:
    low, high = (
        allocation_epsilon_below(z, steps, 1, delta),
        certify(RandomAllocation(Gaussian(z), steps), delta).epsilon,
    )
    assert low <= high <= low * 1.0015


def test_more_steps_are_no_less_private() -> None:
    found = [certify(RandomAllocation(Gaussian(0.3), steps), 1e-5).epsilon for steps in (1, 2, 8, 64, 65, 1000)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == found[-2] == found[-3]
