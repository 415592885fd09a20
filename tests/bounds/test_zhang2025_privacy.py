"""The privacy claims of zhang2025 (and one of xu2026): verdicts, theorems, and each by a second route.

The second routes share no code with the evidence: floating-point runs of the algorithms, quadrature,
SciPy's normal distribution, and the accountant of dp-accounting.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dpcheck.bounds import registry
from dpcheck.bounds.zhang2025 import privatediff

quick = settings(deadline=None, max_examples=50, derandomize=True)


def gaussian_delta(multiplier: float, epsilon: float) -> float:
    """The least delta of one Gaussian release, by SciPy."""
    upper = norm.cdf(0.5 / multiplier - epsilon * multiplier)
    return float(upper - math.exp(epsilon) * norm.cdf(-0.5 / multiplier - epsilon * multiplier))


def clip(rows: np.ndarray[Any, Any], threshold: float) -> np.ndarray[Any, Any]:
    return np.clip(rows, -threshold, threshold)


# Verdicts


# One Gaussian release: Definition 3 of both papers


@quick
@given(st.floats(1e-3, 1), st.floats(1e-12, 1))
def test_definition_3_is_private(epsilon: float, delta: float) -> None:
    assert gaussian_delta(math.sqrt(8 * math.log(1.25 / delta)) / epsilon, epsilon) <= delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (0.9, 1e-6), (0.1, 1e-8)])
def test_definition_3_without_its_factor_is_not(epsilon: float, delta: float) -> None:
    multiplier = math.sqrt(math.log(1.25 / delta)) / epsilon
    assert gaussian_delta(multiplier, epsilon) > delta
    assert gaussian_delta(math.sqrt(2) * multiplier, epsilon) <= delta


def test_curve_of_one_release_on_samples() -> None:
    """The chance of the likeliest event, 10^6 samples a side: 0.005 is more than 3 standard errors. Seed fixed."""
    rng = np.random.default_rng(0)
    epsilon, multiplier = 0.99, 1.6
    noise = rng.normal(size=(2, 10**6)) * multiplier
    edge = epsilon * multiplier**2 + 0.5
    excess = np.mean(noise[0] + 1 >= edge) - math.exp(epsilon) * np.mean(noise[1] >= edge)
    assert abs(excess - gaussian_delta(multiplier, epsilon)) < 0.005


# Moments: Definition 4, Lemmas 1 and 2


@pytest.mark.parametrize(("order", "scale"), [(1, 1.0), (3, 2.0), (2.5, 0.8)])
def test_moment_of_a_gaussian_release_by_quadrature(order: float, scale: float) -> None:
    z = np.linspace(-30, 40, 400_001)
    ours, theirs = norm.logpdf(z, 1, scale), norm.logpdf(z, 0, scale)
    moment = math.log(np.trapezoid(np.exp(ours + order * (ours - theirs)), z))
    assert moment == pytest.approx(order * (order + 1) / (2 * scale**2), rel=1e-9)


@quick
@given(st.floats(0.55, 0.95), st.integers(1, 6))
def test_composed_moment_is_below_the_sum(keep: float, order: int) -> None:
    """Randomised response on two bits: one bit differs, so that the other factor is 1."""
    single = keep ** (order + 1) / (1 - keep) ** order + (1 - keep) ** (order + 1) / keep**order
    worst = 0.0
    chances = {0: np.array([keep, 1 - keep]), 1: np.array([1 - keep, keep])}
    for ours, theirs in itertools.product(itertools.product((0, 1), repeat=2), repeat=2):
        if sum(a != b for a, b in zip(ours, theirs, strict=True)) == 1:
            p, q = (np.outer(chances[a], chances[b]) for a, b in (ours, theirs))
            worst = max(worst, float(np.sum(p ** (order + 1) / q**order)))
    assert worst == pytest.approx(single)
    assert math.log(worst) < 2 * math.log(single)


@quick
@given(st.floats(0.3, 5), st.floats(0.05, 3))
def test_tail_bound_needs_its_exponential(multiplier: float, epsilon: float) -> None:
    orders = np.linspace(1e-3, 200, 20_000)
    exponent = np.min(orders * (orders + 1) / (2 * multiplier**2) - orders * epsilon)
    true = gaussian_delta(multiplier, epsilon)
    assert true <= math.exp(exponent)
    assert exponent <= 1e-3 / multiplier**2 + 1e-9  # so the printed delta is at most about zero
    assert true > exponent or exponent > 0


def test_lemma_2_fails_at_unit_noise() -> None:
    """Three points at mutual distance 1, lambda = 1, by quadrature in the plane."""
    grid = np.linspace(-11, 12, 1401)
    X, Y = np.meshgrid(grid, grid)
    cell = (grid[1] - grid[0]) ** 2

    def normal(a: float, b: float) -> np.ndarray[Any, Any]:
        return np.exp(-((X - a) ** 2 + (Y - b) ** 2) / 2) / (2 * np.pi)

    away, ours, theirs = normal(0, 0), normal(1, 0), normal(0.5, math.sqrt(0.75))
    leading = 2 * math.e - 2 * math.sqrt(math.e)
    for q in (0.01, 0.002):
        p_mix, q_mix = (1 - q) * away + q * ours, (1 - q) * away + q * theirs
        moment = math.log(float(np.sum(p_mix**2 / q_mix)) * cell)
        assert moment > 2 * q**2 / (1 - q) * (1.01 if q == 0.01 else 1.05)
        assert moment == pytest.approx(leading * q**2, rel=10 * q)


def test_lemma_2_fails_at_small_noise() -> None:
    z = np.linspace(-12, 16, 400_001)
    q, scale = 1e-3, 0.5
    p_mix = (1 - q) * norm.pdf(z, 0, scale) + q * norm.pdf(z, 1, scale)
    moment = math.log(np.trapezoid(p_mix**2 / norm.pdf(z, 0, scale), z))
    assert moment > 6 * 2 * q**2 / ((1 - q) * scale**2)


# Theorem 1


@pytest.mark.parametrize(
    ("n", "m", "T", "epsilon", "delta"),
    [(1000, 10, 10_000, 0.5, 1e-6), (1000, 100, 200, 1.0, 1e-6), (100, 30, 50, 2.0, 1e-3), (50, 50, 9, 5.0, 1e-3)],
)
def test_theorem_1_with_49_passes_an_accountant(n: int, m: int, T: int, epsilon: float, delta: float) -> None:
    from dp_accounting import NeighboringRelation, dp_event
    from dp_accounting.rdp import RdpAccountant

    assert epsilon <= min(math.log(1 / delta), (m / n) ** 2 * T)
    sigma = 49 * math.sqrt(T * math.log(1 / delta)) / (n * epsilon)  # C_1 = C_2 = 1
    multiplier = m / 2 * sigma / math.sqrt(2)
    step: Any = dp_event.GaussianDpEvent(multiplier)
    accountant = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
    if m < n:
        step = dp_event.SampledWithoutReplacementDpEvent(n, m, step)
    accountant.compose(step, T)
    assert accountant.get_epsilon(delta) <= epsilon


@pytest.mark.parametrize("c", [1.0, 2.0, 3.0])
def test_theorem_1_fails_far_above_log_one_over_delta(c: float) -> None:
    """The chances of the event, for all T + 1 outputs, by SciPy; delta = 1/e, epsilon = 5 c^2, m = n."""
    T, epsilon = 4000, 5 * c**2
    tau = c * math.sqrt(T) / epsilon
    t = np.arange(1, T + 1)
    away = np.exp(epsilon + norm.logcdf(-(t + T / 4) / (tau * np.sqrt(t))))
    within = norm.cdf((t - T / 4) / (tau * np.sqrt(t)))
    assert within.sum() / (T + 1) > away.sum() / (T + 1) + math.exp(-1)


def test_settings_of_theorem_1_do_not_scale_with_the_threshold() -> None:
    """Null: (1, 1/100)-DP at n = 10, m = 5, T = 1, C_1 = 100. 20,000 runs a side; the event has 0 against 1/4,
    so an error rate below 1e-100."""
    rng = np.random.default_rng(1)
    n, m, epsilon, delta, runs = 10, 5, 1.0, 0.01, 20_000
    sigma = 8 * math.sqrt(math.log(1 / delta)) / (n * epsilon)
    chances = []
    for last in (1.0, -1.0):
        data = np.array([1.0] * (n - 1) + [last])
        batches = rng.permuted(np.tile(data, (runs, 1)), axis=1)[:, :m]
        release = clip(100 * batches, 100).mean(axis=1) + sigma * rng.normal(size=runs)
        chances.append(np.mean((release < 100 - 100 / m) & (rng.random(runs) < 0.5)))
    assert chances[1] > math.exp(epsilon) * chances[0] + delta
    theorem = registry.theorem("zhang2025.theorem_1")
    scaled = theorem.noise(n=n, T=1, epsilon=epsilon, delta=delta, C_1=100.0, C_2=1.0)["sigma_x"]
    assert scaled == pytest.approx(100 * sigma)


@pytest.mark.thorough
@quick
@given(st.integers(2, 500), st.integers(1, 400), st.floats(0.1, 1), st.floats(1, 6))
def test_settings_of_theorem_1_with_thresholds_are_private(n: int, T: int, epsilon: float, power: float) -> None:
    """What T steps and delta = n^(-2 power) spend of epsilon, at the best of many integer orders.

    The moment is E[w^a - w + w^(1 - a) - 1; w > 1] by quadrature.
    """
    delta = n ** (-2 * (power - 1)) / n**2
    ell = -math.log(delta)
    thm = registry.theorem("zhang2025.theorem_1")
    m = thm.schedule(n=n, T=T, epsilon=epsilon, delta=delta)["m"]
    q, sigma = m / n, 8 * math.sqrt(T * ell) / (n * epsilon)
    x = 2 * (2 / (m * sigma)) ** 2
    assert x <= epsilon / (2 * ell) * (1 + 1e-9) and q <= 2 / 3
    z = np.linspace(x / 2 / math.sqrt(x), 60, 60_001)  # log r = sqrt x z - x/2 > 0
    log_w = np.log1p(q * np.expm1(math.sqrt(x) * z - x / 2))
    spent = []
    for order in np.unique(np.geomspace(1, 4 * ell / epsilon + 1, 40).astype(int)):
        a = order + 1
        up = np.exp(a * log_w + norm.logpdf(z))
        rest = (np.exp((1 - a) * log_w) - np.exp(log_w) - 1) * norm.pdf(z)
        moment = math.log1p(float(np.trapezoid(up + rest, z)))
        loss = T * moment / order
        spent.append(loss + (ell - math.log(a)) / order - math.log1p(1 / order))
        if order <= 0.8 * 2 * ell / epsilon:
            assert loss <= (1.6**2 + 1.2) * a * epsilon**2 / (16 * ell) * (1 + 1e-6) + 1e-12
    assert min(spent) <= epsilon


@quick
@given(st.integers(2, 60), st.floats(0.01, 2 / 3), st.floats(0.01, 0.75))
def test_pairs_of_bits(a: int, q: float, top: float) -> None:
    """E exp(x K (K - 1)/2) over K ~ Bin(a, q) at x (a - 1) = top, by the sum over K."""
    x = top / (a - 1)
    mean = sum(math.comb(a, k) * q**k * (1 - q) ** (a - k) * math.exp(x * k * (k - 1) / 2) for k in range(a + 1))
    assert mean <= math.exp(1.6**2 * q**2 * x * a * (a - 1) / 2)
    assert mean >= 1 + x * q**2 * a * (a - 1) / 2


# PrivateDiff Minimax, in floating point


def h(x: float) -> float:
    return x / (1 + x * x)


def slope(x: float) -> float:
    return (1 - x * x) / (1 + x * x) ** 2


def inner(data: np.ndarray[Any, Any], x: float, y: float, batches: list[Any], threshold: float) -> float:
    """Algorithm 4 on h(x) y + z y - y^2/2 over [-1, 1]."""
    for i, batch in enumerate(batches):
        y = float(np.clip(y + clip(h(x) + data[batch] - y, threshold).mean() / (i + 1), -1, 1))
    return y


@pytest.mark.parametrize(("n", "steps"), [(2, 1), (8, 4), (40, 2)])
def test_restart_moves_by_the_whole_threshold(n: int, steps: int) -> None:
    found = []
    for record in (2 * n, -2 * n):
        data = np.array([record] + [0] * (n - 1), dtype=float)
        y = inner(data, 0, 0, [np.arange(n)] * steps, 2 * n + 2)
        found.append(clip(np.full(n, slope(0) * y), 1).mean())
    assert abs(found[0] - found[1]) == pytest.approx(2)
    assert float(privatediff.restart_difference(n, steps)) == pytest.approx(abs(found[0] - found[1]))


@quick
@given(st.lists(st.floats(-5, 5), min_size=3, max_size=8), st.floats(-5, 5), st.floats(0.1, 3), st.integers(0, 2**20))
def test_with_the_same_y_and_one_minibatch_lemma_8_holds(
    rows: list[float], other: float, threshold: float, seed: int
) -> None:
    """Random gradients g(z) at released points: restart and difference on the same indices move by 2 C/m."""
    rng = np.random.default_rng(seed)
    data, m = np.array(rows), int(rng.integers(1, len(rows) + 1))
    changed = data.copy()
    changed[0] = other
    batch = rng.permutation(len(rows))[:m]
    a, b, c, d = rng.normal(size=4)
    results = [
        (clip(np.sin(a * z[batch] + b), threshold).mean(),
         clip(3 * np.sin(a * z[batch] + b) - 3 * np.cos(c * z[batch] + d), threshold).mean())
        for z in (data, changed)
    ]  # fmt: skip
    for one, two in zip(*results, strict=True):
        assert abs(one - two) <= 2 * threshold / m + 1e-12


@pytest.mark.parametrize("n", [5, 10, 50])
def test_difference_round_moves_by_a_constant(n: int) -> None:
    found = []
    for record in (2 * n, -2 * n):
        data = np.array([record] + [0] * (n - 1), dtype=float)
        y_2 = inner(data, 0.5, 0, [np.arange(n)] * 2, 2 * n + 2)
        found.append(clip(np.full(n, slope(0.5) * y_2 - slope(0) * 0), 15 / 8 + 1).mean())
    moved = abs(found[0] - found[1])
    assert moved == pytest.approx(24 / 25)
    assert float(privatediff.difference_round(n, 2)) == pytest.approx(moved)
    assert (moved > 2 * (23 / 8) / n) == (n >= 6)


def test_second_minibatch_doubles_the_move() -> None:
    """Random pairs of minibatches of 3 from 7; y_2 = -1 and ytilde_1 = 1 on both datasets."""
    rng = np.random.default_rng(2)
    worst = 0.0
    for _ in range(2000):
        now, before = rng.permutation(7)[:3], rng.permutation(7)[:3]
        found = []
        for record in (1.0, -1.0):
            data = np.zeros(7)
            data[3] = record
            found.append(clip(data[now] * -1 - data[before] * 1, 1).mean())
        worst = max(worst, abs(found[0] - found[1]))
    assert worst == pytest.approx(4 / 3)
    assert float(privatediff.second_batch(4, 3)) == pytest.approx(4 / 3)
    assert float(privatediff.same_batch(4, 3)) == pytest.approx(2 / 3)


def test_overwritten_y_leaves_noise_in_the_estimator() -> None:
    """The left-over of one round has the noise's standard deviation: 50,000 runs, half a per cent, 3 sigma."""
    rng = np.random.default_rng(3)
    noise = rng.normal(size=50_000)
    y_1, y_2 = h(0) + 0.0, h(0.5)
    estimate = slope(0) * y_1 + slope(0.5) * y_2 - slope(0) * (y_1 + noise)
    left = estimate - slope(0.5) * y_2
    assert np.std(left) == pytest.approx(1, abs=0.01)
    assert float(privatediff.left_over(Fraction(7, 4))) == pytest.approx(-1.75)


