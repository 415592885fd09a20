"""Correlated noise: the sensitivity of encoders against all patterns of participation, and the event it makes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck import InputError, certify
from dpcheck.accounting.matrix_noise import correlated_noise, encoder_sensitivity, tree_encoder
from dpcheck.events import Gaussian, Repeated


def exhaustive(C: np.ndarray, participations: int, separation: int) -> float:
    """Over all patterns, with gradients of either sign in one dimension."""
    worst = 0.0
    for size in range(1, participations + 1):
        for pattern in itertools.combinations(range(C.shape[1]), size):
            if all(b - a >= separation for a, b in itertools.pairwise(pattern)):
                for signs in itertools.product((-1, 1), repeat=size):
                    worst = max(worst, float(np.linalg.norm(C[:, pattern] @ signs)))
    return worst


@given(
    steps=st.integers(1, 7), band=st.integers(1, 7), participations=st.integers(1, 4), separation=st.integers(1, 4),
    seed=st.integers(0, 1000), positive=st.booleans(),
)  # fmt: skip
@settings(deadline=None, max_examples=80)
def test_no_pattern_exceeds_the_bound(
    steps: int, band: int, participations: int, separation: int, seed: int, positive: bool
) -> None:
    C = np.tril(np.random.default_rng(seed).normal(size=(steps, steps)))
    C = np.abs(C) if positive else C
    C[np.subtract.outer(np.arange(steps), np.arange(steps)) >= band] = 0
    bound, worst = encoder_sensitivity(C, participations=participations, separation=separation), 0.0
    worst = exhaustive(C, participations, separation)
    assert worst <= bound * (1 + 1e-12)
    if participations == 1 or band <= separation:
        assert worst == pytest.approx(bound, rel=1e-9)


def test_a_tree_is_as_deep_as_its_sensitivity() -> None:
    for steps in (1, 2, 7, 8, 100):
        depth = steps.bit_length()
        assert encoder_sensitivity(tree_encoder(steps)) == pytest.approx(math.sqrt(depth), rel=1e-12)


def test_white_noise_is_a_composition_of_gaussians() -> None:
    event = correlated_noise(np.eye(12), 3.0, participations=4, separation=3)
    assert certify(event, 1e-6).epsilon == pytest.approx(certify(Repeated(Gaussian(3.0), 4), 1e-6).epsilon, rel=1e-9)
    assert correlated_noise(np.zeros((2, 2)), 3.0).noise_multiplier == math.inf
    assert correlated_noise(np.eye(2), 0.0).noise_multiplier == 0


@pytest.mark.parametrize("encoder", [[1.0, 2.0], [[math.nan]], [[]], 3.0])
def test_only_matrices_are_encoders(encoder: object) -> None:
    with pytest.raises(InputError, match=r"^encoder must be a matrix of finite numbers"):
        encoder_sensitivity(encoder)  # type: ignore[arg-type]


def test_tiny_entries_do_not_vanish():
    """Their products are 0 in floating point, the sensitivity is not."""
    assert correlated_noise([[1e-200]], 1e-200).noise_multiplier == pytest.approx(1.0)
