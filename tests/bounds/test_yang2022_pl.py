"""Yang 2022, PL case and AUC: decisions by simulation and by NumPy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpcheck.bounds import registry
from dpcheck.bounds.yang2022 import auc, lemmas_7_to_11, theorem_3_proof, theorem_4_proof

RNG = np.random.default_rng(28)


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
    assert float(theorem_3_proof.powers(8, 2)) <= (t ** (-2 / 3)).sum() <= 3 * 8 ** (1 / 3)
    assert float(theorem_3_proof.powers(8, 2)) >= 3 > 8 ** (1 / 3)
    assert float(theorem_3_proof.powers(2, 3)) == 1.5 > math.log(2)


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
    assert gap.mean() == pytest.approx(float(theorem_4_proof.stable_gap(root)), abs=0.02)
    # the stability: one record moves the mean by 2/n
    assert root * 2 / n == pytest.approx(2 / 30)
    assert gap.mean() > (1 + 1.62) * 2 / 30


def test_y29_y30_steps_by_numpy() -> None:
    """The steps of Algorithm 1 on the instances, with gradients by hand."""
    w = max(1 - 10 * 1.0, 0)  # F = w - rho v^2/2 on [0, 1]
    assert (
        w
        == lemmas_7_to_11.primal_error(*map(Fraction, (1, 0, 0, 0.01)), 1, *map(Fraction, (1, 0, 10, 1)))
        > 1 * (1 - 10 / 2) + 1e-6 * 2 * 4 * 0.02 * 100
    )
    p, c, rho, eta = 0.1, 0.9, 1 / 16, 1 / 17
    assert np.linalg.norm([[p, c], [c, -rho]], 2) <= 1
    assert eta <= 1 / (1 + 1 / rho) + 1e-15
    after = ((c / rho * (-eta * c)) - (1 - rho)) ** 2
    assert after == pytest.approx(
        float(lemmas_7_to_11.dual_error(*map(Fraction, (0, p, c, rho)), 0, *map(Fraction, (0, 1, eta, 1))))
    )
    assert 2 * 2 / rho * eta**2 + 2 * (1 - rho) < after <= 2 * 2 / rho**2 * eta**2 + 2 * (1 - rho)


def test_y29_wall_by_numpy() -> None:
    """F = w + w v/2 - v^2/4 on [0, 1]: the move of w is not covered by the excess."""
    w, eta, rho, e = 0.01, 0.005, 0.5, 100
    excess, then = w + w * w / 4, w - eta * (1 + w / 2)
    moved = (w / 2 / rho - then / 2 / rho) ** 2
    assert moved > (1 + 1 / e) * 4 / rho**2 * (1 + 1 / rho) * eta**2 * excess


def test_y33_first_step_and_y34_stuck_run() -> None:
    assert (
        float(lemmas_7_to_11.primal_error(*map(Fraction, (0, 1, 0, 1)), 0, *map(Fraction, (1, 0, 2, 0))))
        == (1 - 2) ** 2 / 2
    )
    grid = np.linspace(-1, 1, 2001)
    height = (2 + grid / 2 - grid**2) ** 2 / 2  # at y = 0, least in y
    assert height[-1] - height.min() == pytest.approx(float(theorem_3_proof.stuck_excess(7)))


def test_y36_on_a_quadratic() -> None:
    w = RNG.uniform(-5, 5, 100)
    assert np.all(w**2 / 2 <= 2 * w**2)
    # a wall: |grad|^2/2 >= F - min F everywhere, without the growth
    x, y = RNG.uniform(-1, 1, 500), RNG.uniform(0, 1, 500)
    h = y + 1 + x**2 / 8
    assert np.all(h**2 * (1 + x**2 / 16) / 2 >= h**2 / 2 - 1 / 2)
    assert (h**2 / 2 - 1 / 2 < (x**2 + y**2) / 2).any()


def test_y38_by_monte_carlo() -> None:
    """The gap of the full instance, minimising R_S on a grid of w, against both printed bounds."""
    n, radius = 10_000, 1 / 200
    mean = RNG.binomial(n, 0.5, 4000) * 2 / n - 1
    grid = np.linspace(-radius, radius, 801)

    def highest(slope: np.ndarray) -> np.ndarray:
        v = np.clip(slope, -radius, radius)
        return slope * v - v * v / 2

    empirical = grid**2 / 2 + highest(2 * grid + mean[:, None])
    w = grid[empirical.argmin(axis=1)]
    gaps = highest(2 * w) - highest(2 * w + mean)
    gap = float(theorem_4_proof.saddle_gap(100))
    assert gaps.mean() == pytest.approx(gap, abs=5 * gaps.std() / math.sqrt(mean.size))
    slope_w, slope_v, factor = 0.015, 1.015, 1 + math.sqrt(5)
    assert np.linalg.norm([[1, 2], [2, -1]], 2) == pytest.approx(math.sqrt(5))
    assert gap > factor * slope_w / n * math.sqrt((slope_w**2 + slope_v**2) / 4)
    assert gap > factor * slope_w / n * math.sqrt(slope_w**2 / 4 + slope_v**2)
    at = {"n": n, "e": 1e-12, "G_w": slope_w, "G_v": slope_v, "L": math.sqrt(5), "rho": 1, "mu": 1}
    assert gap <= registry.theorem("yang2022.theorem_4").bound(**at)


def test_y38_corner_by_formula() -> None:
    """E|mean of n signs| is near sqrt(2/(pi n)); the registered bound is below a tenth of it on a W with walls."""
    n = 10_001
    gap = float(theorem_4_proof.corner_gap(n))
    assert gap == pytest.approx(math.sqrt(2 / (math.pi * n)) / 10, rel=1e-3)
    at = {"n": n, "e": 1e-12, "G_w": math.sqrt(1.01), "G_v": 1e-3, "L": 1, "rho": 1, "mu": 5 / 12}
    assert gap > registry.theorem("yang2022.theorem_4").bound(**at)


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

    n = 1000
    h = np.array([1.0, -1.0] + [0.0] * (n - 2))
    before = np.array([1, 1] + [-1] * (n - 2))
    after = before.copy()
    after[1] = -1
    moved = abs(gradient(h, before) - gradient(h, after))
    assert moved == pytest.approx(float(auc.relabel_move(n)))
    assert moved > 100 * 2 * float(auc.largest_gradient(n // 2, n // 2))
    # the noise of (3) scales with G_v of the dataset: ratio near 2 for n_+ = 1 against 2
    ratio = float(auc.largest_gradient(1, 99) / auc.largest_gradient(2, 98))
    assert math.erfc(3 / ratio / math.sqrt(2)) > math.e * math.erfc(3 / math.sqrt(2)) + 1e-5


def test_y48_gradient_vanishes_at_zero() -> None:
    """Central differences of F_S at zero weights, for several v, against its value elsewhere."""

    def f(c: float, s: float, a: float, b: float, v: float) -> float:
        def score(x: float) -> float:
            return c * max(s * x, s * x / 10)

        up, down = score(1), score(-1)
        pairs = (up - a) ** 2 / 4 + (down - b) ** 2 / 4 + (1 + v) * (down - up) / 2
        return pairs - v * v / 4

    for v in (-1.0, 0.0, 0.5):
        for axis in np.eye(4) * 1e-6:
            assert abs(f(*axis, v) - f(*-axis, v)) / 2e-6 < 1e-5
    assert f(1, 1, 1, -0.1, 0) == pytest.approx(float(auc.objective(1, 1, Fraction(1), Fraction(-1, 10))))
    assert f(1, 1, 1, -0.1, 0) < f(0, 0, 0, 0, 0) == 0
