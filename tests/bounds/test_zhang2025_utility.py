"""Zhang 2025, utility: a lemma by brute force, and the schedules' numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.bounds import registry

RNG = np.random.default_rng(6)


def test_lemma_3_instance_by_brute_force() -> None:
    """3 h(x) y - y^2/2, |y| <= 1/6: smooth with 1/2 and 1 in its blocks, y* of slope 3, grad Phi of slope 9."""
    from fractions import Fraction

    from dpcheck.bounds.zhang2025 import smoothness

    xs, ys = np.linspace(-3, 3, 1201), np.linspace(-1 / 6, 1 / 6, 1201)
    height = np.array([float(smoothness.h(Fraction(x))) for x in xs])
    slopes = np.array([float(smoothness.slope(Fraction(x))) for x in xs])
    assert np.gradient(height, xs)[1:-1] == pytest.approx(slopes[1:-1], abs=1e-2)
    assert np.abs(np.diff(slopes) / np.diff(xs)).max() <= 1 + 1e-9
    assert 3 * np.abs(height).max() / 6 <= 1  # bounded
    loss = 3 * height[:, None] * ys - ys**2 / 2
    best = ys[loss.argmax(axis=1)]
    middle = np.abs(xs) <= 1 / 30 + 1e-9
    assert np.polyfit(xs[middle], best[middle], 1)[0] == pytest.approx(3, rel=1e-2)
    assert np.polyfit(xs[middle], np.gradient(loss.max(axis=1), xs)[middle], 1)[0] == pytest.approx(9, rel=1e-2)


def test_bounded_loss_of_theorem_3_estimates_means() -> None:
    """Random bits and points: the gradient by differences, and the mean error of the clipped tangents."""
    for _ in range(300):
        n, d = int(RNG.integers(1, 9)), int(RNG.integers(1, 6))
        bits, x = RNG.choice([-1.0, 1.0], (n, d)), RNG.uniform(-10, 10, d)

        def loss(at, bits=bits, d=d):
            return -np.cos(at - bits * np.pi / 4).sum() / len(bits) / math.sqrt(d)

        found = np.array([(loss(x + h) - loss(x - h)) / 2e-6 for h in 1e-6 * np.eye(d)])
        means = bits.mean(axis=0)
        assert found == pytest.approx((np.sin(x) - means * np.cos(x)) / math.sqrt(2 * d), abs=1e-8)
        assert np.linalg.norm(found) <= 1 + 1e-8
        error = np.abs(np.clip(np.tan(x), -1, 1) - means).mean()
        assert error <= 2 * math.sqrt(2) * np.linalg.norm(found) + 1e-6


def test_schedules_reach_their_rates() -> None:
    for n in (10**4, 10**6, 10**8):
        found = registry.theorem("zhang2025.theorem_2").schedule(n=n, d=10, epsilon=1.0, delta=1e-9)
        a = math.sqrt(10 * math.log(1e9)) / n
        assert 1 / found["T"] + 1 / found["m"] + a * a * found["T"] <= 5 * a
        d, delta = math.ceil(4 * math.sqrt(n) / math.log(n**2)), 1 / n**2  # so that m is at most n, but large
        a = math.sqrt(d * math.log(1 / delta)) / n
        found = registry.theorem("zhang2025.theorem_6").schedule(n=n, d=d, epsilon=1.0, delta=delta)
        parts = 1 / found["R"] + 1 / found["m"] + 1 / found["T_2"] + a * math.sqrt(found["T"] / found["R"])
        parts += found["R"] * a * a / found["T"] + found["T"] * found["R"] * a * a / found["T_2"]
        assert parts <= 10 * a ** (4 / 3)
