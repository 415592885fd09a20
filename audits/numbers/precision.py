"""The precision of numbers at hand: float64, float32, float16 or bfloat16, told from the values that they can hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DOUBLE, SINGLE, HALF, BRAIN = 53, 24, 11, 8


def precision(values: Array) -> int:
    """Return the bits of the significand of the narrowest float format that holds all the values exactly.

    >>> precision(np.array([0.1])), precision(np.array([np.float32(0.1)], float))
    (53, 24)
    """
    return next((bits for bits in (BRAIN, HALF, SINGLE) if np.array_equal(rounded(values, bits), values)), DOUBLE)


def rounded(values: Array, bits: int) -> Array:
    """Round to the nearest number with so many bits in its significand; float16 also to its least step, 2^-24."""
    _, exponent = np.frexp(values)
    if bits <= HALF and bits != BRAIN:
        exponent = np.maximum(exponent, bits - SINGLE)
    step = np.ldexp(1.0, exponent - bits)
    return np.asarray(np.round(values / step) * step)
