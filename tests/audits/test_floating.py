"""Low-order bits: naive noise on doubles is caught, the same noise on a grid passes, other leaks are told apart."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from dpcheck.audits.floating import audit_floating_point, unreachable
from dpcheck.audits.scores.exact import low_bits

SIGMA = 4.0  # at epsilon 1 and sensitivity 1 a Gaussian of this size keeps delta 1e-5
GRID = 2.0**-10


def inverse_cdf(value, rng, size):
    u = rng.random(size) - 0.5
    return value - np.sign(u) * np.log(1 - 2 * np.abs(u))


def box_muller(value, rng, size):
    u, angle = rng.random(size), 2 * np.pi * rng.random(size)
    return value + SIGMA * np.sqrt(-2 * np.log(1 - u)) * np.cos(angle)


def library_laplace(value, rng, size):
    return value + rng.laplace(size=size)


def library_gaussian(value, rng, size):
    return value + SIGMA * rng.standard_normal(size)


def two_sided_geometric(value, rng, size):
    p = 1 - math.exp(-1)
    return value + rng.geometric(p, size) - rng.geometric(p, size)


def on_a_grid(mechanism):
    return lambda value, rng, size: np.round(mechanism(value, rng, size) / GRID) * GRID


NAIVE = {
    "inverse-CDF Laplace": (inverse_cdf, 0.0), "Box-Muller": (box_muller, 1e-5),
    "NumPy's laplace": (library_laplace, 0.0), "NumPy's standard_normal": (library_gaussian, 1e-5),
}  # fmt: skip


@pytest.mark.parametrize("name", NAIVE)
def test_naive_noise_is_told_apart_at_0_and_1(name):
    """Power: the lowest bits near 0. The same noise rounded to a grid passes (level 5 %, fixed seed)."""
    mechanism, delta = NAIVE[name]
    found = audit_floating_point(mechanism, 0.0, 1.0, epsilon=1.0, delta=delta, trials=6000, vectorized=True)
    assert found.verdict == "violated"
    assert found.reason.startswith("the arithmetic leaks: output")
    assert found.rounded.verdict == "consistent"
    found = audit_floating_point(on_a_grid(mechanism), 0.0, 1.0, epsilon=1.0, delta=delta, trials=6000, vectorized=True)
    assert found.verdict == "consistent"


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", [on_a_grid(library_laplace), two_sided_geometric])
def test_false_alarms(mechanism):
    """Null: low bits of a private output are private. At exactly its epsilon, level 5 %.

    Rejected above the 0.999 quantile of Bin(60, 0.05).
    """
    alarms = sum(
        audit_floating_point(mechanism, 0, 1, epsilon=1.0, trials=400, seed=seed, vectorized=True).verdict == "violated"
        for seed in range(60)
    )
    assert alarms <= stats.binom.isf(1e-3, 60, 0.05)


def test_leaks_of_the_algorithm_are_not_blamed_on_the_arithmetic():
    found = audit_floating_point(
        lambda value, rng, size: value + rng.laplace(0, 0.2, size), 0.0, 1.0, epsilon=1.0, trials=2000, vectorized=True
    )
    assert found.verdict == "inconclusive"
    assert found.reason.startswith("the algorithm leaks by itself")


@pytest.mark.parametrize("formula", ["rng.laplace", "loc", "inverse CDF"])
def test_laplace_noise_is_told_apart_anywhere(formula):
    """Neighbours' values a ninth of the scale apart: outputs that the formula cannot give from one of them."""
    values, scale = (0.5134, 0.5189), 0.05
    mechanism, known = {
        "rng.laplace": (lambda value, rng, size: value + rng.laplace(scale=scale, size=size), None),
        "loc": (lambda value, rng, size: rng.laplace(value, scale, size), None),
        "inverse CDF": (lambda value, rng, size: value + scale * inverse_cdf(0, rng, size), (*values, scale)),
    }[formula]
    claim = {"epsilon": 0.2, "trials": 6000, "vectorized": True}
    found = audit_floating_point(mechanism, *values, laplace=known, **claim)
    assert found.verdict == "violated"
    assert "Laplace noise cannot have made it" in found.reason
    assert found.low_bits.event.other_hits == 0
    rounded = audit_floating_point(on_a_grid(mechanism), *values, laplace=(*values, scale), **claim)
    assert rounded.verdict == "consistent"


def test_what_the_formula_gives_is_reachable():
    """Exact: no double of the formula is missed, near its centre or far off, at three sizes."""
    rng = np.random.default_rng(3)
    for centre, scale in ((0.0, 1.0), (0.37, 0.2), (1000.0, 3.0)):
        drawn = np.concatenate([rng.laplace(centre, scale, 4000), centre + rng.laplace(0, scale, 4000)])
        assert not unreachable(drawn, centre, scale).any()
    assert unreachable(3 + rng.random(100) * 2, 0.0, 0.2).mean() > 0.9


def test_arrays_one_call_a_run_and_progress():
    seen = []
    found = audit_floating_point(
        lambda value, rng: np.array([7, value + rng.laplace(scale=2.0)]), 0.0, 1.0, epsilon=1.0, trials=600,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert found.verdict == "violated"
    assert "output[2] <= -" in found.reason  # the lowest bit of number 1
    assert seen[-1][0] <= seen[-1][1]
    assert seen == sorted(seen)
    shown = found.to_dict()
    assert shown["low_bits"]["verdict"] == "violated"
    json.dumps(shown, allow_nan=False)


def test_low_bits_are_exact():
    values = np.concatenate([np.random.default_rng(0).standard_cauchy(500), [5e-324, -1e308, 2.0**-1060, 3.0]])
    for value, (place, zeros) in zip(values, low_bits(values), strict=True):
        numerator, denominator = abs(value).as_integer_ratio()
        lowest = (numerator & -numerator).bit_length() - 1 - (denominator.bit_length() - 1)
        assert place == lowest
        highest = numerator.bit_length() - 1 - (denominator.bit_length() - 1)
        assert zeros == 52 - (highest - lowest)
    assert low_bits([0.0, np.inf, -np.inf])[:, 0].tolist() == [2000, 3000, 3000]
