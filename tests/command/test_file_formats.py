"""Files that anybody may have written: tables, data sets and stores hold what they hold, or one line says why not."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpcheck import InputError
from dpcheck.commands import inputs, rate
from dpcheck.datasets import parse_libsvm, unpack
from dpcheck.errors import StoreError
from dpcheck.problems import bounded_pairs, bounded_rows
from dpcheck.problems.auc import AUC
from dpcheck.problems.cosine import Cosine
from dpcheck.problems.mean_estimation import MeanEstimation
from dpcheck.running.store import Store

FUZZ = settings(
    deadline=None, max_examples=150, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
SHORT = settings(FUZZ, max_examples=30)  # each writes to the disk, and waits for it
CELLS = st.sampled_from(
    ["1", "-2.5", "1e999", "nan", "", " ", '"', '""', "a", ",", ";", "\t", "\n", "\r\n", "#", "\x00", "\ufeff", "é"]
)
TABLES = st.lists(CELLS, max_size=30).map("".join) | st.text(max_size=60)


def one_line(error: InputError) -> bool:
    return "\n" not in str(error) and 0 < len(str(error)) < 600


@FUZZ
@given(TABLES.map(str.encode) | st.binary(max_size=80))
@example("\ufeffn,gap\n1,2\n".encode())
@example(b"")
def test_any_table_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(content)
    try:
        frame = rate.read_table(str(file))
    except InputError as error:
        if not one_line(error):
            raise
        return
    kinds = {column: frame[column].map(type).unique().tolist() for column in frame}
    assert all(len(kind) <= 1 for kind in kinds.values())  # a column is all numbers or all text


ENDINGS = st.sampled_from([".csv", ".json", ".npy"])


@FUZZ
@given(ENDINGS, TABLES.map(str.encode) | st.binary(max_size=80))
@example(".csv", b"\xef\xbb\xbf1,2\n3,4\n")
@example(".npy", b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }" + b" " * 58 + b"\n")
def test_any_data_set_is_read_or_refused(tmp_path: Path, ending: str, content: bytes) -> None:
    file = tmp_path / f"data{ending}"
    file.write_bytes(content)
    try:
        found = inputs.dataset(str(file), "data")
    except InputError as error:
        if not (one_line(error) and str(error).startswith(f"{file}: ")):
            raise
        return
    if ending == ".csv":
        assert found.ndim == 2 and found.size > 0


def test_data_sets_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf1,2\n3,4\n")
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf[[1, 2], [3, 4]]")
    for name in ("a.csv", "a.json"):
        assert inputs.dataset(str(tmp_path / name), "data").tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("content", ["", "\n\n", "# a comment\n", "\ufeff"])
def test_an_empty_data_set_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.csv").write_text(content, "utf-8")
    with pytest.raises(InputError, match=r"a\.csv: data must have rows of numbers, got an empty file$"):
        inputs.dataset(str(tmp_path / "a.csv"), "data")


@FUZZ
@given(st.text(max_size=40) | st.recursive(st.integers() | st.floats(), st.lists, max_leaves=8).map(json.dumps))
@example("1" * 5_000)
@example("[" * 100_000)
@example("[" * 70 + "]" * 70)
def test_any_text_as_a_data_set(text: str) -> None:
    try:
        inputs.dataset(text, "data")
    except InputError as error:
        if not (one_line(error) and str(error).startswith("data")):
            raise


LINES = st.lists(
    st.sampled_from(["+1", "-1", "1", " ", "1:", "2:0.5", "1:1e999", "3:nan", ":", "\n", "\t", "9:1", "0:1"]),
    max_size=12,
)


@FUZZ
@given(LINES.map("".join).map(str.encode) | st.binary(max_size=40))
def test_any_libsvm_text_is_read_or_refused(content: bytes) -> None:
    try:
        X, y = parse_libsvm(content, 5)
    except InputError as error:
        if not one_line(error):
            raise
        return
    assert X.shape == (len(y), 5)
    assert np.isfinite(X).all() and set(y.tolist()) <= {-1.0, 1.0}


@FUZZ
@given(st.sampled_from([b"BZh", b"\x1f\x8b", b"\xfd7zXZ", b""]), st.binary(max_size=40))
def test_any_packed_bytes_are_unpacked_or_refused(start: bytes, rest: bytes) -> None:
    try:
        unpack(start + rest)
    except ValueError as error:
        if not str(error).startswith("it does not decompress: "):
            raise


# Stores


@FUZZ
@given(st.binary(max_size=200), st.sampled_from([b"", b"SQLite format 3\x00"]))
def test_any_bytes_as_a_store(tmp_path: Path, content: bytes, start: bytes) -> None:
    for file in tmp_path.iterdir():
        file.unlink()
    file = tmp_path / "store"
    file.write_bytes(start + content)
    try:
        store = Store(file, "code")
        try:
            assert store.get(["key"]) in (None, 3)
            assert store.put(["key"], 3) == store.get(["key"]) == 3
        finally:
            store.close()
    except StoreError as error:
        if not one_line(error):
            raise
        assert file.read_bytes() == start + content  # somebody else's file is left as it is


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=5,
)  # fmt: skip


@SHORT
@given(st.lists(st.text(max_size=5) | st.integers(), max_size=3), VALUES.filter(lambda value: value is not None))
def test_a_store_returns_what_it_was_given(tmp_path: Path, key: list[Any], value: Any) -> None:
    store = Store(tmp_path / "store", "code")
    assert store.put(key, value) == value == store.get(key)
    store.close()


@SHORT
@given(st.text(max_size=20))
def test_a_damaged_value_is_not_read(tmp_path: Path, text: str) -> None:
    """A digit that is another is damage as well, which only a digest tells."""
    store = Store(tmp_path / "store", "code")
    for value in (text, text.encode(), b"2"):
        store.put(["key"], 1)
        with sqlite3.connect(tmp_path / "store") as connection:
            connection.execute("UPDATE kept SET value = ?", (value,))
        connection.close()
        assert store.get(["key"]) == (1 if value == b"1" else None)
        assert store.get_array(["key"]) is None
    store.close()


# Records in single precision


@pytest.mark.parametrize("d", [2, 5, 100, 784])
def test_rows_that_were_normalised_in_single_precision(d: int) -> None:
    """They are longer than 1 by rounding alone, and each is brought back by itself."""
    rng = np.random.default_rng(d)
    rows = rng.standard_normal((400, d)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    exact = rows.astype(float)
    assert (np.linalg.norm(exact, axis=1) > 1 + 1e-12).any()
    labels = np.where(rng.random(400) < 0.5, 1, -1)
    kept = AUC.from_data(rows, labels).records[:, :-1]
    for found in (kept, bounded_rows(rows, 1), MeanEstimation(rows).records):
        assert (np.linalg.norm(found, axis=1) <= 1 + 1e-12).all()
        np.testing.assert_allclose(found, exact, rtol=1e-6)
        inside = np.linalg.norm(exact, axis=1) <= 1
        np.testing.assert_array_equal(found[inside], exact[inside])
    with pytest.raises(InputError, match=r"^X must have \|x\| <= 1, got 1\.0001"):
        AUC.from_data(exact * 1.0001, labels)


def test_entries_and_pairs_in_single_precision() -> None:
    third = np.float32(1) + np.finfo(np.float32).eps
    assert Cosine([[third, -third, 0.5]]).records.tolist() == [[1, -1, 0.5]]
    pairs = bounded_pairs([[third, 0, 0, 0.5]], 1)
    assert pairs.tolist() == [[1, 0, 0, 0.5]]
    for read in (lambda rows, bound: Cosine(rows, bound=bound), bounded_rows, bounded_pairs):
        with pytest.raises(InputError, match=r"^records must have "):
            read([[1.01, 0.0]], 1)
