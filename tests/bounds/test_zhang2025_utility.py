"""Zhang 2025, utility: lemmas on random quadratic games, and the schedules' numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.bounds import registry

RNG = np.random.default_rng(6)


def games(count: int):
    """p x^2/2 + c x y - mu y^2/2 with its joint smoothness, kappa, and slope of y*; p of either sign."""
    for _ in range(count):
        p, c, mu = RNG.uniform(-3, 3), RNG.uniform(-3, 3), RNG.uniform(0.1, 3)
        l = float(np.linalg.norm([[p, c], [c, -mu]], 2))
        yield p, c, mu, l, l / mu


def test_lemma_3_with_joint_smoothness_and_without() -> None:
    for p, c, mu, l, kappa in games(300):
        assert abs(c / mu) <= kappa + 1e-12
        assert abs(p + c * c / mu) <= l + kappa * l + 1e-12
    # blockwise: c = 5, mu = 1, p = 0 has l = 1
    assert max(0, 1) / 1 < 5 / 1


def test_lemma_4_descent() -> None:
    for p, c, mu, l, kappa in games(300):
        x, y, eta, noise = *RNG.uniform(-2, 2, 2), RNG.uniform(0, 1), RNG.uniform(0, 1)
        curve, smooth = p + c * c / mu, l + kappa * l
        gradient, estimate = curve * x, p * x + c * y
        # two equally likely noises of that size stand for xi
        after = np.mean([curve * (x - eta * (estimate + s * noise)) ** 2 / 2 for s in (-1, 1)])
        bound = curve * x * x / 2 + (2 * smooth * eta**2 - eta / 2) * gradient**2 + smooth * eta**2 * noise**2
        bound += (2 * smooth * eta**2 + eta / 2) * (gradient - estimate) ** 2
        assert after <= bound + 1e-9


def test_lemma_5_contraction() -> None:
    for p, c, mu, l, kappa in games(300):
        x, y, eta, xi, zeta = *RNG.uniform(-2, 2, 2), RNG.uniform(0, 0.3), *RNG.uniform(0, 1, 2)
        curve = p + c * c / mu
        theta = (c * x / mu - y) ** 2
        new = []
        for s in (-1, 1):
            for t in (-1, 1):
                nx = x - eta * (p * x + c * y + s * xi)
                ny = y + (c * x - mu * y + t * zeta) / l
                new.append((c * nx / mu - ny) ** 2)
        bound = (1 - 1 / (2 * kappa) + 4 * kappa**3 * eta**2 * l**2) * theta + 4 * kappa**3 * eta**2 * (curve * x) ** 2
        bound += 2 * kappa**3 * eta**2 * xi**2 + 2 / l**2 * zeta**2
        assert np.mean(new) <= bound + 1e-9


def test_equation_38_by_summing_the_series() -> None:
    """The coefficient of one zeta in the sum of (35), gamma = 1 - 1/(4 kappa), for a long run."""
    for kappa in (1.0, 3.0, 10.0):
        gamma = 1 - 1 / (4 * kappa)
        total = 9 / 8 * sum(gamma**j for j in range(2000))
        assert total == pytest.approx(9 * kappa / 2, rel=1e-6)
        assert total > 1 / (8 * kappa)


def slack_of_49(curvatures: list[float], eta: float, gradient: float, v: float) -> float:
    """Right side less left side of (49) when Phi'' takes these values in turn along the step of length eta v."""
    part, drop, slope = eta * v / len(curvatures), 0.0, gradient
    for curvature in curvatures:
        drop += slope * part - curvature * part**2 / 2
        slope -= curvature * part
    return 2 / eta * drop - v**2 / 2 + 2 * (v - gradient) ** 2 - slope**2


def test_lemma_14_as_printed_for_curvatures_between_minus_l_and_l_plus_kappa_l() -> None:
    """Adversarial: piecewise constant curvature, any step and estimate. The proof gives v^2/8 at least."""
    rng, least = np.random.default_rng(14), math.inf
    for _ in range(30_000):
        smooth = 1 + (1 + rng.exponential() * rng.integers(2))  # l = 1, kappa >= 1
        eta = (1 if rng.integers(2) else rng.random()) / (2 * smooth)
        curvatures = list(np.where(rng.random(rng.integers(1, 5)) < 0.5, -1.0, smooth))
        least = min(least, slack_of_49(curvatures, eta, rng.normal(0.8, 2), 1.0))
    assert 1 / 8 - 1e-9 <= least <= 0.14  # near the extreme: the search would see a failure


def test_lemma_14_on_random_games() -> None:
    for p, c, mu, l, kappa in games(2000):
        curve = p + c * c / mu
        assert curve >= -l - 1e-12  # a maximum of l-smooth functions is no more concave than l
        eta, gradient, v = RNG.uniform(0, 1) / (2 * (l + kappa * l)), *RNG.normal(size=2)
        assert slack_of_49([curve], eta, gradient, v) >= -1e-9
        # at x_{r-1}, with 1 for 2
        drop = 2 / eta * (gradient * eta * v - curve * (eta * v) ** 2 / 2)
        assert gradient**2 <= drop - v**2 / 2 + (v - gradient) ** 2 + 1e-9


def test_lemma_14_needs_more_than_the_smoothness_of_phi() -> None:
    assert slack_of_49([-1.0], 0.5, -1.0, -6 / 7) == pytest.approx(-2 / 7)
    assert slack_of_49([9.0], 0.25, 0.09, 0.09) == pytest.approx(-2997 / 160_000)


def test_lemma_3_instance_by_brute_force() -> None:
    """3 h(x) y - y^2/2, |y| <= 1/6: smooth with 1/2 and 1 in its blocks, y* of slope 3, grad Phi of slope 9."""
    from fractions import Fraction

    from dpcheck.bounds.zhang2025 import smoothness

    xs, ys = np.linspace(-3, 3, 1201), np.linspace(-1 / 6, 1 / 6, 1201)
    height = np.array([float(smoothness.h(Fraction(x))) for x in xs])
    slopes = np.array([float(smoothness.slope(Fraction(x))) for x in xs])
    assert np.gradient(height, xs)[1:-1] == pytest.approx(slopes[1:-1], abs=1e-2)
    assert np.abs(np.diff(slopes) / np.diff(xs)).max() <= 1 + 1e-9
    assert 3 * np.abs(height).max() / 6 <= 1  # bounded
    loss = 3 * height[:, None] * ys - ys**2 / 2
    best = ys[loss.argmax(axis=1)]
    middle = np.abs(xs) <= 1 / 30 + 1e-9
    assert np.polyfit(xs[middle], best[middle], 1)[0] == pytest.approx(3, rel=1e-2)
    assert np.polyfit(xs[middle], np.gradient(loss.max(axis=1), xs)[middle], 1)[0] == pytest.approx(9, rel=1e-2)


def test_lemma_12_supermartingale_and_induction() -> None:
    """E exp(X - X^2) <= 1 for centred X <= 1 on two points; the induction step far from its constant."""
    rng = np.random.default_rng(12)
    for _ in range(2000):
        high, chance = rng.uniform(0, 1), rng.uniform(0.01, 0.99)
        low = -high * chance / (1 - chance)
        variance = chance * high**2 + (1 - chance) * low**2
        assert chance * math.exp(high) + (1 - chance) * math.exp(low) <= math.exp(variance) + 1e-12
    for t in (625, 1000, 10**6):
        for logs in (1.0, 2.0, 50.0):
            a = 624 * logs + 1
            u = 2 ** math.floor(math.log2(t))
            new = 2 / (t * (t - 1)) * (a * t * (t - 1) / 2 / (4 * u) + 4 * u * (logs + 0.3666)) + 1 / t
            assert new <= a / (t + 1)


def test_lemma_12_on_runs() -> None:
    """2000 runs on w^2/2, W = [-1, 1], gradients w +- 1 scaled to at most 2: none near the bound."""
    rng, horizon = np.random.default_rng(13), 2000
    w = np.ones(2000)
    for t in range(1, horizon):
        w = np.clip(w - (w + rng.choice([-1.0, 1.0], w.size)) / t, -1, 1)
        assert (w**2).max() <= (624 * math.log(math.log(horizon) / 0.3) + 1) * 4 / (t + 1)


@pytest.mark.parametrize("c", [12 / 13, 24 / 25])
def test_equation_38_fails_on_a_long_run(c: float) -> None:
    """c x y - mu y^2/2 with l = 1: only y noisy. The stationary covariance solves a linear system exactly.

    Divided by the number of steps (38) says 103/256 E|grad Phi|^2 <= E zeta^2/(8 kappa).
    """
    mu = 1 - c * c  # the joint Hessian [[0, c], [c, -mu]] then has norm 1
    assert np.linalg.norm([[0, c], [c, -mu]], 2) == pytest.approx(1)
    kappa = 1 / mu
    eta = 1 / (16 * (kappa + 1) ** 2)
    step = np.array([[1, -eta * c], [c, 1 - mu]])
    noise = np.array([0, 0, 0, 1.0])
    covariance = np.linalg.solve(np.eye(4) - np.kron(step, step), noise).reshape(2, 2)
    square = (c * c / mu) ** 2 * covariance[0, 0]
    assert 103 / 256 * square > 1 / (8 * kappa)
    assert 103 / 256 * square < 9 * kappa / 2


def test_theorem_2_needs_phi_bounded_below() -> None:
    """f = -sqrt(1 + x^2) - y^2/2 from x_0 = 10: the gradient stays near one, with the theorem's steps and noise."""
    rng = np.random.default_rng(2)
    for n in (10**3, 10**5):
        a = math.sqrt(math.log(1e9)) / n
        x, sigma = 10.0, 49 * math.sqrt(math.log(1e9) / a) / n
        found = []
        for xi in rng.normal(0, sigma, math.ceil(1 / a)):
            found.append(abs(x) / math.sqrt(1 + x * x))
            x += (x / math.sqrt(1 + x * x) - xi) / 64
        assert np.mean(found) > 0.9


