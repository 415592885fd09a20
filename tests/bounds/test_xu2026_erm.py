"""Xu 2026, privacy and the empirical case: decisions by the accountant, simulation and SciPy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpcheck.accounting import certify
from dpcheck.bounds.xu2026 import algorithms, lemma_4, noise, theorem_1_proof
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
    assert float(algorithms.mean_then_clip(1, 10, -8)) == batch(np.array([10.0, -8.0]), 1.0)


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
    assert float(lemma_4.squared_signs(2, 2)) == 0.5
    assert (signs**2).mean() == pytest.approx(50, rel=0.05)


def test_algorithm_2_with_constant_steps_never_stops() -> None:
    x, smallest = 0.25, np.inf
    for _ in range(1000):
        x -= 0.5 * np.sign(x)
        smallest = min(smallest, abs(x))
    assert smallest == 0.25
    assert float(theorem_1_proof.constant_steps(1000, Fraction(1, 4))) == x


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
    assert v == float(algorithms.estimate(5, 2, 1)) == 8.0
    assert float(algorithms.estimate(5, 2, 0)) == now


def value_slope(x: np.ndarray, z: float) -> np.ndarray:
    """Of Phi = cos x + (sin x + z)^2/2."""
    return np.asarray(-np.sin(x) + np.cos(x) * (np.sin(x) + z))


def outputs(z: float, seed: int) -> np.ndarray:
    """x_0 to x_200 of Algorithms 2 and 3, K = 1, descent steps of length 1/4, noisy u and v, F with this z."""
    rng = np.random.default_rng(seed)
    x, y, v, u, path = 1.0, 0.0, 0.0, 0.0, [1.0]
    for t in range(200):
        before = path[-2] if t else x
        if t % 10 == 0:
            v, u = -np.sin(x) + y * np.cos(x), np.sin(x) + z - y
        else:
            v += -np.sin(x) + y * np.cos(x) + np.sin(before) - y * np.cos(before)
            u += np.sin(x) - np.sin(before)
        v, u = v + rng.normal(0, 0.01), u + rng.normal(0, 0.01)
        candidates = [y, min(2.0, max(-2.0, y + u / 6))]
        y = candidates[int(np.argmin([abs(candidates[0] - candidates[1])]))]
        x -= 0.25 * np.sign(v)
        path.append(float(x))
    return np.array(path)


def test_with_one_inner_step_the_output_does_not_see_the_records() -> None:
    """The same path, to the last bit, for z = 1/2 and -1/2, whose stationary points lie apart on a grid."""
    for seed in range(5):
        assert np.array_equal(outputs(0.5, seed), outputs(-0.5, seed))
    grid = np.linspace(-np.pi, np.pi, 200_001)
    both = np.maximum(np.abs(value_slope(grid, 0.5)), np.abs(value_slope(grid, -0.5)))
    assert both.min() > 1 / 8
    assert abs(value_slope(np.array(np.pi), 0.5)) == pytest.approx(0.5)
    numeric = np.gradient(np.cos(grid) + (np.sin(grid) + 0.5) ** 2 / 2, grid)
    assert np.allclose(numeric[1:-1], value_slope(grid, 0.5)[1:-1], atol=1e-6)


@pytest.mark.parametrize("T", [10, 1000, 100_000])
def test_more_refreshes_do_not_replace_steps(T: int) -> None:
    """Lemma 4's instance: from distance 2, T steps of size or length 1/T; the printed bound tends to 0."""
    plain = normalised = 2.0
    slopes = []
    for _ in range(T):
        plain -= plain / T
        normalised -= 1 / T
        slopes.append(min(plain, normalised))
    assert min(slopes) > 0.5
    assert (T < 100) or math.sqrt(2 / T) < 0.2


def test_descent_with_normalised_steps_by_hand() -> None:
    """Algorithm 2 from x = 1/100 with eta = 1/2 on x^2/2: (9) wants a fall, F rises by 0.12."""
    x, eta = 0.01, 0.5
    after = x - eta * x / abs(x)
    assert after**2 / 2 - x**2 / 2 == pytest.approx(0.12, abs=1e-3)
    assert -(eta / 2 - eta**2 / 2) * x**2 == pytest.approx(-1.25e-5)
    for x, g, eta, logs in ((1.0, 1.0, 0.5, 4.0), (1.0, 2.0, 0.25, 2.0)):
        fall = (x - eta * g) ** 2 / 2 - x**2 / 2
        right = eta / 2 * (x - g) ** 2 - (eta / 2 - eta**2 / 2) * g**2
        assert logs * right < fall <= right


