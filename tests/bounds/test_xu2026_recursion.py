"""The claims of xu2026 about its recursion and the projected gradient map, by second routes.

The second routes share no code with the evidence: random problems, and floating-point runs of the algorithm's steps.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from dpcheck.bounds import registry

THM_2, THM_3 = registry.theorem("xu2026.theorem_2"), registry.theorem("xu2026.theorem_3")
quick = settings(deadline=None, max_examples=50, derandomize=True)
Array = np.ndarray[Any, Any]


# The projected gradient map


def box(y: Array) -> Array:
    clipped: Array = np.clip(y, -1.0, 1.0)
    return clipped


def problem(rng: np.random.Generator, d: int = 3) -> tuple[Array, Array, float, float]:
    """f(y) = <b, y> - y' A y/2 with spectrum in [mu, L]: A, b, mu, L."""
    mu, L = sorted(rng.uniform(0.1, 3.0, size=2))
    basis, _ = np.linalg.qr(rng.normal(size=(d, d)))
    values = rng.uniform(mu, L, size=d)
    values[0], values[-1] = mu, L
    return basis @ np.diag(values) @ basis.T, 3 * rng.normal(size=d), mu, L


def maximiser(A: Array, b: Array, L: float) -> Array:
    y = np.zeros(len(b))
    for _ in range(4000):
        y = box(y + (b - A @ y) / L)
    return y


@pytest.mark.parametrize("seed", range(12))
def test_gradient_map_bounds_the_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, b, mu, L = problem(rng)
    best, step = maximiser(A, b, L), 1 / (6 * L)
    for _ in range(20):
        y = rng.uniform(-1, 1, size=3)
        norm = np.linalg.norm(y - box(y + step * (b - A @ y))) / step
        assert mu * np.linalg.norm(y - best) <= norm * (1 + 1e-6) + 1e-7
        # (48) with grad_x f(x, y) = B y, |B| <= L, an estimator v off by alpha
        B = A
        alpha = rng.normal(size=3)
        assert np.linalg.norm(B @ y + alpha - B @ best) <= np.linalg.norm(alpha) + 2 * L / mu * norm + 1e-6


def test_gradient_map_bound_is_attained_with_mu_and_fails_for_a_long_step() -> None:
    mu, y = 0.5, 0.3  # f = -mu y^2/2 on [-1, 1]
    step = 1 / (6 * mu)
    assert abs(y - box(np.array(y - step * mu * y))) / step == pytest.approx(mu * y)
    step = 50.0
    assert abs(1.0 - np.clip(1.0 - step * mu, 0, 1)) / step < mu / 2


@pytest.mark.parametrize("seed", range(6))
def test_cocoercivity(seed: int) -> None:
    """Quadratics, where the ends of the spectrum attain it, and a quadratic with log cosh."""
    rng = np.random.default_rng(seed)
    A, _, mu, L = problem(rng)
    values, vectors = np.linalg.eigh(A)
    for x in (*rng.normal(size=(20, 3)), vectors[:, 0], vectors[:, -1]):
        for g, e, top in ((A @ x, x, L), (mu * x + (L - mu) * np.tanh(x), x, L)):
            bound = mu * top / (mu + top) * e @ e + g @ g / (mu + top)
            assert g @ e >= bound - 1e-9
    end = vectors[:, -1]
    assert end @ A @ end == pytest.approx(mu * L / (mu + L) + values[-1] ** 2 / (mu + L))


@pytest.mark.parametrize("seed", range(12))
def test_moving_the_anchor(seed: int) -> None:
    """(42) and the first inequality of (35), for f = <b + B x, y> - y' A y/2, |B| <= L."""
    rng = np.random.default_rng(seed)
    A, b, _, L = problem(rng)
    B = A
    step = 1 / (6 * L)

    def gradient(x: Array, y: Array) -> Array:
        found: Array = b + B @ x - A @ y
        return found

    for _ in range(30):
        x, old, y, error = rng.normal(size=(4, 3))
        y = box(y)
        here, there = ((y - box(y + step * gradient(z, y))) / step for z in (x, old))
        moved = np.linalg.norm(x - old)
        assert here @ here <= 2 * L**2 * moved**2 + 2 * there @ there + 1e-9
        noisy = (y - box(y + step * (gradient(x, y) + error))) / step
        assert noisy @ noisy <= 3 * (error @ error + L**2 * moved**2 + there @ there) + 1e-9


# The recursion


def test_noise_of_40_dimensions() -> None:
    """10^5 draws of the refresh noise: 0.01 is over 6 standard errors. Seed fixed."""
    d, delta_1 = 40, 0.1
    squares = (np.random.default_rng(0).normal(size=(10**5, d)) ** 2).sum(axis=1)
    above = np.mean(squares > 4 * math.log(4 / delta_1))
    assert abs(above - chi2.sf(4 * math.log(4 / delta_1), d)) < 0.01
    assert above > 0.99 > 2 * delta_1
    assert np.mean(squares > 4 * d * math.log(4 / delta_1)) <= delta_1


def test_first_inner_step_with_its_noise() -> None:
    """Algorithm 3 with k = 0 on f = -y^2/2 at its maximum, u = 0, x unchanged. 1000 draws. Seed fixed."""
    chi = np.random.default_rng(0).normal(size=1000)
    y = 0.0
    moved = ((y + (0.0 + chi) / 6) - y) * 6
    assert np.mean(moved**2) == pytest.approx(1, abs=0.2)
    assert np.all(moved**2 <= 9 * chi**2)


