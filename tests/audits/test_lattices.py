"""Rounding, signs of zero and short significands that depend on the data: found, and named.

Null hypothesis of every audit here: its claim holds. Seeds are fixed; over seeds a mechanism that keeps its
claim fails its test with probability at most 5 %, and one that breaks it is missed with far less.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpcheck import audit_privacy, audit_sequential
from dpcheck.audits.scores import Coordinate
from dpcheck.audits.scores.exact import Lattice, Short, Special, lattices, specials

Draw = Callable[..., Any]


def rounded(which: int, rng: np.random.Generator, size: int) -> Any:
    """Rounded on data only."""
    outputs = 0.3 * which + 3 * rng.laplace(size=size)
    return np.round(outputs, 3) if which else outputs


def offset(which: int, rng: np.random.Generator, size: int) -> Any:
    """Noise on a lattice that is laid through the exact answer."""
    return 0.0005 * which + np.round(rng.laplace(size=size), 3)


def one_of_three(which: int, rng: np.random.Generator, size: int) -> Any:
    outputs = rng.laplace(size=(size, 3))
    outputs[:, 1] = np.rint(outputs[:, 1] / 0.0123) * 0.0123 if which else outputs[:, 1]
    return outputs


def signed(which: int, rng: np.random.Generator, size: int) -> Any:
    """Whole numbers; a zero keeps the sign of what was rounded on data only."""
    outputs = np.round(rng.laplace(size=size))
    return outputs if which else outputs + 0.0


def single(which: int, rng: np.random.Generator, size: int) -> Any:
    outputs = rng.laplace(size=size)
    return outputs.astype(np.float32) if which else outputs


PLANTED = {
    rounded: "output is a multiple of 0.001",
    offset: r"output is -?0.0005 plus a multiple of 0.001",
    one_of_three: r"output\[1\] is a multiple of 0.0123",
    signed: "output is -0",
    single: "the last 29 bits of output are 0",
}


@pytest.mark.parametrize("audit", [audit_privacy, audit_sequential])
@pytest.mark.parametrize("mechanism", PLANTED)
def test_planted_leaks_are_found_and_named(audit: Callable[..., Any], mechanism: Draw) -> None:
    found = audit(mechanism, 1, 0, epsilon=1.0, vectorized=True)
    assert found.verdict == "violated"
    assert found.trials <= 4_000
    assert re.fullmatch(PLANTED[mechanism], found.event.words), found.event.words
    json.dumps(found.to_dict(), allow_nan=False)


def rounded_alike(which: int, rng: np.random.Generator, size: int) -> Any:
    return np.round(which + rng.laplace(size=size), 3)


def sometimes(which: int, rng: np.random.Generator, size: int) -> Any:
    """Exactly (1, 0)-private: all of a call's outputs are of one kind no more often than that allows."""
    coarse = rng.random(size) < 0.2 * math.e**which
    outputs = rng.laplace(size=size)
    return np.where(coarse, np.round(outputs, 3), outputs)


@pytest.mark.parametrize("audit", [audit_privacy, audit_sequential])
@pytest.mark.parametrize("mechanism", [rounded_alike, sometimes])
def test_private_ones_stand(audit: Callable[..., Any], mechanism: Draw) -> None:
    options = {"trials": 5_000, "delta": 0.0} if audit is audit_privacy else {"most": 5_000}
    assert audit(mechanism, 1, 0, epsilon=1.0, vectorized=True, **options).verdict == "consistent"


def test_a_lattice_is_found_where_there_is_one() -> None:
    rng = np.random.default_rng(0)
    smooth, coarse = rng.normal(size=(2, 1_000, 1))
    coarse = 7.5 + 0.25 * np.rint(coarse * 100)
    (found,) = lattices(smooth, coarse, [0])
    assert (type(found), found.offset, found.step) == (Lattice, 0.0, 0.25)
    assert list(lattices(smooth, rng.normal(size=(1_000, 1)), [0])) == []
    assert list(lattices(coarse, coarse[::-1] + 0.5, [0])) == []  # one and the same
    assert found(np.array([[0.25], [0.3], [np.nan], [np.inf], [-2.0]])).tolist() == [1, 0, 0, 0, 1]
    assert found.describe("<=", 0.0) == "output is not a multiple of 0.25"
    assert found.describe("<=", 1.0) == "any output"
    (found,) = lattices(smooth.astype(np.float32).astype(float), smooth, [0])
    assert found == Short(Coordinate(0, 1), 29)
    few = np.repeat([[0.0], [1.0]], 500, axis=0)
    assert list(lattices(few, smooth, [0])) == []  # few values are told one by one
    rough = 1e308 * np.linspace(-1, 1, 1_000)[:, None] ** 3
    assert list(lattices(np.append(rough, [[np.nan], [np.inf]], axis=0), smooth, [0])) == []


def test_signs_of_zero() -> None:
    a, b = np.array([[0.0], [-0.0], [1.0], [np.nan]]), np.zeros((4, 1))
    found = list(specials(a, b, [0]))
    assert found == [Special(Coordinate(0, 1), "nan"), Special(Coordinate(0, 1), "-0")]
    assert [score(a).tolist() for score in found] == [[0, 0, 0, 1], [0, 1, 0, 0]]
    assert list(specials(b, b, [0])) == []
    assert found[1].describe("<=", 0.0) == "output is not -0"