def test_true_gradient_makes_9_true() -> None:
    """For joint steps -eta nabla on random quadratics with |Hessian| <= 1. Seed fixed."""
    rng = np.random.default_rng(3)
    for _ in range(500):
        A = rng.normal(size=(3, 3))
        A = (A + A.T) / 2
        A /= np.linalg.norm(A, 2)
        w, nabla = rng.normal(size=(2, 3))
        eta = rng.uniform(0, 0.5)
        after, error = w - eta * nabla, np.sum((A @ w - nabla) ** 2)
        assert after @ A @ after / 2 - w @ A @ w / 2 <= (
            eta / 2 * error - (eta / 2 - eta**2 / 2) * nabla @ nabla + 1e-12
        )


def test_deviation_with_one_more_logarithm() -> None:
    """Pinelis for 50 signs: beyond 2 log(2/delta) 50 in at most a share delta of 10^5 draws. Seed fixed."""
    sums = np.random.default_rng(4).choice([-1.0, 1.0], (100_000, 50)).sum(axis=1)
    for delta in (0.5, 0.1, 0.01):
        assert (sums**2 > 2 * math.log(2 / delta) * 50).mean() <= delta
    assert float(lemma_4.mean_square(5)) == 5.0


@pytest.mark.parametrize("q", [1, 2, 5])
def test_mean_window_is_within_its_share(q: int) -> None:
    squares = [int(each) for each in RNG.integers(0, 10, 20)]
    every = [float(lemma_4.window_share(q, i, *squares)) for i in range(20)]
    assert float(lemma_4.window_share(q, -1, *squares)) == pytest.approx(np.mean(every))
    assert np.mean(every) <= 1


def test_schedule_of_lemma_5_needs_a_small_ratio() -> None:
    for L_F_0, a, rounded in ((16.0, 0.5, 0), (16.0, 0.2, 1), (1.0, 0.5, 1)):
        T = max((L_F_0**0.25 / a) ** (4 / 3), 1 / a)
        assert math.floor(1 / (T * a * a)) == rounded
        assert (rounded >= 1) is (a <= 1 / math.sqrt(L_F_0))


def test_sampling_helps_with_no_constant() -> None:
    """q = 1/(100 C^2), delta = q/1000, epsilon = 1: the event breaks the guarantee for C up to 10^6."""
    for c in 10.0 ** np.arange(7):
        q = 1 / (100 * c * c)
        half = 1 / (2 * c * q * math.sqrt(math.log(1250 / q)))
        tail = stats.norm.sf(half)
        assert q * (1 - tail) > math.e * tail + q / 1000


def test_two_leaks_by_drawing_them() -> None:
    """Each query shows the record with chance delta = 1/10: 10^5 runs, over 10 standard errors above delta."""
    shown = (RNG.random((100_000, 2)) < 0.1).any(axis=1).mean()
    assert shown == pytest.approx(1 - 0.9**2, abs=0.005)
    assert shown > 0.1


def test_choice_and_test_use_released_values_alone() -> None:
    """By the differences of the surrogate (y_k - y_{k+1})/lambda, with NumPy."""
    for _ in range(50):
        u = RNG.integers(-6, 7, 4)
        path = [0.0]
        for each in u:
            path.append(float(np.clip(path[-1] + each / 6, -1, 1)))
        moves = np.abs(np.diff(path))
        assert moves[int(noise.chosen(0, *map(int, u)))] == pytest.approx(moves.min())
        v = RNG.integers(-4, 5, 6)
        broken = np.flatnonzero(np.cumsum((v / 2) ** 2) > np.arange(1, 7))
        expected = broken[0] + 1 if broken.size else 0
        assert int(noise.broken_at(Fraction(1, 2), Fraction(1), *map(int, v))) == expected


def test_matrix_sensing_curvature() -> None:
    """Hessian of f in y for 4 records by finite differences: -1/n on the diagonal, 0 elsewhere."""
    residual, n, h = RNG.normal(size=4), 4, 1e-3

    def f(y: np.ndarray) -> float:
        return float(np.mean(y * residual - y**2 / 2))

    base = RNG.normal(size=n)
    for i in range(n):
        for j in range(n):
            e, g = np.eye(n)[i] * h, np.eye(n)[j] * h
            second = (f(base + e + g) - f(base + e - g) - f(base - e + g) + f(base - e - g)) / (4 * h * h)
            assert second == pytest.approx(-1 / n if i == j else 0, abs=1e-6)
