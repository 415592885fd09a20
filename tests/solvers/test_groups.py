"""Several records of one person: against integrals, against exact groups, and an audit that tries to break it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

import dpcheck
from dpcheck import InputError, certify
from dpcheck.accounting import calibrate, gaussian_epsilon
from dpcheck.accounting.event_counts import count_events
from dpcheck.accounting.groups import _chained
from dpcheck.accounting.privacy_curves import curves_of
from dpcheck.cli import main
from dpcheck.events import Gaussian, Laplace, RandomAllocation, Repeated, Sampled


def step(multiplier: float, rate: float, records: int = 1) -> Sampled:
    return Sampled((Gaussian(multiplier),), "poisson", 1000, 1000 * rate, records=records)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 12), st.floats(0.002, 0.6), st.floats(0.4, 4), st.floats(0, 3))
def test_curves_of_several_records_are_those_of_the_binomial_mixture(records, rate, multiplier, epsilon):
    curves, shift = curves_of(step(multiplier, rate, records), negligible=1e-300), 1 / multiplier
    x = np.linspace(-12 - records * shift, 12 + records * shift, 40_001)
    chances = binom(records, rate).pmf(np.arange(records + 1))
    mixture = sum(chance * norm.pdf(x - k * shift) for k, chance in enumerate(chances))
    one = np.array([epsilon])
    for curve, p, q in (
        (curves.forward, mixture, norm.pdf(x)),
        (curves.backward, norm.pdf(x), mixture),
    ):
        due = np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), x)
        assert math.exp(curve(one)[0]) == pytest.approx(due, rel=1e-5, abs=1e-11)


@settings(deadline=None)
@given(st.floats(0.05, 2), st.integers(2, 8), st.floats(1e-8, 1e-2))
def test_a_chain_is_never_below_what_a_group_really_loses(mu, records, delta):
    due = gaussian_epsilon(records * mu, delta)
    chained = _chained(count_events((Gaussian(1 / mu),)), delta, records)
    assert due <= chained * (1 + 1e-12)
    assert chained <= due * 1.01 + 1e-3 or chained == math.inf


@pytest.mark.parametrize("count", [1, 500])
def test_the_coins_of_several_records_are_counted(count):
    events = Repeated(step(1.1, 0.01), count)
    alone = [certify(events, 1e-5, group=k) for k in (1, 2, 3, 5)]
    assert alone[0] == certify(events, 1e-5)
    assert all(a.epsilon < b.epsilon for a, b in pairwise(alone))
    for found in alone[1:]:
        assert found.sharp
        assert found.epsilon <= _chained(count_events((events,)), 1e-5, found.records) * (1 + 2e-4)


@pytest.mark.parametrize(
    "events",
    [
        Repeated(Sampled((Gaussian(2.0),), "without_replacement", 1000, 10), 50),
        Repeated(Sampled((Gaussian(2.0),), "poisson", 1000, 10, "replace_one"), 50),
        RandomAllocation(Gaussian(2.0), 30),
    ],
)
def test_what_has_no_pair_of_its_own_is_chained(events):
    alone, two, three = (certify(events, 1e-5, group=k) for k in (1, 2, 3))
    assert alone.epsilon < two.epsilon < three.epsilon < math.inf
    assert not two.sharp and "one record after another" in two.method


def test_noise_on_all_records_is_felt_once_for_each():
    assert certify(Gaussian(6.0), 1e-5, group=3).epsilon == certify(Gaussian(2.0), 1e-5).epsilon
    assert certify([Laplace(2.0)] * 2, 0.0, group=3).epsilon == pytest.approx(3.0)
    assert certify(Gaussian(0.0), group=2).epsilon == math.inf
    assert certify([], group=2).epsilon == 0


def test_an_audit_of_several_records_comes_near_and_stays_below():
    rate, multiplier, delta = 0.5, 3.0, 1e-2
    epsilon = certify(step(multiplier, rate), delta, group=3).epsilon

    def release(data, rng):
        return rng.binomial(len(data), rate) + multiplier * rng.standard_normal()

    audit = dpcheck.audit_privacy(release, [1, 1, 1], [], epsilon=epsilon, delta=delta, trials=40_000, seed=1)
    assert audit.verdict == "consistent"
    assert 0.6 * epsilon < audit.epsilon_lower <= epsilon
    less = certify(step(multiplier, rate), delta).epsilon  # what is certified for one of them
    audit = dpcheck.audit_privacy(release, [1, 1, 1], [], epsilon=less, delta=delta, trials=40_000, seed=1)
    assert audit.verdict == "violated"


def test_the_noise_for_a_group_is_found():
    noise = calibrate(lambda z: Repeated(step(z, 0.01), 100), 2.0, 1e-5, group=4)
    assert 1.99 < certify(Repeated(step(noise, 0.01), 100), 1e-5, group=4).epsilon <= 2.0


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: certify(Gaussian(1.0), group=0), "group"),
        (lambda: Sampled((Gaussian(1.0),), "without_replacement", 10, 2, records=2), "records"),
        (lambda: Sampled((Laplace(1.0),), "poisson", 10, 2, records=2), "records"),
        (lambda: step(1.0, 0.1, 257), "records"),
    ],
)
def test_groups_that_are_not_computed_are_refused(make, named):
    with pytest.raises(InputError, match=named):
        make()


def test_the_command_names_the_group(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["--multiplier", "1.1", "--batch", "256", "--population", "60000", "--steps", "100", "--group", "3"]
    assert main(["certify", *run]) == 0
    assert "(3 records together, each added or removed, noise per C)" in capsys.readouterr().out
    assert main(["certify", *run, "--risk"]) == 2
