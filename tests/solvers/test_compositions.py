"""Compositions short, long and of many kinds: against exact sums, against each other, and in order."""

from __future__ import annotations

import math
import time
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laplace_sums import laplace_delta
from scipy import stats
from slices import first

from dpcheck import certify
from dpcheck.accounting import privacy_curve
from dpcheck.accounting.loss_grids import Grid, Reach, Rough, discretise
from dpcheck.accounting.losses import coarsened, tilt_grid
from dpcheck.accounting.privacy_curves import curves_of
from dpcheck.events import Event, Gaussian, Laplace, RandomAllocation, Repeated, Sampled


def step(z: float, batch: float, scheme: str = "poisson", relation: str = "replace_one") -> Sampled:
    return Sampled((Gaussian(z),), scheme, 1000, batch, relation)  # type: ignore[arg-type]


@pytest.mark.thorough
@given(scale=st.floats(-0.5, 3), count=st.integers(2, 6), exponent=st.floats(-9, -0.5))
@settings(deadline=None, max_examples=40)
def test_short_laplace_compositions_are_tight(scale: float, count: int, exponent: float) -> None:
    b, delta = 10**scale, 10**exponent
    epsilon = certify(Repeated(Laplace(b), count), delta).epsilon
    assert laplace_delta(b, count, epsilon) <= delta * (1 + 1e-9)
    if epsilon > 0:
        less = epsilon * (1 - 1e-3) - 5e-4 * math.sqrt(count) / b / 10
        assert less <= 0 or laplace_delta(b, count, less) > delta


@pytest.mark.thorough
@given(scale=st.floats(-1.5, 3), count=st.integers(2, 6), part=st.floats(0, 0.999))
@settings(deadline=None, max_examples=40)
def test_the_curve_of_laplace_mechanisms_of_one_scale_is_exact(scale: float, count: int, part: float) -> None:
    b = 10**scale
    epsilon = part * count / b
    exact, found = laplace_delta(b, count, epsilon), float(privacy_curve(Repeated(Laplace(b), count))(epsilon))
    assert exact <= found <= exact * (1 + 1e-10)


@pytest.mark.parametrize("count", first(1, [2, 3, 10, 64]))
def test_certificates_of_laplace_mechanisms_never_rise(count: int) -> None:
    """In delta and in the scale, also where delta is about the chance that all losses are the largest."""
    points = 80 if count < 64 else 12
    deltas = np.geomspace(max(2.0**-count / 100, 1e-12), 0.5, points).tolist()
    found = [certify(Repeated(Laplace(1.0), count), delta).epsilon for delta in deltas]
    assert found == sorted(found, reverse=True)
    scales = np.linspace(0.8, 1.3, points).tolist()
    found = [certify(Repeated(Laplace(scale), count), 2.0**-count / 3).epsilon for scale in scales]
    assert found == sorted(found, reverse=True)


def test_certificates_of_two_scales_hardly_rise_in_delta() -> None:
    events = [Repeated(Laplace(1.0), 2), Laplace(1.7)]
    found = [certify(events, delta).epsilon for delta in np.geomspace(1e-5, 0.3, 60).tolist()]
    assert all(later <= earlier * (1 + 5e-6) for earlier, later in pairwise(found))


@pytest.mark.parametrize(("delta", "about"), [(0.001, 0.022016), (0.002, 0.014063), (0.003, 0.0090198)])
def test_three_laplace_mechanisms(delta: float, about: float) -> None:
    assert certify(Repeated(Laplace(100), 3), delta).epsilon == pytest.approx(about, rel=2e-4)


def of_kind(kind: str, z: float, steps: int) -> list[Event]:
    if kind == "laplace":
        return [Repeated(Laplace(10 * z), 1 + steps % 50)]
    if kind == "mixed":
        return [Repeated(Laplace(30 * z), 3), Gaussian(4 * z), Repeated(step(z, 20), steps)]
    scheme, _, relation = kind.partition(" ")
    return [Repeated(step(z, 20, scheme, relation or "replace_one"), steps)]


KINDS = ["laplace", "mixed", "poisson", "poisson add_or_remove_one", "without_replacement", "with_replacement"]


@pytest.mark.thorough
@given(
    kind=st.sampled_from(KINDS),
    z=st.floats(0.4, 8),
    steps=st.integers(1, 20_000),
    exponent=st.floats(-14, -0.3),
    ratio=st.floats(1.0001, 3),
)
@settings(deadline=None, max_examples=25)
def test_epsilon_falls_in_delta_and_in_the_multiplier(
    kind: str, z: float, steps: int, exponent: float, ratio: float
) -> None:
    """Up to the grid's share, which a tenth of the loss's deviation bounds where epsilon is small."""
    delta = 10**exponent
    here = certify(of_kind(kind, z, steps), delta).epsilon
    deviation = 0.2 * math.sqrt(steps) / z
    room = here * 2e-4 + 2e-5 * deviation
    assert certify(of_kind(kind, z, steps), min(delta * ratio, 0.9)).epsilon <= here + room
    assert certify(of_kind(kind, z * ratio, steps), delta).epsilon <= here + room


