"""Zhang 2022: the theorems' numbers, and the lemmas by simulation in floating point."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from scipy.optimize import brentq

from dpcheck.accounting import certify
from dpcheck.bounds import registry
from dpcheck.bounds.zhang2022.conditions import overshoot
from dpcheck.events import Gaussian

RNG = np.random.default_rng(2022)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 0.99])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_calibrations_by_the_accountant(epsilon: float, delta: float) -> None:
    """Z06, Z27: the multipliers keep the shares of the budget that they are to keep."""
    one = math.sqrt(2 * math.log(2.5 / delta)) / epsilon
    assert certify([Gaussian(one)], delta=delta / 2).epsilon <= epsilon
    block = 2 * math.sqrt(2 * math.log(5 / delta)) / epsilon
    assert certify([Gaussian(block)], delta=delta / 4).epsilon <= epsilon / 2


COUNTS = [2, 3, 4, 5, 7, 8, 11, 15, 16, 31, 100, 1000, 1023, 1024, 10_000, 123_457, 10**9, 2**40 - 1]


def phased(n: int) -> tuple[int, int, float]:
    """Phases, records in a block, and log2 n, by integers."""
    k = n.bit_length() - 1
    return k, n // k, math.log2(n)


PAIRED = [
    (n, d, (1e-3, 0.3, 1.0)[(i + j) % 3]) for i, n in enumerate(COUNTS) for j, d in enumerate((1, 30, 10**6))
]  # every n with every d and every epsilon, and every d with every epsilon


@pytest.mark.thorough
@pytest.mark.parametrize(("n", "d", "epsilon"), PAIRED)
def test_phased_bounds_with_whole_phases_and_blocks(n: int, d: int, epsilon: float) -> None:
    """Z18, Z37, Z47, Z48: the proofs' sums phase by phase, with noise and schedule as registered."""
    k, block, bits = phased(n)
    delta = 0.9 / n
    sizes = {"n": n, "d": d, "epsilon": epsilon, "delta": delta, "L": 1, "D": 1}

    thm = registry.theorem("zhang2022.theorem_3_4")
    mu, log = thm.schedule(**sizes)["mu"], math.log(2.5 / delta)
    assert thm.schedule(**sizes)["K"] == k
    assert mu == pytest.approx(max(1 / math.sqrt(n), 14 * bits * math.sqrt(d * log) / (n * epsilon)))
    apart = [
        2 * d * thm.noise(**sizes, k=j)["sigma"] ** 2 + delta**2 / (8 * (mu * 2**j * block) ** 2)
        for j in range(1, k + 1)
    ]
    total = math.sqrt(apart[-1]) + mu + sum(mu * 2**j / 2 * apart[j - 2] for j in range(2, k + 1))
    total += sum(2 / (mu * 2**j * block) for j in range(1, k + 1))
    assert total <= thm.bound(**sizes)

    thm = registry.theorem("zhang2022.theorem_4_5")
    mu, log = thm.schedule(**sizes)["mu"], math.log(5 / delta)
    assert mu == pytest.approx(max(2 / math.sqrt(n), 13 * bits * math.sqrt(d * log) / (n * epsilon)))
    apart = [
        2 * d * thm.noise(**sizes, k=j)["sigma"] ** 2 + delta / (4 * mu**2 * 2**j * block**2) for j in range(1, k + 1)
    ]
    total = math.sqrt(apart[-1]) + 1.5 * mu + sum(mu * 2**j / 2 * apart[j - 2] for j in range(2, k + 1))
    assert 2 * (total + 8 * k / (mu * block)) <= thm.bound(**sizes)

    thm = registry.theorem("zhang2022.corollary_b_6")
    for mu_y in (1 / math.sqrt(n) * (1 + 1e-12), 0.1 + 1 / math.sqrt(n), 30.0):
        sizes["mu_y"] = mu_y
        mu = thm.schedule(**sizes)["mu"]
        least = [min(mu * 2**j, mu_y) for j in range(1, k + 1)]
        apart = [
            2 * d * thm.noise(**sizes, k=j)["sigma"] ** 2 + delta / (2 * mu * 2**j * least[j - 1] * block**2)
            for j in range(1, k + 1)
        ]
        total = math.sqrt(apart[-1]) + mu + sum(mu * 2**j / 2 * apart[j - 2] for j in range(2, k + 1))
        assert total + sum(8 / (m * block) for m in least) <= thm.bound(**sizes)