@quick
@given(st.integers(0, 2**32 - 1))
def test_first_inner_step_without_noise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta, direction, gamma = rng.normal(size=(3, 2))
    L, moved = rng.uniform(0.1, 3.0, size=2)
    e = direction / np.linalg.norm(direction) * 2 * L * moved
    total = 3 * np.sum((theta + e) ** 2) + 3 * (L * moved) ** 2 + 3 * gamma @ gamma
    assert total <= 9 * theta @ theta + 21 * (L * moved) ** 2 + 3 * gamma @ gamma + 1e-9
    # the least coefficient that serves all theta is 21
    aligned = e / 2
    assert 3 * np.sum((aligned + e) ** 2) - 9 * (aligned @ aligned) > 17.9 * (L * moved) ** 2


@quick
@given(st.integers(0, 2**32 - 1), st.integers(2, 50))
def test_one_inner_step(seed: int, batch: int) -> None:
    """Equal records, no noise: the repaired contraction holds, the printed one fails along the top curvature."""
    rng = np.random.default_rng(seed)
    A, _, mu, L = problem(rng)
    step = 1 / (6 * L)
    _, vectors = np.linalg.eigh(A)
    for dy in (rng.normal(size=3), vectors[:, -1]):
        after = dy - step * A @ dy
        rate = 1 - 2 * step * mu * L / (mu + L)
        assert after @ after <= rate * dy @ dy + 1e-12
    dg = A @ dy
    printed = rate * dy @ dy - 2 * step / (mu + L) * dg @ dg + step**2 * L**2 / batch * dy @ dy
    assert after @ after > printed


@pytest.mark.parametrize("seed", range(10))
def test_inner_loop_keeps_41_without_noise(seed: int) -> None:
    """Full batches, so that u keeps its first error e_0; the best of the maps of k = 1, ..., K."""
    rng = np.random.default_rng(seed)
    A, b, mu, L = problem(rng)
    step, K, ell = 1 / (6 * L), 12, math.log(4 / 0.1)
    kappa = L / mu

    def best(size: float) -> tuple[float, float, float]:
        e_0 = size * rng.normal(size=3)
        y = box(rng.normal(size=3))
        noisy, exact = [], []
        for _ in range(K + 1):
            gradient = b - A @ y
            after = box(y + step * (gradient + e_0))
            noisy.append(np.linalg.norm(y - after) / step)
            exact.append(float(np.sum((y - box(y + step * gradient)) ** 2)) / step**2)
            y = after
        chosen = 1 + int(np.argmin(noisy[1:]))
        return exact[chosen], exact[0], float(e_0 @ e_0)

    for size in (0.0, 0.01, 1.0, 10.0):
        gamma, first, error = best(size)
        assert gamma <= 144 * kappa / K * first + (144 * kappa / K + 120 * ell) * error + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_value_after_an_inexact_step(seed: int) -> None:
    """f* - f(y_1) <= (|G_0|^2 + |e_0|^2)/mu, and (39), on boxes."""
    rng = np.random.default_rng(seed)
    A, b, mu, L = problem(rng)
    step, top = 1 / (6 * L), maximiser(A, b, L)

    def f(y: Array) -> float:
        return float(b @ y - y @ A @ y / 2)

    for scale in (0.1, 1.0, 10.0):
        for _ in range(20):
            y, e = box(rng.normal(size=3)), scale * rng.normal(size=3)
            gradient = b - A @ y
            after, exact = box(y + step * (gradient + e)), box(y + step * gradient)
            D, E = np.sum((after - y) ** 2), np.sum((exact - y) ** 2)
            assert f(top) - f(after) <= (E / step**2 + e @ e) / mu + 1e-9
            assert f(after) - f(y) >= (1 / (2 * step) - L / 2) * E + (1 / (3 * step) - L) * D - step * e @ e - 1e-9


@pytest.mark.parametrize(("S_2", "holds"), [(2, False), (3, True), (50, True)])
def test_coefficients_of_43(S_2: int, holds: bool) -> None:
    """Substituted by hand: (35) with 9, 21, 3 and L^2 lambda^2 = 1/36 into (41), (42); parts in kappa/K and in ell."""
    tail = Fraction(120, 36 * S_2)
    by_kappa = {"gamma": 144 * 2, "theta": 144 * 3, "move": 144 * 2 + 144 * 6}
    by_log = {"gamma": 3 * tail, "theta": 120 * 3 + 9 * tail, "move": 120 * 6 + 21 * tail}
    assert by_kappa == {"gamma": 288, "theta": 432, "move": 1152}
    assert by_log["gamma"] == Fraction(10, S_2)
    assert by_log["theta"] <= 390
    assert (by_log["move"] <= 750) is holds


def test_largest_step_of_lemma_8() -> None:
    """The schedule's eta, r and D (constants 1) against (44), for kappa = 1 and 4; and a single escape step."""
    sizes = {"n": 10**6, "d": 100, "epsilon": 0.5, "delta": 1e-6, "delta_1": 0.01, "L": 1.0}
    a = math.sqrt(100 * math.log(1e6)) / (10**6 * 0.5)
    for kappa, holds in ((1.0, True), (4.0, False)):
        found = THM_2.schedule(**sizes, mu=1 / kappa)
        bound = a / (math.log(400) ** 2 * kappa**2)
        assert (max(found["eta"] ** 2, found["r"] ** 2, found["D"]) <= bound * (1 + 1e-12)) is holds
    moves = np.array([0, 0, 0, 2 * math.sqrt(found["D"])])
    assert all(np.sum(moves[: j + 1] ** 2) <= (j + 1) * found["D"] * (1 + 1e-12) for j in range(4))
    assert moves[-1] ** 2 > 3 * found["D"]
