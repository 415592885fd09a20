"""Random allocation: against another library's interval, simulation, exact small sums, and its limits."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcheck import InputError, certify
from dpcheck.accounting import privacy_curve
from dpcheck.accounting.allocation import allocation_curves
from dpcheck.accounting.allocation_below import allocation_epsilon_below
from dpcheck.events import Event, Gaussian, RandomAllocation, Repeated, Sampled


def epochs(z: float, steps: int, number: int = 1) -> Event:
    return Repeated(RandomAllocation(Gaussian(z), steps), number)


# The intervals of pld-accounting 2.0, gaussian_allocation_epsilon_range; its first takes 12 s, all here take about 2.
PEER = [(1.0, 234, 1, 0.3401909, 0.3564149), (1.0, 234, 10, 1.026, 1.071), (0.6, 100, 1, 3.419, 3.444)]


@pytest.mark.parametrize(("z", "steps", "number", "low", "high"), PEER)
def test_epsilon_lies_in_the_interval_of_pld_accounting(
    z: float, steps: int, number: int, low: float, high: float
) -> None:
    assert low <= certify(epochs(z, steps, number), 1e-5).epsilon <= high


def test_pld_accounting_itself_where_it_is_installed() -> None:
    peer = pytest.importorskip("PLD_accounting.random_allocation_api")
    high, low = peer.gaussian_allocation_epsilon_range(delta=1e-4, sigma=1.5, num_steps=50, num_epochs=2)
    assert low <= certify(epochs(1.5, 50, 2), 1e-4).epsilon <= high
    assert low <= allocation_epsilon_below(1.5, 50, 2, 1e-4) <= high


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("z", "steps", "number", "delta", "apart"),
    [(1.0, 234, 1, 1e-5, 2e-4), (1.0, 234, 10, 1e-5, 1e-3), (2.0, 50, 3, 1e-6, 1e-3), (5.0, 200, 60, 1e-4, 2e-3),
     (1.0, 1, 1, 1e-5, 1e-3), (0.7, 20, 1, 1e-4, 3e-3)],
)  # fmt: skip
def test_the_certificate_is_two_sided(z: float, steps: int, number: int, delta: float, apart: float) -> None:
    low, high = allocation_epsilon_below(z, steps, number, delta), certify(epochs(z, steps, number), delta).epsilon
    assert 0 < low <= high <= low * (1 + apart)


@pytest.mark.parametrize(("z", "steps", "delta"), [(0.45, 5, 1e-3), (0.5, 10, 0.1)])
def test_few_copies_with_heavy_tails_are_bounded_sharply(z: float, steps: int, delta: float) -> None:
    """Copies past the grid count as 0, and grids are fine beside the number of steps: else the sides are .5 % apart."""
    low, high = allocation_epsilon_below(z, steps, 1, delta), certify(epochs(z, steps), delta).epsilon
    assert low <= high <= low * 1.002


@pytest.mark.thorough
def test_random_epochs_are_bounded_from_both_sides() -> None:
    """30 epochs from light to heavy tails: the bounds never cross, and nine of ten with z > 0.6 lie within 0.3 %."""
    rng, near = np.random.default_rng(3), []
    for _ in range(30):
        z, steps = math.exp(rng.uniform(math.log(0.42), math.log(5))), int(math.exp(rng.uniform(0.7, 7.5)))
        delta = 10.0 ** -rng.uniform(2, 9)
        low, high = allocation_epsilon_below(z, steps, 1, delta), certify(epochs(z, steps), delta).epsilon
        assert low <= high, (z, steps, delta)
        if z > 0.6:
            near.append(high <= low * 1.003)
    assert np.mean(near) >= 0.9


@pytest.mark.parametrize(("z", "epsilon"), [(1.0, 0.3), (0.7, 1.0), (2.0, 0.2)])
def test_from_below_two_steps_are_integrated_over_the_plane(z: float, epsilon: float) -> None:
    """Not above the epsilon of the delta that the integral has, with the record added."""
    x = np.linspace(-10, 10 + 1 / z, 3001)
    plain, moved = (np.exp(-((x - a) ** 2) / 2) / math.sqrt(2 * math.pi) for a in (0.0, 1 / z))
    p = (np.multiply.outer(moved, plain) + np.multiply.outer(plain, moved)) / 2
    q, cell = np.multiply.outer(plain, plain), (x[1] - x[0]) ** 2
    delta = float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0))) * cell
    assert epsilon * (1 - 5e-3) <= allocation_epsilon_below(z, 2, 1, delta) <= epsilon * (1 + 2e-4)


def test_one_step_is_the_gaussian_mechanism() -> None:
    for z, number, delta in ((1.0, 1, 1e-5), (3.0, 7, 1e-3)):
        exact = certify(Repeated(Gaussian(z), number), delta).epsilon
        assert exact * (1 - 2e-3) <= allocation_epsilon_below(z, 1, number, delta) <= exact


def test_from_below_nothing_is_said_beyond_its_precision() -> None:
    assert allocation_epsilon_below(0.1, 10, 1, 1e-5) == 0
    assert allocation_epsilon_below(1.0, 10, 1, 1e-30) == 0
    assert allocation_epsilon_below(1.0, 10, 1, 0.9) == 0
    with pytest.raises(InputError, match="epochs must be a whole number >= 1, got 0"):
        allocation_epsilon_below(1.0, 10, 0, 1e-5)


@pytest.mark.experiment
def test_table_beside_other_sampling(keep: Any) -> None:
    """Random allocation from both sides, Poisson and fixed minibatches, and the peer's interval where installed."""
    try:
        from PLD_accounting.random_allocation_api import gaussian_allocation_epsilon_range as peer
    except ImportError:
        peer = None
    rows = []
    for z, steps, number in ((1.0, 234, 1), (1.0, 234, 10), (0.6, 100, 1), (2.0, 100, 50)):
        began = time.process_time()
        low, high = allocation_epsilon_below(z, steps, number, 1e-5), certify(epochs(z, steps, number), 1e-5).epsilon
        seconds = time.process_time() - began
        rate = Sampled((Gaussian(z),), "poisson", steps, 1, "add_or_remove_one")
        began = time.process_time()
        interval = peer(delta=1e-5, sigma=z, num_steps=steps, num_epochs=number)[::-1] if peer else (math.nan, math.nan)
        took = time.process_time() - began
        rows.append({
            "multiplier": z, "steps": steps, "epochs": number, "allocation_low": low, "allocation_high": high,
            "seconds": seconds, "pld_accounting_low": interval[0], "pld_accounting_high": interval[1],
            "their_seconds": took if peer else math.nan,
            "poisson": certify(Repeated(rate, steps * number), 1e-5).epsilon,
            "fixed": certify(Repeated(Gaussian(z), number), 1e-5).epsilon,
        })  # fmt: skip
        assert low <= high
        assert peer is None or interval[0] <= low <= high <= interval[1]
    keep("allocation", pd.DataFrame(rows))


