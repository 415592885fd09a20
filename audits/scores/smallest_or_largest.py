"""The smallest or the largest number of an output: shows a leak in any one of many coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Extreme:
    """The smallest or the largest number, as ``end`` says; NaN is neither."""

    end: str

    @property
    def words(self) -> str:
        """The score's name in an inequality."""
        return f"{self.end} number of the output"

    def __call__(self, outputs: Floats) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""
        end = np.fmin if self.end == "smallest" else np.fmax
        return np.asarray(end.reduce(outputs, axis=1))
