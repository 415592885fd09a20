"""Yang 2022, convex-concave case: each decision by a second route."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.bounds import registry
from dpcheck.bounds.symbols import G_v, G_w, T, eta, n
from dpcheck.bounds.yang2022 import lemma_6, moments, theorem_1_proof, theorem_2_proof
from dpcheck.errors import InputError

quick = settings(deadline=None, max_examples=50)


@pytest.mark.parametrize(("n_", "m_"), [(1, 3), (2, 2), (3, 4), (5, 3), (6, 1)])
def test_sampling_agrees_with_the_binomial_and_hypergeometric_laws(n_: int, m_: int) -> None:
    assert lemma_6.chance_absent(n_, m_) == Fraction(n_ - 1, n_) ** m_
    assert lemma_6.mean_share(n_, m_) == Fraction(1, n_)
    assert lemma_6.largest_difference(n_, m_) == 2
    if m_ <= n_:
        assert lemma_6.chance_absent(n_, m_, False) == 1 - Fraction(m_, n_)
        assert lemma_6.mean_share(n_, m_, False) == Fraction(1, n_)
        assert lemma_6.largest_difference(n_, m_, False) == Fraction(2, m_)


def _moment(p: Any, q: Any, step: float) -> float:
    """E_P[P/Q] on a grid, for densities p and q."""
    return float((p * p / q).sum() * step)


def test_y07_by_quadrature_over_every_pair_of_neighbours() -> None:
    """Datasets of two bits, one drawn a step: the joint moment beats the sum of the two."""
    mean = math.sqrt(math.log(4))
    grid, step = np.linspace(-12, 14, 4001, retstep=True)
    normal = [np.exp(-((grid - c) ** 2) / 2) / math.sqrt(2 * math.pi) for c in (0.0, mean)]
    joint = [np.multiply.outer(density, density) for density in normal]
    pairs = [(0, 1), (1, 0), (1, 2), (2, 1)]  # numbers of ones in S and S'

    def worst(parts: Any, cell: float) -> float:
        laws = [parts[0], (parts[0] + parts[1]) / 2, parts[1]]
        return max(_moment(laws[i], laws[j], cell) for i, j in pairs)

    single = worst(normal, step)
    both = worst(joint, step * step)
    assert single == pytest.approx(7 / 4, rel=1e-9)
    assert single < 2
    assert both == pytest.approx(19 / 4, rel=1e-9)
    assert math.log(both) > 2 * math.log(single)


def test_y13_start_at_the_edge_by_closed_form() -> None:
    # No projection is active, so that the mean iterate is start - eta (T - 1)/2.
    for start, step, T_ in (
        (1, Fraction(1, 50), 100),
        (0, Fraction(1, 100), 100),
        (1, Fraction(1, 9), 7),
    ):
        expected = 2 * (1 + start - step * (T_ - 1) / 2)
        assert theorem_2_proof.linear_gap(Fraction(start), step, T_) == expected
    # Projection on: 1, 0, -1, -1.
    assert theorem_2_proof.linear_gap(Fraction(1), Fraction(1), 4) == 2 * (1 - Fraction(1, 4))


@quick
@given(start=st.fractions(-1, 1), step=st.fractions(Fraction(1, 50), 2), T_=st.integers(1, 60))
def test_y13_what_the_proof_supports_holds(start: Fraction, step: Fraction, T_: int) -> None:
    """|w_1 - w|^2/(2 eta T) + eta G^2/2 a block, for any start, on f = w - v."""
    gap = theorem_2_proof.linear_gap(start, step, T_)
    assert gap <= 2 * ((1 + start) ** 2 / (2 * step * T_) + step / 2)
    if start == 0:
        at = {
            **dict.fromkeys((theorem_2_proof.D_w, theorem_2_proof.D_v, G_w, G_v, theorem_2_proof.m), 1),
            eta: step,
            T: T_,
        }
        at |= dict.fromkeys((theorem_2_proof.sigma_w, theorem_2_proof.sigma_v), 0)
        assert gap <= theorem_2_proof.OPTIMISATION_ERROR.subs(at)


def test_y14_equation_8_by_simulation() -> None:
    """Null hypothesis: equation (8) holds, so that the mean of its left side is at most 7.

    f = |w| on [-1, 1], eta = 1/10, sigma = 20, T = 100, in 2000 runs. The left side lies in
    [0, 20]; by Hoeffding's inequality a mean above 8 has probability below exp(-10) under the null.
    """
    rng = np.random.default_rng(7)
    w, total = np.zeros(2000), np.zeros(2000)
    for _ in range(100):
        total += np.abs(w)
        w = np.clip(w - 0.1 * (np.sign(w) + 20 * rng.standard_normal(2000)), -1, 1)
    left = 2 * 0.1 * total
    assert left.mean() > 8
    assert left.mean() > 2 * 0.1 * 0.6 * 99 > 2 + 1 + 4  # the bound used, and the right side
    assert left.mean() < 2 + 1 + 100 * 4  # with the factor T restored


FIELDS = {
    # One record's field (grad_w f, -grad_v f) at (w, v), records z in {-1, 1}; |entries| <= 1.
    "linear": lambda w, v, z: (Fraction(z), Fraction(0)),
    "absolute": lambda w, v, z: (
        Fraction(1 if w * 3 > z else -1),
        Fraction(-1 if v * 3 < z else 1),
    ),
    "bilinear": lambda w, v, z: (Fraction(z, 2) + v / 2, Fraction(z, 2) - w / 2),
}


def _stability(field: Any, data: Any, other: Any, m_: int, T_: int, step: Fraction) -> float:
    """E|w_mean - w'_mean| + E|v_mean - v'_mean| over all sequences of draws on [-1, 1]^2."""

    def clip(a: Fraction) -> Fraction:
        return max(Fraction(-1), min(Fraction(1), a))

    def means(data: Any, draws: Any) -> tuple[Fraction, Fraction]:
        w = v = total_w = total_v = Fraction(0)
        for batch in draws:
            total_w, total_v = total_w + w, total_v + v
            pulls = [field(w, v, data[i]) for i in batch]
            w, v = (clip(a - step * sum(p[j] for p in pulls) / m_) for j, a in enumerate((w, v)))
        return (total_w + w) / T_, (total_v + v) / T_

    batches = list(lemma_6.draws(len(data), m_))
    sequences = list(itertools.product(batches, repeat=T_ - 1))
    gaps = Fraction(0)
    for draws in sequences:
        gaps += sum(abs(a - b) for a, b in zip(means(data, draws), means(other, draws), strict=True))
    return float(gaps / len(sequences))


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("n_", "m_", "T_"), [(2, 1, 6), (2, 2, 4), (3, 1, 5), (3, 2, 3)])
@pytest.mark.parametrize("step", [Fraction(1, 20), Fraction(1, 4)])
def test_lemma_6_by_enumeration(field: str, n_: int, m_: int, T_: int, step: Fraction) -> None:
    """Exact stability is within the printed bounds and the sharper ones, and is not negligible."""
    data = [(-1) ** i for i in range(n_)]
    other = [*data[:-1], -data[-1]]
    stability = _stability(FIELDS[field], data, other, m_, T_, step)
    at = {n: n_, T: T_, eta: step, G_w: 1, G_v: 1, lemma_6.L: sympy.Rational(1, 2)}
    lipschitz = float(lemma_6.LIPSCHITZ.subs(at))
    sharper = 2 * math.sqrt(math.e - 1) * 2 * float(step) * (math.sqrt(T_) + T_ / n_)
    assert stability <= sharper <= lipschitz
    assert stability > lipschitz / 400
    if field != "absolute":  # the smooth ones
        smooth = float(lemma_6.SMOOTH.subs(at))
        assert stability <= smooth / 4 <= smooth  # 2 (1 + 1) for 4 (1 + 1)^2


def test_y18_nonconvex_records_with_a_convex_mean() -> None:
    """f = z |w| with one record of each sign: F_S is 0, no record's f need be convex."""

    def field(w: Fraction, v: Fraction, z: int) -> tuple[Fraction, Fraction]:
        return Fraction(z * (1 if 3 * w > 1 else -1)), Fraction(0)

    step, T_ = Fraction(1, 4), 7
    stability = _stability(field, [1, -1], [1, 1], 1, T_, step)
    at = {n: 2, T: T_, eta: step, G_w: 1, G_v: sympy.Rational(1, 10**6)}
    assert 0 < stability <= float(lemma_6.LIPSCHITZ.subs(at))


