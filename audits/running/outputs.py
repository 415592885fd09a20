"""The outputs of a mechanism as numbers, and the error of a run that returns none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import unread
from dpcheck.audits.running.run_plan import SIDES
from dpcheck.errors import InputError, require

Floats = NDArray[np.float64]


class RunError(InputError):
    """A run failed; ``ran`` counts the runs before it in the same call to the runner."""

    def __init__(self, said: str, ran: int) -> None:
        super().__init__(said, ran)
        self.ran = ran

    def __str__(self) -> str:
        """Return what happened in that run."""
        return str(self.args[0])

    def on(self, sides: Sequence[int], without: Sequence[int]) -> InputError:
        """Return the error with the datasets it happened on, and the runs on each dataset that did not fail."""
        if not any(without):  # it never worked
            return InputError(str(self))
        return InputError(
            f"{self}, on {' and '.join(SIDES[side] for side in sides)}, after {without[0]} runs on data and "
            f"{without[1]} on neighbour that did not fail; failing more often on one dataset tells the two apart: "
            "return nan for a failed run to have that audited"
        )


def numbers(result: Any) -> Floats:
    """Return the output as float64; infinite values and NaN are values."""
    try:
        array = np.asarray(result)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"mechanism must return a number or an array, got {unread(result, error)}") from error
    require(array.dtype.kind != "c", "mechanism", "return complex numbers as real and imaginary parts", array.dtype)
    numeric = array.dtype.kind in "biuf" and array.size > 0
    shown = f"{type(result).__name__} of {array.dtype}" if array.size else "an empty array"
    require(numeric, "mechanism", "return a number or an array of numbers", shown)
    require(not isinstance(result, np.ma.MaskedArray), "mechanism", "return an array without a mask", "a masked array")
    with np.errstate(invalid="ignore"):
        floats = array.astype(np.float64)
        kept = array.dtype.kind not in "iu" or bool((floats.astype(array.dtype) == array).all())
    require(
        kept, "mechanism",
        "return whole numbers below 2^53, larger ones as high and low parts", "some that a float64 rounds",
    )  # fmt: skip
    return floats


def require_one_shape(first: tuple[int, ...], other: tuple[int, ...]) -> None:
    """Require all runs to return outputs of one shape."""
    require(first == other, "mechanism", "return outputs of one shape (padded with nan)", f"{first} and {other}")
