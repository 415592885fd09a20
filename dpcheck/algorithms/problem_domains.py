"""Domains as the kernels read them: products of balls, boxes and simplices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcheck.algorithms.kernels.parts import BALL, BOX, SIMPLEX

Array = NDArray[np.float64]


def ball(size: int, radius: float) -> Array:
    """The Euclidean ball of this radius in ``size`` dimensions."""
    return np.array([[0.0, size, BALL, radius]])


def blocks(*parts: tuple[int, int, float]) -> Array:
    """Product of consecutive blocks ``(size, kind, radius)``."""
    rows, start = [], 0
    for size, kind, radius in parts:
        rows.append([start, start + size, kind, radius])
        start += size
    return np.array(rows, dtype=float)


__all__ = ["BALL", "BOX", "SIMPLEX", "Array", "ball", "blocks"]  # the kinds are passed on from the kernels
