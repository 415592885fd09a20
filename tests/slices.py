"""Which of many cases of a test the ordinary suite runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """All cases; those after the first few are run by the thorough tests alone."""
    return [each if place < count else _thorough(each) for place, each in enumerate(cases)]


def _thorough(case: Any) -> Any:
    """Mark a case, which may be a value, a tuple of values or a ``pytest.param``."""
    if hasattr(case, "marks"):
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.thorough], id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.thorough)
