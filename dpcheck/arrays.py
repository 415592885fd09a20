"""Numbers that users hand over or return, read without loss: nothing is cut off, filled in or guessed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import InputError, raised, require

Floats = NDArray[np.float64]


def real_numbers(value: Any, name: str, *, verb: str = "hold") -> Floats:
    """Return numbers of any shape as float64; InputError for what NumPy would drop: imaginary parts, masks, words."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"{name} must {verb} numbers, got {unread(value, error)}") from error
    masked = isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)
    require(not masked, name, f"{verb} no masked numbers", "an array with a mask")
    require(array.dtype.kind != "c", name, f"{verb} real numbers, complex ones as two", array.dtype)
    require(array.dtype.kind in "biufO", name, f"{verb} numbers", f"{type(value).__name__} of {array.dtype}")
    try:
        return array.astype(np.float64, copy=False)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{name} must {verb} numbers, got {raised(error)}") from error


def unread(value: Any, error: Exception) -> str:
    """Say what NumPy could not read as one array, and what to do; the library's own words where that is not known."""
    parts = list(value) if isinstance(value, list | tuple) else [value]
    if any(getattr(part, "requires_grad", False) is True for part in parts):
        return f"a {type(parts[0]).__name__} that requires its gradient: return it.detach()"
    if "inhomogeneous" in str(error):
        return "parts of different shapes: flatten them and return one array"
    if "BFloat16" in str(error):
        return f"a {type(parts[0]).__name__} of bfloat16, which NumPy has not: return it.float()"
    return raised(error)


def returned_numbers(function: Callable[..., Any], name: str, *arguments: Any) -> Floats:
    """Call somebody's function, and return its numbers as float64; InputError where it raises or ends the process."""
    try:
        value = function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() too
        raise InputError(f"{name} must return numbers, got {raised(error)}") from error
    return real_numbers(value, name, verb="return")


def widened(values: NDArray[Any], other: Any) -> NDArray[Any]:
    """Return a copy that can hold ``other`` too, as exactly as it is given: fractions among whole numbers."""
    return values.astype(np.result_type(values.dtype, np.asarray(other).dtype))
