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
from scipy.integrate import quad
from scipy.special import gammaln

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


@pytest.mark.parametrize("delta_1", [0.01, 0.1])
def test_two_failures_by_drawing_them(delta_1: float) -> None:
    """Disjoint failures of chance 4 delta_1 and delta_2, 10^5 draws: 0.01 is over 6 standard errors. Seed fixed."""
    delta_2 = 0.1
    draws = np.random.default_rng(1).random(10**5)
    good = np.mean((draws >= 4 * delta_1) & (draws < 1 - delta_2))
    assert abs(good - (1 - 4 * delta_1 - delta_2)) < 0.01
    assert good < 1 - delta_1 - delta_2 - 0.01


@pytest.mark.parametrize(("g", "eta", "ratio"), [(0.01, 0.1, 10.0), (0.1, 0.5, 100.0), (0.5, 1.0, 3.0)])
def test_growth_in_the_printed_and_the_repaired_time(g: float, eta: float, ratio: float) -> None:
    """(27) needs (1 + eta g)^t/2 >= 2 R/r_0 = 2 ratio."""
    for threshold, enough in (
        (2 * math.log(ratio) / eta, False),
        (2 * math.log(4 * ratio) / (eta * g), True),
    ):
        distance = 1.0
        for _ in range(math.ceil(threshold)):
            distance *= 1 + eta * g
        assert (distance / 2 >= 2 * ratio) is enough


@quick
@given(st.floats(1e-6, 0.5), st.floats(1e-3, 1.0))
def test_chain_of_step_sizes_turns_at_a_small_gradient(a: float, part: float) -> None:
    v, r_0 = part * a ** (2 / 3), 1.0
    assert v <= a ** (2 / 3)
    chain = r_0 / (2 * v) <= a ** (-4 / 3) * r_0 / 2 * (1 + 1e-12)
    assert chain is bool(v * (1 + 1e-12) >= a ** (4 / 3))


def test_induction_of_lemma_7_with_the_printed_radius() -> None:
    """|q|, |Delta| at its bound L_Phi R, by the recursion (21) itself, nu = 0: in three steps above |p|/2."""
    eta, smooth, g, r_0 = 0.1, 1.0, 0.01, 1.0
    for R, holds in ((1 / (2 * smooth * eta), False), (1 / (40 * smooth * eta), True)):
        w, p = r_0, r_0
        for _ in range(3):
            p *= 1 + eta * g
            w = w * (1 + eta * g) - eta * (-smooth * R) * w
        assert (abs(w - p) <= p / 2) is holds


def test_the_sum_of_25_grows_without_bound() -> None:
    """3/2 eta_H t rho_Phi R with R = 1/(2 L_Phi eta_H) >= 1/2, t = 2 log(4 X)/(eta_H alpha_H): above 1/4."""
    sums = [1.5 * 2 * math.log(40) / alpha_h * 0.5 for alpha_h in (1.0, 0.1, 0.01)]
    assert sums[0] > 0.25
    assert sums[2] > 50 * sums[0]


@pytest.mark.parametrize("d", [1, 10])
def test_nu_of_the_order_alpha_is_never_small_enough(d: int) -> None:
    """|nu|/alpha_H against r_0/4 at the largest r, for C >= 1, delta_2 < 1, L_Phi eta_H <= 1."""
    for alpha in (0.1, 1e-4):
        for rho, C, delta_2, smooth in ((1.0, 1.0, 0.99, 1.0), (3.0, 2.0, 0.1, 0.5)):
            alpha_h = math.sqrt(rho * alpha)
            r_0 = delta_2 * smooth * alpha_h / (C * rho) / math.sqrt(d)
            assert alpha / alpha_h > 4 * r_0 / 4


def test_mean_hessian_by_quadrature() -> None:
    near, far, omega, R = 0.25, 0.35, 10.0, 0.5
    mean, _ = quad(lambda theta: -math.cos(omega * (near + theta * (far - near))) + 1, 0, 1)
    assert abs(mean) > 1.9 > 1.0 * R  # L_Phi R
    assert abs(mean) <= omega * R  # rho_Phi R


def test_coupled_sequences_meet_within_the_printed_conditions() -> None:
    a, smooth, rho = 1 / 8, 1.0, 1.0
    alpha = a ** (2 / 3)
    alpha_h, r_0 = math.sqrt(rho * alpha), 1 / 16
    eta = 0.5 * a ** (-4 / 3) * r_0
    v, g = a ** (4 / 3), 0.5
    assert g >= alpha_h * (1 - 1e-12)
    assert smooth * eta * alpha_h / rho >= r_0
    x, other = r_0 / 2, -r_0 / 2
    assert abs(v - -g * x) <= alpha, "the estimator is within a^{2/3} of the gradient"
    x, other = x - eta * v, other + eta * v
    assert x - other == pytest.approx(0, abs=1e-15)


