"""Zhang 2025, utility: lemmas on random quadratic games, and the schedules' numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.bounds import registry

RNG = np.random.default_rng(6)


def games(count: int):
    """p x^2/2 + c x y - mu y^2/2 with its joint smoothness, kappa, and slope of y*; p of either sign."""
    for _ in range(count):
        p, c, mu = RNG.uniform(-3, 3), RNG.uniform(-3, 3), RNG.uniform(0.1, 3)
        l = float(np.linalg.norm([[p, c], [c, -mu]], 2))
        yield p, c, mu, l, l / mu


def test_lemma_3_with_joint_smoothness_and_without() -> None:
    for p, c, mu, l, kappa in games(300):
        assert abs(c / mu) <= kappa + 1e-12
        assert abs(p + c * c / mu) <= l + kappa * l + 1e-12
    # blockwise: c = 5, mu = 1, p = 0 has l = 1
    assert max(0, 1) / 1 < 5 / 1


def test_lemma_4_descent() -> None:
    for p, c, mu, l, kappa in games(300):
        x, y, eta, noise = *RNG.uniform(-2, 2, 2), RNG.uniform(0, 1), RNG.uniform(0, 1)
        curve, smooth = p + c * c / mu, l + kappa * l
        gradient, estimate = curve * x, p * x + c * y
        # two equally likely noises of that size stand for xi
        after = np.mean([curve * (x - eta * (estimate + s * noise)) ** 2 / 2 for s in (-1, 1)])
        bound = curve * x * x / 2 + (2 * smooth * eta**2 - eta / 2) * gradient**2 + smooth * eta**2 * noise**2
        bound += (2 * smooth * eta**2 + eta / 2) * (gradient - estimate) ** 2
        assert after <= bound + 1e-9


def test_lemma_5_contraction() -> None:
    for p, c, mu, l, kappa in games(300):
        x, y, eta, xi, zeta = *RNG.uniform(-2, 2, 2), RNG.uniform(0, 0.3), *RNG.uniform(0, 1, 2)
        curve = p + c * c / mu
        theta = (c * x / mu - y) ** 2
        new = []
        for s in (-1, 1):
            for t in (-1, 1):
                nx = x - eta * (p * x + c * y + s * xi)
                ny = y + (c * x - mu * y + t * zeta) / l
                new.append((c * nx / mu - ny) ** 2)
        bound = (1 - 1 / (2 * kappa) + 4 * kappa**3 * eta**2 * l**2) * theta + 4 * kappa**3 * eta**2 * (curve * x) ** 2
        bound += 2 * kappa**3 * eta**2 * xi**2 + 2 / l**2 * zeta**2
        assert np.mean(new) <= bound + 1e-9


def test_equation_38_by_summing_the_series() -> None:
    """The coefficient of one zeta in the sum of (35), gamma = 1 - 1/(4 kappa), for a long run."""
    for kappa in (1.0, 3.0, 10.0):
        gamma = 1 - 1 / (4 * kappa)
        total = 9 / 8 * sum(gamma**j for j in range(2000))
        assert total == pytest.approx(9 * kappa / 2, rel=1e-6)
        assert total > 1 / (8 * kappa)


def test_lemma_14_printed_and_repaired() -> None:
    broken = 0
    for _ in range(5000):
        curve, smooth = RNG.uniform(-1, 1), 1.0
        eta, x, v = RNG.uniform(0, 0.5), RNG.uniform(-2, 2), RNG.uniform(-3, 3)
        after = x - eta * v
        right = 2 / eta * (curve * x * x - curve * after * after) / 2 - (x - after) ** 2 / (2 * eta**2)
        error = (v - curve * x) ** 2
        assert (curve * x) ** 2 <= right + error + 1e-9 * (1 + abs(right))
        broken += (curve * after) ** 2 > right + 2 * error + 1e-9
    assert broken > 0
    assert smooth == 1.0


def test_lemma_13_two_records_at_the_same_point() -> None:
    x = RNG.uniform(-1, 1)
    assert abs((1 * 1.0 + 0 * x) - (-1 * 1.0 + 0 * x)) == 2 > 2 * abs(x - x)


@pytest.mark.parametrize("log_term", [0.0, 0.1, 1.0, 10.0, 1e6])
def test_constant_50(log_term: float) -> None:
    assert 2 * math.sqrt(624 * log_term + 1) <= 50 * math.sqrt(log_term + 1)


def test_schedules_reach_their_rates() -> None:
    for n in (10**4, 10**6, 10**8):
        found = registry.theorem("zhang2025.theorem_2").schedule(n=n, d=10, epsilon=1.0, delta=1e-9)
        a = math.sqrt(10 * math.log(1e9)) / n
        assert 1 / found["T"] + 1 / found["m"] + a * a * found["T"] <= 5 * a
        found = registry.theorem("zhang2025.theorem_6").schedule(n=n, d=10, epsilon=1.0, delta=1e-9)
        parts = 1 / found["R"] + 1 / found["m"] + 1 / found["T_2"] + a * math.sqrt(found["T"] / found["R"])
        parts += found["R"] * a * a / found["T"] + found["T"] * found["R"] * a * a / found["T_2"]
        assert parts <= 10 * a ** (4 / 3)


def test_better_only_below_one() -> None:
    assert 0.5 ** (2 / 3) < 0.5**0.5
    assert 64 ** (2 / 3) > 64**0.5
