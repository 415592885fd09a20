"""The search for the pair of records whose exchange shows most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import require

Array = NDArray[np.float64]


def farthest_pair(gradients: Array) -> tuple[int, int, float]:
    """The two candidates whose gradients differ most, and the root mean square of the distance.

    gradients : (candidates, points, size), each candidate's gradient at the same points of the
        parameter space, in units of the noise. All pairs are compared.
    """
    require(
        gradients.ndim == 3 and len(gradients) >= 2, "gradients", "have shape (>= 2, points, size)",
        gradients.shape,
    )  # fmt: skip
    flat = gradients.reshape(len(gradients), -1)
    square = (flat * flat).sum(1)
    distance = square[:, None] + square[None, :] - 2 * flat @ flat.T
    i, j = np.unravel_index(np.argmax(distance), distance.shape)
    return int(i), int(j), float(np.sqrt(max(distance[i, j], 0.0) / gradients.shape[1]))
