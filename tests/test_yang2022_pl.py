"""Yang 2022, PL case and AUC: decisions by simulation and by NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.bounds import registry
from dpcheck.bounds.yang2022 import auc, theorem_3, theorem_4

RNG = np.random.default_rng(28)


def test_theorem_4_bound_in_numbers() -> None:
    at = {"n": 500, "e": 1e-3, "G_w": 2.0, "G_v": 0.5, "L": 3.0, "rho": 1.5, "mu": 0.7}
    factor = 2 + 2 * 0.5
    expected = factor * (2 * math.sqrt(2e-3 / 0.7) + math.sqrt(16 / 0.49 + 1 / 1.05) / 500) + 4 * 0.25 / (1.5 * 500)
    assert registry.theorem("yang2022.theorem_4").bound(**at) == pytest.approx(expected)


def test_y31_by_sampling() -> None:
    for _ in range(2000):
        ell, rho = sorted(RNG.uniform(0.01, 50, 2), reverse=True)
        mu = RNG.uniform(0, 1) * ell
        kappa, smooth = ell / rho, ell + ell**2 / rho
        theta = RNG.uniform(0, 1) / ell
        eta = min(math.sqrt(mu / smooth) / (8 * kappa**2), 1 / (4 * math.sqrt(2) * kappa**2)) * theta
        lam = 4 * ell**2 * eta / (rho * theta)
        first = 1 - mu * eta + lam * 8 * ell**2 / rho**2 * smooth * eta**2 / (rho * theta)
        second = ell**2 * eta / (2 * lam) + 1 - rho * theta / 2 + 4 * ell**4 / rho**2 * eta**2 / (rho * theta)
        assert first <= 1 - mu * eta / 2 + 1e-12
        assert second <= 1 - rho * theta / 4 + 1e-12


def test_y33_sums() -> None:
    t = np.arange(1, 9)
    assert float(theorem_3.powers(8, 2)) <= (t ** (-2 / 3)).sum() <= 3 * 8 ** (1 / 3)
    assert float(theorem_3.powers(8, 2)) >= 3 > 8 ** (1 / 3)
    assert float(theorem_3.powers(2, 3)) == 1.5 > math.log(2)


def test_y28_descent_on_random_quadratics() -> None:
    """Noiseless w <- w - eta (p w + c v), F = p w^2/2 + c w v - rho v^2/2: true for small steps, false for "
    "a large one."""
    for _ in range(500):
        p, c, rho = RNG.uniform(0.1, 3), RNG.uniform(-2, 2), RNG.uniform(0.1, 3)
        ell, mu = np.linalg.norm([[p, c], [c, -rho]], 2), p
        curve, smooth = p + c * c / rho, ell + ell**2 / rho
        eta, w, v = RNG.uniform(0, 1) / smooth, *RNG.uniform(-3, 3, 2)
        after = curve * (w - eta * (p * w + c * v)) ** 2 / 2
        bound = (1 - mu * eta) * curve * w * w / 2 + ell**2 * eta / 2 * (c * w / rho - v) ** 2
        assert after <= bound + 1e-12


def test_y35_by_monte_carlo() -> None:
    """The gap of the enumerated example, from 20,000 datasets; its standard error is below 0.005."""
    n, root = 900, 30
    mean = RNG.binomial(n, 0.5, 20_000) * 2 / n - 1
    w = -np.clip(root * mean, -1, 1)
    a = np.abs(w + root / 2 * mean)
    gap = w**2 / 2 - np.where(a <= 1, a**2 / 2, a - 0.5)
    assert gap.mean() == pytest.approx(float(theorem_4.gap(root)), abs=0.02)
    # the stability: one record moves the mean by 2/n
    assert root * 2 / n == pytest.approx(2 / 30)
    assert gap.mean() > (1 + 1.62) * 2 / 30


def test_y36_on_a_quadratic() -> None:
    w = RNG.uniform(-5, 5, 100)
    assert np.all(w**2 / 2 <= 2 * w**2)
    assert np.allclose((w**2) / 2, 1 * (w**2 / 2))  # |h'|^2/2 = mu (h - min h), mu = 1


def test_y43_on_random_scores() -> None:
    """min over a, b and max over v by formula of the empirical expectation, against all pairs."""
    for _ in range(20):
        plus, minus = RNG.normal(1, 1, 7), RNG.normal(0, 1, 11)
        p = 7 / 18
        v = minus.mean() - plus.mean()

        def f(a: float, b: float, v: float, plus=plus, minus=minus, p=p) -> float:
            up = (1 - p) * (plus - a) ** 2 - 2 * (1 + v) * (1 - p) * plus
            down = p * (minus - b) ** 2 + 2 * (1 + v) * p * minus
            return float((up.sum() + down.sum()) / 18 - p * (1 - p) * v**2)

        pairs = ((1 - np.subtract.outer(plus, minus)) ** 2).mean()
        value = f(plus.mean(), minus.mean(), v)
        assert value == pytest.approx(p * (1 - p) * (pairs - 1))
        assert value <= f(plus.mean() + 0.1, minus.mean(), v)
        assert value >= f(plus.mean(), minus.mean(), v + 0.1)


def test_y45_by_numpy() -> None:
    """Algorithm 2's gradient in v at v = 0, from equation (26)."""

    def gradient(h: np.ndarray, label: np.ndarray) -> float:
        up, down = (label == 1).sum(), (label == -1).sum()
        return float((2 * (h / down * (label == -1) - h / up * (label == 1))).sum())

    h = np.array([1.0] * 10 + [-1.0] + [1.0] * 10)
    before = np.array([1] * 11 + [-1] * 10)
    after = before.copy()
    after[10] = -1
    moved = abs(gradient(h, before) - gradient(h, after))
    assert moved == pytest.approx(float(auc.class_count_move()))
    largest = max(2 / 10 * np.abs(h).max(), 2 / 10)
    assert moved > 2 * largest
