"""Records of users as audits compute on them: arrays of torch and JAX become NumPy's, and turn back for the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpcheck.audits.running.foreign_arrays import as_numpy
from dpcheck.errors import require


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
    found = as_numpy(records)
    if found is not None:
        return Records(*found)
    kind = type(records).__name__
    require(not hasattr(records, "to_numpy"), name, "be an array or a list", f"{kind}: take its to_numpy()")
    ordered = hasattr(records, "__len__") and hasattr(records, "__getitem__") and not isinstance(records, Mapping | str)
    require(ordered, name, "be an array or a list", kind)
    return Records(records)
