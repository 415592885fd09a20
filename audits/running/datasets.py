"""Values of users: datasets, whether one was changed or two are equal, records to compute on, numbers in outputs.

Datasets and records may be arrays of torch and JAX. In outputs NaN is a value like any other.
"""

from __future__ import annotations

import hashlib
import io
import math
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import Floats
from dpcheck.errors import one_line, require


def as_numpy(value: Any) -> tuple[NDArray[Any], Callable[[Any], Any]] | None:
    """Return what a tensor holds, and what makes a tensor of its kind of an array; None for anything else.

    bfloat16, a type that NumPy has not, comes as float32. What is made of an array is a copy of it, of the value's own
    type unless that would cut fractions off.
    """
    library = type(value).__module__.partition(".")[0]
    if library == "torch":
        import torch

        if isinstance(value, torch.Tensor):
            tensor, there = value.detach().cpu(), value.device
            here = (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()
            return here, lambda array: torch.tensor(
                array, dtype=value.dtype if _fits(array, here) else None, device=there
            )
    if library == "jaxlib":
        import jax

        if isinstance(value, jax.Array):
            here = np.asarray(value.astype("float32") if value.dtype.name == "bfloat16" else value)
            return here, lambda array: jax.numpy.asarray(array, dtype=value.dtype if _fits(array, here) else None)
    return None


def _fits(array: Any, original: NDArray[Any]) -> bool:
    return bool(np.asarray(array).dtype.kind == original.dtype.kind)


_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


def fingerprint(dataset: Any) -> str | None:
    """Return a digest of what a dataset holds; None where it is not plain, as objects may cache what they compute."""
    try:
        return digest(dataset) if is_plain(dataset) else None
    except Exception:  # nested too deep, or a cycle
        return None


def digest(value: Any) -> str | None:
    """Return a digest of what a value holds; None where that cannot be seen: a lock, a lambda, a file, a cycle."""
    try:
        held = io.BytesIO()
        Held(held).dump(value)
        return hashlib.sha256(held.getbuffer()).hexdigest()
    except Exception:
        return None


class Held(pickle.Pickler):
    """Writes tables and tensors by what they hold, without what they cache."""

    def reducer_override(self, value: Any) -> Any:
        """Return what stands for a table or a tensor."""
        if _is_table(value):  # which is arranged anew when it is read
            columns = [value] if value.ndim == 1 else [value.iloc[:, k] for k in range(value.shape[1])]
            names = value.name if value.ndim == 1 else list(value.columns)
            held = [value.index.to_numpy(), names, *(column.to_numpy() for column in columns)]
        elif (tensor := as_numpy(value)) is not None:
            held = [tensor[0]]
        else:
            return NotImplemented
        return list, ([type(value).__name__, *held],)


def require_unchanged(dataset: Any, before: str | None, name: str = "mechanism") -> None:
    """Require that a dataset is what it was when its :func:`fingerprint` was taken."""
    unchanged = before is None or before == fingerprint(dataset)
    require(unchanged, name, "leave its datasets as they are", "one that it changed: let it work on a copy")


def is_plain(value: Any) -> bool:
    """Whether a dataset is made of numbers, texts, arrays, tensors and pandas tables, which hold only their data."""
    if type(value) is list or isinstance(value, tuple):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    if as_numpy(value) is not None:
        return True
    return _is_table(value) or isinstance(value, _PLAIN)


def _is_table(value: Any) -> bool:
    """Whether it is a table or a column of pandas, which is not imported for it."""
    return type(value).__module__.partition(".")[0] == "pandas" and type(value).__name__ in ("DataFrame", "Series")


_NUMBER = (int, float, complex, np.number, np.bool_)


def equal_datasets(data: Any, neighbour: Any) -> bool:
    """Whether they are surely equal, by value: 1 and 1.0 are, and a list and an array of the same numbers.

    Datasets of kinds that cannot be compared are not. Neither are 0.0 and -0.0, which a mechanism may tell apart.
    """
    try:
        held = fingerprint(data)
        if held is None or not is_plain(neighbour):
            return False
        return held == fingerprint(neighbour) or _same(data, neighbour)
    except Exception:  # nested too deep, or values that refuse to be compared
        return False


def _same(first: Any, other: Any) -> bool:
    if (tensor := as_numpy(first)) is not None:
        first = tensor[0]
    if (tensor := as_numpy(other)) is not None:
        other = tensor[0]
    if hasattr(first, "iloc") or hasattr(other, "iloc"):
        return _same_tables(first, other)
    if isinstance(first, dict) or isinstance(other, dict):
        both = isinstance(first, dict) and isinstance(other, dict) and first.keys() == other.keys()
        return both and all(_same(first[key], other[key]) for key in first)
    if _is_row(first) and _is_row(other):
        arrays = isinstance(first, np.ndarray) and isinstance(other, np.ndarray)
        if arrays and first.dtype == other.dtype and first.dtype.kind in "biuf":  # others could be rounded
            if first.shape != other.shape or not same(first, other).all():
                return False
            zero = first == 0
            return bool((np.signbit(first[zero]) == np.signbit(other[zero])).all())
        first, other = (row.tolist() if isinstance(row, np.ndarray) else row for row in (first, other))
        return len(first) == len(other) and all(map(_same, first, other))
    if isinstance(first, np.ndarray) and isinstance(other, _NUMBER):
        first = first[()]  # of no dimension, or it stays an array
    if isinstance(other, np.ndarray) and isinstance(first, _NUMBER):
        other = other[()]
    if isinstance(first, _NUMBER) and isinstance(other, _NUMBER):
        if first == other:
            parts = [(getattr(first, part), getattr(other, part)) for part in ("real", "imag")]
            return all(a != 0 or math.copysign(1, a) == math.copysign(1, b) for a, b in parts)
        return bool(first != first and other != other)
    return type(first) is type(other) and bool(first == other)


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


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


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Records:
    """Records to compute on, and what turns a minibatch or a record of them into what the user's functions take."""

    values: Any
    back: Callable[[Any], Any] = _unchanged

    def grown(self, scale: Callable[[Any, float], Any] | None) -> Callable[[Any, float], Any] | None:
        """Let a function that makes a record larger take the user's kind of record."""
        if scale is None or self.back is _unchanged:
            return scale
        return lambda record, factor: read(scale(self.back(record), factor)).values


def read(records: Any, name: str = "records") -> Records:
    """Read records: an array of NumPy, torch or JAX, or a sequence of anything, which stays as it is."""
    tensor = as_numpy(records)
    if tensor is not None:
        return Records(*tensor)
    kind = type(records).__name__
    require(not hasattr(records, "to_numpy"), name, "be an array or a list", f"{kind}: take its to_numpy()")
    ordered = hasattr(records, "__len__") and hasattr(records, "__getitem__") and not isinstance(records, Mapping | str)
    require(ordered, name, "be an array or a list", kind)
    return Records(records)


def same(x: Floats, y: Floats) -> NDArray[np.bool_]:
    """Say where x equals y, NaN equal to NaN; the shapes broadcast."""
    return np.asarray((x == y) | ((x != x) & (y != y)))


def among(values: Floats, known: Floats) -> NDArray[np.bool_]:
    """Say which of ``values`` (n,) are among ``known`` (m,), which is sorted with NaN last."""
    if known.size == 0:
        return np.zeros(values.size, bool)
    return same(known[np.minimum(np.searchsorted(known, values), known.size - 1)], values)


# Between these, six digits would round a number before the point.
_LARGE, _WHOLE = 1e5, 1e15


def shown(value: float) -> str:
    """Write a number with six digits; with all its digits before the point, and none after it for a whole number."""
    if not _LARGE <= abs(value) < _WHOLE:
        return f"{value:.6g}"
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def brief(value: Any) -> str:
    """Write a record or an argument on one line, a long array by its two ends."""
    return one_line(np.array2string(value, threshold=6, precision=6) if isinstance(value, np.ndarray) else value)


def plain(value: Any) -> Any:
    """Return a number, or lists of numbers, as JSON takes them: a word in place of what is not finite."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def exactly(value: float) -> str:
    """Write a value so that it can be recognised: with all its digits where six do not identify it."""
    return shown(value) if float(shown(value)) == value else repr(float(value))


def tallied(ordered: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the distinct numbers of a sorted array, and how often each occurs."""
    before = ordered[:-1]
    last = np.flatnonzero(np.append((ordered[1:] != before) & (before == before), True))  # NaN comes last
    return ordered[last], np.diff(last, prepend=-1)