# Stability of the ascent: Lemmas 9 and 10


def climb(data: np.ndarray[Any, Any], draws: np.ndarray[Any, Any], scale: float) -> float:
    y = 0.0
    for i, draw in enumerate(draws):
        y = float(np.clip(y + np.mean(scale * (data[draw] - y)) / (scale * (i + 1)), -1, 1))
    return y


@pytest.mark.parametrize("scale", [1e-4, 0.1, 1.0])
def test_distance_does_not_scale_with_the_loss(scale: float) -> None:
    """One draw a step, 4000 runs: the mean distance is 2/n to 6 standard errors (0.05); the bound is 10 s/n."""
    rng = np.random.default_rng(4)
    n, steps = 5, 6
    ours, theirs = np.eye(n)[0], -np.eye(n)[0]
    found = []
    for _ in range(4000):
        draws = rng.integers(n, size=(steps, 1))
        found.append(abs(climb(ours, draws, scale) - climb(theirs, draws, scale)))
    assert np.mean(found) == pytest.approx(2 / n, abs=0.05)
    values = scale * np.array([z * y - y * y / 2 + 1.5 for z in (-1, 0, 1) for y in np.linspace(-1, 1, 201)])
    assert values.min() >= 0 and values.max() <= 2 * scale  # 0 <= f <= M = 2 s
    assert (2 / n > (2 * (2 * scale) ** 2 + scale * 2 * scale) / (scale * n)) == (scale < 1 / 5)
    assert max(found) > 3 * 2 / n


