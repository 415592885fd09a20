"""Comparisons in which NaN is a value like any other: it equals itself, and lies in no tail."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def same(x: Floats, y: Floats) -> NDArray[np.bool_]:
    """Say where x equals y, NaN equal to NaN; the shapes broadcast."""
    return np.asarray((x == y) | ((x != x) & (y != y)))


def among(values: Floats, known: Floats) -> NDArray[np.bool_]:
    """Say which of ``values`` (n,) are among ``known`` (m,), which is sorted with NaN last."""
    if known.size == 0:
        return np.zeros(values.size, bool)
    return same(known[np.minimum(np.searchsorted(known, values), known.size - 1)], values)
