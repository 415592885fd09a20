"""Which of many cases of a test the ordinary suite runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """All cases; those after the first few are run by the thorough tests alone."""
    return [
        each if place < count else pytest.param(*_values(each), marks=pytest.mark.thorough)
        for place, each in enumerate(cases)
    ]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
