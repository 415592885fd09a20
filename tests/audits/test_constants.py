"""Constants and evaluation points that depend on the data: planted, and their correct twins. Deterministic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from dpcheck import InputError
from dpcheck.audits.constants import audit_constants
from dpcheck.audits.evaluation_points import audit_evaluation_points

DATA = np.array([1.0, -1.0, 1.0, 1.0])
NEIGHBOURS = [np.array([1.0, 1.0, 1.0, 1.0]), np.array([1.0, -1.0, 1.0, 3.0])]


@dataclass
class Plan:
    scale: float
    batches: list


def test_constants_of_the_data_are_found():
    def configure(x):
        return {"steps": 10, "positives": int((x > 0).sum()), "plan": Plan(2 / np.abs(x).max(), [len(x), 2])}

    found = audit_constants(configure, DATA, NEIGHBOURS)
    assert found.verdict == "violated"
    assert [(d.name, d.on_data, d.on_neighbour, d.neighbour) for d in found.differences] == [
        ("positives", "3", "4", 0), ("plan.scale", "2.0", "0.6666666666666666", 1),
    ]  # fmt: skip
    assert (found.constants, found.neighbours) == (5, 2)
    assert audit_constants(configure, DATA, [DATA[[0, 1, 3, 2]]]).verdict == "consistent"
    assert found.to_dict()["differences"][0]["name"] == "positives"


def test_shapes_missing_names_and_nan():
    assert audit_constants(lambda x: np.unique(x), DATA, NEIGHBOURS).verdict == "violated"
    assert audit_constants(lambda x: dict.fromkeys(x, 1), DATA, NEIGHBOURS).differences[0].on_neighbour == "absent"
    assert audit_constants(lambda x: [np.nan, np.array([np.nan, len(x)])], DATA, NEIGHBOURS).verdict == "consistent"


def test_bad_constants_are_named():
    with pytest.raises(InputError, match="neighbours must hold at least one dataset, got none"):
        audit_constants(len, DATA, [])
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="configure must be deterministic"):
        audit_constants(lambda x: rng.random(), DATA, NEIGHBOURS)
    with pytest.raises(InputError, match="configure must return constants, got KeyError"):
        audit_constants(lambda x: {}[0], DATA, NEIGHBOURS)


def gradient(w):
    return np.tanh(w - DATA[:2])


def descent(step_on="noisy", output="iterate", stop=False):
    """Five steps of gradient descent, each step on one noisy gradient; variants use the raw one."""

    def mechanism(oracle, rng):
        w, raw = np.zeros(2), np.zeros(2)
        for _ in range(5):
            raw = oracle(w)
            noisy = raw + rng.normal(scale=0.5, size=2)
            w = w - 0.3 * (noisy if step_on == "noisy" else raw)
            if stop and np.abs(raw).max() < 0.85:
                break
        return w if output == "iterate" else raw

    return mechanism


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"step_on": "raw"}, "query 1 is asked elsewhere"),
        ({"output": "raw"}, "the output changes"),
        ({"stop": True}, "queries are asked instead of"),
    ],
)
def test_raw_answers_that_are_used_are_found(arguments, words):
    found = audit_evaluation_points(descent(**arguments), gradient)
    assert found.verdict == "violated"
    assert words in found.reason
    assert audit_evaluation_points(descent(), gradient).verdict == "consistent"


def test_weights_scalars_samples_and_noise_of_other_laws():
    def mechanism(oracle, rng):
        total = 0.0
        for _ in range(4):
            k = rng.integers(0, 4)
            total += 0.25 * oracle(total, k) + rng.laplace(scale=3.0)
        return total

    def oracle(w, k):
        return float(np.tanh(w - DATA[k]))

    assert audit_evaluation_points(mechanism, oracle, weight=0.25).verdict == "consistent"
    assert audit_evaluation_points(mechanism, oracle, weight=1.0).verdict == "violated"


def test_answers_without_noise():
    assert "some have none" in audit_evaluation_points(lambda oracle, rng: oracle(np.zeros(2)), gradient).reason
    silent = audit_evaluation_points(lambda oracle, rng: oracle(0.0) + rng.normal(0, 0, 2), gradient)
    assert silent.reason == "the noise of answer 0 has scale 0"


def descent_from_a_random_start(leak):
    def run(oracle, rng):
        x = rng.normal(size=2)
        for _ in range(3):
            g = oracle(x)
            released = g + rng.normal(size=2)
            x = x - 0.1 * (g if leak else released)
        return x

    return run


def noise_drawn_first(oracle, rng):
    noise, x = [rng.normal(size=2) for _ in range(3)], np.zeros(2)
    for k in range(3):
        x = x - 0.1 * (oracle(x) + noise[k])
    return x


def test_other_draws_are_not_taken_for_noise():
    """A random start has the size of an answer; noise may also be drawn beforehand."""
    for mechanism in (descent_from_a_random_start(leak=False), noise_drawn_first):
        assert audit_evaluation_points(mechanism, lambda x: 2 * x).verdict == "consistent"
    assert audit_evaluation_points(descent_from_a_random_start(leak=True), lambda x: 2 * x).verdict == "violated"


def test_series_are_compared_entry_by_entry():
    counts = lambda data: {"classes": pd.Series(data).value_counts()}  # noqa: E731
    assert audit_constants(counts, [1, 1, 2], [[2, 1, 1]]).verdict == "consistent"
    assert audit_constants(counts, [1, 1, 2], [[1, 2, 2]]).verdict == "violated"
