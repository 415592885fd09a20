"""The claims of xu2026 about the escape from saddles and the population algorithm: verdicts and second routes.

The second routes share no code with the evidence: floating-point runs of the algorithm's steps, samples of the noise,
random problems, quadrature.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import chi2

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
