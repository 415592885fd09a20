"""Data sets: what the bundled one holds, how LIBSVM's text is read, and two classes of ten."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpcheck import InputError, datasets
from dpcheck.data.entries import printed
from dpcheck.datasets import parse_libsvm

FOLDER = os.environ.get("DPCHECK_DATA")
needs_folder = pytest.mark.skipif(not FOLDER, reason="DPCHECK_DATA names no folder of data sets")

TEXT = b"+1 1:0.5 3:-2e-3 \n-1 \n-1 2:1 3:0\n"
TEXT_X = [[0.5, 0, -0.002], [0, 0, 0], [0, 1, 0]]
TEXT_Y = [1, -1, -1]


# The bundled set


@pytest.fixture(scope="module")
def a9a():
    return datasets.load("a9a")


def test_a9a_holds_adult(a9a):
    assert a9a.X.shape == (32561, 123)
    assert a9a.X_test.shape == (16281, 123)
    assert a9a.X.dtype == a9a.y.dtype == np.float64
    for y, rows in ((a9a.y, 32561), (a9a.y_test, 16281)):
        assert y.shape == (rows,)
        assert set(np.unique(y)) == {-1.0, 1.0}
    assert (a9a.y == 1).sum() == 7841  # 24.08 % earn more than 50,000 dollars
    assert (a9a.y_test == 1).sum() == 3846
    assert round(float((a9a.y == 1).mean()), 4) == 0.2408
    assert a9a.licence == "CC BY 4.0"
    assert a9a.source.startswith("https://")


def test_a9a_is_one_indicator_per_attribute_scaled_by_a_constant(a9a):
    for X in (a9a.X, a9a.X_test):
        ones = X * np.sqrt(14)
        binary = np.rint(ones)
        np.testing.assert_allclose(ones, binary, atol=1e-12)
        assert set(np.unique(binary)) == {0.0, 1.0}
        per_row = binary.sum(axis=1)
        assert per_row.max() == 14
        assert per_row.min() == 11  # three attributes can be missing
        assert np.linalg.norm(X, axis=1).max() <= 1


def test_arrays_are_read_only(a9a):
    for array in (a9a.X, a9a.y, a9a.X_test, a9a.y_test, a9a.unit_ball().X, a9a.unit_ball().X_test):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a9a_ignores_network_and_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCHECK_DATA", str(tmp_path / "absent"))
    monkeypatch.setattr(datasets, "user_cache", None)
    assert datasets.load("a9a").name == "a9a"


def test_names_and_unknown_name():
    assert datasets.names()[0] == "a9a"
    assert set(datasets.names()) == {
        *("a9a", "ijcnn1", "mnist", "fashion_mnist"),
        *("diabetes", "svmguide3", "w5a", "heart_scale"),
    }
    for wrong in ("A9A", "", 3, ["a9a"]):
        with pytest.raises(InputError, match="data set must be one of a9a, ijcnn1, mnist,"):
            datasets.load(wrong)


# Rows in the unit ball


@settings(max_examples=60, deadline=None)
@given(
    X=arrays(np.float64, (5, 7), elements=st.floats(-1e6, 1e6)),
    radius=st.floats(1e-3, 1e3),
    other=arrays(np.float64, 7, elements=st.floats(-1e6, 1e6)),
)
def test_unit_ball_bounds_rows_record_by_record(X, radius, other):
    data = datasets.Dataset("toy", X.copy(), np.ones(5), X[:2].copy(), np.ones(2), "", "")
    ball = data.unit_ball(radius=radius)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    assert np.linalg.norm(ball.X, axis=1).max() <= 1
    assert np.array_equal(ball.X_test, ball.X[:2])
    np.testing.assert_allclose(ball.X, X / np.maximum(radius, norms), rtol=1e-11, atol=1e-300)
    assert np.array_equal(data.X, X)
    assert np.array_equal(ball.unit_ball().X, ball.X)  # what lies inside stays
    X[3] = other  # replace one record: the others keep every bit
    changed = replace(data, X=X).unit_ball(radius=radius)
    kept = [0, 1, 2, 4]
    assert np.array_equal(changed.X[kept], ball.X[kept])


# LIBSVM text


def test_libsvm_text():
    for text in (TEXT, TEXT[:-1], TEXT.replace(b"+1 ", b"1  ")):
        X, y = parse_libsvm(text, 3)
        assert X.tolist() == TEXT_X
        assert y.tolist() == TEXT_Y
        assert X.dtype == y.dtype == np.float64


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (4, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_libsvm_text_keeps_every_bit(X):
    lines = ("1 " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row)) for row in X.tolist())
    assert parse_libsvm("\n".join(lines).encode(), 3)[0].tobytes() == X.tobytes()


@pytest.mark.parametrize(
    "line",
    [
        *("", " ", "0 1:1", "2 1:1", "+1.0 1:1", "1:1", "# comment", "1 1:1 # comment"),
        *("1 0:1", "1 4:1", "1 -1:1", "1 2:1 2:1", "1 2:1 1:1", "1 1.0:1", "1 1", "1 1:", "1 :1"),
        *("1 1:nan", "1 1:inf", "1 1:1e999", "1 1:1_0", "1 1:0x1", "1 1:1:1", "1 1: 1", "1 1:1,2:1"),
        *("1 1:1\r", "1\t1:1", "1 \u0661:1", "1 1:\u0661", "1 1:1\x00", "1 " + "9" * 5000 + ":1"),
    ],
)
def test_libsvm_text_refuses_and_names_the_line(line):
    with pytest.raises(InputError, match=r"^line 2 must hold .*got ") as caught:
        parse_libsvm(b"1 1:1\n" + line.encode() + b"\n-1 1:1\n", 3)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(("text", "line"), [(b"", 1), (b"\n", 1), (b"\n1 1:1\n", 1), (b"1 1:1\n\n", 2)])
def test_libsvm_text_refuses_blank_lines_at_its_ends(text, line):
    with pytest.raises(InputError, match=f"^line {line} must hold"):
        parse_libsvm(text, 3)


def test_printed_values_depend_on_single_precision_only():
    decimals = np.array([[-0.0009976385, -0.0009976384]])  # one float32, two seven-digit decimals
    once, again = printed("%.6e")(decimals)[0]
    assert once == again
    assert np.float32(once) == np.float32(decimals[0, 0])


# Two classes of ten


@pytest.mark.thorough
@needs_folder
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_two_classes_of_ten(name, monkeypatch):
    monkeypatch.setenv("DPCHECK_DATA", FOLDER)
    ten = datasets.load(name)
    halves = datasets.load(name, classes="halves")
    np.testing.assert_array_equal(halves.X, ten.X)
    np.testing.assert_array_equal(halves.y, np.where(ten.y >= 5, 1.0, -1.0))
    np.testing.assert_array_equal(halves.y_test, np.where(ten.y_test >= 5, 1.0, -1.0))
    parity = datasets.load(name, classes="parity")
    np.testing.assert_array_equal(parity.y, np.where(ten.y % 2 == 1, 1.0, -1.0))
    few = datasets.load(name, classes=[[3], [8, 1]])
    kept = np.isin(ten.y, [1, 3, 8])
    np.testing.assert_array_equal(few.X, ten.X[kept])
    np.testing.assert_array_equal(few.y, np.where(ten.y[kept] == 3, -1.0, 1.0))
    assert not few.X.flags.writeable and not few.y.flags.writeable
    assert len(few.X_test) == len(few.y_test) == np.isin(ten.y_test, [1, 3, 8]).sum()


@pytest.mark.parametrize(
    ("name", "classes", "words"),
    [
        ("a9a", "halves", "classes must come with mnist or fashion_mnist"),
        ("mnist", "thirds", "classes must be one of halves, parity"),
        ("mnist", [[1], [1, 2]], "share none"), ("mnist", [[1], []], "two groups"), ("mnist", [[1], [10]], "0 to 9"),
        ("mnist", [[1], [2], [3]], "two groups"), ("mnist", 3, "two groups"), ("mnist", [[1.5], [2]], "two groups"),
    ],
)  # fmt: skip
def test_groups_that_are_no_two_classes_are_refused(name, classes, words):
    with pytest.raises(InputError, match=re.escape(words)):
        datasets.load(name, classes=classes)
