"""Zhang 2022: the theorems' numbers, and the lemmas by simulation in floating point."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from dpcheck.accounting import certify
from dpcheck.bounds import registry
from dpcheck.errors import InputError
from dpcheck.events import Gaussian

RNG = np.random.default_rng(2022)
SIZES = [(100, 1, 1.0, 1e-4), (1000, 20, 0.3, 1e-6), (10_000, 300, 0.9, 1e-8), (123_457, 5, 0.05, 1e-9)]


@pytest.mark.parametrize(("n", "d", "epsilon", "delta"), SIZES[1:])
def test_theorem_3_3_in_numbers(n: int, d: int, epsilon: float, delta: float) -> None:
    thm = registry.theorem("zhang2022.theorem_3_3")
    at = {"n": n, "d": d, "epsilon": epsilon, "delta": delta, "L": 2.0, "ell": 3.0, "mu": 0.5}
    log = math.log(2.5 / delta)
    assert thm.noise(**at)["sigma"] == pytest.approx(4 * 2 * math.sqrt(2 * log) / (0.5 * n * epsilon))
    expected = 4 * 6 * (7 / (0.5 * n) + 48 * d * log / (0.5 * n**2 * epsilon**2))
    assert thm.bound(**at) == pytest.approx(expected)
    with pytest.raises(InputError, match="epsilon must satisfy epsilon <= 1"):
        thm.bound(**{**at, "epsilon": 1.5})


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 0.99])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_calibrations_by_the_accountant(epsilon: float, delta: float) -> None:
    """Z06, Z27: the multipliers keep the shares of the budget that they are to keep."""
    one = math.sqrt(2 * math.log(2.5 / delta)) / epsilon
    assert certify([Gaussian(one)], delta=delta / 2).epsilon <= epsilon
    block = 2 * math.sqrt(2 * math.log(5 / delta)) / epsilon
    assert certify([Gaussian(block)], delta=delta / 4).epsilon <= epsilon / 2


@pytest.mark.parametrize(("n", "d", "epsilon", "delta"), SIZES)
def test_phased_bounds_with_whole_phases_and_blocks(n: int, d: int, epsilon: float, delta: float) -> None:
    """Z18, Z37: the proofs' terms with K = floor(log2 n) and floor(n/K) records a block, in the bound with log2."""
    k, bits = math.floor(math.log2(n)), math.log2(n)
    block = n // k
    log = math.log(2.5 / delta)
    mu = max(1 / math.sqrt(n), 14 * bits * math.sqrt(d * log) / (n * epsilon))
    share = math.sqrt(d * log) / (block * epsilon)
    total = math.sqrt(65) * share / (mu * 2**k) + mu
    total += sum(65 * share**2 / (mu * 2 ** (j - 1)) for j in range(2, k + 1))
    total += sum(2 / (mu * 2**j * block) for j in range(1, k + 1))
    assert total <= 4 * bits * (1 / math.sqrt(n) + 7 * math.sqrt(d * log) / (n * epsilon))
    log = math.log(5 / delta)
    mu = max(2 / math.sqrt(n), 13 * bits * math.sqrt(d * log) / (n * epsilon))
    share = math.sqrt(d * log) / (block * epsilon)
    total = math.sqrt(257 / (mu * 2**k * mu)) * share + 257 * (k - 1) * share**2 / mu + 8 * k / (mu * block) + 1.5 * mu
    thm = registry.theorem("zhang2022.theorem_4_5")
    if epsilon < 1 and delta < 1 / n:
        assert 2 * total <= thm.bound(n=n, d=d, epsilon=epsilon, delta=delta, L=1, D=1)


def logistic_minimiser(labels: np.ndarray, features: np.ndarray, mu: float) -> float:
    def slope(x: float) -> float:
        return float(np.mean(-labels * features / (1 + np.exp(labels * features * x)))) + mu * x

    return brentq(slope, -1 / mu, 1 / mu, xtol=1e-14)


def test_stability_of_regularised_minimisers() -> None:
    """Z02, Z04: logistic loss (L = 1) with mu x^2/2; the bound holds, and one replacement comes within a quarter."""
    largest = 0.0
    for _ in range(200):
        n, mu = int(RNG.integers(2, 12)), float(RNG.uniform(0.5, 5))
        labels, features = RNG.choice([-1.0, 1.0], n), RNG.uniform(-1, 1, n)
        before = logistic_minimiser(labels, features, mu)
        features[0], labels[0] = 1.0, -np.sign(before or 1.0)
        moved = abs(logistic_minimiser(labels, features, mu) - before)
        assert moved <= 2 / (mu * n)
        largest = max(largest, moved * mu * n / 2)
    assert largest > 0.25


def saddle(a: float, mu_x: float, mu_y: float, b: float, c: float) -> tuple[float, float]:
    """Of mu_x x^2/2 + a x y - mu_y y^2/2 + b x - c y."""
    x, y = np.linalg.solve([[mu_x, a], [a, -mu_y]], [-b, c])
    return float(x), float(y)


