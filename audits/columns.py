"""A data set of any common kind as columns: its records, their ranges, and copies with some of them changed."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import Floats, widened
from dpcheck.audits.running.datasets import as_numpy
from dpcheck.errors import require

Row = tuple[Any, ...]


class _Absent:
    """The cell of a record, a dict, that has no such key."""

    def __repr__(self) -> str:
        return "absent"


_ABSENT = _Absent()
_LONGER = 10


@dataclass(frozen=True)
class Columns:
    """The columns of a data set, (n,) each, and what makes a data set of its kind of others.

    values : arrays, lists or columns of pandas;  names : empty where there is one column without a name;  index : the
    labels of a table's rows, where these are not their numbers
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    join: Callable[[list[Any]], Any]
    index: Any = None

    def __len__(self) -> int:
        """The number of records."""
        return len(self.values[0])

    def record(self, index: int) -> Row:
        """Return the cells of a record."""
        return tuple(column.iloc[index] if hasattr(column, "iloc") else column[index] for column in self.values)

    def rows(self) -> list[Row]:
        """Return all records."""
        return list(zip(*map(list, self.values), strict=True))

    def changed(self, put: Mapping[int, Row], drop: Iterable[int] = (), add: Sequence[Row] = ()) -> Any:
        """Return a data set with records replaced, then dropped, and added at the end."""
        gone, columns = sorted(set(drop)), []
        for k, column in enumerate(self.values):
            cells = {i: row[k] for i, row in put.items()}
            columns.append(_changed(column, cells, gone, [row[k] for row in add]) if cells or gone or add else column)
        made = self.join(columns)
        if self.index is not None:
            stay = np.delete(np.arange(len(self)), gone) if len(gone) < len(self) else np.arange(len(self))[: len(add)]
            made.index = self.index.take(stay).append(self.index[-1:].repeat(len(made) - len(stay)))
        return made

    def of(self, rows: Sequence[Row]) -> Any:
        """Return a data set of these records."""
        return self.changed({}, range(len(self)), rows)


def read_columns(data: Any) -> Columns:
    """Read an array, a list of records, a table, or a dict of columns; at least one record."""
    tensor = as_numpy(data)
    if tensor is not None:
        inner, back = read_columns(tensor[0]), tensor[1]
        return Columns(inner.names, inner.values, lambda columns: back(inner.join(columns)))
    must = "be an array, a list of records, a table, or a dict of columns where neighbours are searched"
    sized = isinstance(data, list | tuple | dict) or getattr(data, "ndim", 0) > 0
    require(sized, "data", must, f"{type(data).__name__}: give a neighbour")
    table = _read(data)
    equal = bool(table.values) and all(len(column) == len(table) > 0 for column in table.values)
    require(equal, "data", "hold records, and a cell of each in every column", "none, or columns that differ in length")
    return table


def _read(data: Any) -> Columns:
    if hasattr(data, "iloc"):
        import pandas as pd

        table = data if data.ndim == 2 else data.to_frame()
        cells = tuple(table.iloc[:, k] for k in range(table.shape[1]))
        titles = ("" if data.ndim == 1 and data.name is None else str(name) for name in table.columns)

        def tabled(columns: list[Any]) -> Any:
            made = pd.DataFrame(dict(enumerate(columns)))
            made.columns = table.columns
            return made if data.ndim == 2 else made.iloc[:, 0].rename(data.name)

        index = None if isinstance(data.index, pd.RangeIndex) else data.index
        return Columns(tuple(titles), cells, tabled, index)
    if isinstance(data, np.ndarray):
        if data.ndim == 1:
            return Columns(("",), (data,), lambda columns: columns[0])
        flat = data.reshape(len(data), -1)
        names = tuple(f"[{k}]" for k in range(flat.shape[1])) if flat.shape[1] > 1 else ("",)
        return Columns(
            names, tuple(flat.T), lambda columns: np.column_stack(columns).reshape(len(columns[0]), *data.shape[1:])
        )
    if isinstance(data, dict):
        keys = list(data)
        columns = tuple(v if hasattr(v, "iloc") or isinstance(v, np.ndarray) else list(v) for v in data.values())
        return Columns(tuple(map(str, keys)), columns, lambda columns: dict(zip(keys, columns, strict=True)))
    kind, records = type(data), list(data)
    if records and all(isinstance(record, dict) for record in records):
        keys = list(dict.fromkeys(key for record in records for key in record))

        def joined(columns: list[Any]) -> Any:
            rows = zip(*columns, strict=True)
            return kind({k: v for k, v in zip(keys, row, strict=True) if v is not _ABSENT} for row in rows)

        return Columns(tuple(map(str, keys)), tuple([r.get(key, _ABSENT) for r in records] for key in keys), joined)
    inner = type(records[0]) if records else None
    if inner in (list, tuple) and all(type(r) is inner and len(r) == len(records[0]) > 0 for r in records):
        assert inner is not None
        names = tuple(f"[{k}]" for k in range(len(records[0])))
        return Columns(
            names, tuple(map(list, zip(*records, strict=True))), lambda cs: kind(map(inner, zip(*cs, strict=True)))
        )
    return Columns(("",), (records,), lambda columns: kind(columns[0]))


