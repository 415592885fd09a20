"""Attacks on the claims of Yang et al. 2022: counterexamples in fractions, and searches where a claim is to stand."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

RNG = np.random.default_rng(22)


def test_lemma_3_fails_at_kinks_though_f_s_is_linear() -> None:
    """f = w - v + z (|w| + |v|), z = 1 and -1: both have the generalised gradient 0 at 0, and the run stays there."""

    def gradients(x: Fraction, z: int) -> tuple[Fraction, Fraction]:
        """The interval of generalised gradients of x + z |x|."""
        if x == 0:
            return Fraction(min(1 - z, 1 + z)), Fraction(max(1 - z, 1 + z))
        slope = Fraction(1 + z * (1 if x > 0 else -1))
        return slope, slope

    assert all(low <= 0 <= high for low, high in (gradients(Fraction(0), z) for z in (1, -1)))
    assert all(sum(gradients(x, z)[0] for z in (1, -1)) == 2 for x in (Fraction(1, 7), Fraction(-1, 7)))  # F_S' = 1
    gap = 2  # max over v of F_S(0, v) less min over w of F_S(w, 0)
    eta, steps, slope = Fraction(1, 10), 100, 2
    for start in (Fraction(2) / (eta * steps), Fraction(2) / (2 * eta * steps)):  # Lemma 3, equation (13)
        printed = eta * 2 * slope**2 / 2 + start + Fraction(2 * slope, math.isqrt(steps))
        assert printed < gap


def test_convex_samples_make_convex_records() -> None:
    """Any law on f = w^2 and f = -w^2: F_S is convex for every sample only if the second has no chance."""
    for n, chance in itertools.product((1, 2, 3, 5), (Fraction(0), Fraction(1, 100), Fraction(1, 2))):
        bad = sum(
            (chance**k * (1 - chance) ** (n - k) * math.comb(n, k) for k in range(n + 1) if 2 * k > n), Fraction(0)
        )
        assert (bad > 0) == (chance > 0)
        assert bad >= chance**n * (chance > 0)


def test_theorem_7_has_no_l_in_its_prefactor() -> None:
    """f = w - v from 0, L = 10^12, eta = 1/(sqrt L sqrt n), n = T = 10^4: the mean iterate hardly moves."""
    eta, n = Fraction(1, 10**8), 10**4
    mean = sum((-t * eta for t in range(n)), Fraction(0)) / n
    assert (mean + 1) + (mean + 1) > 10 * 4 * Fraction(1, 100)


def test_young_s_step_of_theorem_8() -> None:
    """1 + 1/e and (1 + e)(1 - x) at the proof's e, x = rho eta_v below 1."""
    for k in range(1, 100):
        x = Fraction(k, 100)
        e = x / (2 * (1 - x))
        assert (1 + e) * (1 - x) == 1 - x / 2
        assert 1 + 1 / e == 2 / x - 1 < 2 / x


def test_factors_of_theorem_8_by_sampling() -> None:
    """k_1 and k_2 with the exact e, at the largest ratio and for steps up to the limit."""
    worst = [-math.inf, -math.inf]
    for _ in range(20_000):
        ell, rho = sorted(10 ** RNG.uniform(-2, 2, 2), reverse=True)
        mu, kappa = 10 ** RNG.uniform(-3, 2), ell / rho
        smooth, theta = ell + ell**2 / rho, RNG.uniform(0.001, 0.999) / ell
        eta = min(math.sqrt(mu / smooth) / (8 * kappa**2), 1 / (4 * math.sqrt(2) * kappa**2)) * theta
        x, lam = rho * theta, 4 * ell**2 * eta / (rho * theta)
        e = x / (2 * (1 - x))
        added = lam * (1 + 1 / e) * 4 * ell**2 / rho**2 * smooth * eta**2  # to k_1 = 1 - mu eta
        moved = ell**2 * eta / (2 * lam) + (1 + 1 / e) * 2 * ell**4 / rho**2 * eta**2  # to k_2 = 1 - x/2
        worst[0] = max(worst[0], added / (mu * eta) - 1 / 2)
        worst[1] = max(worst[1], moved / x - 1 / 4)
    assert -0.02 < worst[0] <= 1e-9
    assert -0.02 < worst[1] <= 1e-9


def test_lemmas_7_and_8_with_walls() -> None:
    """F = p w^2/2 + q w + c w v - rho v^2/2, v within r and w in [0, 1], p of either sign: both lemmas hold."""
    count = 200_000
    p, q, c = RNG.normal(size=(3, count)) * 10 ** RNG.uniform(-1, 1, size=(3, count))
    rho, r = 10 ** RNG.uniform(-1, 1, size=(2, count))
    ell = (np.abs(p - rho) + np.sqrt((p + rho) ** 2 + 4 * c**2)) / 2
    w, other = RNG.uniform(size=(2, count))

    def best(at: np.ndarray) -> np.ndarray:
        return np.clip(c * at / rho, -r, r)

    def slope(at: np.ndarray) -> np.ndarray:
        return p * at + q + c * best(at)

    assert np.all(np.abs(best(w) - best(other)) <= ell / rho * np.abs(w - other) * (1 + 1e-9))
    assert np.all(np.abs(slope(w) - slope(other)) <= (ell + ell**2 / rho) * np.abs(w - other) * (1 + 1e-9) + 1e-12)


