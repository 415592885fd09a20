"""Where the numbers of a schedule may lie: one line of error for a value that cannot be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcheck.errors import require, require_count, require_positive

# Called with a value, its name and the schedule; raises InputError.
Domain = Callable[[Any, str, Any], None]


def anything(value: Any, name: str, schedule: Any) -> None:
    """Any value."""


def positive(value: Any, name: str, schedule: Any) -> None:
    """A finite number above zero."""
    require_positive(value, name)


def whole(value: Any, name: str, schedule: Any) -> None:
    """A whole number of at least one."""
    require_count(value, name)


def not_negative(value: Any, name: str, schedule: Any) -> None:
    """A whole number of at least zero."""
    require_count(value, name, least=0)


def length(value: Any, name: str, schedule: Any) -> None:
    """A whole number small enough that a computer may have memory for as many."""
    require_count(value, name)
    require_length(value, name)


def records(value: Any, name: str, schedule: Any) -> None:
    """A whole number of at least one, and no more than there are records."""
    require_count(value, name)
    n = schedule.sizes.n
    require(value <= n, name, f"be at most the number of records, {n}", value)


def share(value: Any, name: str, schedule: Any) -> None:
    """A number in (0, 1)."""
    _number(value, name, "lie in (0, 1)")
    require(0 < value < 1, name, "lie in (0, 1)", value)


def norm(value: Any, name: str, schedule: Any) -> None:
    """A number above zero, or infinity for no clipping."""
    if value != math.inf:
        _number(value, name, "be > 0")
        require(0 < value < math.inf, name, "be > 0", value)


def finite_norm(value: Any, name: str, schedule: Any) -> None:
    """A finite number above zero that gradients are clipped to."""
    _number(value, name, "be finite and > 0")
    require(0 < value < math.inf, name, "be finite and > 0", value)


def one_of(*words: str) -> Domain:
    """One of these words."""

    def domain(value: Any, name: str, schedule: Any) -> None:
        require(value in words, name, f"be one of {', '.join(words)}", value)

    return domain


def require_length(value: int, name: str) -> None:
    """Require a whole number small enough that a computer may have memory for as many."""
    require(value < 2**48, name, "be below 2^48", value)


def _number(value: object, name: str, constraint: str) -> None:
    good = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    require(good, name, constraint, repr(value) if isinstance(value, str) else value)
