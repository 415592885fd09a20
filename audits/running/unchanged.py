"""Datasets that a mechanism must leave as they are: a run that changes one spoils every run after it."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np

from dpcheck.errors import require

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


def fingerprint(dataset: Any) -> str | None:
    """Return a digest of what a dataset holds; None for objects of other kinds, which may change without a change.

    An object may cache what it computes, but a number, a text, an array, a pandas table or a list, tuple or dictionary
    of these holds only its data.
    """
    try:
        return hashlib.sha256(pickle.dumps(dataset)).hexdigest() if is_plain(dataset) else None
    except Exception:  # nested too deep, or a cycle
        return None


def require_unchanged(dataset: Any, before: str | None) -> None:
    """Require that a dataset is what it was when its :func:`fingerprint` was taken."""
    unchanged = before is None or before == fingerprint(dataset)
    require(unchanged, "mechanism", "leave its datasets as they are", "one that it changed")


def is_plain(value: Any) -> bool:
    """Whether a dataset holds only its data: see :func:`fingerprint`."""
    if type(value) is list or isinstance(value, tuple):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    table = type(value).__module__.partition(".")[0] == "pandas" and type(value).__name__ in ("DataFrame", "Series")
    return table or isinstance(value, _PLAIN)