def test_the_dual_step_contracts_at_walls_of_v() -> None:
    """Concave quadratics in two dimensions, V a box: |P(v + g) - v(w)|^2 <= (1 - rho/L) b_t at the step 1/L."""
    for _ in range(3000):
        turn, rho = np.linalg.qr(RNG.normal(size=(2, 2)))[0], RNG.uniform(0.01, 1)
        hessian = turn @ np.diag([rho, 1]) @ turn.T
        optimum, v = np.clip(RNG.uniform(-2, 2, 2), -1, 1), RNG.uniform(-1, 1, 2)
        outward = np.where(np.abs(optimum) == 1, np.sign(optimum) * RNG.exponential(size=2), 0)  # grad at the optimum
        after = np.clip(v - hessian @ (v - optimum) + outward, -1, 1)
        assert ((after - optimum) ** 2).sum() <= (1 - rho) * ((v - optimum) ** 2).sum() + 1e-12


def test_the_value_step_of_17_fails_at_a_wall() -> None:
    """F = -(v - 2)^2/2 on |v| <= 1 at the maximiser 1: the gradient is 1, and nothing is left to gain."""
    v = Fraction(1)
    assert (2 - v) ** 2 / 2 > max(-((u - 2) ** 2) / 2 for u in (Fraction(-1), Fraction(1))) + (v - 2) ** 2 / 2


@pytest.mark.parametrize("n", [1, 2, 5, 20])
@pytest.mark.parametrize("radius", [Fraction(1, 50), Fraction(1, 4), Fraction(1), Fraction(3)])
def test_theorem_10_on_signs(n: int, radius: Fraction) -> None:
    """f = z v - v^2/2 on |v| <= r, fair signs: E R_S, with R = 0, against 4 G_v^2/(rho n), walls or not."""
    total = Fraction(0)
    for ones in range(n + 1):
        mean = Fraction(2 * ones - n, n)
        v = max(-radius, min(radius, mean))
        total += math.comb(n, ones) * (mean * v - v * v / 2) / 2**n
    assert total <= 4 * (1 + radius) ** 2 / n / 8


def test_assumption_4_fails_without_noise() -> None:
    """One record, f = (<z, w> - 1)^2/2: from 0 the step 1 solves S with (1, 0) and S' with (3/5, 4/5)."""
    z, other = (Fraction(1), Fraction(0)), (Fraction(3, 5), Fraction(4, 5))
    w = z  # 0 less the gradient (<z, 0> - 1) z
    assert sum(a * b for a, b in zip(z, w, strict=True)) == 1
    move = 1 - sum(a * b for a, b in zip(other, w, strict=True))
    projected = tuple(a + move * b for a, b in zip(w, other, strict=True))
    assert projected == (Fraction(31, 25), Fraction(8, 25)) != other


def test_algorithm_2_with_the_probability_for_the_share() -> None:
    """n_+ = 1, n_- = 3, p = 1/2: the weights of the two classes are divided by different factors."""
    assert Fraction(1, 2) / Fraction(1, 1) != Fraction(1, 2) / Fraction(1, 3)
    share = Fraction(1, 4)
    assert (1 - share) / Fraction(1, 1) == share / Fraction(1, 3) == share * (1 - share) / Fraction(1, 4)


def test_y48_fixed_output_layer() -> None:
    """Positives 1 and -2, negative 0, slope 1/10: two minima, and the worse one has no slope."""

    def score(s: Fraction, x: int) -> Fraction:
        return s * x if s * x > 0 else s * x / 10

    def loss(s: Fraction) -> Fraction:
        return sum((1 - score(s, x) + score(s, 0)) ** 2 for x in (1, -2)) / 2

    local, better, h = Fraction(10, 13), Fraction(-190, 401), Fraction(1, 1000)
    assert (loss(local), loss(better)) == (Fraction(9, 13), Fraction(441, 802))
    assert loss(local + h) == loss(local - h) > loss(local)  # a parabola there, at its lowest
    assert loss(better + h) == loss(better - h) > loss(better)

    def objective(s: Fraction, a: Fraction, b: Fraction, v: Fraction) -> Fraction:
        p = Fraction(2, 3)
        up = sum((1 - p) * (score(s, x) - a) ** 2 - 2 * (1 + v) * (1 - p) * score(s, x) for x in (1, -2))
        down = p * (score(s, 0) - b) ** 2 + 2 * (1 + v) * p * score(s, 0)
        return (up + down) / 3 - p * (1 - p) * v**2

    at = (local, Fraction(4, 13), Fraction(0), Fraction(-4, 13))
    for place in range(3):  # central differences of a quadratic are its derivatives
        up, down = list(at), list(at)
        up[place], down[place] = at[place] + h, at[place] - h
        assert objective(*up) == objective(*down)
    assert objective(*at) == Fraction(2, 9) * (Fraction(9, 13) - 1)
    assert objective(better, Fraction(361, 802), Fraction(0), Fraction(-4, 13)) < objective(*at)


def test_weak_risk_and_distance() -> None:
    """F = w^2/2 + c w v - v^2/2, random outputs on four points: E|A - z*|^2 <= 2 times the weak risk."""
    for _ in range(2000):
        c, (w, v) = RNG.normal() * 2, RNG.normal(size=(2, 4)) * 3
        weak = (w**2).mean() / 2 + (c * w.mean()) ** 2 / 2 + (v**2).mean() / 2 + (c * v.mean()) ** 2 / 2
        assert (w**2 + v**2).mean() <= 2 * weak + 1e-12
