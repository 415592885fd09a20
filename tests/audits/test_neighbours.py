"""Pairs of neighbours, and the audit of the worst of many."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import stats

import dpcheck
from dpcheck.audits.neighbours import Pair, around, canary, drawn, patterns, removed, replaced
from dpcheck.errors import InputError


def noisy_max(answers: Any, rng: np.random.Generator, size: int) -> Any:
    """Releases which answer is largest with Laplace noise of scale 2: 1-private if answers move by 1."""
    return np.argmax(np.asarray(answers) + rng.laplace(scale=2.0, size=(size, len(answers))), axis=1)


def noisy_max_with_value(answers: Any, rng: np.random.Generator, size: int) -> Any:
    """... and its noisy value too, which costs more than it may."""
    noisy = np.asarray(answers) + rng.laplace(scale=2.0, size=(size, len(answers)))
    return noisy.max(axis=1)


def noisy_sum(data: Any, rng: np.random.Generator, size: int) -> Any:
    return np.sum(data) + rng.laplace(size=size)


def clipped_mean(data: Any, rng: np.random.Generator) -> Any:
    """Clips every record to norm 1; noise for records of norm at most 1/2."""
    data = np.asarray(data)
    norms = np.maximum(1, np.linalg.norm(data, axis=1, keepdims=True))
    return (data / norms).mean(axis=0) + 0.5 / len(data) * rng.laplace(size=data.shape[1])


def test_the_pattern_that_shows_a_released_maximum_is_found():
    audit = dpcheck.audit_neighbours(
        noisy_max_with_value, patterns(5, size=1.0), epsilon=1.0, delta=0.0, trials=20_000, vectorized=True
    )
    assert audit.verdict == "violated"
    assert audit.pair.words in ("all up", "all down")
    assert json.loads(json.dumps(audit.to_dict()))["pairs"] == 9
    assert re.search(r"line \d+ .*test_neighbours\.py:\d+\)", audit.hint) and audit.hint in " ".join(str(audit).split())


def test_false_alarms_with_a_search():
    """Null hypothesis: with the search, a mechanism at exactly its epsilon is called violated in at most 5 %.

    Rejected above the 0.999 quantile of Bin(60, 0.05): error rate 0.1 %.
    """
    pairs = list(replaced([0.0, 0.0, 1.0], [0.0, 1.0]))
    alarms = sum(
        dpcheck.audit_neighbours(noisy_sum, pairs, epsilon=1.0, delta=0.0, trials=400, seed=s, vectorized=True).verdict
        == "violated"
        for s in range(60)
    )
    assert alarms <= stats.binom.isf(1e-3, 60, 0.05)


def test_a_correct_noisy_max_is_not_flagged():
    audit = dpcheck.audit_neighbours(noisy_max, patterns(4), epsilon=1.0, delta=0.0, trials=20_000, vectorized=True)
    assert audit.verdict == "consistent"
    assert audit.epsilon_lower > 0.1


def test_search_prefers_the_pair_that_shows_most():
    pairs = [Pair(0, shift, f"{shift}") for shift in (0.0, 0.1, 0.2, 1.0, 0.3)]
    found = dpcheck.audit_neighbours(
        lambda v, rng, size: v + rng.laplace(size=size), pairs, epsilon=2.0, delta=0.0, trials=4000, vectorized=True
    )
    assert found.pair.words == "1.0"
    assert found.searched >= 5 * 60


def test_neighbours_by_records():
    data = np.array([[1.0], [2.0]])
    pairs = list(replaced(data, np.array([[5.0]])))
    assert [pair.neighbour.tolist() for pair in pairs] == [[[5.0], [2.0]], [[1.0], [5.0]]]
    assert data.tolist() == [[1.0], [2.0]]
    assert [pair.neighbour for pair in removed([1, 2, 3])] == [[2, 3], [1, 3], [1, 2]]
    assert [len(pair.neighbour) for pair in removed(data)] == [1, 1]


@pytest.mark.parametrize("width", [1, 2, 5])
def test_patterns_move_each_answer_by_the_size_at_most(width):
    for pair in patterns(width, size=3.0):
        assert pair.data.shape == pair.neighbour.shape == (width,)
        assert 0 < np.abs(pair.neighbour - pair.data).max() <= 3.0


def test_canaries_by_ascent_stand_apart():
    """Records in [-0.2, 3]^2: the farthest clipped records stand opposite as far as the box lets them."""
    pair = canary(clipped_mean, np.zeros((3, 2)), low=-0.2, high=3.0, seed=1)
    shift = np.linalg.norm(clipped_shift(pair))
    corners = np.array([[a, b] for a in (-0.2, 3.0) for b in (-0.2, 3.0)])
    inside = corners / np.maximum(1, np.linalg.norm(corners, axis=1, keepdims=True))
    best_of_corners = max(np.linalg.norm(a - b) for a in inside for b in inside) / 3
    assert shift >= best_of_corners - 1e-12
    assert (
        dpcheck.audit_privacy(clipped_mean, pair.data, pair.neighbour, epsilon=1.0, delta=0.0, trials=4000).verdict
        == "violated"
    )


def clipped_shift(pair):
    return clipped_mean(pair.data, np.random.default_rng(0)) - clipped_mean(pair.neighbour, np.random.default_rng(0))


def test_ascent_climbs_between_corners():
    """The distance peaks inside the box, where no corner is."""

    def peaked(data, rng):
        return -((data[0] - 0.3) ** 2) + rng.laplace()

    pair = canary(peaked, np.zeros(2), low=0.0, high=1.0, steps=60)
    assert min(abs(pair.data[0] - 0.3), abs(pair.neighbour[0] - 0.3)) < 0.02
    assert math.isclose(max(pair.data[0], pair.neighbour[0]), 1.0)


def test_pairs_from_a_strategy():
    records = st.lists(st.floats(0, 1), min_size=3, max_size=3)
    strategy = st.tuples(records, st.floats(0, 1)).map(lambda drawn: (drawn[0], [drawn[1], *drawn[0][1:]]))
    pairs = drawn(strategy, 30)
    assert len(pairs) >= 20
    assert [pair.data for pair in pairs] == [pair.data for pair in drawn(strategy, 30)]
    audit = dpcheck.audit_neighbours(
        lambda data, rng, size: np.sum(data) + 0.5 * rng.laplace(size=size), pairs,
        epsilon=1.0, delta=0.0, trials=20_000, vectorized=True,
    )  # fmt: skip
    assert audit.verdict == "violated"


def test_whole_numbers_make_room_for_other_records():
    (pair, *_) = replaced(np.array([1, 2]), [0.5])
    assert pair.neighbour.tolist() == [0.5, 2.0]
    assert np.isnan(next(replaced(np.array([1, 2]), [np.nan])).neighbour[0])
    with pytest.raises(InputError, match="records must fit into the dataset"):
        list(replaced(np.zeros((2, 3)), [[1.0, 2.0]]))


def test_a_search_ends_where_a_leak_is_plain_and_not_where_none_is():
    """The first look has 60 runs a pair; without a leak all the rounds are run."""
    pairs = [*replaced([0.0, 0.0, 1.0], [0.0, 1.0, 5.0])]

    def audited(scale):
        return dpcheck.audit_neighbours(
            lambda data, rng: sum(data) + rng.laplace(scale=scale), pairs, epsilon=1.0, trials=8_000
        )

    plain, clean = audited(0.1), audited(5.0)
    assert (plain.verdict, plain.searched, plain.pairs) == ("violated", 60 * plain.pairs, len(pairs) - 3)
    assert clean.verdict == "consistent" and clean.searched > 6_000


def test_a_data_set_of_one_value_has_neighbours_beyond_it():
    audit = dpcheck.audit_neighbours(lambda data, rng: sum(data) + rng.laplace(), around([1, 1, 1]), epsilon=1.0,
                                     trials=2_000)  # fmt: skip
    assert audit.verdict == "violated" and audit.pair.kind == "beyond"


def test_equal_pairs_are_left_out():
    """A record that is replaced by itself shows nothing, and where nothing shows much it could win."""
    pairs = list(replaced([0, 0, 1], [0, 1]))
    for seed in range(6):
        found = dpcheck.audit_neighbours(
            lambda data, rng: sum(data) + rng.laplace(scale=50), pairs, epsilon=0.6, trials=100, seed=seed
        )
        assert found.pair.data != found.pair.neighbour
    with pytest.raises(InputError, match="that differ"):
        dpcheck.audit_neighbours(lambda data, rng: rng.normal(), [([1], [1])], epsilon=1.0, trials=100)
