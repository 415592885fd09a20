"""Attacks on the lemmas of Zhang et al. 2025: counterexamples in fractions, and searches where a claim is to stand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

Number = Fraction


def h(x: Number) -> Number:
    """Odd; x up to 1, then bent to the constant 3/2 at 2."""
    size = min(abs(x), Fraction(2))
    value = size if size <= 1 else 2 * size - (size**2 + 1) / 2
    return value if x >= 0 else -value


def clip(value: Number, radius: Number) -> Number:
    return max(-radius, min(radius, value))


def test_lemma_4_fails_for_a_loss_that_is_smooth_in_each_block_only() -> None:
    """L = 10 h(x) y - y^2/2 on [-1/10, 1/10]: l = mu = 1 in each block, eta = 1/64, exact gradients."""
    eta, x = Fraction(1, 64), Fraction(1, 200)
    y = clip(10 * h(x), Fraction(1, 10))
    gradient = 10 * y  # h' = 1 there
    after = x - eta * gradient

    def phi(at: Number) -> Number:
        best = clip(10 * h(at), Fraction(1, 10))
        return 10 * h(at) * best - best**2 / 2

    right = phi(x) + (2 * 2 * eta**2 - eta / 2) * gradient**2
    assert (phi(after), right) == (Fraction(81, 204800), Fraction(-47, 102400))


def test_lemma_5_fails_for_a_loss_that_is_smooth_in_each_block_only() -> None:
    """L = 3 h(x) y - y^2/2 on [-1/6, 1/6] from theta_{t-1} = 0: theta_t is 9/4 of the right side."""
    eta, x = Fraction(1, 64), Fraction(1, 30)
    gradient = 3 * clip(3 * h(x), Fraction(1, 6))
    theta = (clip(3 * h(x), Fraction(1, 6)) - clip(3 * h(x - eta * gradient), Fraction(1, 6))) ** 2
    assert theta == Fraction(9, 4) * 4 * eta**2 * gradient**2


def jointly_smooth(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Quadratics p x^2/2 + b x y - q y^2/2 on R x [-r, r] with their joint smoothness l and kappa = l/q."""
    p, b = rng.normal(size=(2, count)) * 10 ** rng.uniform(-1, 1, size=(2, count))
    q, r = 10 ** rng.uniform(-1, 1, size=(2, count))
    l = (np.abs(p - q) + np.sqrt((p + q) ** 2 + 4 * b**2)) / 2  # the larger of the two |eigenvalues|
    return {"p": p, "b": b, "q": q, "r": r, "l": l, "kappa": l / q, "x": rng.normal(size=count) * 3}


def best(f: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    return np.clip(f["b"] * x / f["q"], -f["r"], f["r"])


def phi(f: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    y = best(f, x)
    return f["p"] * x**2 / 2 + f["b"] * x * y - f["q"] * y**2 / 2


def slope(f: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return f["p"] * x + f["b"] * y


@pytest.mark.parametrize("seed", range(3))
def test_lemmas_3_4_5_and_14_survive_a_search_among_jointly_smooth_quadratics(seed: int) -> None:
    """200,000 instances a seed, without noise: the largest left side over right side is at most one."""
    rng = np.random.default_rng(seed)
    f = jointly_smooth(rng, 200_000)
    l, kappa, x = f["l"], f["kappa"], f["x"]
    smooth, other = l + kappa * l, x + rng.normal(size=x.size)
    gradient = slope(f, x, best(f, x))
    room = 1e-9 * (1 + np.abs(phi(f, x)) + gradient**2)
    # Lemma 3
    assert np.all(np.abs(best(f, x) - best(f, other)) <= kappa * np.abs(x - other) * (1 + 1e-9))
    assert np.all(np.abs(gradient - slope(f, other, best(f, other))) <= smooth * np.abs(x - other) * (1 + 1e-9))
    # Lemmas 4 and 5: from any y, eta at most the printed step
    y = rng.uniform(-1, 1, x.size) * f["r"]
    eta = rng.uniform(0.1, 1, x.size) / (16 * (kappa + 1) ** 2 * l)
    after = x - eta * slope(f, x, y)
    error = gradient - slope(f, x, y)
    right = phi(f, x) + (2 * smooth * eta**2 - eta / 2) * gradient**2 + (2 * smooth * eta**2 + eta / 2) * error**2
    assert np.all(phi(f, after) <= right + room)
    climbed = np.clip(y + (f["b"] * x - f["q"] * y) / l, -f["r"], f["r"])
    theta, later = (y - best(f, x)) ** 2, (climbed - best(f, after)) ** 2
    bound = (1 - 1 / (2 * kappa) + 4 * kappa**3 * eta**2 * l**2) * theta + 4 * kappa**3 * eta**2 * gradient**2
    assert np.all(later <= bound * (1 + 1e-9) + 1e-12)
    # Lemma 14: any direction v, eta at most 1/(2 (l + kappa l))
    eta, v = rng.uniform(0.05, 1, x.size) / (2 * smooth), gradient + rng.normal(size=x.size)
    after = x - eta * v
    right = 2 / eta * (phi(f, x) - phi(f, after)) - v**2 / 2 + 2 * (v - gradient) ** 2
    assert np.all(slope(f, after, best(f, after)) ** 2 <= right + 1e-7 * (np.abs(right) + phi(f, x) ** 2 / eta + 1))


def test_definition_3_survives_a_grid() -> None:
    """Noise sqrt(8 log(1.25/delta))/epsilon on sensitivity 1: the exact curve stays below delta."""
    worst = 0.0
    for epsilon in np.geomspace(1e-6, 1, 60):
        for delta in [*np.geomspace(1e-12, 0.9, 60), 0.99, 1.0]:
            s = math.sqrt(8 * math.log(1.25 / delta)) / epsilon
            least = norm.cdf(0.5 / s - epsilon * s) - math.exp(epsilon) * norm.cdf(-0.5 / s - epsilon * s)
            worst = max(worst, least / delta)
    assert worst < 0.1


def test_lemma_12_survives_simulation() -> None:
    """F = w^2/2 with gradients off by 1/2: the largest t |w_t - w*|^2 of 2,000 runs is a tenth of the bound at most."""
    rng = np.random.default_rng(0)
    w = np.full(2000, 0.5)  # F = w^2/2 on [-1/2, 1/2], gradients w + noise of +-1/2, at most G = 1
    worst = 0.0
    for t in range(1, 2001):
        w = np.clip(w - (w + rng.choice([-0.5, 0.5], size=w.size)) / t, -0.5, 0.5)
        worst = max(worst, float(np.max((t + 1) * w**2)))
    theta = 1 / math.e
    assert worst < (624 * math.log(math.log(4) / theta) + 1) / 10


def test_the_two_step_conditions_hold_with_equality_and_fail_just_beyond() -> None:
    """Lemma 6 at kappa = 1, and the condition on eta after (59): no room is left."""
    step = Fraction(1, 64)  # kappa = l = 1
    assert step / 2 - 4 * step**2 == Fraction(7, 16) * step
    longer = step * Fraction(101, 100)
    assert longer / 2 - 4 * longer**2 < Fraction(7, 16) * longer
    squared = Fraction(1, 8)  # eta^2 at T = sigma = C_2 = d = 1
    assert 1 / (2 * squared) == 4
    assert 1 / (2 * squared * Fraction(101, 100)) < 4