def test_noise_sum_needs_a_quarter_of_the_curvature() -> None:
    eta, g, r_0 = 0.3, 0.2, 1.0
    for t in (1, 10, 200):
        powers = (1 + eta * g) ** np.arange(t)
        total = eta * powers.sum() * (g * r_0 / 4)
        assert total <= (1 + eta * g) ** t * r_0 / 4
    assert eta * powers.sum() * (g * r_0 / 4) * 1.05 > (1 + eta * g) ** t * r_0 / 4, "and it is tight for long phases"


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 50, 10_000])
def test_ratio_of_volumes(d: int) -> None:
    ratio = math.exp(gammaln(d / 2 + 1) - gammaln(d / 2 + 0.5)) / math.sqrt(math.pi)
    assert ratio <= math.sqrt((d + 1) / (2 * math.pi)) * (1 + 1e-9) <= math.sqrt(d)


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


@quick
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 1.0))
def test_distance_from_the_perturbed_point(seed: int, r: float) -> None:
    rng = np.random.default_rng(seed)
    R = 1.0
    xi, x = rng.normal(size=(2, 3))
    xi *= r * rng.random() / np.linalg.norm(xi)
    x *= R / np.linalg.norm(x)
    assert np.linalg.norm(x - xi) >= R - r - 1e-12
    aligned = x * r / np.linalg.norm(x)
    assert np.linalg.norm(x - aligned) == pytest.approx(R - r), "which is attained, and below R"


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_unbroken_phases_stay_close(seed: int, count: int) -> None:
    moves = np.random.default_rng(seed).normal(size=(count, 2))
    squares = (moves**2).sum(axis=1)
    mean_square = max(squares[: j + 1].sum() / (j + 1) for j in range(count))  # the least Dbar that breaks nothing
    for j in range(count + 1):  # t - m = j + 1
        away = np.linalg.norm(moves[:j].sum(axis=0))
        middle = math.sqrt((j + 1) * squares[:j].sum())
        assert away <= middle + 1e-12
        assert middle <= (j + 1) * math.sqrt(mean_square) + 1e-12
    straight = np.ones((count, 1))
    assert np.linalg.norm(straight.sum(axis=0)) > 0.9 * math.sqrt(count * count), "Cauchy-Schwarz is tight"


# Algorithm 2


def test_line_8_as_it_stands() -> None:
    anchors: dict[int, int] = {}
    s = 0
    anchors[s], s = 7, s + 1
    with pytest.raises(KeyError):
        anchors[s]
    assert anchors[s - 1] == 7


def test_clipping_after_the_perturbation() -> None:
    """Algorithm 3, line 14, on five records F = (x - xi)^2/2: the gradient changes by r for each. Seed fixed."""
    alpha = 0.01
    records = np.random.default_rng(0).normal(size=5)
    for radius, biased in ((math.sqrt(alpha), True), (alpha, False)):
        before, after = 0.3, 0.3 + radius
        v = np.mean(before - records)
        difference = np.mean((after - records) - (before - records))
        v += difference * min(1.0, alpha / float(abs(difference)))
        assert bool(abs(v - np.mean(after - records)) > 8 * alpha) is biased


# Sizes, noise and number of steps for the population


@quick
@given(st.integers(100, 10**7), st.floats(1e-3, 0.999))
def test_a_period_of_the_statement_is_no_iteration(n: int, a: float) -> None:
    assert math.floor(a ** (1 / 3)) == 0
    T, q = a ** (-2 / 3), a ** (-1 / 3)
    assert T / q * n > n
    assert THM_2.schedule(n=n, d=1, epsilon=0.5, delta=0.5, delta_1=0.1, L=1.0, mu=1.0)["q"] >= 1


@quick
@given(st.integers(1, 200), st.floats(1.0, 1e4), st.integers(10**6, 10**9))
def test_samples_spent(K: int, u: float, n: int) -> None:
    a = u / n
    T, q, S_1 = a ** (-2 / 3), a ** (-1 / 3), n ** (2 / 3)
    spent = T / q * S_1 + T * K * q
    if u >= max(8, 2 * K):
        assert spent <= n * (1 + 1e-9)
    if u < K:
        assert spent > n
    assert spent <= (1 + K) * n * (1 + 1e-9)


def noise_norm(rng: np.random.Generator, d: int, sigma: float, count: int = 1) -> float:
    return float(np.linalg.norm(sigma * rng.normal(size=(count, d)).sum(axis=0)))


@pytest.mark.parametrize(
    ("n", "epsilon", "within"), [(10**6, 0.0372, False), (10**9, 0.372, False), (10**9, 0.9, True)]
)
def test_refresh_noise_by_sampling(n: int, epsilon: float, within: bool) -> None:
    """Algorithm 3's line 1 with C_v = 1 in 10^5 or 100 dimensions: the norm varies by under a tenth. Seed fixed."""
    d, L1 = (10**5 if not within else 100), math.log(1e6)
    a = math.sqrt(d * L1) / (n * epsilon)
    T, q, S_1 = a ** (-2 / 3), a ** (-1 / 3), n ** (2 / 3)
    sigma = math.sqrt(L1) / epsilon * max(1 / S_1, math.sqrt(T / q) / n)
    norm = noise_norm(np.random.default_rng(0), d, sigma)
    assert norm >= 0.8 * a * n ** (1 / 3)
    assert (norm <= n ** (-1 / 3) + math.sqrt(a)) is within


