"""Canaries planted into training code: a clean loop keeps its claim, faulty ones are caught in one run."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck import InputError, audit_one_run
from dpcheck.audits.canaries import along, made_canaries, planted
from dpcheck.events import Gaussian, Repeated

FEATURES, STEPS, SIGMA = 600, 5, 4.0
RECORDS = np.random.default_rng(0).normal(size=(20, FEATURES)) / FEATURES**0.5
CANARIES = made_canaries(RECORDS, FEATURES)
CLAIM = Repeated(Gaussian(SIGMA), STEPS)


def trained(sigma=SIGMA, clip=1.0):
    """Full-batch noisy gradient descent on a mean, which releases every noisy gradient."""

    def train(data, rng):
        w, released = np.zeros(FEATURES), []
        for _ in range(STEPS):
            g = w - data
            g = g / np.maximum(1, np.linalg.norm(g, axis=1, keepdims=True) / clip)
            released.append(g.sum(0) + rng.normal(scale=sigma, size=FEATURES))
            w = w - released[-1] / 1000
        return np.array(released)

    return train


def white_box(released, canaries):
    return along(released, -canaries)


@pytest.mark.parametrize(
    ("train", "verdict"), [(trained(), "consistent"), (trained(sigma=1.0), "violated"), (trained(clip=3.0), "violated")]
)
def test_one_run_of_a_training_loop(train, verdict):
    """A quarter of the noise, and three times the clip, are caught; level 5 % for the clean one, fixed seed."""
    algorithm = planted(train, RECORDS, CANARIES, white_box)
    assert audit_one_run(algorithm, FEATURES, claim=CLAIM, delta=1e-5).verdict == verdict


def test_directions_are_orthogonal_and_far_out():
    away = CANARIES - RECORDS.mean(0)
    products = away @ away.T
    assert np.abs(products - np.diag(np.diag(products))).max() < 1e-9 * products.max()
    assert np.linalg.norm(away, axis=1) == pytest.approx(10 * np.linalg.norm(RECORDS - RECORDS.mean(0), axis=1).max())
    assert made_canaries(np.zeros((1, 2, 3)), 8).shape == (8, 2, 3)


def test_lists_of_records_and_what_is_planted():
    seen = []
    algorithm = planted(lambda data, rng: seen.append(data) or 0.0, ["a"], ["x", "y"], lambda out, rows: [out, out])
    algorithm(np.array([False, True]), np.random.default_rng(0))
    assert seen == [["a", "y"]]
    rows = np.zeros((2, 3))
    algorithm = planted(lambda data, rng: seen.append(data) or 0.0, rows, rows + 1, lambda out, rows: [out, out])
    algorithm(np.array([True, False]), np.random.default_rng(0))
    assert seen[-1].tolist() == [[0] * 3, [0] * 3, [1] * 3]


def test_scores_follow_the_model():
    directions = np.array([[[1.0, 0], [0, 2]], [[0, 1], [3, 0]]])
    assert along([[5.0, 7.0], [1.0, 2.0]], directions).tolist() == [7.0, 8.0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: made_canaries([1.0], 2), "records must have shape"),
        (lambda: made_canaries(RECORDS, 0), "number must be a whole number >= 1, got 0"),
        (lambda: planted(3, RECORDS, CANARIES, along), "train must be callable, got int"),
        (lambda: planted(trained(), RECORDS, ["a"], along), "canaries must be an array where records are"),
        (lambda: planted(trained(), RECORDS, CANARIES[:, :3], along), "canaries must have the shape of records"),
        (lambda: planted(trained(), RECORDS, CANARIES[:0], along), "canaries must hold at least one, got 0"),
        (lambda: along([1.0], [[1.0]]), "released must have shape"),
        (lambda: along([[1.0]], [[1.0, 2.0]]), "directions must have shape"),
    ],
)
def test_wrong_input(make, words):
    with pytest.raises(InputError, match=f"^{words}"):
        make()
