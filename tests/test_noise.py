"""Noise audits: false alarms at the stated level, and planted faults caught."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck import InputError, audit_noise
from dpcheck.audits.noise import audit_noise_sample


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
def test_false_alarms(distribution):
    """Null: noise exactly as claimed. Level 5 %; 100 repeats, fails above 12 % (probability 0.2 %)."""
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng([seed, 77])
        draw = rng.standard_normal if distribution == "gaussian" else (lambda size: rng.laplace(size=size))
        sample = 3.0 + 2.0 * draw(size=(120, 2))
        found = audit_noise_sample(sample, distribution=distribution, scale=2.0, seed=seed)
        alarms += found.verdict == "violated"
    assert alarms <= 12


RNG = np.random.default_rng(8)
HONEST = RNG.standard_normal((1500, 3))
REUSED = np.repeat(HONEST[::2], 2, axis=0)
FAULTS = {
    "half the scale": (0.5 * HONEST, "scale"),
    "a tenth more": (1.1 * HONEST, "scale"),
    "laplace of the same variance": (RNG.laplace(size=HONEST.shape) / np.sqrt(2), "shape"),
    "one draw for all coordinates": (HONEST[:, :1] + 1e-6 * HONEST, "dependence"),
    "each draw used in two calls": (REUSED, "repeats"),
    "reused with a sign": (REUSED * np.where(np.arange(1500) % 2, -1, 1)[:, None], "repeats"),
    "each call keeps half of the last": (
        np.sqrt(0.5) * (HONEST[1:] + HONEST[:-1]), "dependence",
    ),
    "rounded to a grid": (np.round(HONEST, 2), "repeats"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("centred", [True, False])
def test_faults_are_caught_by_the_right_test(fault, centred):
    sample, test = FAULTS[fault]
    found = audit_noise_sample(sample, scale=1.0, centred=centred)
    assert found.verdict == "violated"
    assert found.p_values[test] <= found.level
    assert audit_noise_sample(HONEST, scale=1.0, centred=centred).verdict == "consistent"


def test_a_mechanism_through_the_public_door():
    data = np.array([0.2, 0.9, 0.4])
    found = audit_noise(lambda x, rng: x.mean() + 1.3 * rng.standard_normal(), data, scale=1.3, trials=800, seed=0)
    assert (found.verdict, found.trials) == ("consistent", 800)
    assert found.scale == pytest.approx(1.3, rel=0.1)
    weak = audit_noise(lambda x, rng: x.mean() + 1.0 * rng.standard_normal(), data, scale=1.3, trials=800, seed=0)
    assert weak.verdict == "violated"
    assert "below the claimed 1.3" in weak.reason


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (3, "mechanism must be callable, got int"),
        (lambda x, rng: 1 / 0, "mechanism must return numbers, got ZeroDivisionError: division by zero"),
        (lambda x, rng: np.nan, "mechanism must return finite numbers, got NaN or infinity"),
        (lambda x, rng: np.zeros(1 + (rng.random() > 0.5)), "mechanism must keep its output's shape, got"),
    ],
)
def test_bad_mechanisms_are_named(mechanism, message):
    with pytest.raises(InputError, match="mechanism") as caught:
        audit_noise(mechanism, [1.0], scale=1.0, trials=60)
    assert str(caught.value).startswith(message)


def test_bad_scale_and_distribution():
    with pytest.raises(InputError, match=r"scale must be a finite number > 0, got -1"):
        audit_noise_sample(HONEST, scale=-1)
    with pytest.raises(InputError, match="distribution must be one of gaussian, laplace, got cauchy"):
        audit_noise_sample(HONEST, scale=1, distribution="cauchy")