@quick
@given(st.integers(2, 12), st.integers(1, 30), st.floats(0.2, 3), st.integers(0, 2**20))
def test_repaired_stability_holds(n: int, steps: int, radius: float, seed: int) -> None:
    """Full batch, steps 1/(mu (i + kappa)), nothing clipped: the move is at most 2 C_0/(mu n)."""
    rng = np.random.default_rng(seed)
    bends = np.exp(rng.uniform(0, 2, size=3))  # curvatures of a diagonal quadratic
    mu, beta = bends.min(), bends.max()
    data = rng.uniform(-1, 1, size=(n, 3))
    changed = data.copy()
    changed[0] = rng.uniform(-1, 1, size=3)
    threshold = math.sqrt(3) + beta * radius  # G_y on the ball
    ends = []
    for z in (data, changed):
        y = np.zeros(3)
        for i in range(steps):
            y = y + (z.mean(axis=0) - bends * y) / (mu * (i + beta / mu))
            y *= min(1, radius / max(np.linalg.norm(y), 1e-300))
        ends.append(y)
    assert np.linalg.norm(ends[0] - ends[1]) <= 2 * threshold / (mu * n) + 1e-12


def test_clipping_and_long_steps_break_the_repaired_bound() -> None:
    y = [0.0, 0.0]
    for i in range(4):
        for side, data in enumerate((np.array([1.0, -1.0]), np.array([-1.0, -1.0]))):
            y[side] += clip(data - y[side], 0.1).mean() / (i + 1)
    assert abs(y[0] - y[1]) == pytest.approx(5 / 24) and 5 / 24 > 2 * 0.1 / 2
    long, n = [0.0, 0.0], 100
    for i in range(3):
        for side, mean in enumerate((1 / n, -1 / n)):
            long[side] += (mean - 8 * long[side]) / (i + 1)
    assert abs(long[0] - long[1]) == pytest.approx(0.09) and max(map(abs, long)) < 0.1
    assert 2 * 1.8 / n < 0.09