def test_increment_noise_by_sampling() -> None:
    """Line 2 with C_u = a^{1/2}, K = 1, n = 10^6 and a = 1/1000, q = S_2 = 10 increments. Seed fixed."""
    n, d, L1, a = 10**6, 10**4, 16.0, 1e-3
    epsilon = math.sqrt(d * L1) / (n * a)
    q = S_2 = round(a ** (-1 / 3))
    sigma = math.sqrt(a * L1) / epsilon * max(1 / S_2, math.sqrt(a ** (-2 / 3)) / n)
    norm = noise_norm(np.random.default_rng(0), d, sigma, count=q)
    assert norm == pytest.approx(n * a ** (5 / 3), rel=0.1)
    assert norm > 100 * (n ** (-1 / 3) + math.sqrt(a))


def test_orders_of_the_noise_by_regression() -> None:
    """Along a = n^{-1/2} both noises outgrow the rate by a power of n."""
    sizes = 10.0 ** np.arange(4, 13)
    a = sizes**-0.5
    rate = sizes ** (-1 / 3) + np.sqrt(a)
    for noise, power in ((a * sizes ** (1 / 3), 1 / 12), (sizes * a ** (5 / 3), 5 / 12)):
        found = np.polyfit(np.log(sizes), np.log(noise / rate), 1)[0]
        assert found == pytest.approx(power, abs=0.02)


@pytest.mark.parametrize("a", [1e-4, 1e-6])
def test_descent_is_not_over_after_the_printed_steps(a: float) -> None:
    """Exact gradients of g (|x| - log(1 + |x|)), steps of length a^{1/2}: the slope stays above alpha = 2 a^{1/2}."""
    eta, alpha = math.sqrt(a), 2 * math.sqrt(a)
    g = 0.1
    x = start = 1 + a ** (-1 / 6)
    height = g * (start - math.log1p(start))
    assert height <= g * start
    for _ in range(math.ceil(a ** (-2 / 3))):
        x -= eta
    assert g * x / (1 + x) >= min(0.04, 2 * alpha)
    while g * x / (1 + x) > alpha:
        x -= eta
    taken = (start - x) / eta
    assert a ** (-2 / 3) < 1.01 * taken < 2 * max(height, 1) / (eta * alpha)


@pytest.mark.parametrize("count", [1, 2, 4, 10, 100])
def test_an_escape_phase_with_its_last_step(count: int) -> None:
    """Equal steps as long as no test fails, then line 14's: at most 5/4 of count steps of sqrt D."""
    moved = (count - 1) + math.sqrt(count)  # D = 1
    assert moved <= 1.25 * count + 1e-12
    assert 1.25 / math.log(4) < 1


@quick
@given(st.floats(1.0, 15.0), st.floats(0.0, 1.0))
def test_tree_noise_sizes_fit_together(log_n: float, part: float) -> None:
    """eta = alpha, T = 1/alpha^2, S_2 = n alpha^2, S_1 = q n alpha^2; each error at most alpha, the samples 2 n."""
    n = 10.0**log_n
    a = n ** -(0.01 + 0.98 * part)
    alpha = max(n ** (-1 / 3), math.sqrt(a))
    T, S_2, q = alpha**-2, n * alpha**2, max(a / alpha**3, 1 / (n * alpha**4))
    S_1 = q * n * alpha**2
    slack = alpha * (1 + 1e-9)
    assert T / q * S_1 + T * S_2 <= 2 * n * (1 + 1e-9)
    assert 1 - 1e-9 <= q <= T * (1 + 1e-9)
    assert max(a * n / S_1, 1 / math.sqrt(S_1), alpha * a * n / S_2, math.sqrt(q / n)) <= slack


@pytest.mark.parametrize("a", [1e-4, 1e-8])
def test_independent_noise_ends_at_three_sevenths(a: float) -> None:
    """Over a grid of alpha and q, the least alpha at which refresh and increments both stay within it."""
    found = []
    for alpha in np.exp(np.linspace(math.log(a) * 0.5, math.log(a) * 0.3, 400)):
        q = np.exp(np.linspace(0, -2 * math.log(alpha), 400))
        error = np.maximum(a / (q * alpha**2), np.sqrt(q) * a / alpha)
        if error.min() <= alpha * 1.01:
            found.append(alpha)
    assert min(found) == pytest.approx(a ** (3 / 7), rel=0.05)


def test_a_longer_slope_for_a_smaller_ratio() -> None:
    """Height 1 at most, slope a^{1/6}/4 over the whole way: in the end more than 10 a^{1/2} log(1/a)^3."""
    for a in 10.0 ** -np.arange(30, 60, 6):
        assert a ** (1 / 6) / 4 > 10 * math.sqrt(a) * math.log(1 / a) ** 3
