"""Numbers as a sentence or a JSON file holds them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcheck.errors import one_line

# Between these, six digits would round a number before the point.
_LARGE, _WHOLE = 1e5, 1e15


def shown(value: float) -> str:
    """Write a number with six digits; with all its digits before the point, and none after it for a whole number."""
    if not _LARGE <= abs(value) < _WHOLE:
        return f"{value:.6g}"
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def brief(value: Any) -> str:
    """Write a record or an argument on one line, a long array by its two ends."""
    said = np.array2string(value, threshold=6, precision=6) if isinstance(value, np.ndarray) else str(value)
    return one_line(said)


def plain(value: Any) -> Any:
    """Return a number, or lists of numbers, as JSON takes them: a word in place of what is not finite."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def exactly(value: float) -> str:
    """Write a value so that it can be recognised: with all its digits where six do not identify it."""
    return shown(value) if float(shown(value)) == value else repr(float(value))
