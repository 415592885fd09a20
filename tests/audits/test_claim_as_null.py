"""Claims of many points: the curve that is tested, what a point would miss, the error rate, the family bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpcheck import audit_privacy, certify
from dpcheck.accounting import privacy_curve
from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.limits import least_rejected
from dpcheck.errors import InputError
from dpcheck.events import Disjoint, Gaussian, Laplace, Repeated, Sampled, scaled

SIGMA = 3.7306316348159396  # Gaussian, sensitivity 1: exactly (1, 1e-5)


def gaussian(value: float, rng: np.random.Generator, size: int) -> Any:
    return value + SIGMA * rng.standard_normal(size)


def less_noise(value: float, rng: np.random.Generator, size: int) -> Any:
    return value + 0.8 * SIGMA * rng.standard_normal(size)


def laplace(value: float, rng: np.random.Generator, size: int) -> Any:
    return value + rng.laplace(size=size)


def _violations(mechanism: Any, claim: Any, repeats: int, trials: int) -> int:
    return sum(
        audit_privacy(mechanism, 1, 0, claim=claim, trials=trials, seed=seed, vectorized=True).verdict == "violated"
        for seed in range(repeats)
    )


def test_noise_at_four_fifths_is_caught_by_the_curve_and_missed_by_the_point():
    """12,000 runs: the curve rejects in 24 of 25 audits or more; over other seeds in 96 % of 200. The point never."""
    assert _violations(less_noise, Gaussian(SIGMA), 25, 12_000) >= 24
    for seed in range(5):
        point = audit_privacy(less_noise, 1, 0, epsilon=1.0, delta=1e-5, trials=12_000, seed=seed, vectorized=True)
        assert point.verdict == "consistent"


def laplace_curve(epsilon: Any) -> Any:
    return np.maximum(1 - np.exp((epsilon - 1) / 2), 0)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mechanism", "claim"), [(gaussian, Gaussian(SIGMA)), (laplace, Laplace(1.0)), (laplace, laplace_curve)]
)
def test_false_alarms_of_curves(mechanism, claim):
    """Null hypothesis: the claimed curve is kept exactly and the audit rejects with probability <= 5 %.

    Rejected above the 0.999 quantile of Bin(100, 0.05), 13: error rate 0.1 %.
    """
    assert _violations(mechanism, claim, 100, 1000) <= stats.binom.isf(1e-3, 100, 0.05)


def test_two_times_the_noise_would_not_do():
    """A claim of mechanisms that release twice as much is kept with room to spare."""
    assert _violations(gaussian, [Gaussian(SIGMA), Gaussian(SIGMA)], 20, 2000) == 0


def test_in_the_family_the_bound_is_close():
    """Mean of in_family over 25 audits of 10,000 runs, true epsilon 1; over other seeds 0.84, standard error 0.01."""
    found = [
        audit_privacy(gaussian, 1, 0, claim=Gaussian(SIGMA), trials=10_000, seed=s, vectorized=True).in_family
        for s in range(25)
    ]
    assert 0.76 <= np.mean(found) <= 1
    point = audit_privacy(gaussian, 1, 0, epsilon=1.0, trials=1000, vectorized=True)
    assert point.in_family is None


def test_no_bound_in_the_family_rests_on_an_upper_bound():
    """Drawing without replacement is certified from above for several steps, and exactly for one."""
    for steps, sharp in ((1, True), (3, False)):
        claim = Repeated(Sampled((Gaussian(SIGMA),), "without_replacement", 10, 5), steps)
        audit = audit_privacy(gaussian, 1, 0, claim=claim, trials=1000, vectorized=True)
        assert (audit.in_family is not None) == sharp


def test_least_rejected_is_the_edge_of_the_test():
    """The family bound by its definition: half a per cent less is not rejected."""
    from dpcheck.audits.limits import p_value

    counts = (5600, 4500, 10_000)
    z = least_rejected(*counts, lambda m: privacy_curve(Gaussian(m)), epsilon=0.0, guess=1.0, alpha=0.05)
    for multiplier, inside in ((z, True), (z / 1.006, False)):
        delta = float(privacy_curve(Gaussian(multiplier))(0.0))
        assert (p_value(*counts, 0.0, delta, alpha=0.05) <= 0.05) == inside


def test_points_of_a_claim():
    claim = PrivacyClaim.read(Gaussian(SIGMA))
    assert claim.epsilon_at(1e-5) == certify(Gaussian(SIGMA), 1e-5).epsilon
    assert claim.epsilon_at(0.0) == math.inf
    np.testing.assert_allclose(claim.deltas, privacy_curve(Gaussian(SIGMA))(claim.epsilons))
    weights = claim.weights()
    assert weights[0] == 1  # total variation shows a Gaussian best
    assert ((weights >= 0) & (weights <= 1)).all()
    point = PrivacyClaim.point(0.5, 1e-6)
    assert (point.epsilon_at(1e-6), point.epsilon_at(1e-7)) == (0.5, math.inf)


@given(order=st.floats(1.01, 100), bound=st.floats(1e-3, 10))
def test_renyi_claims_bound_what_gaussians_attain(order, bound):
    """The Gaussian with this divergence at this order has a curve below the claimed one."""
    mu = math.sqrt(2 * bound / order)
    claim = PrivacyClaim.renyi({order: bound})
    exact = privacy_curve(Gaussian(1 / mu))(claim.epsilons)
    assert (exact <= claim.deltas * (1 + 1e-9)).all()


def test_a_renyi_claim_is_tested():
    rho = 1 / (2 * SIGMA**2)
    claim = PrivacyClaim.renyi({order: rho * order for order in (1.5, 2, 4, 8, 16, 32)})
    assert _violations(gaussian, claim, 5, 10_000) == 0
    assert _violations(lambda v, rng, size: v + SIGMA / 3 * rng.standard_normal(size), claim, 5, 10_000) == 5


def test_scaled_events_have_scaled_noise():
    step = Sampled((Gaussian(2.0), Gaussian(3.0)), "poisson", 100, 10)
    events = (Gaussian(1.0), Laplace(2.0), Repeated(step, 5), Disjoint((Gaussian(4.0), Gaussian(5.0))))
    twice = scaled(events, 2.0)
    assert twice[0] == Gaussian(2.0)
    assert twice[1] == Laplace(4.0)
    assert twice[2].event.mechanisms == (Gaussian(4.0), Gaussian(6.0))
    assert twice[3].events == (Gaussian(8.0), Gaussian(10.0))


def test_a_claim_that_says_nothing_is_refused():
    with pytest.raises(InputError, match="below 1 somewhere"):
        audit_privacy(gaussian, 1, 0, claim=Gaussian(0.0), vectorized=True)


@pytest.mark.parametrize(("delta", "point"), [(1e-5, 1e-3), (0.0, 1e-5), (1e-3, 1e-5)])
def test_a_point_is_tested_at_its_own_delta(delta, point):
    """Where the audit's delta is the smaller one, nothing is promised there, and yet the claim can fail."""
    claim = PrivacyClaim.point(1.0, point)
    leak = audit_privacy(lambda value, rng: float(value), 0, 1, claim=claim, delta=delta, trials=1000)
    assert leak.verdict == "violated"
    kept = audit_privacy(gaussian, 0, 1, claim=claim, delta=delta, trials=4000, vectorized=True)
    assert kept.verdict == "consistent"
