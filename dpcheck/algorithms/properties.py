"""Properties that many problems have, each made of one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def fields_read(*names: str) -> Any:
    """Return the property ``params`` of a problem whose kernels read these fields, in this order."""
    return property(lambda problem: np.array([getattr(problem, name) for name in names], float))


def columns(count: Callable[[int], int]) -> Any:
    """Return a property that computes a dimension from the number of columns of the records."""
    return property(lambda problem: count(int(problem.records.shape[1])))