def test_bounded_loss_of_theorem_3_estimates_means() -> None:
    """Random bits and points: the gradient by differences, and the mean error of the clipped tangents."""
    for _ in range(300):
        n, d = int(RNG.integers(1, 9)), int(RNG.integers(1, 6))
        bits, x = RNG.choice([-1.0, 1.0], (n, d)), RNG.uniform(-10, 10, d)

        def loss(at, bits=bits, d=d):
            return -np.cos(at - bits * np.pi / 4).sum() / len(bits) / math.sqrt(d)

        found = np.array([(loss(x + h) - loss(x - h)) / 2e-6 for h in 1e-6 * np.eye(d)])
        means = bits.mean(axis=0)
        assert found == pytest.approx((np.sin(x) - means * np.cos(x)) / math.sqrt(2 * d), abs=1e-8)
        assert np.linalg.norm(found) <= 1 + 1e-8
        error = np.abs(np.clip(np.tan(x), -1, 1) - means).mean()
        assert error <= 2 * math.sqrt(2) * np.linalg.norm(found) + 1e-6


def test_one_dataset_for_all_algorithms_has_a_stationary_point() -> None:
    """Records 1 and -1: the algorithm that always returns pi. On its own dataset every point has some gradient."""
    x = np.linspace(-np.pi, np.pi, 2001)
    slopes = {z: np.sin(x - z * np.pi / 4) for z in (1, -1)}
    assert abs((slopes[1] + slopes[-1])[-1]) < 1e-12
    assert np.maximum(abs(slopes[1]), abs(slopes[-1])).min() >= 1 / math.sqrt(2) - 1e-12


