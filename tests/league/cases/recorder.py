"""Six patterns of faults in released libraries, and a correct count, after the reduced examples of dp-recorder.

An output whose length depends on the data is padded with NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from league.case import Case

SOURCE = "Cebere, Erb, Desfontaines, Bellet and Fitzsimons, Privacy in theory, bugs in practice (arXiv 2602.17454)"
CLAIMED, LIMIT = 1.0, 5.0


def double_spending(data: Any, rng: Any, size: int) -> Any:
    """Sum and count, each with the whole budget."""
    return np.array([np.sum(data), len(data)]) + rng.laplace(size=(size, 2))


def no_scale(data: Any, rng: Any, size: int) -> Any:
    """A sum whose scale came out as 0."""
    return np.sum(data) + 0.0 * rng.laplace(size=size)


def unclipped(data: Any, rng: Any, size: int) -> Any:
    """The sum of the records as they are, with noise for clipped ones."""
    return np.sum(data) + rng.laplace(scale=LIMIT, size=size)


def private_size(data: Any, rng: Any, size: int) -> Any:
    """A noisy sum over the exact number of records."""
    return (np.sum(np.clip(data, -1, 1)) + rng.laplace(size=size)) / len(data)


def domain_from_data(data: Any, rng: Any, size: int) -> Any:
    """Noisy counts of the values that are there."""
    values, counts = np.unique(data, return_counts=True)
    out = np.full((size, 3), np.nan)
    out[:, : len(values)] = counts + rng.laplace(scale=len(values), size=(size, len(values)))
    return out


def not_a_number(data: Any, rng: Any, size: int) -> Any:
    """A clipped sum, where NaN is not clipped."""
    return np.sum(np.clip(data, -LIMIT, LIMIT)) + rng.laplace(scale=LIMIT, size=size)


def count(data: Any, rng: Any, size: int) -> Any:
    """The correct one."""
    return np.sum(np.asarray(data) == 1) + rng.laplace(size=size)


def cases() -> Iterator[Case]:
    """Return the patterns."""
    for name, draw, data, neighbour, truth in (
        ("double spending", double_spending, np.zeros(100), np.append(np.zeros(100), 1.0), 2.0),
        ("noise of scale 0", no_scale, [1.0, 1.0], [1.0], math.inf),
        ("sum not clipped", unclipped, [1.0, -2.0, 3.0], [1.0, -2.0, 100.0], 97 / LIMIT),
        ("size not protected", private_size, [0.5] * 3, [0.5] * 2, math.inf),
        ("domain from the data", domain_from_data, [0, 1, 2, 0], [0, 1, 0], math.inf),
        ("NaN not clipped", not_a_number, [1.0, 2.0], [1.0, math.nan], math.inf),
        ("correct count", count, [0, 1, 1, 0], [0, 1, 0], CLAIMED),
    ):
        yield Case(f"recorder {name}", draw, data, neighbour, CLAIMED, truth, truth > CLAIMED, SOURCE)