# Theorem 5 and Remark 2


def test_theorem_5_leaks_in_x() -> None:
    """Null: (1, 1/e)-DP at c_5 = 4, n = m = 40, R = T = 1. 20,000 runs of the whole round a side; the event has about
    1 against 0, so an error rate below 1e-100."""
    rng = np.random.default_rng(5)
    n, runs = 40, 20_000
    sigma = 4 * 1.0 / n  # c_5 sqrt(log e)/(n epsilon)
    chances = []
    for record in (2 * n, -2 * n):
        data = np.array([record] + [0] * (n - 1), dtype=float)
        y_1 = inner(data, 0, 0, [np.arange(n)] * 3, 2 * n + 2)
        x_1 = -0.1 * (slope(0) * y_1 + sigma * rng.normal(size=runs))
        chances.append(np.mean(x_1 > 0))
    assert chances[1] > math.e * chances[0] + math.exp(-1)


@pytest.mark.parametrize("divided", [False, True])
def test_theorem_5_leaks_in_y(divided: bool) -> None:
    """Null: (1, 1/e)-DP at c_7 = 4, n = m = 10, f scaled by 1/1000. 20,000 runs; chances 1 and 0."""
    rng = np.random.default_rng(6)
    n, s, runs = 10, 1e-3, 20_000
    sigma = 4 * (2 * (2 * s) ** 2 + s * 2 * s) / n / (s if divided else 1)
    chances = []
    for record in (1.0, -1.0):
        data = np.array([record] + [0] * (n - 1), dtype=float)
        y_1 = climb(data, np.tile(np.arange(n), (3, 1)), s)
        chances.append(np.mean(y_1 + sigma * rng.normal(size=runs) < 0))
    assert chances[1] > math.e * chances[0] + math.exp(-1)


