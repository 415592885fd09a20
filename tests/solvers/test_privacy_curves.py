"""One step's curves against the definitions: integrals, listed data sets, many digits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import binom

from dpcheck import certify
from dpcheck.accounting import privacy_curve
from dpcheck.accounting.privacy_curves import Array, gaussian_log_delta
from dpcheck.events import Gaussian, Sampled

Density = Callable[[Array], Array]
SCHEMES = ("poisson", "without_replacement", "with_replacement")


def step(z: float, batch: float, population: int, scheme: str, relation: str = "replace_one") -> Sampled:
    return Sampled((Gaussian(z),), scheme, population, batch, relation)  # type: ignore[arg-type]


def hockey_stick(p: Density, q: Density, epsilon: float, low: float, high: float) -> float:
    """Integral of (p - e^epsilon q)^+ by the midpoint rule."""
    edges = np.linspace(low, high, 40_001)
    middle = (edges[1:] + edges[:-1]) / 2
    excess = np.maximum(p(middle) - math.exp(epsilon) * q(middle), 0)
    return float(np.sum(excess) * (edges[1] - edges[0]))


def mixture(weights: ArrayLike, centres: ArrayLike, scale: float = 1.0) -> Density:
    parts = list(zip(np.ravel(weights), np.ravel(centres), strict=True))
    peak = scale * math.sqrt(2 * math.pi)
    return lambda x: sum(w / peak * np.exp(-(((x - c) / scale) ** 2) / 2) for w, c in parts)


def precise_log_delta(epsilon: float, mu: float) -> mpmath.mpf:
    """Balle and Wang's formula as it stands, in 400 digits."""
    with mpmath.workdps(400):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)

        def phi(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

        return mpmath.log(phi(m / 2 - e / m) - mpmath.exp(e) * phi(-m / 2 - e / m))


@given(mu=st.floats(-9, 2), x=st.floats(-6, 37))
@settings(deadline=None, max_examples=60)
def test_gaussian_curve_has_full_relative_precision(mu: float, x: float) -> None:
    shift = 10**mu
    epsilon = max(0.0, shift * (x + shift / 2))
    if epsilon / shift - shift / 2 > 37:
        return
    value = float(gaussian_log_delta(np.array([epsilon]), shift)[0])
    assert abs(value - precise_log_delta(epsilon, shift)) < 1e-11


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("z", [0.4, 1.0, 5.0])
@pytest.mark.parametrize("scheme", ["without_replacement", "poisson"])
def test_one_step_is_the_worse_direction_of_the_mixture(scheme: str, rate: float, z: float) -> None:
    relation = "add_or_remove_one" if scheme == "poisson" else "replace_one"
    event = step(z, round(100 * rate), 100, scheme, relation)
    plain, mixed = mixture([1], [0.0]), mixture([1 - rate, rate], [0.0, 1 / z])
    low, high = -12.0, 12 + 1 / z
    curve = privacy_curve(event)
    for epsilon in (0.0, 0.01, 0.1, 0.5, 2.0):
        ways = [hockey_stick(p, q, epsilon, low, high) for p, q in ((mixed, plain), (plain, mixed))]
        assert float(curve(epsilon)) == pytest.approx(max(ways), rel=1e-5, abs=1e-12)
        if max(ways) > 1e-9:
            assert certify(event, max(ways)).epsilon == pytest.approx(epsilon, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("z", [0.2, 1.0, 5.0])
def test_one_poisson_step_between_replaced_records_is_the_mirrored_pair(rate: float, z: float) -> None:
    p, q = (mixture([1 - rate, rate], [0.0, side / z / 2]) for side in (1, -1))
    curve = privacy_curve(step(z, 100 * rate, 100, "poisson"))
    for epsilon in (0.0, 0.01, 0.1, 0.5, 2.0):
        exact = hockey_stick(p, q, epsilon, -12 - 1 / z, 12 + 1 / z)
        assert float(curve(epsilon)) == pytest.approx(exact, rel=1e-5, abs=1e-12)


@given(
    v=st.floats(-1, 1),
    w=st.floats(-1, 1),
    rate=st.floats(0.01, 0.99),
    scale=st.floats(0.1, 4),
    epsilon=st.floats(0, 2),
)
@settings(deadline=None, max_examples=60)
def test_no_replacement_beats_the_mirrored_pair(v: float, w: float, rate: float, scale: float, epsilon: float) -> None:
    """Records contributing v and w with |v|, |w| <= 1, noise ``scale``: sensitivity 2."""
    curve = privacy_curve(step(scale / 2, rate, 1, "poisson"))
    p, q = (mixture([1 - rate, rate], [0.0, part / scale]) for part in (v, w))
    bound = float(curve(epsilon))
    assert hockey_stick(p, q, epsilon, -25, 25) <= bound + 1e-7


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("population", "batch"), [(3, 1), (3, 2), (4, 3), (5, 2)])
def test_every_small_data_set_stays_below_the_curve(scheme: str, population: int, batch: int) -> None:
    """The mean of a batch of numbers in [-1, 1] plus noise, all batches and all data sets listed.

    Under Poisson sampling the sum is divided by the expected size. Some pair attains the curve
    (with replacement: comes within 2%).
    """
    scale = 1.0
    event = step(scale * batch / 2, batch, population, scheme)
    chance = batch / population

    def law(data: tuple[int, ...]) -> Density:
        if scheme == "poisson":
            batches = itertools.product((0, 1), repeat=population)
            terms = [
                (
                    math.prod(chance if bit else 1 - chance for bit in bits),
                    np.dot(bits, data) / batch,
                )
                for bits in batches
            ]
        elif scheme == "without_replacement":
            picks = list(itertools.combinations(data, batch))
            terms = [(1 / len(picks), sum(pick) / batch) for pick in picks]
        else:
            picks = list(itertools.product(data, repeat=batch))
            terms = [(1 / len(picks), sum(pick) / batch) for pick in picks]
        totals: dict[float, float] = {}
        for weight, centre in terms:
            totals[float(centre)] = totals.get(float(centre), 0.0) + weight
        return mixture(np.array(list(totals.values())), np.array(list(totals)), scale)

    epsilons = np.array([0.0, 0.1, 0.5])
    worst = np.zeros(3)
    for rest in itertools.combinations_with_replacement((-1, 0, 1), population - 1):
        p, q = law((1, *rest)), law((-1, *rest))
        for pair in ((p, q), (q, p)):
            found = [hockey_stick(*pair, e, -10, 10) for e in epsilons]
            worst = np.maximum(worst, found)
    curve = privacy_curve(event)(epsilons)
    assert np.all(worst <= curve * (1 + 1e-6))
    assert np.all(worst >= (0.98 if scheme == "with_replacement" else 1 - 1e-6) * curve)


@pytest.mark.parametrize(("population", "batch", "z"), [(20, 5, 1.0), (10, 10, 2.0), (5, 30, 9.0)])
def test_one_step_with_replacement_covers_the_mixture_of_multiplicities(population: int, batch: int, z: float) -> None:
    """The bound, computed here in full: above the mixture of shifts k / z, below the groups, and attained at 0."""
    copies = np.arange(batch + 1)
    chances = binom.pmf(copies, batch, 1 / population)
    plain, mixed = mixture([1], [0.0]), mixture(chances, copies / z)
    ends = -12, 12 + batch / z
    curve = privacy_curve(step(z, batch, population, "with_replacement"))
    for epsilon in (0.0, 0.05, 0.5, 2.0):
        bound, alpha = float(curve(epsilon)), math.exp(epsilon)
        for p, q in ((mixed, plain), (plain, mixed)):
            assert hockey_stick(p, q, epsilon, *ends) <= bound + 1e-8

        def ratios(x: float, alpha: float = alpha) -> Array:
            return np.maximum(np.exp(copies / z * x - (copies / z) ** 2 / 2), alpha)

        def spare(x: float, alpha: float = alpha) -> float:
            return float(chances[1:] @ (ratios(x)[1:] - alpha) - (alpha - 1) * chances[0])

        shared = ratios(brentq(spare, 0, 100, xtol=1e-12) if epsilon > 0 else -1e3)
        groups, expected = (
            sum(c * hockey_stick(mixture([1], [k / z]), plain, math.log(r), *ends) for k, c, r in rows)
            for rows in (zip(copies[1:], chances[1:], each[1:], strict=True) for each in (0 * shared + alpha, shared))
        )
        assert bound == pytest.approx(expected, rel=1e-5)
        assert bound <= groups * (1 + 1e-6)
        if epsilon == 0:
            apart = hockey_stick(*(mixture(chances, side * copies / z) for side in (0.5, -0.5)), 0.0, -20, 20)
            assert apart == pytest.approx(bound, rel=1e-5)


@pytest.mark.parametrize("side", [1, -1])
def test_no_other_records_beat_the_bound_with_replacement(side: int) -> None:
    """Draws that miss the record take others from a circle of diameter 1, a record of which is replaced by another."""
    n, m, z = 20, 3, 0.5
    curve = privacy_curve(step(z, m, n, "with_replacement"))
    chances = binom.pmf(np.arange(m + 1), m, 1 / n)
    for others in np.linspace(-0.5, 0.5, 5):
        p, q = (mixture(chances, [(k * v + (m - k) * others) / z for k in range(m + 1)]) for v in (0.5, -0.5))
        if side < 0:
            p, q = q, p
        for epsilon in (0.0, 0.1, 0.5, 1.5):
            assert hockey_stick(p, q, epsilon, -20, 20) <= float(curve(epsilon)) + 1e-8


def test_the_worst_known_pair_with_replacement_is_near() -> None:
    """n = 1000, m = 10, z = 1 at delta 1e-6: 1.135 with all hits as groups, 0.402 for the mixture."""
    assert certify(step(1.0, 10, 1000, "with_replacement"), 1e-6).epsilon == pytest.approx(0.40183, abs=1e-4)