@pytest.mark.parametrize("n_", [2, 10, 101, 4096, 10**6])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0])
def test_y23_counts_gradients_of_the_schedule(n_: int, epsilon: float) -> None:
    at = registry.theorem("yang2022.theorem_2a").schedule(n=n_, d=3, epsilon=epsilon, delta=1e-15, L=1.0)
    assert at["T"] * at["m"] <= 1.5 * n_**1.5
    assert at["T"] * at["m"] >= 0.5 * math.sqrt(epsilon) * n_**1.5


def test_y11_constants_with_numbers() -> None:
    thm = registry.theorem("yang2022.theorem_1")
    n_, T_ = 100, 25
    m_ = thm.schedule(n=n_, T=T_, epsilon=1.0, delta=1e-4)["m"]
    remark = thm.noise(n=n_, T=T_, epsilon=1.0, delta=1e-4, G_w=3.0, G_v=3.0)["sigma_w"]
    proof = math.sqrt(8 * m_**2 * T_ * math.log(n_)) / n_
    assert remark == pytest.approx(2 * proof * (2 * 3.0 / m_), rel=1e-12)


def test_y06_moments_by_quadrature() -> None:
    """The binomial sums, and where lambda^2 is enough: not up to 6 at s = 1, q = 10^-4."""
    chance = 0.05
    grid, step = np.linspace(-15, 25, 40001, retstep=True)
    base, moved = (np.exp(-((grid - c) ** 2) / 2) / math.sqrt(2 * math.pi) for c in (0.0, 1.0))
    mixture = (1 - chance) * base + chance * moved
    for order in (1, 2, 5):
        exact = float(moments.mixture_moment(order).subs({moments.q: chance, moments.x: 1}))
        assert exact == pytest.approx(float((mixture * (mixture / base) ** order).sum() * step), rel=1e-9)
    tiny = {moments.q: sympy.Rational(1, 10**4), moments.x: 1}
    ratios = [float(sympy.N(sympy.log(moments.mixture_moment(i).subs(tiny)) * 10**8 / i**2, 40)) for i in range(1, 10)]
    assert [ratio > 1 for ratio in ratios] == [True] * 6 + [False] * 3
    assert ratios[:3] == pytest.approx([1.718, 1.289, 1.146], abs=1e-3)


