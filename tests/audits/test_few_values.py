"""Noise of few values, as from a table or a short seed, is found by values that come again; finer noise passes."""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck

AUDITS = 5


def table(size, seed):
    values = np.random.default_rng(seed).laplace(size=size)
    return lambda data, rng, runs: data + values[rng.integers(0, size, runs)]


def short_seed(bits, seed):
    def mechanism(data, rng, runs):
        return data + np.array([np.random.default_rng(s).laplace() for s in rng.integers(0, 2**bits, runs)])

    return mechanism


def verdict(mechanism, trials, seed):
    return dpcheck.audit_privacy(
        mechanism, 0.0, 1.0, epsilon=1.0, trials=trials, seed=seed, vectorized=True
    ).verdict  # fmt: skip


@pytest.mark.parametrize(
    ("size", "trials"), [(2**12, 2_000), (2**15, 10_000), (2**17, 10_000), (2**20, 20_000)], ids=str
)
def test_a_table_of_noise_is_found(size, trials):
    found = [verdict(table(size, seed), trials, seed) for seed in range(AUDITS)]
    assert found == ["violated"] * AUDITS


def test_a_generator_with_a_seed_of_sixteen_bits_is_found():
    assert verdict(short_seed(16, 0), 6_000, 0) == "violated"


def single(data, rng, runs):
    return np.float32(data + rng.laplace(size=runs)).astype(float)


def rounded(data, rng, runs):
    return np.round(data + rng.laplace(size=runs), 5)


def doubles(data, rng, runs):
    return data + rng.laplace(size=runs)


@pytest.mark.parametrize("mechanism", [single, rounded, doubles])
def test_noise_that_is_finer_or_rounded_alike_is_let_through(mechanism):
    """Each errs in at most 5 % of its repeats, so that more than 3 of 20 err with probability 1.6 % at most."""
    wrong = sum(verdict(mechanism, 20_000, seed) == "violated" for seed in range(20))
    assert wrong <= 3