def test_remark_2_leaks_with_sampling() -> None:
    """Null: (1/2, 1/n^2)-DP at n = 256, m = 64, R = T = T_2 = 1. 20,000 runs a side; chances 1/4 and 0."""
    rng = np.random.default_rng(7)
    n, m, epsilon, runs = 256, 64, 0.5, 20_000
    thm = registry.theorem("zhang2025.theorem_5")
    sizes = {"n": n, "T": 1, "R": 1, "epsilon": epsilon, "delta": 1 / n**2}
    assert thm.schedule(**sizes) == {"m": m}
    noise = thm.noise(**sizes, C_0=130.0, beta=1.0, M=200.0, mu=1.0)
    chances = []
    for record in (2 * m, -2 * m):
        drawn = rng.random(runs) < m / n  # whether the inner minibatch holds the record
        y_1 = np.clip(np.where(drawn, record / m, 0.0), -1, 1)
        chances.append(np.mean(y_1 + noise["sigma_x1"] * rng.normal(size=runs) < -0.5))
    assert chances[1] > math.exp(epsilon) * chances[0] + 1 / n**2


def test_remark_2_leaks_in_many_rounds_without_any_coupling() -> None:
    """Null: (1, 10^-6)-DP at n = T = R = 1000; f = z h(x) - y^2/2, C_2 = C_3 = 10^-9.

    2000 runs a side of all rounds, with the record in the first minibatch, whose chance 12/1000 is put back; if it is
    not drawn, the chance of the event is at most that of the noise it needs. About 10^-3 against less than 10^-5.
    """
    rng = np.random.default_rng(9)
    n = T = R = 1000
    thm = registry.theorem("zhang2025.theorem_5")
    sizes = {"n": n, "T": T, "R": R, "epsilon": 1.0, "delta": 1e-6}
    m = thm.schedule(**sizes)["m"]
    assert m == 12
    noise = thm.noise(**sizes, C_0=1.0, beta=1.0, M=1.0, mu=1.0)
    runs, eta, small = 2000, 1e-3, 1e-9
    chances = []
    for record in (1.0, -1.0):
        x, v = np.zeros((R + 1, runs)), record / m + noise["sigma_x1"] * rng.normal(size=runs)
        x[1] = -eta * v
        for r in range(1, R):
            threshold = small * np.abs(x[r] - x[r - 1]) + small
            now, before = (record * (rng.random(runs) < m / n) for _ in range(2))
            h_now, h_before = ((1 - u * u) / (1 + u * u) ** 2 for u in (x[r], x[r - 1]))
            change = np.clip(now * h_now - before * h_before, -threshold, threshold) / m
            v = v + change + noise["sigma_x2"] * threshold * rng.normal(size=runs)
            x[r + 1] = x[r] - eta * v
        shown = x[rng.integers(1, R + 1, runs), np.arange(runs)]
        chances.append(m / n * np.mean(shown > 0.8 * eta * R / m))
    away = norm.cdf(-0.8 / m / noise["sigma_x1"])  # the record is not drawn: the event needs this much noise at least
    assert chances[1] > 5e-4
    assert chances[0] == 0 and away < 1e-5
    assert chances[1] > math.e * (chances[0] + away) + 1e-6
    # the first release alone, from the two densities
    multiplier = m * noise["sigma_x1"] / 2
    z = np.linspace(-2, 3, 500_001)
    ours = (1 - m / n) * norm.pdf(z, 0, multiplier) + m / n * norm.pdf(z, 1, multiplier)
    least = np.trapezoid(np.maximum(ours - math.e * norm.pdf(z, 0, multiplier), 0), z)
    assert least == pytest.approx(0.012, rel=1e-3)