def test_stability_and_gaps_of_saddle_points() -> None:
    """Z21 to Z23 on quadratic games, all in closed form."""
    for _ in range(300):
        a, mu_x, mu_y = RNG.uniform(-3, 3), *RNG.uniform(0.1, 3, 2)
        n, b, c = int(RNG.integers(2, 9)), *RNG.uniform(-1, 1, 2)
        x, y = saddle(a, mu_x, mu_y, b, c)
        u, v = saddle(a, mu_x, mu_y, b + RNG.uniform(-2, 2) / n, c + RNG.uniform(-2, 2) / n)
        reach = max(abs(x), abs(y), abs(u), abs(v))
        lipschitz = math.hypot((mu_x + abs(a)) * reach + 3, (abs(a) + mu_y) * reach + 3)
        energy = mu_x * (x - u) ** 2 + mu_y * (y - v) ** 2
        assert energy <= 4 * lipschitz**2 / (min(mu_x, mu_y) * n**2)
        # the gap at (u, v) of the first game
        gap = (mu_x + a * a / mu_y) * (x - u) ** 2 / 2 + (mu_y + a * a / mu_x) * (y - v) ** 2 / 2
        ell = np.linalg.norm([[mu_x, a], [a, -mu_y]], 2)
        assert energy / 2 <= gap * (1 + 1e-9) + 1e-15
        assert (
            gap
            <= ((ell / mu_y + 1) * ell * (x - u) ** 2 + (ell / mu_x + 1) * ell * (y - v) ** 2) / 2 * (1 + 1e-9) + 1e-15
        )


def test_resolvent_is_non_expansive() -> None:
    """Z32 and Z51, bilinear-quadratic f."""
    for _ in range(300):
        a, mu_x, mu_y, p, q = RNG.uniform(-3, 3), *RNG.uniform(0.1, 3, 2), *RNG.uniform(0, 2, 2)
        u, v, s, t = RNG.uniform(-2, 2, 4)
        x, y = np.linalg.solve([[p + mu_x, a], [a, -q - mu_y]], [mu_x * u, -mu_y * v])
        z, w = np.linalg.solve([[p + mu_x, a], [a, -q - mu_y]], [mu_x * s, -mu_y * t])
        assert mu_x * (x - z) ** 2 + mu_y * (y - w) ** 2 <= mu_x * (u - s) ** 2 + mu_y * (v - t) ** 2 + 1e-12
        # no regulariser in y, f mu_y-strongly concave
        x, y = np.linalg.solve([[p + mu_x, a], [a, -mu_y]], [mu_x * u, 0])
        z, w = np.linalg.solve([[p + mu_x, a], [a, -mu_y]], [mu_x * s, 0])
        assert mu_y * (y - w) ** 2 <= mu_x * (u - s) ** 2 / 4 + 1e-12


def test_a_weak_bound_says_nothing_about_the_mean_of_maxima() -> None:
    """Z49 by simulation: x = 1 or -1, F = x y - y^2/2."""
    x, y = RNG.choice([-1.0, 1.0], 10_000), np.linspace(-2, 2, 401)
    values = np.multiply.outer(x, y) - y**2 / 2
    assert values.mean(axis=0).max() < 0.01
    assert values.max(axis=1).mean() == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["extragradient", "svrg", "accelerated_svrg", "jin", "catalyst"])
def test_table_2_sums_over_real_phases(name: str) -> None:
    """The phases' gradients, by each solver's rate, stay within a constant times K of the entry."""
    thm = registry.theorem(f"zhang2022.table_2_{name}")
    for n in (10**3, 10**5, 10**7):
        for r in (0.01, 1.0, 30.0):
            k = math.floor(math.log2(n))
            mu = 2 / math.sqrt(n)  # L = D = 1, ell = r
            block = n / k
            rates = {
                "extragradient": lambda m: block * (r + m) / min(m, mu),
                "svrg": lambda m: block + (r / mu) ** 2,
                "accelerated_svrg": lambda m: block + math.sqrt(block) * r / mu,
                "jin": lambda m: block + math.sqrt(block) * (2 + r / m + r / math.sqrt(m * mu) + r / mu),
                "catalyst": lambda m: (
                    block + math.sqrt(block * (r + m) ** 2 / (m * mu)) + block**0.75 * math.sqrt((r + m) / mu)
                ),
            }
            total = sum(rates[name](mu * 2**j) for j in range(1, k + 1))
            values = {"n": n, "r": r}
            entry = max(float(t.subs({x: values[str(x)] for x in t.free_symbols})) for _, t in thm.regimes)
            assert total <= 30 * k * entry


def test_theorem_regions_are_refused() -> None:
    with pytest.raises(InputError, match="mu_y must satisfy"):
        registry.theorem("zhang2022.corollary_b_6").bound(n=100, d=2, epsilon=0.5, delta=1e-4, L=1, D=1, mu_y=0.01)
