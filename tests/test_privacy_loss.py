"""The privacy loss of whole runs: exact where it is known, sharp in audits, and never more than scores may be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck import InputError, audit_privacy, certify, events
from dpcheck.audits.privacy_loss import PrivacyLoss
from dpcheck.audits.recorder import Recorder

D = np.random.default_rng(0).normal(size=(8, 3))
NEIGHBOUR = D.copy()
NEIGHBOUR[0] = -D[0]
STEPS, SIGMA = 6, 4.0


def descent(x, rng):
    """Full-batch steps on gradients clipped to 1 by record, curved in w; releases all iterates."""
    w, path = np.zeros(3), []
    for _ in range(STEPS):
        g = np.tanh(w - 3 * x)
        g = g / np.maximum(1, np.linalg.norm(g, axis=1, keepdims=True))
        w = w - 0.4 * (g.sum(0) + SIGMA * rng.standard_normal(3))
        path.append(w)
    return np.array(path)


LOSS = PrivacyLoss.of(descent, D, NEIGHBOUR)


def shifts(path):
    """The gradients' difference between the datasets at the points of a path, (steps, 3): by hand."""
    points = np.concatenate([np.zeros((1, 3)), path[:-1]])
    found = []
    for w in points:
        g = np.tanh(w - 3 * np.stack([D[0], NEIGHBOUR[0]]))
        g = g / np.maximum(1, np.linalg.norm(g, axis=1, keepdims=True))
        found.append((g[0] - g[1]) / SIGMA)
    return np.array(found)


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_of_a_nonlinear_run_is_the_one_by_hand(seed):
    recorder = Recorder(seed + 10)
    path = descent(D, recorder)
    z, moved = recorder.standard.reshape(STEPS, 3), shifts(path)
    assert LOSS.at(path) == pytest.approx(((z + moved) ** 2 - z**2).sum() / 2, rel=1e-5)


def test_audits_of_the_loss_see_more_and_stay_below_the_certified_epsilon():
    """Replace-one sensitivity 2 at each of the steps: certified; level 5 %, fixed seed."""
    certified = certify([events.Gaussian(SIGMA / 2)] * STEPS, 1e-3).epsilon
    options = {"epsilon": certified, "delta": 1e-3, "trials": 800, "seed": 1}
    found = audit_privacy(LOSS, D, NEIGHBOUR, **options)
    plain = audit_privacy(descent, D, NEIGHBOUR, **options)
    assert found.verdict == plain.verdict == "consistent"
    assert 1.5 * plain.epsilon_lower + 0.3 < found.epsilon_lower <= certified


def test_closed_forms_of_two_laws():
    loss = PrivacyLoss.of(lambda x, rng: np.array([x + rng.normal(), x + 2 * rng.laplace()]), 1.0, 0.0)
    assert loss.at([0.3, 5.0]) == pytest.approx((0.3**2 - 0.7**2) / 2 + (5 - 4) / 2)
    one_sided = PrivacyLoss.of(lambda x, rng: x + rng.exponential(), 1.0, 0.0)
    assert one_sided.at(0.5) == -math.inf
    assert one_sided.at(3.0) == pytest.approx(1.0)
    assert one_sided.at(-1.0) == 0.0


def test_redundant_outputs_and_impossible_ones():
    def mechanism(x, rng):
        noisy = x + rng.normal()
        return np.array([noisy, 2 * noisy])

    loss = PrivacyLoss.of(mechanism, 1.0, 0.0)
    assert loss.at([3.0, 6.0]) == pytest.approx((9 - 4) / 2)
    assert loss.at([3.0, 5.0]) == 0.0
    leaky = PrivacyLoss.of(lambda x, rng: np.array([x + rng.normal(), x]), 1.0, 0.0)
    assert leaky.at([2.0, 1.0]) == math.inf


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (lambda x, rng: x + rng.random(), "mechanism must draw additive noise only, got ['random']"),
        (lambda x, rng: x, "mechanism must draw 1 to 2048 numbers, got 0"),
        (lambda x, rng: x + rng.normal(size=2).sum(),
         "mechanism must release as many numbers as it draws, got 1 and 2"),
        (lambda x, rng: x + rng.normal(size=2) * [1, 0],
         "mechanism must let all its noise reach the output, got noise of rank 1 from 2 numbers"),
        (lambda x, rng: rng.normal(size=int(x) + 1), "mechanism must draw alike on both datasets, got 2 and 1"),
    ],
)  # fmt: skip
def test_mechanisms_that_do_not_determine_their_noise(mechanism, message):
    with pytest.raises(InputError) as caught:
        PrivacyLoss.of(mechanism, 1.0, 0.0)
    assert str(caught.value) == message
