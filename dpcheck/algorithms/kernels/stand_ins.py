"""Stand-ins for the kernels of an objective that an algorithm never calls."""

from __future__ import annotations

import numpy as np

from dpcheck.algorithms.kernels.jit import (
    ASCENT_SIGNATURE,
    BASE_SIGNATURE,
    DIFFERENCE_SIGNATURE,
    MEAN_SIGNATURE,
    kernel,
)


@kernel(MEAN_SIGNATURE)
def no_mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Stand in where an algorithm takes no means: compiled at once, and all NaN if one is taken after all."""
    for i in range(out.size):
        out[i] = np.nan


@kernel(DIFFERENCE_SIGNATURE)
def no_difference(gradient, data, new, old, batch, clip, out):  # type: ignore[no-untyped-def]
    """Stand in where an algorithm takes no differences: compiled at once, and all NaN if one is taken after all."""
    for i in range(out.size):
        out[i] = np.nan


@kernel(ASCENT_SIGNATURE)
def no_ascent(gradient, mean, data, index, steps, clip, point, g):  # type: ignore[no-untyped-def]
    """Stand in where an algorithm climbs by itself: compiled at once, and all NaN if it is called after all."""
    for i in range(point.size):
        point[i] = np.nan


@kernel(BASE_SIGNATURE)
def no_base(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Stand in where an algorithm calls no base solver: it has not arrived if it is called after all."""
    return -1
