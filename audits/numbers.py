"""Numbers in outputs: NaN as a value, the low-order bits of a double, and how a sentence or a file writes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.errors import one_line

Floats = NDArray[np.float64]


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


# What the low-order bits of a double reveal: the place of its lowest bit, and whether Laplace noise can produce it.
# Textbook Laplace noise on doubles, NumPy's included, is ``-b log(u)`` with either sign, for u on a grid of 2^-53. Away
# from the centre the values of that formula lie farther apart than doubles do. Most doubles are then never its outputs,
# and which ones are depends on the value to which the noise is added.

# Steps of u that are tried around the one sought, since the inverse of the formula is rounded.
_NEAR_STEPS = range(-8, 9)
# The C library's logarithm, as in NumPy's generators; numpy.log may round otherwise.
_LOG = np.frompyfunc(math.log, 1, 1)


def unreachable(outputs: ArrayLike, centre: ArrayLike, scale: ArrayLike) -> Floats:
    """Return 1.0 where no u near the right one gives ``centre -+ scale log(u)`` exactly, else 0.0, for each output."""
    values, middle, b = np.broadcast_arrays(*(np.asarray(v, float) for v in (outputs, centre, scale)))
    with np.errstate(all="ignore"):
        step = np.round(np.exp(-np.abs(values - middle) / b) * 2.0**53)
    reached = np.zeros(values.shape, bool)
    for near in _NEAR_STEPS:
        u = np.clip(np.nan_to_num(step) + near, 1, 2.0**53) * 2.0**-53
        noise = b * np.asarray(_LOG(u), float)
        reached |= (middle - noise == values) | (middle + noise == values)
    return np.asarray(np.where(reached, 0.0, 1.0))


def tallied(ordered: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the distinct numbers of a sorted array, and how often each occurs."""
    before = ordered[:-1]
    last = np.flatnonzero(np.append((ordered[1:] != before) & (before == before), True))  # NaN comes last
    return ordered[last], np.diff(last, prepend=-1)
