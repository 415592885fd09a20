"""Xu 2026, privacy and the empirical case: decisions by the accountant, simulation and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpcheck.accounting import certify
from dpcheck.bounds import registry
from dpcheck.bounds.xu2026 import clip, theorem_1
from dpcheck.events import Gaussian, Repeated

RNG = np.random.default_rng(2)


def test_clip_of_the_mean_by_numpy() -> None:
    def batch(z: np.ndarray, c: float) -> float:
        return float(np.clip(z.mean(), -c, c))

    def each(z: np.ndarray, c: float) -> float:
        return float(np.clip(z, -c, c).mean())

    worst_batch = worst_each = 0.0
    for _ in range(2000):
        z = RNG.normal(0, 20, 4)
        other = z.copy()
        other[0] = RNG.normal(0, 20)
        worst_batch = max(worst_batch, abs(batch(z, 1.0) - batch(other, 1.0)))
        worst_each = max(worst_each, abs(each(z, 1.0) - each(other, 1.0)))
    assert worst_batch > 1.9 > 2 / 4
    assert worst_each <= 2 / 4 + 1e-12
    assert float(clip.mean_then_clip(1, 10, -8)) == batch(np.array([10.0, -8.0]), 1.0)


def test_noise_by_the_accountant() -> None:
    one = math.sqrt(math.log(1e5)) / 2
    assert certify([Gaussian(one)], delta=1e-5).epsilon > 2
    single = 2 * math.sqrt(2 * math.log(1.25e5))
    assert certify([Gaussian(single)], delta=1e-5).epsilon <= 0.5
    assert certify(Repeated(Gaussian(single), 64), delta=1e-5).epsilon > 2


def test_sampling_does_not_shrink_the_noise_of_one_query() -> None:
    """P[record drawn and output beyond half the move] against e P[beyond without it] + delta."""
    q, c = 1 / 5000, 100
    half = 1 / (2 * c * q * math.sqrt(math.log(1.25e5)))
    tail = stats.norm.sf(half)
    assert q * (1 - tail) > math.e * tail + 1e-5


def test_deviation_with_fair_signs() -> None:
    """Lemma 1 with q increments of equal size: about a third of the sums exceed the root of their number."""
    signs = RNG.choice([-1.0, 1.0], (20_000, 50)).sum(axis=1)
    share = (signs**2 > 50).mean()
    assert share > 0.25
    assert float(theorem_1.squared_signs(2, 2)) == 0.5
    assert (signs**2).mean() == pytest.approx(50, rel=0.05)


def test_algorithm_2_with_constant_steps_never_stops() -> None:
    x, smallest = 0.25, np.inf
    for _ in range(1000):
        x -= 0.5 * np.sign(x)
        smallest = min(smallest, abs(x))
    assert smallest == 0.25
    assert float(theorem_1.constant_steps(1000, 0 * theorem_1.Fraction(1) + theorem_1.Fraction(1, 4))) == x


def test_with_one_inner_step_the_dual_stands_still() -> None:
    """Algorithm 3 as printed, with noise: K = 1, F = x y - y^2/2 at x = 1."""
    y, u, lam = 0.0, 0.0, 1 / 6
    for _ in range(200):
        u = 1.0 - y + RNG.normal(0, 0.1)
        candidates = [y, y + lam * u]
        surrogate = [abs(candidates[k] - candidates[k + 1]) / lam for k in range(1)]
        y = candidates[int(np.argmin(surrogate))]
    assert y == 0.0


def test_refresh_counts_the_difference_twice() -> None:
    """SPIDER on Phi = x^2/2 with x_{t,-1} = x_{t-1} on a refresh as well."""
    before, now = 2.0, 5.0
    v = now + (now - before)
    assert v == float(clip.estimate(5, 2, 1)) == 8.0
    assert float(clip.estimate(5, 2, 0)) == now


def test_theorem_1_schedule() -> None:
    found = registry.theorem("xu2026.theorem_1").schedule(n=10_000, d=10, epsilon=1.0, delta=1e-6, M=1, L=1, F_0=1)
    a = math.sqrt(10 * math.log(1e6)) / 10_000
    assert found["T"] == math.ceil(max(a ** (-4 / 3), 1 / a))
    assert found["q"] == max(1, math.floor(1 / (found["T"] * a * a)))
    assert found["S_1"] == 10_000
    assert found["S_2"] == math.ceil(max(a ** (-2 / 3), 10_000 * a ** (2 / 3)))