@pytest.mark.parametrize("c", [1, 2, 5])
def test_theorem_5_leaks_in_many_rounds_for_every_constant(c: int) -> None:
    """The chances of the event at q = 1/(100 c^2), delta = q/100, epsilon = 1, by SciPy."""
    q = 1 / (100 * c * c)
    sizes = {"n": 10_000 * c * c, "m": 100, "T": 10**9, "R": 10**9, "epsilon": 1.0, "delta": q / 100}
    constants = {"c_4": 1.0, "c_5": float(c), "c_6": 1.0, "c_7": 1.0}
    noise = registry.theorem("zhang2025.theorem_5_existential").noise(**sizes, **constants, C_0=1.0, beta=1.0, M=1.0)
    height = 1 / (100 * noise["sigma_x1"])
    assert q * norm.cdf(height / 9) / 10 > math.e * norm.cdf(-0.8 * height) + q / 100


def test_normalised_noise_of_algorithm_3() -> None:
    """Standard deviation of (d + noise)/(2 C_1) in units of 1/m: 200,000 draws, one per cent."""
    rng = np.random.default_rng(8)
    m, sigma = 5, 0.7
    for threshold in (0.25, 4.0):
        g = (1.3 + sigma * threshold * rng.normal(size=200_000)) / (2 * threshold)
        assert np.std(g) * m == pytest.approx(m * sigma / 2, rel=0.01)
        assert np.std(g) * m != pytest.approx(m * sigma / (2 * threshold), rel=0.5)


@pytest.mark.parametrize(("n", "epsilon", "R", "T"), [(10, 1.0, 1, 1), (1000, 0.3, 40, 5)])
def test_first_condition_of_the_proof(n: int, epsilon: float, R: int, T: int) -> None:
    """The largest lambda of the first condition, found by bisection."""
    m, sigma = n / 4, 4 * math.sqrt(R / T * 2 * math.log(n)) / (n * epsilon)
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        fits = m**2 * R * middle**2 / (T * n**2 * (m * sigma / 2) ** 2) <= middle * epsilon / 4
        low, high = (middle, high) if fits else (low, middle)
    assert low == pytest.approx(2 * math.log(n) / epsilon)
    assert math.exp(-low * epsilon / 4) > 1 / n**2


def test_assumption_1_leaves_phi_unbounded() -> None:
    """Gradient descent on Phi = -sqrt(1 + x^2) from 1/10: Phi falls for ever, its slope tends to 1."""
    x = 0.1
    for _ in range(20_000):
        x += x / math.sqrt(1 + x * x)
    assert math.sqrt(1 + x * x) > 19_000
    assert x / math.sqrt(1 + x * x) > 0.999
