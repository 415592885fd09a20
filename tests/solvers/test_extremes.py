"""Extreme events: a certificate that holds, or one line that says what is wrong."""

from __future__ import annotations

import math
import resource
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcheck import InputError, certify
from dpcheck.accounting import privacy_curve
from dpcheck.events import Event, Gaussian, Laplace, Repeated, Sampled, scaled

SCHEMES = ("poisson", "without_replacement", "with_replacement")


def step(z: float, batch: float, population: int, scheme: str = "poisson", relation: str = "replace_one") -> Sampled:
    return Sampled((Gaussian(z),), scheme, population, batch, relation)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [10**13, 10**18, 10**300])
def test_repetitions_without_number_have_a_bound(count: int) -> None:
    certificate = certify(Repeated(step(1.0, 1, 10**6), count), 1e-5)
    assert count / 2e13 < certificate.epsilon <= certify(Repeated(Gaussian(1.0), count), 1e-5).epsilon * (1 + 1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Repeated(Gaussian(1.0), 10**400),
        lambda: step(1.0, 1, 10**400),
        lambda: step(1.0, 10**16, 10**20, "with_replacement"),
        lambda: Gaussian(10**400),
        lambda: certify(Repeated(Repeated(Gaussian(1.0), 10**200), 10**200), 1e-5),
    ],
)
def test_numbers_beyond_all_use_are_refused_in_one_line(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=r"must .*1e(300|15)") as caught:
        make()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("steps", [1, 3, 1000])
def test_tiny_rates(scheme: str, steps: int) -> None:
    """A rate of 1e-30: at delta 1e-40 the bound is small, yet not nothing; at 1e-5 nothing is."""
    events = Repeated(step(1.0, 1, 10**30, scheme), steps)
    assert certify(events, 1e-5).epsilon == 0
    assert certify(events, 0.0).epsilon == math.inf
    assert 0 < certify(events, 1e-40).epsilon < 0.1


@pytest.mark.parametrize("rate", [1e-300, 1e-20, 1e-18, 1 - 1e-9, 1 - 1e-12, 1 - 2**-53])
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("steps", [1, 5])
def test_rates_at_both_ends(rate: float, relation: str, steps: int) -> None:
    epsilon = certify(Repeated(step(1.0, rate, 1, "poisson", relation), steps), 1e-5).epsilon
    whole = certify(Repeated(Gaussian(1.0), steps), 1e-5).epsilon
    assert epsilon == 0 if rate < 0.5 else whole * (1 - 1e-7) < epsilon <= whole * (1 + 1e-12)


@pytest.mark.parametrize("rest", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("part", [0.01, 0.5, 0.99])
def test_curve_of_a_rate_near_one_keeps_its_digits(rest: float, part: float) -> None:
    """N(0) against rest N(0) + rate N(s), where little is left of the likelihood ratio's room: in 60 digits."""
    from dpcheck.accounting.privacy_curves import curves_of

    event, shift = step(0.25, 1 - rest, 1, "poisson", "add_or_remove_one"), 4.0
    epsilon = -math.log(event.rest) * part
    found = float(curves_of(event, negligible=1e-300).backward(np.array([epsilon]))[0])
    with mpmath.workdps(60):
        y, q = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(event.batch)
        # the plain density exceeds y times the mixture's below x
        x = (mpmath.log((1 / y - (1 - q)) / q) + shift**2 / 2) / shift
        exact = mpmath.ncdf(x) - y * ((1 - q) * mpmath.ncdf(x) + q * mpmath.ncdf(x - shift))
        assert abs(found - mpmath.log(exact)) < 1e-10


def nested(depth: int) -> Event:
    event: Event = step(1.0, 1, 1000)
    for _ in range(depth):
        event = Repeated(event, 1)
    return event


def test_deeply_nested_events() -> None:
    assert certify(nested(5000), 1e-5) == certify(step(1.0, 1, 1000), 1e-5)
    assert certify(scaled([nested(5000)], 2.0), 1e-5) == certify(step(2.0, 1, 1000), 1e-5)


def test_deeply_nested_events_of_dp_accounting() -> None:
    import dp_accounting

    event: dp_accounting.DpEvent = dp_accounting.GaussianDpEvent(2.0)
    for _ in range(3000):
        event = dp_accounting.SelfComposedDpEvent(event, 1)
    assert certify(event, 1e-5) == certify(Gaussian(2.0), 1e-5)


def test_fractions_are_numbers() -> None:
    third, four = Fraction(1, 3), Fraction(4)
    events = [Gaussian(four), Repeated(Laplace(four), 2), Repeated(step(four, third, 1), 3)]  # type: ignore[arg-type]
    same = [Gaussian(4.0), Repeated(Laplace(4.0), 2), Repeated(step(4.0, 1 / 3, 1), 3)]
    assert certify(events, 1e-5) == certify(same, 1e-5)


def test_long_runs_take_little_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert certify(Repeated(step(3.0, 0.004, 1), 10**8), 1e-6).epsilon < 160
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kilobytes; 3.6 gigabytes before


@pytest.mark.parametrize(("population", "batch", "z"), [(1000, 10**12, 1e9), (10**20, 10**15, 1e3), (50, 4000, 300.0)])
def test_many_draws(population: int, batch: int, z: float) -> None:
    event = step(z, batch, population, "with_replacement")
    assert 0 <= certify(Repeated(event, 2), 1e-6).epsilon < math.inf
    assert np.all(np.diff(privacy_curve(event)(np.linspace(0, 2, 9))) <= 0)