@pytest.mark.thorough
@pytest.mark.parametrize(("z", "epsilon"), [(1.0, 0.0), (1.0, 0.3), (0.7, 1.0), (2.0, 0.2)])
def test_two_steps_are_integrated_over_the_plane(z: float, epsilon: float) -> None:
    """Not below, and hardly above; the added record and the removed one each have a curve."""
    x = np.linspace(-10, 10 + 1 / z, 3001)
    plain, moved = (np.exp(-((x - a) ** 2) / 2) / math.sqrt(2 * math.pi) for a in (0.0, 1 / z))
    p = (np.multiply.outer(moved, plain) + np.multiply.outer(plain, moved)) / 2
    q, cell = np.multiply.outer(plain, plain), (x[1] - x[0]) ** 2
    curves = allocation_curves(2, 1 / z, 1e-20)
    for a, b, curve in ((p, q, curves.forward), (q, p, curves.backward)):
        exact = float(np.sum(np.maximum(a - math.exp(epsilon) * b, 0))) * cell
        bound = float(np.exp(curve(np.array([epsilon]))[0]))
        assert exact * (1 - 2e-4) <= bound <= exact * (1 + 5e-3) + 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize(("z", "steps"), [(1.0, 20), (0.6, 8), (3.0, 200)])
def test_simulated_epochs_stay_below_the_curve_and_near(z: float, steps: int) -> None:
    """Null hypothesis: delta is at most the curve's. By Hoeffding a mean of 400,000 runs errs by .0042 once in 1e6."""
    rng, runs, s = np.random.default_rng(5), 400_000, 1 / z
    curves = allocation_curves(steps, s, 1e-20)
    total = np.zeros(runs)
    for _ in range(steps - 1):
        total += np.exp(s * rng.normal(size=runs) - s * s / 2)
    under_q = total + np.exp(s * rng.normal(size=runs) - s * s / 2)
    under_p = total + np.exp(s * rng.normal(size=runs) + s * s / 2)
    for epsilon in (0.0, 0.1 * s, s):
        y = math.exp(epsilon)
        added = float(np.mean(np.maximum(1 - y * steps / under_p, 0)))
        removed = float(np.mean(np.maximum(1 - y * under_q / steps, 0)))
        for found, curve in ((added, curves.forward), (removed, curves.backward)):
            assert abs(found - float(np.exp(curve(np.array([epsilon]))[0]))) <= 0.0043


