"""Datasets of equal values are refused in every audit of a pair, and a pair that shows no difference is said."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcheck
import dpcheck.testing
from dpcheck import InputError
from dpcheck.audits.running.datasets import equal_datasets

NESTED: list[Any] = []
NESTED.append(NESTED)


def table(*values: float) -> pd.DataFrame:
    return pd.DataFrame({"age": list(values), "name": ["a"] * len(values)})


def gaps() -> pd.DataFrame:
    """As a table of two, made of a larger one: its blocks lie otherwise."""
    return pd.concat([table(1), table(2)], ignore_index=True)


EQUAL = [
    (1, 1.0), (1, np.float32(1)), (np.array(1.0), 1), (math.nan, math.nan), ([1, 2], np.array([1.0, 2.0])),
    ((1, 2), [1, 2]), ([[1, 2], [3, 4]], np.arange(1, 5).reshape(2, 2)), ({"a": [1]}, {"a": (1.0,)}),
    (table(1, 2), gaps()), (table(1, 2), table(1.0, 2.0)), (table(1, math.nan), table(1, math.nan)),
    (pd.Series([1, 2]), pd.Series([1.0, 2.0])), (np.ones(3, np.float32), np.ones(3)),
]  # fmt: skip
OTHER = [
    (1, 2), (0.0, -0.0), ([0.0], np.array([-0.0])), (np.array([0.0]), np.array([-0.0])), ("1", 1), ("1", b"1"),
    ([1, 2], np.array([1, 2, 3])), ([1], [[1]]), (table(1, 2), table(1, 3)), (table(1), table(1, 1)),
    (table(1, 2), table(1, 2).rename(columns={"age": "years"})), (table(1, 2), table(1, 2).iloc[::-1]),
    (np.array([2**53 + 1]), np.array([2.0**53])), ({"a": 1}, {"b": 1}), (table(1), [1]),
    (object(), 1), ([1], [object()]),
    (NESTED, [NESTED]), (np.array(["a"]), np.array(["b"])), (None, 0),
]  # fmt: skip


@pytest.mark.parametrize(("data", "neighbour"), EQUAL)
def test_equal_values_are_equal_datasets(data: Any, neighbour: Any) -> None:
    assert equal_datasets(data, neighbour)
    assert equal_datasets(neighbour, data)


@pytest.mark.parametrize(("data", "neighbour"), OTHER)
def test_other_values_are_not(data: Any, neighbour: Any) -> None:
    assert not equal_datasets(data, neighbour)
    assert not equal_datasets(neighbour, data)


def noise(data: Any, rng: np.random.Generator) -> float:
    return float(rng.laplace())


AUDITS: dict[str, Callable[..., Any]] = {
    "audit_privacy": lambda *pair: dpcheck.audit_privacy(noise, *pair, epsilon=1.0, trials=100),
    "audit_sequential": lambda *pair: dpcheck.audit_sequential(noise, *pair, epsilon=1.0, most=100),
    "audit_floating_point": lambda *pair: dpcheck.audit_floating_point(noise, *pair, epsilon=1.0, trials=100),
    "audit_randomness": lambda *pair: dpcheck.audit_randomness(noise, *pair, epsilon=1.0),
    "assert_private": lambda *pair: dpcheck.testing.assert_private(noise, *pair, epsilon=1.0, trials=100),
}


@pytest.mark.parametrize("audit", AUDITS)
@pytest.mark.parametrize("pair", [(table(1, 2), gaps()), ([1], np.array([1.0]))])
def test_every_audit_refuses_equal_datasets(audit: str, pair: tuple[Any, Any]) -> None:
    with pytest.raises(InputError, match=r"^neighbour must differ from data in one record, got its equal$"):
        AUDITS[audit](*pair)


@pytest.mark.parametrize("audit", ["audit_privacy", "audit_sequential"])
def test_a_pair_that_shows_no_difference_is_said(audit: str) -> None:
    found = AUDITS[audit](1, 2)
    assert found.no_difference
    assert "; this pair shows no difference" in str(found)
    assert found.to_dict()["no_difference"]


def test_a_pair_that_shows_one_is_not() -> None:
    found = dpcheck.audit_sequential(lambda data, rng: data + rng.laplace(), 1, 2, epsilon=1.0, most=100)
    assert not found.no_difference
    assert "difference" not in str(found)
    again = dpcheck.audit_sequential(
        lambda data, rng: data + rng.laplace(), 1, 2, epsilon=1.0, most=200, earlier=found.to_dict()
    )
    assert again.trials == 200
