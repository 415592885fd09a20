"""The file and line of the code that a finding is about."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpcheck

if TYPE_CHECKING:
    from dpcheck.bounds.claim import Claim

_PACKAGE = Path(dpcheck.__file__).parent


def place_of(function: Callable[..., Any]) -> str:
    """Return ``"dpcheck/solvers/nseg.py:49"`` for a function, compiled or not, and a full path for others' code."""
    while isinstance(function, partial):
        function = function.func
    code = inspect.unwrap(getattr(function, "py_func", function)).__code__
    file = Path(code.co_filename)
    shown = Path(_PACKAGE.name) / file.relative_to(_PACKAGE) if file.is_relative_to(_PACKAGE) else file
    return f"{shown.as_posix()}:{code.co_firstlineno}"


def place_of_claim(claim: Claim) -> str:
    """Return the place of the function that decides the claim."""
    return place_of(claim.decision)
