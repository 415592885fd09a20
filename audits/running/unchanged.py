"""Datasets that a mechanism must leave as they are: a run that changes one spoils every run after it."""

from __future__ import annotations

import hashlib
import io
import pickle
from typing import Any

import numpy as np

from dpcheck.audits.running.foreign_arrays import as_numpy
from dpcheck.errors import require

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


def fingerprint(dataset: Any) -> str | None:
    """Return a digest of what a dataset holds; None for objects of other kinds, which may change without a change.

    An object may cache what it computes, but a number, a text, an array of NumPy, torch or JAX, a pandas table or a
    list, tuple or dictionary of these holds only its data.
    """
    try:
        if not is_plain(dataset):
            return None
        held = io.BytesIO()
        _Held(held).dump(dataset)
        return hashlib.sha256(held.getbuffer()).hexdigest()
    except Exception:  # nested too deep, or a cycle
        return None


class _Held(pickle.Pickler):
    """Writes tables and tensors by what they hold, without what they cache."""

    def reducer_override(self, value: Any) -> Any:
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
    """Whether a dataset holds only its data: see :func:`fingerprint`."""
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