@pytest.mark.parametrize("steps", [10**5, 10**7, 10**9])
def test_very_long_compositions_approach_their_limit_from_above(steps: int) -> None:
    """With rate^2 steps fixed the loss tends to a Gaussian's; before, a rate has the larger epsilon."""
    epsilon = certify(Repeated(step(1.0, 10 * math.sqrt(1000 / steps)), steps), 1e-5).epsilon
    assert 1.2060 < epsilon < 1.2067


def test_blocks_change_nothing_but_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [Repeated(step(2.0, 30), 4000), Repeated(step(1.0, 5), 777), Repeated(Laplace(300), 50)]
    plain = certify(events, 1e-6).epsilon
    monkeypatch.setattr("dpcheck.accounting.losses._LONG", 100)
    blocked = certify([*events, Gaussian(1e9)], 1e-6).epsilon  # another question, so that no answer is kept
    assert blocked == pytest.approx(plain, rel=2e-4)


def test_coarser_losses_have_a_larger_delta() -> None:
    interval, tilt, orders = 0.01, 3.0, np.array([1.0, -1.0])
    losses = np.arange(-40, 61) * interval
    mass = np.exp(-((losses - 0.1) ** 2) / 0.02)
    fine = tilt_grid(Grid(-40, losses, np.log(mass / mass.sum()), 0.0), tilt, orders)
    coarse = coarsened(fine, 7, interval, tilt, orders)

    def untilted(loss, spacing):  # type: ignore[no-untyped-def]
        points = (loss.lowest + np.arange(loss.weights.size)) * spacing
        return points, loss.weights * np.exp(loss.log_scale - tilt * points)

    (x, p), (y, q) = untilted(fine, interval), untilted(coarse, 7 * interval)
    assert p.sum() == pytest.approx(q.sum(), rel=1e-12)
    assert p @ np.exp(-x) == pytest.approx(q @ np.exp(-y), rel=1e-12)
    for epsilon in np.linspace(-0.3, 0.5, 33):
        small, large = p @ np.maximum(1 - np.exp(epsilon - x), 0), q @ np.maximum(1 - np.exp(epsilon - y), 0)
        assert small <= large + 1e-15


@pytest.mark.thorough
def test_five_hundred_different_events_take_no_minute() -> None:
    events = [step(1 + i / 500, 10 + i / 100) for i in range(500)]
    start = time.process_time()
    epsilon = certify(events, 1e-5).epsilon
    assert time.process_time() - start < 10  # a second or two; 34 before
    assert 0.687 < epsilon < 0.6875