def test_worst_group_of_one_record() -> None:
    """d_2 = 3: (1, 0, 0) is best on a grid of the simplex, so that Phi is the one record's loss less 1/2."""
    grid = np.array([(i, j, 20 - i - j) for i in range(21) for j in range(21 - i)]) / 20
    for z in (-1, 1):
        for x in np.linspace(-4, 4, 41):
            values = grid @ np.array([2 - np.cos(x - z * np.pi / 4), 0, 0]) - (grid**2).sum(axis=1) / 2
            assert grid[values.argmax()].tolist() == [1, 0, 0]


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 1e-3), (3.0, 0.1)])
def test_two_points_cannot_both_be_avoided(epsilon: float, delta: float) -> None:
    chances = np.linspace(0, 1, 100_001)
    worst = np.maximum(1 - chances, (chances - delta) * math.exp(-epsilon)).min()
    assert worst == pytest.approx((1 - delta) / (1 + math.exp(epsilon)), abs=2e-5)


def test_third_radius_in_both_readings_and_without_rounds() -> None:
    for _ in range(2000):
        rounds, inner, theta = 10 ** RNG.uniform(0, 9), 4 * 10 ** RNG.uniform(0, 9), RNG.uniform(0, 1 / math.e)
        needed = 2 * math.sqrt(624 * math.log(rounds * math.log(inner) / theta) + 1)
        assert needed <= 50 * math.sqrt(math.log(rounds * math.log(inner) / theta) + 1)
        assert needed <= 50 * math.sqrt(math.log(rounds * math.log(inner)) / theta + 1)
    needed = 2 * math.sqrt(624 * math.log(1e6 * math.log(1e6) / 0.3) + 1)
    assert needed > 50 * math.sqrt(math.log(math.log(1e6)) / 0.3 + 1)


def test_lemma_13_two_records_at_the_same_point() -> None:
    x = RNG.uniform(-1, 1)
    assert abs((1 * 1.0 + 0 * x) - (-1 * 1.0 + 0 * x)) == 2 > 2 * abs(x - x)


@pytest.mark.parametrize("log_term", [0.0, 0.1, 1.0, 10.0, 1e6])
def test_constant_50(log_term: float) -> None:
    assert 2 * math.sqrt(624 * log_term + 1) <= 50 * math.sqrt(log_term + 1)


def test_schedules_reach_their_rates() -> None:
    for n in (10**4, 10**6, 10**8):
        found = registry.theorem("zhang2025.theorem_2").schedule(n=n, d=10, epsilon=1.0, delta=1e-9)
        a = math.sqrt(10 * math.log(1e9)) / n
        assert 1 / found["T"] + 1 / found["m"] + a * a * found["T"] <= 5 * a
        d, delta = math.ceil(4 * math.sqrt(n) / math.log(n**2)), 1 / n**2  # so that m is at most n, but large
        a = math.sqrt(d * math.log(1 / delta)) / n
        found = registry.theorem("zhang2025.theorem_6").schedule(n=n, d=d, epsilon=1.0, delta=delta)
        parts = 1 / found["R"] + 1 / found["m"] + 1 / found["T_2"] + a * math.sqrt(found["T"] / found["R"])
        parts += found["R"] * a * a / found["T"] + found["T"] * found["R"] * a * a / found["T_2"]
        assert parts <= 10 * a ** (4 / 3)
