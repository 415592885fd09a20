"""Whether two datasets hold the same values: then no output can tell one from the other, whatever the mechanism."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.running.foreign_arrays import as_numpy
from dpcheck.audits.running.unchanged import fingerprint, is_plain

_NUMBER = (int, float, complex, np.number, np.bool_)


def equal_datasets(data: Any, neighbour: Any) -> bool:
    """Whether they are surely equal, by value: 1 and 1.0 are, and a list and an array of the same numbers.

    Datasets of kinds that cannot be compared are not. Neither are 0.0 and -0.0, which a mechanism may tell apart.
    """
    held = fingerprint(data)
    if held is None or not is_plain(neighbour):
        return False
    try:
        return held == fingerprint(neighbour) or _same(data, neighbour)
    except Exception:  # nested too deep, or values that refuse to be compared
        return False


def _same(first: Any, other: Any) -> bool:
    first, other = (value if (tensor := as_numpy(value)) is None else tensor[0] for value in (first, other))
    if hasattr(first, "iloc") or hasattr(other, "iloc"):
        return _same_tables(first, other)
    if isinstance(first, dict) or isinstance(other, dict):
        both = isinstance(first, dict) and isinstance(other, dict) and first.keys() == other.keys()
        return both and all(_same(first[key], other[key]) for key in first)
    if _is_row(first) and _is_row(other):
        arrays = isinstance(first, np.ndarray) and isinstance(other, np.ndarray)
        if arrays and first.dtype == other.dtype and first.dtype.kind in "biuf":
            return _same_arrays(first, other)
        return len(first) == len(other) and all(map(_same, _items(first), _items(other)))
    if isinstance(first, np.ndarray) and isinstance(other, _NUMBER):
        first = first[()]  # of no dimension, or it stays an array
    if isinstance(other, np.ndarray) and isinstance(first, _NUMBER):
        other = other[()]
    if isinstance(first, _NUMBER) and isinstance(other, _NUMBER):
        return _same_numbers(first, other)
    return type(first) is type(other) and bool(first == other)


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _items(row: Any) -> Any:
    return row.tolist() if isinstance(row, np.ndarray) else row


def _same_arrays(first: NDArray[Any], other: NDArray[Any]) -> bool:
    """Two of one type: others are compared number by number, as Python does it without rounding."""
    if first.shape != other.shape:
        return False
    values = (first == other) | ((first != first) & (other != other))
    signs = first.dtype.kind != "f" or np.all((first != 0) | (np.signbit(first) == np.signbit(other)))
    return bool(np.all(values)) and bool(signs)


def _same_numbers(first: Any, other: Any) -> bool:
    if first == other:
        parts = [(getattr(first, part), getattr(other, part)) for part in ("real", "imag")]
        return all(a != 0 or math.copysign(1, a) == math.copysign(1, b) for a, b in parts)
    return bool(first != first and other != other)


def _same_tables(first: Any, other: Any) -> bool:
    """Tables of one kind, with the same rows under the same names."""
    if type(first) is not type(other) or first.shape != other.shape:
        return False
    if not _same(first.index.to_numpy().tolist(), other.index.to_numpy().tolist()):
        return False
    if first.ndim == 1:
        return _same(first.to_numpy().tolist(), other.to_numpy().tolist())
    names = list(first.columns) == list(other.columns)
    columns = range(first.shape[1])
    return names and all(_same(first.iloc[:, k].tolist(), other.iloc[:, k].tolist()) for k in columns)