@pytest.mark.parametrize("n", [5, 11, 31, 1000])
@pytest.mark.parametrize("delta", [1e-4, 1e-8, 1e-20])
def test_noise_is_that_of_the_records_in_a_block(n: int, delta: float) -> None:
    """Z13, Z39, Z46: noise over the sensitivity of a block of floor(n/K) records."""
    k, block, _ = phased(n)
    sizes = {"n": n, "d": 3, "epsilon": 1.0, "delta": delta, "L": 2.0, "D": 5.0, "k": 2 if k > 1 else 1}
    one, two = math.sqrt(2 * math.log(2.5 / delta)), 2 * math.sqrt(2 * math.log(5 / delta))
    thm = registry.theorem("zhang2022.theorem_3_4")
    mu_k = thm.schedule(**{name: sizes[name] for name in sizes if name != "k"})["mu"] * 2 ** sizes["k"]
    assert thm.noise(**sizes)["sigma"] / (4 * 2 / (mu_k * block)) == pytest.approx(one)
    thm = registry.theorem("zhang2022.theorem_4_5")
    mu = thm.schedule(**{name: sizes[name] for name in sizes if name != "k"})["mu"]
    sensitivity = 4 * 2 / (block * mu * math.sqrt(2 ** sizes["k"]))
    assert thm.noise(**sizes)["sigma"] / sensitivity == pytest.approx(two)
    thm = registry.theorem("zhang2022.corollary_b_6")
    mu_k = thm.schedule(**{name: sizes[name] for name in sizes if name != "k"}, mu_y=1.0)["mu"] * 2 ** sizes["k"]
    assert thm.noise(**sizes, mu_y=1.0)["sigma"] / (4 * 2 / (block * math.sqrt(mu_k * min(mu_k, 1)))) == pytest.approx(
        one
    )


def test_noise_for_parts_of_records_is_short() -> None:
    """Z13: n = 8, K = 3 blocks of 2 records, noise and tolerance for 8/3 of them: 2 L/2 and two errors L/(8/3)."""
    delta = 1e-12
    share = math.sqrt(2 * math.log(2.5 / delta))
    moved, reckoned = 2 / 2 + 2 * 3 / 8, 4 * 3 / 8
    assert certify([Gaussian(share)], delta=delta).epsilon < 1
    assert certify([Gaussian(share * reckoned / moved)], delta=delta).epsilon > 1


def test_the_bounds_of_the_readme_sizes() -> None:
    """At epsilon = 1, the end of the range, every bound is at least the sum that its proof gives."""
    thm = registry.theorem("zhang2022.theorem_4_5")
    assert thm.bound(n=10_000, d=50, epsilon=1.0, delta=1e-8, L=1, D=1) == pytest.approx(72.951, abs=1e-3)


def test_natural_logarithms_break_the_sums() -> None:
    """Z36, Z37, Z47: K = log n to base e leaves mu_K = mu n^0.69."""
    n = 1e30
    p, bits = 1 / math.sqrt(n), math.log(n)
    for k in (math.floor(bits), math.ceil(bits)):
        b, mu = 2 * p / (13 * bits), 2 * p
        total = math.sqrt(257) * k * b / (mu * 2 ** (k / 2)) + 257 * (k - 1) * (k * b) ** 2 / mu
        assert total + 8 * k**2 * p**2 / mu + 1.5 * mu > 8 * k**2 * (p + 5 * b)
    assert math.sqrt(257) * math.sqrt(1000 / 2**9) / 2 > 17 / 2 > math.sqrt(257) * math.sqrt(1000 / 2**10) / 2


def logistic_minimiser(labels: np.ndarray, features: np.ndarray, mu: float) -> float:
    def slope(x: float) -> float:
        return float(np.mean(-labels * features / (1 + np.exp(labels * features * x)))) + mu * x

    return brentq(slope, -1 / mu, 1 / mu, xtol=1e-14)


def test_stability_of_regularised_minimisers() -> None:
    """Z02, Z04: logistic loss (L = 1) with mu x^2/2; the bound holds, and one replacement reaches a quarter of it."""
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


def test_first_gaps_are_within_what_the_solvers_logarithm_needs() -> None:
    """Z11: 64 n^2/delta^2 bounds the first gap over gamma for f = z x + mu x^2/2 on [-r, r], whatever mu and L."""
    for _ in range(200):
        mu, r, n = 10 ** RNG.uniform(-6, 6), 10 ** RNG.uniform(-6, 6), int(RNG.integers(2, 50))
        z, start = RNG.uniform(-1, 1) * 10 ** RNG.uniform(-3, 3), RNG.uniform(-r, r)
        best, lipschitz = np.clip(-z / mu, -r, r), abs(z) + mu * r
        gap = z * (start - best) + mu * (start**2 - best**2) / 2
        delta = RNG.uniform(0, 1 / n)
        assert gap <= 64 * n**2 / delta**2 * (delta**2 * lipschitz**2 / (32 * mu * n**2))


def test_released_points_outside_the_set() -> None:
    """Z08, Z16: the mean square overshoot, in closed form and by simulation."""
    for sigma, gap in ((1.0, 0.5), (2.7, 2.0), (0.3, 0.9)):
        noise = sigma * RNG.standard_normal(400_000)
        measured = float(np.mean(np.maximum(noise - gap, 0) ** 2))
        assert float(overshoot(sympy.Rational(repr(sigma)), sympy.Rational(repr(gap)))) == pytest.approx(
            measured, rel=0.1
        )


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
