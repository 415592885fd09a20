"""Measured noise as an event: the bound on its scale covers, and it composes with events that are certified."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpcheck import audit_noise, certify
from dpcheck.audits.noise import audit_noise_sample, scale_lower
from dpcheck.errors import InputError
from dpcheck.events import Gaussian, Laplace, Measured, Repeated

LAWS = {"gaussian": (np.random.Generator.normal, Gaussian), "laplace": (np.random.Generator.laplace, Laplace)}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("shape", "centred"), [((50, 1), False), ((50, 1), True), ((400, 1), False), ((100, 3), False)]
)
def test_the_bound_on_the_scale_covers(law, shape, centred):
    """Null: above the true scale in 5 % of samples at most; of 500, in 5 % + 5 standard errors = 10 %."""
    rng, draw = np.random.default_rng(1), LAWS[law][0]
    centre = 0.0 if centred else 7.0
    bounds = np.array(
        [scale_lower(centre + draw(rng, 0.0, 2.0, shape), law, 0.95, centred=centred) for _ in range(500)]
    )
    assert (bounds > 2.0).mean() < 0.1
    assert bounds.mean() > 2.0 * (1 - 2.5 / np.sqrt(shape[0]))


@pytest.mark.parametrize("law", LAWS)
def test_rounding_is_no_noise(law):
    """Null as above; the true scale is a third of the grid, so that rounding alone would pass for noise."""
    rng, draw = np.random.default_rng(2), LAWS[law][0]
    bounds = [scale_lower(np.round(draw(rng, 7.4, 0.3, (400, 1))), law, 0.95, centred=False) for _ in range(300)]
    assert np.mean(np.array(bounds) > 0.3) < 0.05


def test_the_least_of_several_coordinates_counts():
    sample = np.random.default_rng(0).normal(size=(2_000, 2)) * [1.0, 9.0]
    assert 0.9 < scale_lower(sample, "gaussian", 0.95, centred=True) < 1.05


def test_measured_and_certified_are_one_epsilon():
    audit = audit_noise(lambda data, rng: sum(data) + rng.normal(scale=2.0), [1, 0], scale=2.0, trials=2_000)
    measured = audit.event(sensitivity=0.5)
    assert measured == Measured(Gaussian(audit.scale_lower / 0.5), 0.95)
    found = certify([measured, Gaussian(4.0)], delta=1e-5)
    assert found.epsilon == certify([measured.event, Gaussian(4.0)], delta=1e-5).epsilon
    assert certify([Gaussian(4.0), Gaussian(4.0)], 1e-5).epsilon < found.epsilon
    assert found.confidence == 0.95
    assert "with confidence 0.95" in " ".join(str(found).split()) and "assumed" in found.method
    assert json.loads(json.dumps(found.to_dict()))["confidence"] == 0.95
    assert certify(Gaussian(4.0), 1e-5).confidence == 1


def test_two_measurements_share_the_confidence_and_one_that_is_used_again_does_not():
    one, other = Measured(Gaussian(2.0), 0.95), Measured(Gaussian(2.0), 0.95)
    assert certify([one, other], 1e-5).confidence == pytest.approx(0.9)
    assert certify([one, one], 1e-5).confidence == 0.95
    again = Measured(Repeated(Gaussian(2.0), 2), 0.95)
    assert certify(again, 1e-5).epsilon == certify([one, one], 1e-5).epsilon


@pytest.mark.parametrize(
    ("sample", "claim", "words"),
    [
        (np.random.default_rng(0).uniform(size=(2_000, 1)), {"scale": 0.29}, "shape is another"),
        (np.random.default_rng(0).laplace(size=(2_000, 1)), {"scale": 2.0, "distribution": "laplace"}, r"scale=1\.0"),
        (np.random.default_rng(0).exponential(size=(50, 1)), {"scale": 1.0, "distribution": "exponential"}, "gaussian"),
    ],
)  # fmt: skip
def test_another_law_makes_no_event(sample, claim, words):
    with pytest.raises(InputError, match=words):
        audit_noise_sample(sample, **claim).event(sensitivity=1.0)


def test_too_many_measurements_are_refused():
    with pytest.raises(InputError, match="confidence of all measured events"):
        certify([Measured(Gaussian(2.0), 0.7), Measured(Gaussian(2.0), 0.7)], 1e-5)
