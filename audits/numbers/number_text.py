"""Numbers as a sentence or a JSON file holds them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcheck.errors import one_line

# Between these, six digits would round a number before the point.
_LARGE, _WHOLE = 1e5, 1e15


def shown(value: float) -> str:
    """Six digits; all before the point, and of a whole number no others."""
    if not _LARGE <= abs(value) < _WHOLE:
        return f"{value:.6g}"
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def brief(value: Any) -> str:
    """A record or an argument on one line, a long array by its ends."""
    said = np.array2string(value, threshold=6, precision=6) if isinstance(value, np.ndarray) else str(value)
    return one_line(said)


def plain(value: Any) -> Any:
    """A number or lists of numbers as JSON takes them: a word for what is not finite."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def exactly(value: float) -> str:
    """A single value, by which it is known again: with all its digits where six are not enough."""
    return shown(value) if float(shown(value)) == value else repr(float(value))
