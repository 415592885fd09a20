"""The claims of xu2026 about the escape from saddles and the population algorithm: verdicts and second routes.

The second routes share no code with the evidence: floating-point runs of the algorithm's steps, samples of the noise,
random problems, quadrature.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.bounds import registry

THM_2, THM_3 = registry.theorem("xu2026.theorem_2"), registry.theorem("xu2026.theorem_3")
quick = settings(deadline=None, max_examples=50, derandomize=True)
Array = np.ndarray[Any, Any]


# The escape phase: Lemmas 6 and 7


def slope(x: float, g: float) -> float:
    """Of g/(2 (1 + x^2)), a strict saddle at 0 with curvature -g."""
    return -g * x / (1 + x * x) ** 2


def breaks(start: float, g: float, eta: float, mean_square: float, steps: int) -> bool:
    """Whether Algorithm 2's escape phase is broken within so many steps, gradients exact."""
    x, total = start, 0.0
    for t in range(1, steps + 1):
        v = slope(x, g)
        total += (eta * v) ** 2
        if total > t * mean_square:
            return True
        x -= eta * v
    return False


def test_the_printed_escape_phase_certifies_a_saddle() -> None:
    """alpha_H = 1/200 below g = 1/100; L_Phi = rho_Phi = C = 1, eta_H = 1/10, r_0 = r/10. Seed fixed."""
    g, eta, alpha_h = 0.01, 0.1, 0.005
    assert g > alpha_h
    assert slope(1e-9, g) / 1e-9 == pytest.approx(-g)
    r = eta * alpha_h
    X = 10.0
    printed, R = round(2 * math.log(X) / eta), 1 / (2 * eta)
    repaired, ball = math.ceil(2 * math.log(4 * X) / (eta * alpha_h)), r
    starts = np.random.default_rng(0).uniform(-0.9 * r, 0.9 * r, size=40)
    assert not any(breaks(x, g, eta, (R / printed) ** 2, printed) for x in starts)
    away = [x for x in starts if abs(x) >= r / X]
    assert len(away) > 30
    assert all(breaks(x, g, eta, ((ball - 0.9 * r) / repaired) ** 2, repaired) for x in away)


@pytest.mark.parametrize("d", [1, 3, 10])
def test_chance_of_the_slab(d: int) -> None:
    """The thickest slab, about the centre, 10^5 starts: 0.01 is over 6 standard errors. Seed fixed."""
    rng = np.random.default_rng(d)
    delta_2 = 0.3
    points = rng.normal(size=(10**5, d))
    points *= (rng.random(10**5) ** (1 / d) / np.linalg.norm(points, axis=1))[:, None]
    hit = np.mean(np.abs(points[:, 0]) <= delta_2 / math.sqrt(d) / 2)
    assert hit < delta_2 + 0.01
    assert hit > 0.2 * delta_2, "the slab is not empty"
    # every other interval of length r_0 has no two points r_0 apart, and half of the ball
    comb = np.mean(np.floor(points[:, 0] / (delta_2 / math.sqrt(d))) % 2 == 0)
    assert comb > delta_2 + 0.1


# Sizes, noise and number of steps for the population


@quick
@given(st.integers(100, 10**7), st.floats(1e-3, 0.999))
def test_a_period_of_the_statement_is_no_iteration(n: int, a: float) -> None:
    assert math.floor(a ** (1 / 3)) == 0
    T, q = a ** (-2 / 3), a ** (-1 / 3)
    assert T / q * n > n
    assert THM_2.schedule(n=n, d=1, epsilon=0.5, delta=0.5, delta_1=0.1, L=1.0, mu=1.0)["q"] >= 1


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


# The recursion


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