def test_its_place_among_the_schemes() -> None:
    """At the same noise better than fixed minibatches; more steps are better; below what ignores the allocation."""
    one = [certify(epochs(1.0, steps), 1e-5).epsilon for steps in (1, 2, 10, 100, 1000)]
    assert one == sorted(one, reverse=True)
    assert one[0] == certify(Gaussian(1.0), 1e-5).epsilon
    ten = certify(epochs(1.0, 100, 10), 1e-5).epsilon
    assert ten < certify(Repeated(Gaussian(1.0), 10), 1e-5).epsilon / 4


@pytest.mark.thorough
def test_epsilon_falls_in_delta_and_in_the_multiplier() -> None:
    deltas = [certify(epochs(1.0, 50, 3), 10.0**-e).epsilon for e in range(1, 12)]
    assert deltas == sorted(deltas)
    multipliers = [certify(epochs(z, 50, 3), 1e-6).epsilon for z in np.geomspace(0.2, 20, 12)]
    assert multipliers == sorted(multipliers, reverse=True)


@pytest.mark.thorough
@pytest.mark.parametrize(("z", "steps"), [(1e-9, 10), (0.05, 10), (0.41, 10), (1e6, 10), (100.0, 10), (5.0, 10**5)])
def test_extremes_are_bounded_by_a_single_step(z: float, steps: int) -> None:
    for delta in (1e-200, 1e-5):
        assert 0 <= certify(epochs(z, steps), delta).epsilon <= certify(Gaussian(z), delta).epsilon * (1 + 1e-9)
    assert np.all(np.diff(privacy_curve(epochs(z, steps))(np.linspace(0, 3, 7))) <= 0)


def test_what_it_cannot_mean_is_refused() -> None:
    with pytest.raises(InputError, match="steps must be a whole number >= 1, got 0"):
        RandomAllocation(Gaussian(1.0), 0)
    with pytest.raises(InputError, match="steps must be at most 1e7"):
        RandomAllocation(Gaussian(1.0), 10**8)
    replaced = Sampled((Gaussian(1.0),), "poisson", 10, 1, "replace_one")
    with pytest.raises(InputError, match="share one neighbouring relation"):
        certify([epochs(1.0, 5), replaced], 1e-5)