def _changed(column: Any, put: Mapping[int, Any], drop: Sequence[int], add: Sequence[Any]) -> Any:
    """Return a copy of a column with cells replaced, dropped and added; of its type where they fit into it."""
    if isinstance(column, np.ndarray):
        made = column.copy()
        for value in {id(value): value for value in (*put.values(), *add)}.values():
            made = made if _fits(value, made.dtype) else widened(made, value)
        for index, value in put.items():
            made[index] = value
        made = np.delete(made, np.asarray(drop, int)) if len(drop) else made
        return np.concatenate([made, np.array(list(add), made.dtype)]) if len(add) else made
    if not isinstance(column, list):
        return _changed_series(column, put, drop, add)
    cells = list(column)
    for index, value in put.items():
        cells[index] = value
    gone = set(drop)
    return [value for index, value in enumerate(cells) if index not in gone] + list(add)


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an array of this type holds the value as it is."""
    if dtype.kind == "U":
        return len(str(value)) * 4 <= dtype.itemsize
    try:
        with np.errstate(all="ignore"):
            kept = np.array(value).astype(dtype)
        return bool(kept == value or (kept != kept and value != value))
    except (TypeError, ValueError, OverflowError):
        return False


def _changed_series(column: Any, put: Mapping[int, Any], drop: Sequence[int], add: Sequence[Any]) -> Any:
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return pd.Series(_changed(column.to_numpy(), put, drop, add))
    if isinstance(dtype, pd.CategoricalDtype):
        new = [v for v in dict.fromkeys((*put.values(), *add)) if not (pd.isna(v) or v in dtype.categories)]
        dtype = pd.CategoricalDtype([*dtype.categories, *new], dtype.ordered) if new else dtype
    try:
        new = pd.array([*put.values(), *add], dtype=dtype)
    except (TypeError, ValueError, OverflowError):  # a value that its type does not hold
        return pd.Series(_changed(list(column), put, drop, add))
    made = column.astype(dtype).array.copy()
    made[list(put)] = new[: len(put)]
    stay = pd.Series(made.take(np.delete(np.arange(len(made)), drop)))
    return pd.concat([stay, pd.Series(new[len(put) :])], ignore_index=True) if len(add) else stay


@dataclass(frozen=True)
class Range:
    """What a column holds, and values for records that are extreme in it.

    low, high : extreme values that it holds;  beyond : finite ones that it does not;  broken : NaN and the like, where
    it holds none;  places : (n,) from 0 at ``low`` to 1 at ``high``;  words : the range, for a report;  lack : what
    stands for a missing cell, where one is missing
    """

    low: Any
    high: Any
    beyond: Row
    broken: Row
    places: Floats
    words: str
    lack: Row = ()


def range_of(column: Any) -> Range:
    """Look through a column."""
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        found = _numbers(np.asarray(column), finite=dtype.kind != "f")
        return replace(found, lack=(math.nan,)) if np.isnan(column).any() else found
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return replace(_looked_through(values, dtype), lack=tuple(islice(filter(missing, values), 1)))


def _looked_through(values: list[Any], dtype: Any) -> Range:
    lacking = np.array([missing(value) for value in values])
    there = [value for value, lacks in zip(values, lacking, strict=True) if not lacks]
    if not there:
        return Range(values[0], values[0], (), (), np.full(len(values), 0.5), "the data hold none")
    if all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in there):
        numbers = np.array([math.nan if lacks else value for value, lacks in zip(values, lacking, strict=True)])
        whole = numbers if lacking.any() else np.array(there)
        finite = getattr(dtype, "kind", "O") in "iu"  # of pandas, with a value for what is missing
        return _numbers(whole, finite=finite, whole=all(isinstance(value, int | np.integer) for value in there))
    if all(isinstance(value, datetime.date | np.datetime64) for value in there):
        low, high = min(there), max(there)
        ends = np.array([float(value == high) - float(value == low) for value in values])
        return Range(low, high, (), () if lacking.any() else (None,), ends, f"the data lie in [{low}, {high}]")
    if all(hasattr(value, "__len__") and not isinstance(value, str) for value in there):
        return _lengths(values)
    keys = [value if isinstance(value, str | bool) else repr(value) for value in values]
    counts = Counter(key for key, lacks in zip(keys, lacking, strict=True) if not lacks)
    rarest, *_, commonest = sorted(counts, key=lambda key: counts[key]) * 2
    words = all(isinstance(value, str) for value in there)
    new = tuple(word for word in ("new", "new" * 40, "") if word not in counts) if words else ()
    broken = (None,) if words and not lacking.any() else ()
    score = {key: counts[key] / counts[commonest] for key in counts} | {rarest: -1.0}
    places = np.array([score.get(key, 0.0) for key in keys])
    low, high = values[keys.index(rarest)], values[keys.index(commonest)]
    return Range(low, high, new, broken, places, f"the data hold {len(counts)} other labels")


def _numbers(column: NDArray[Any], *, finite: bool, whole: bool = False) -> Range:
    """The range of numbers; finite : whether their type holds finite ones alone."""
    known = np.isfinite(column)
    low, high = (column[known].min().item(), column[known].max().item()) if known.any() else (0, 0)
    power = math.ceil(math.log10(max(1, abs(low), abs(high)))) + math.ceil(math.log10(len(column))) + 3
    whole = whole or column.dtype.kind in "iu"
    huge = 10 ** min(power, 15) if whole else 10.0 ** min(power, 150)
    unseen = [v for v in (math.nan, math.inf, -math.inf) if not ((column == v) | ((column != column) & (v != v))).any()]
    with np.errstate(all="ignore"):
        places = np.where(known, (np.clip(column, low, high) - low) / ((high - low) or 1), 0.5)
    beyond = tuple(value for value in (huge, -huge) if not low <= value <= high)
    broken = () if finite else tuple(unseen)
    return Range(low, high, beyond, broken, places, f"the data lie in [{low:g}, {high:g}]")


def _lengths(values: list[Any]) -> Range:
    """The range of records that are lists themselves, by their lengths."""
    sizes = np.array([0 if missing(value) else len(value) for value in values], float)
    low, high = values[int(sizes.argmin())], values[int(sizes.argmax())]
    beyond: Row = ()  # a longer record, where it is one of its kind
    if isinstance(high, np.ndarray):
        beyond = (np.concatenate([high] * _LONGER),)
    elif isinstance(high, list | tuple) and len(high):
        beyond = (high * _LONGER,)
    if isinstance(high, list | tuple) and sizes.min() > 0:
        beyond = (*beyond, type(high)())
    words = f"the data's have {sizes.min():.0f} to {sizes.max():.0f} entries"
    return Range(low, high, beyond, (), sizes / max(1.0, sizes.max()), words)


def missing(value: Any) -> bool:
    """Whether a cell holds no value: None, NaN, a date that is none, a key that is absent."""
    if isinstance(value, str | int):
        return False
    if value is None or value is _ABSENT or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # of an array
        return False