@pytest.mark.parametrize("sigma", [1.0, 2.0])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_y03_and_y06_repaired_constant_by_quadrature(sigma: float, order: int) -> None:
    """One draw from 1/q records without replacement, the record and its replacement anywhere within distance 1."""
    chance = 0.01
    grid, step = np.linspace(-14 * sigma, 14 * sigma, 20001, retstep=True)

    def release(shift: float) -> Any:
        law = [np.exp(-(((grid - c) / sigma) ** 2) / 2) for c in (0.0, shift)]
        return ((1 - chance) * law[0] + chance * law[1]) / (sigma * math.sqrt(2 * math.pi))

    leading = chance**2 * order * (order + 1) / ((1 - chance) * sigma**2)
    worst = 0.0
    for ours, theirs in itertools.product(np.linspace(-1, 1, 9), repeat=2):
        if abs(ours - theirs) <= 1:
            p, q = release(ours), release(theirs)
            worst = max(worst, math.log(float((p * (p / q) ** order).sum() * step)))
    assert 0.3 * leading < worst <= 7 / 4 * leading


def test_y10_curve_of_a_single_draw_by_quadrature() -> None:
    """n = 4, T = 1, epsilon = 1: m = 2 draws; the hockey-stick divergence of the two mixtures, term by term."""
    grid = np.linspace(-60, 60, 400_001)
    noise = 2 * math.sqrt(8 * 2 * math.log(4)) / 4

    def law(shift: float) -> Any:
        parts = ((9, 0), (6, 1), (1, 2))  # of 16, and times drawn
        return sum(c / 16 * np.exp(-(((grid - k * shift) / noise) ** 2) / 2) for c, k in parts)

    for pair in theorem_1_proof.PAIRS:
        p, q = law(pair[0]), law(pair[1])
        exact = float(np.maximum(p - math.e * q, 0).sum() / p.sum())
        assert theorem_1_proof.curve(4, 1, 1.0, pair) == pytest.approx(exact, rel=1e-3, abs=1e-12)


