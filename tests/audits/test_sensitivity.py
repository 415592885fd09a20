"""Sensitivity search on queries whose sensitivity is known, and on planted mistakes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck import InputError, audit_sensitivity

UNIT = [0.0, 0.3, 1.0]
RNG = np.random.default_rng(0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_mean_of_numbers_in_the_unit_interval_has_sensitivity_one_over_n(values):
    data = np.array(values)
    found = audit_sensitivity(np.mean, data, UNIT, claimed=1 / len(data))
    assert found.verdict == "consistent"
    assert found.sensitivity == pytest.approx(1 / len(data))
    np.testing.assert_array_equal(data, values)  # nothing of the caller's was changed


@pytest.mark.parametrize(("norm", "expected"), [(1, 2.0), (2, np.sqrt(2)), (np.inf, 1.0)])
def test_histogram_in_three_norms(norm, expected):
    found = audit_sensitivity(
        lambda x: np.bincount(x, minlength=4), np.array([0, 1, 1, 2]), [0, 1, 2, 3], claimed=expected, norm=norm
    )
    assert found.sensitivity == pytest.approx(expected)
    assert found.verdict == "consistent"


def test_witness_reproduces_the_distance():
    def query(x):
        return x.sum() / max(1, (x > 0.5).sum())  # the divisor moves with the data

    data = np.linspace(0, 1, 9)
    found = audit_sensitivity(query, data, UNIT, claimed=1 / 4)
    assert found.verdict == "violated"
    pair = found.witness
    other = pair.dataset.copy()
    other[pair.index] = pair.replacement
    assert abs(query(pair.dataset) - query(other)) == found.sensitivity > 1 / 4


def test_extreme_datasets_are_tried():
    """The median's worst neighbours lie far from a spread-out dataset."""
    found = audit_sensitivity(np.median, np.linspace(0, 1, 2), UNIT, claimed=0.4)
    assert found.verdict == "violated"
    spread = audit_sensitivity(lambda x: float(np.ptp(x)), np.linspace(0, 1, 50), UNIT, claimed=0.5)
    assert spread.sensitivity == 1.0
    assert spread.witness.base.startswith("every record equal")


def test_large_data_is_searched_within_the_budget():
    """One cell in 200,000 is special; sweeps of the best column and row find it."""
    data = np.zeros(2000)

    def query(x):
        return x.sum() + (5.0 if abs(x[1234] - 0.7) < 1e-9 else 0.0) + x[1234]

    found = audit_sensitivity(query, data, list(np.linspace(0, 1, 101)), claimed=2.0, budget=60_000)
    assert found.verdict == "violated"
    assert found.pairs <= 60_000
    assert found.witness.index == 1234


def test_lists_of_records():
    found = audit_sensitivity(lambda rows: len(set(rows)), ["a", "b", "b"], ["a", "c"], claimed=1)
    assert found.verdict == "consistent"
    assert found.to_dict()["sensitivity"] == 1.0


@pytest.mark.parametrize(
    ("query", "true"),
    [
        (lambda d: float(np.median(d) > 0.5), 1.0),
        (lambda d: np.median(d), 1.0),
        (lambda d: 100.0 if np.sum(d) >= 5 else 0.0, 100.0),
    ],
)
def test_thresholds_and_medians_turn_over_on_the_way(query, true):
    audit = audit_sensitivity(query, np.zeros(11), [0.0, 1.0], claimed=true / 2)
    assert (audit.verdict, audit.sensitivity) == ("violated", true)
    moved = np.abs(query(audit.witness.dataset) - query(audit.witness.neighbour))
    assert moved == true


def test_a_record_that_makes_the_output_nan_is_infinitely_far():
    """Clipping with minimum and maximum lets NaN through."""
    found = audit_sensitivity(lambda x: np.clip(x, 0, 1).sum(), np.full(4, 0.5), [0.0, 1.0, np.nan], claimed=1.0)
    assert (found.verdict, found.sensitivity) == ("violated", np.inf)
    assert np.isnan(found.witness.replacement)
    json.dumps(found.to_dict(), allow_nan=False)
    largest = audit_sensitivity(np.max, np.full(4, 0.5), [1.0, np.inf], claimed=1.0)  # infinite on some pairs alike
    assert largest.sensitivity == np.inf
    clean = audit_sensitivity(
        lambda x: np.nan_to_num(np.clip(x, 0, 1)).sum(), np.full(4, 0.5), [1.0, np.nan], claimed=1.0
    )
    assert (clean.verdict, clean.sensitivity) == ("consistent", 1.0)


def test_whole_numbers_make_room_for_fractions():
    audit = audit_sensitivity(np.mean, np.zeros(10, int), [0.0, 0.9], claimed=0.05)
    assert audit.verdict == "violated"
    assert audit.sensitivity == pytest.approx(0.09)


def test_a_budget_for_less_than_one_pair_a_base():
    assert audit_sensitivity(np.mean, np.zeros(4), [0.0, 1.0, 2.0, 3.0], claimed=1, budget=12).verdict == "consistent"


@pytest.mark.parametrize("dataset", [np.zeros(5), [0.0] * 5, np.arange(5.0)])
def test_a_query_that_overwrites_its_data_is_refused_and_not_accused(dataset):
    """Once the query has changed its data, the next dataset differs from them in more than one record."""

    def overwrites(data):
        total = np.sum(data)
        data[:] = np.zeros(len(data))
        return total

    with pytest.raises(InputError, match=r"^query must leave its datasets as they are, got one that it changed"):
        audit_sensitivity(overwrites, dataset, [0.0, 1.0], claimed=1.0)
