"""What the low-order bits of a double reveal: the place of its lowest bit, and whether Laplace noise can produce it.

Textbook Laplace noise on doubles, NumPy's included, is ``-b log(u)`` with either sign, for u on a grid of 2^-53. Away
from the centre the values of that formula lie farther apart than doubles do. Most doubles are then never its outputs,
and which ones are depends on the value to which the noise is added.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Stand for the place of the lowest bit of 0 and of infinite outputs, which have none: beyond that of any double.
_ZERO, _INFINITE = 2000.0, 3000.0
# Steps of u that are tried around the one sought, since the inverse of the formula is rounded.
_NEAR = range(-8, 9)
# The C library's logarithm, as in NumPy's generators; numpy.log may round otherwise.
_LOG = np.frompyfunc(math.log, 1, 1)


def low_bits(outputs: ArrayLike) -> Array:
    """Return (..., 2) of outputs (...): the exponent of the lowest bit set, and the zeros below it in the significand.

    >>> low_bits([1.0, 0.75, 0.1]).tolist()
    [[0.0, 52.0], [-2.0, 51.0], [-55.0, 1.0]]
    """
    values = np.asarray(outputs, float)
    finite = np.isfinite(values)
    fraction, exponent = np.frexp(np.where(finite, np.abs(values), 0.0))
    significand = (fraction * 2.0**53).astype(np.int64)
    zeros = np.frexp((significand & -significand).astype(float))[1] - 1.0
    place = np.where(significand > 0, exponent - 53 + zeros, np.where(finite, _ZERO, _INFINITE))
    return np.stack([place, np.maximum(zeros, -1.0)], axis=-1)


def unreachable(outputs: ArrayLike, centre: ArrayLike, scale: ArrayLike) -> Array:
    """Return 1.0 where no u near the right one gives ``centre -+ scale log(u)`` exactly, else 0.0, for each output."""
    values, middle, b = np.broadcast_arrays(*(np.asarray(each, float) for each in (outputs, centre, scale)))
    with np.errstate(all="ignore"):
        step = np.round(np.exp(-np.abs(values - middle) / b) * 2.0**53)
    found = np.zeros(values.shape, bool)
    for near in _NEAR:
        u = np.clip(np.nan_to_num(step) + near, 1, 2.0**53) * 2.0**-53
        noise = b * np.asarray(_LOG(u), float)
        found |= (middle - noise == values) | (middle + noise == values)
    return np.asarray(np.where(found, 0.0, 1.0))
