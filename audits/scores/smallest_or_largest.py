"""The smallest and the largest number of an output: what one of many does, whichever of them it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Extreme:
    """``end`` is "smallest" or "largest"; NaN is neither."""

    end: str

    @property
    def words(self) -> str:
        """As it appears in an inequality."""
        return f"{self.end} number of the output"

    def __call__(self, outputs: Floats) -> Floats:
        """Values (n,)."""
        end = np.fmin if self.end == "smallest" else np.fmax
        return np.asarray(end.reduce(outputs, axis=1))