def test_y10_one_record_with_numbers() -> None:
    def delta(ratio: float) -> float:
        def phi(t: float) -> float:
            return math.erfc(-t / math.sqrt(2)) / 2

        return phi(ratio / 2 - 1 / ratio) - math.e * phi(-ratio / 2 - 1 / ratio)

    noise = {name: 8 * G * math.sqrt(2 * -math.log(0.999)) for name, G in (("sigma_w", 3.0), ("sigma_v", 0.5))}
    with pytest.raises(InputError, match=r"n must satisfy n >= 2 \(claim Y10"):
        registry.theorem("yang2022.theorem_1").noise(n=1, T=2, epsilon=1.0, delta=0.999, G_w=3.0, G_v=0.5)
    ratio = math.hypot(2 * 3.0 / noise["sigma_w"], 2 * 0.5 / noise["sigma_v"])  # one release, m = 1
    assert ratio == pytest.approx(1 / float(theorem_1_proof.multiplier(2)), rel=1e-12)
    assert delta(ratio) > 0.9998
    assert delta(1 / float(theorem_1_proof.multiplier(1))) == pytest.approx(0.99999996, abs=1e-8)


@pytest.mark.parametrize("n_", [1, 2, 3, 4])
def test_y16_by_a_grid_of_comparison_points(n_: int) -> None:
    """The definitions as they stand, with the maxima over v and w taken on a grid that contains them."""
    points = [Fraction(i, 2 * n_ * (n_ + 1)) for i in range(2 * n_ * (n_ + 1) + 1)]
    sets = list(itertools.product((0, 1), repeat=n_))

    def f(w: Fraction, v: Fraction, z: int) -> Fraction:
        return (w - z) ** 2 / 2 - (v - z) ** 2 / 2

    def out(data: tuple[int, ...]) -> Fraction:
        return Fraction(sum(data), n_)

    def gap(risk: Any) -> Fraction:
        """max_v E risk(S, A(S), v) - min_w E risk(S, w, A(S))."""
        return max(sum(risk(s, out(s), v) for s in sets) for v in points) / len(sets) - min(
            sum(risk(s, w, out(s)) for s in sets) for w in points
        ) / len(sets)

    population = gap(lambda _, w, v: (f(w, v, 0) + f(w, v, 1)) / 2)
    empirical = gap(lambda s, w, v: sum(f(w, v, z) for z in s) / n_)
    assert lemma_6.population_gap(n_) == population
    assert lemma_6.empirical_gap(n_) == empirical
    assert lemma_6.empirical_gap(n_, True) == 0  # the mean minimises the empirical risk
    assert lemma_6.stability(n_) == 0 < population - empirical <= lemma_6.stability(n_, True)


@quick
@given(values=st.lists(st.integers(-5, 5), min_size=24, max_size=24), chance=st.fractions(0, 1))
def test_y16_repaired_lemma_for_any_algorithm_and_function(values: list[int], chance: Fraction) -> None:
    """Two records, outputs in {0, 1}^2 and any f on {0, 1}^3: the gaps differ by at most the repaired stability."""
    sets = list(itertools.product((0, 1), repeat=2))
    f = dict(zip(itertools.product((0, 1), repeat=3), values[:8], strict=True))
    out = {s: (values[8 + i] % 2, values[12 + i] % 2) for i, s in enumerate(sets)}
    law = {s: math.prod(chance if z else 1 - chance for z in s) for s in sets}

    def mean(w: int, v: int) -> Fraction:
        return chance * f[w, v, 1] + (1 - chance) * f[w, v, 0]

    population = max(sum(law[s] * mean(out[s][0], v) for s in sets) for v in (0, 1)) - min(
        sum(law[s] * mean(w, out[s][1]) for s in sets) for w in (0, 1)
    )
    empirical = max(sum(law[s] * Fraction(sum(f[out[s][0], v, z] for z in s), 2) for s in sets) for v in (0, 1)) - min(
        sum(law[s] * Fraction(sum(f[w, out[s][1], z] for z in s), 2) for s in sets) for w in (0, 1)
    )
    repaired = max(
        max(f[out[a][0], v, z] - f[out[b][0], v, z] for v in (0, 1))
        + max(f[w, out[b][1], z] - f[w, out[a][1], z] for w in (0, 1))
        for a, b in itertools.product(sets, repeat=2)
        if sum(x != y for x, y in zip(a, b, strict=True)) <= 1
        for z in (0, 1)
    )
    assert population - empirical <= repaired


def test_y22_the_step_with_root_l_stands_still_for_large_l() -> None:
    """f = w - v is L-smooth for every L: with eta = 1/(sqrt L sqrt n) the gap from 0 tends to 2, not to 0."""
    for n_ in (4, 25, 100):
        root = 10**6 * math.isqrt(n_)  # of L times n
        assert theorem_2_proof.linear_gap(Fraction(0), Fraction(1, root), n_) > Fraction(199, 100)
