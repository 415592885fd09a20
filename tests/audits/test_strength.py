"""What a consistent audit says that it would have found, it finds: as often as it says, by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import dpcheck
from dpcheck.audits.looks import CHANCE, Plan, epsilon_of, least_found, strength

AUDITS = 60
POINTS = [(0.03, 0.0), (0.1, 0.0), (0.3, 0.0), (0.5, 0.0), (1.0, 0.0), (2.0, 0.0), (0.1, 1e-5), (0.5, 1e-5),
          (1.0, 1e-5), (1.0, 1e-3), (3.0, 1e-2)]  # fmt: skip
QUICK = [(1.0, 0.0, 1000), (1.0, 1e-3, 1000)]


def shift_found(epsilon, delta, trials):
    plan = Plan.of(trials, 0.95, 10_000)
    return least_found(epsilon, delta, plan.blocks[-1], plan.levels[-1])


def found(epsilon, delta, trials, shift, seed):
    def mechanism(data, rng, size):
        return data + (rng.normal(size=size) if delta else rng.laplace(size=size))

    audit = dpcheck.audit_privacy(
        mechanism, 0.0, shift, epsilon=epsilon, delta=delta, trials=trials, seed=seed, vectorized=True
    )
    return audit.verdict == "violated"


@pytest.mark.parametrize(
    ("epsilon", "delta", "trials"),
    [*QUICK, *(pytest.param(*point, trials, marks=pytest.mark.thorough) for point in POINTS for trials in (1000, 10_000)
               if (*point, trials) not in QUICK)],
)  # fmt: skip
def test_it_is_found_as_often_as_is_said(epsilon, delta, trials):
    """Below the 0.1 % quantile of Binomial(60, 0.8) in one of 1,000 repeats where the chance is 0.8 exactly."""
    shift = shift_found(epsilon, delta, trials)
    assert epsilon_of(shift, delta) > epsilon
    hits = sum(found(epsilon, delta, trials, shift, seed) for seed in range(AUDITS))
    assert hits >= binom.ppf(1e-3, AUDITS, CHANCE), f"{hits} of {AUDITS}"


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.0), (1.0, 1e-2)])
def test_the_trials_that_are_advised_find_a_tenth_less_noise(epsilon, delta):
    plan = Plan.of(500, 0.95, 10_000)
    advised = strength(epsilon, delta, plan.blocks[-1], plan.levels[-1], 500).trials
    assert advised is not None and advised > 500
    shift = epsilon if delta == 0 else next(
        z for z in np.linspace(0.2, 2, 1801) if epsilon_of(z, delta) >= epsilon
    )  # fmt: skip
    hits = sum(found(epsilon, delta, advised, shift / 0.9, seed) for seed in range(8))
    assert hits >= binom.ppf(1e-2, 8, CHANCE), f"{hits} of 8 at {advised} trials"


def test_more_runs_find_less():
    shifts = [shift_found(1.0, 1e-5, trials) for trials in (1000, 10_000, 100_000, 1_000_000)]
    assert shifts == sorted(shifts, reverse=True) and shifts[-1] < 0.9 * shifts[0]


def test_only_a_consistent_audit_of_one_point_says_it():
    def mechanism(data, rng, size):
        return data + rng.laplace(size=size)

    for shift, epsilon, claim in ((3.0, 1.0, None), (1.0, None, dpcheck.events.Laplace(1.0))):
        audit = dpcheck.audit_privacy(
            mechanism, 0.0, shift, epsilon=epsilon, claim=claim, trials=2000, vectorized=True
        )  # fmt: skip
        assert audit.would_find is None
    audit = dpcheck.audit_privacy(mechanism, 0.0, 1.0, epsilon=1.0, trials=2000, vectorized=True)
    assert audit.would_find is not None and audit.would_find.sentence in str(audit)
    assert audit.to_dict()["would_find"]["epsilon"] == audit.would_find.epsilon