@pytest.mark.thorough
def test_a_hundred_different_events_with_replacement_take_seconds() -> None:
    events = [step(1 + i / 100, 10 + i // 2, "with_replacement") for i in range(100)]
    start = time.process_time()
    epsilon = certify(events, 1e-5).epsilon
    assert time.process_time() - start < 8  # two or three; nine before
    assert 1.2427 < epsilon < 1.243


@pytest.mark.parametrize("scheme", ["poisson", "with_replacement"])
def test_points_left_out_of_a_grid_only_raise_delta(scheme: str) -> None:
    """And by how little, in the moment that they are chosen for."""
    curves = curves_of(step(1.0, 20, scheme), negligible=1e-20)
    reach, interval = Reach.of(curves, 1e-16), 1e-3
    rough = Rough.of([(curves, 1)], [reach])
    whole, spared = (discretise(curves, interval, reach, each) for each in (None, lambda: rough.sparing(0, 2.0)))
    assert np.isfinite(spared.log_mass).sum() < 0.7 * np.isfinite(whole.log_mass).sum()

    def delta(grid: Grid, epsilon: float) -> float:
        above = np.exp(grid.log_mass) * np.maximum(-np.expm1(np.minimum(epsilon - grid.losses, 0)), 0)
        return float(above.sum()) + grid.infinite

    for epsilon in np.linspace(0.0005, 1.2, 40):
        truth = math.exp(float(curves.forward(np.array([epsilon]))[0]))
        assert truth <= delta(spared, epsilon)
    error = 2 * 3 * interval**2 / 8  # of the moment that counts
    assert 0 <= spared.log_moment(2.0) - whole.log_moment(2.0) < 0.01 * error


def test_the_sum_of_total_variations_is_enough_where_little_is_released() -> None:
    certificate = certify(Repeated(Laplace(1e13), 2), 1e-5)
    assert certificate.epsilon == 0
    assert certificate.method.startswith("total variation")
    assert 2 * float(privacy_curve(Laplace(1e13))(0.0)) < 1.01e-13
    assert certify(Repeated(Laplace(1e13), 2), 1e-14).epsilon == pytest.approx(2e-13, rel=1e-3)


def two_sampled(epsilon: float, first: tuple[float, float], second: tuple[float, float]) -> float:
    """Integrate delta of two Poisson-sampled Gaussians, each (rate, shift), over the first output with the record."""
    x = np.linspace(-12, 24, 6_000_001)
    (rate, shift), (other, moved) = first, second
    density = (1 - rate) * stats.norm.pdf(x) + rate * stats.norm.pdf(x - shift)
    left = math.exp(epsilon) / (1 - rate + rate * np.exp(shift * x - shift**2 / 2))  # e to what is left for the second
    with np.errstate(invalid="ignore", divide="ignore"):
        place = (np.log((left - (1 - other)) / other) + moved**2 / 2) / moved
    part = other * stats.norm.sf(place - moved) + (1 - other - left) * stats.norm.sf(place)
    return float(np.trapezoid(density * np.where(left <= 1 - other, 1 - left, part), x))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rates", "multipliers", "delta"),
    [
        pytest.param((3.1207e-5, 3.1207e-5), (0.6023, 0.6023), 2.67e-6, marks=pytest.mark.thorough),
        pytest.param((1.32e-5, 1.32e-5), (0.417, 0.417), 1.02e-5, marks=pytest.mark.thorough),
        pytest.param((3.5e-5, 1.08e-4), (0.439, 1.748), 3e-5, marks=pytest.mark.thorough),
        ((0.01, 0.02), (1.0, 2.0), 1e-5),
    ],
)
def test_two_rare_steps_are_as_tight_as_many(
    rates: tuple[float, float], multipliers: tuple[float, float], delta: float
) -> None:
    """All but rare losses lie within a millionth of 0, and epsilon not far from it: a coarse grid adds up to a half."""
    steps = [
        Sampled((Gaussian(z),), "poisson", 10**12, rate * 1e12, "add_or_remove_one")
        for rate, z in zip(rates, multipliers, strict=True)
    ]
    epsilon = certify(steps, delta).epsilon
    pairs = [(rate, 1 / z) for rate, z in zip(rates, multipliers, strict=True)]
    assert two_sampled(epsilon, *pairs) <= delta * (1 + 1e-9)
    assert two_sampled(epsilon * (1 - 1e-3), *pairs) > delta


@pytest.mark.parametrize(("steps", "delta"), [(2, 1e-16), (3, 1e-16), (5, 1e-20)])
def test_few_rare_steps_cost_less_than_more_of_them(steps: int, delta: float) -> None:
    """With the record removed no loss is above the rate, however small delta is."""
    step = Sampled((Gaussian(0.5),), "poisson", 10**6, 100, "add_or_remove_one")
    few, more = (certify(Repeated(step, count), delta).epsilon for count in (steps, 4 * steps))
    assert certify(step, delta).epsilon < few < more < 1.5 * few


@pytest.mark.parametrize("population", [10**9, 10**14, 10**17])
@pytest.mark.parametrize("z", [1.0, 1e5])
def test_rare_laplace_samples_are_certified_to_rounding(population: int, z: float) -> None:
    step = Sampled((Laplace(z),), "poisson", population, 1, "replace_one")
    with mpmath.workdps(60):
        rate, half = mpmath.mpf(1) / population, mpmath.mpf(1) / z  # Laplace(z) is over what one record contributes
        exact = 10**6 * (mpmath.log1p(rate * mpmath.expm1(half / 2)) - mpmath.log1p(rate * mpmath.expm1(-half / 2)))
    epsilon = certify(Repeated(step, 10**6), 0).epsilon
    assert exact <= epsilon <= exact * (1 + mpmath.mpf(10) ** -10)


@pytest.mark.parametrize(
    ("event", "sharp"),
    [
        (Sampled((Gaussian(1.0),), "poisson", 100, 5, "replace_one"), True),
        (Sampled((Laplace(1.0),), "poisson", 100, 5, "add_or_remove_one"), True),
        (Sampled((Laplace(0.5),), "poisson", 100, 1, "replace_one"), True),
        (RandomAllocation(Gaussian(0.5), 8), False),
    ],
)
def test_only_bounds_that_are_attained_are_sharp(event: Event, sharp: bool) -> None:
    assert certify(event, 1e-3).sharp == sharp
