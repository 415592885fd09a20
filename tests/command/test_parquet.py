"""Data in Parquet: a table that is read, or one sentence, whatever a file states of itself. Needs pyarrow."""

from __future__ import annotations

import pickle
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcheck import InputError, reading
from dpcheck.commands.inputs import dataset

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def write(path: Path, table: Any, **options: Any) -> Path:
    pq.write_table(table, path, **options)
    return path


def refused(path: Path) -> str:
    with pytest.raises(InputError) as found:
        dataset(str(path), "data")
    said = str(found.value)
    assert "\n" not in said and len(said) < 400 and said.startswith(f"{path}: data must ")
    return said.removeprefix(f"{path}: ")


@pytest.mark.parametrize("table", [
    pd.DataFrame({"age": [1, 2], "sex": ["m", None]}), pd.DataFrame({"a": [1.5]}, index=pd.Index(["x"], name="who")),
    pd.DataFrame({"day": pd.to_datetime(["2026-01-01"]), "visits": [[1, 2]], "raw": [b"\xff"]}),
])  # fmt: skip
def test_a_table_is_read_as_it_was_written(tmp_path: Path, table: pd.DataFrame) -> None:
    table.to_parquet(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(dataset(str(tmp_path / "a.parquet"), "data"), table)


GOOD = pa.table({"a": [1.0, 2.0], "b": ["x", "y"]})


@pytest.mark.parametrize(("spoil", "said"), [
    (lambda good: b"", "Parquet"), (lambda good: b"none", "Parquet"), (lambda good: b"PAR1", "Parquet"),
    (lambda good: good[: len(good) // 2], "Parquet"), (lambda good: good[:-4] + b"PAR9", "Parquet"),
    (lambda good: b"PAR1" + b"\xff\xff\xff\x7fPAR1", "Parquet"), (lambda good: good[:4] + good[60:], "Parquet"),
])  # fmt: skip
def test_what_is_not_parquet_is_refused(tmp_path: Path, spoil: Callable[[bytes], bytes], said: str) -> None:
    path = write(tmp_path / "a.parquet", GOOD)
    path.write_bytes(spoil(path.read_bytes()))
    assert f"data must be {said}" in refused(path)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    assert "be an existing file of Parquet" in refused(tmp_path / "a.parquet")


def test_columns_have_each_name_once(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert refused(write(tmp_path / "a.parquet", twice)) == "data must have each column once, got a twice"


@pytest.mark.parametrize("table", [pa.table({}), pa.table({"a": pa.array([], pa.float64())})])
def test_a_table_without_rows_is_refused(tmp_path: Path, table: Any) -> None:
    assert "data must have rows" in refused(write(tmp_path / "a.parquet", table))


def test_a_table_that_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    kind = pa.int64()
    for _ in range(300):
        kind = pa.list_(kind)
    said = refused(write(tmp_path / "a.parquet", pa.table({"a": pa.array([None], kind)})))
    assert said.startswith("data must be Parquet, got: ")


@pytest.mark.parametrize("values", [
    np.zeros(100_000), pa.ListArray.from_arrays(pa.array([0, 100_000], pa.int32()), pa.array(np.zeros(100_000))),
], ids=["rows", "a list"])  # fmt: skip
def test_a_large_table_in_a_small_file_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: Any
) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"a": values}), compression="gzip")
    assert path.stat().st_size < 2_000
    monkeypatch.setattr(reading, "LARGEST", 8 * 99_999)
    monkeypatch.setattr(pd, "read_parquet", None)  # which is not reached
    assert refused(path) == "data must hold at most 99,999 numbers and texts, got 100,000"


@pytest.mark.skipif(reading.memory_in_use() is None, reason="the system does not say what memory is in use")
def test_texts_that_fill_the_memory_are_refused(tmp_path: Path) -> None:
    """One text of 5 MB that 200,000 rows name, in a file of less than 1 kB."""
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(200_000, np.int32)), pa.array(["x" * 5_000_000]))
    path = write(tmp_path / "a.parquet", pa.table({"a": text}), store_schema=False, compression="gzip")
    assert path.stat().st_size < 10_000
    before = resource.getrlimit(resource.RLIMIT_AS)
    assert refused(path) == "data must be read within 2,000 megabytes, got one that takes more"
    assert resource.getrlimit(resource.RLIMIT_AS) == before


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("ran"),))


@pytest.mark.filterwarnings("ignore")
def test_no_pickle_of_a_type_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 14.0.1, pyarrow loaded types of Python's from any file."""
    monkeypatch.chdir(tmp_path)
    kept = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": pickle.dumps(Harmful())}
    schema = pa.schema([pa.field("a", pa.int64(), metadata=kept)])
    dataset(str(write(tmp_path / "a.parquet", pa.table({"a": [1]}, schema=schema))), "data")
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    "stated", [b"{not json", b"[]", b'{"index_columns": [{"kind": "range", "start": 0, "stop": 1e12}]}']
)
def test_what_is_stated_for_pandas_is_read_or_refused(tmp_path: Path, stated: bytes) -> None:
    path = write(tmp_path / "a.parquet", GOOD.replace_schema_metadata({b"pandas": stated}))
    assert refused(path).startswith("data must be Parquet, got: ")
