"""The file and line of code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# What holds the package: a checkout, where links lead to `bounds` and `audits`, or site-packages.
_ROOT = Path(__file__).resolve().parent.parent


def place_of(function: Callable[..., Any]) -> str:
    """Return ``"dpcheck/catalogue/yang2022/nseg.py:49"`` for a function, compiled or not; others as `shown_place`."""
    while isinstance(function, partial):
        function = function.func
    function = getattr(function, "py_func", function)
    if not hasattr(function, "__code__") and not inspect.isbuiltin(function):
        function = getattr(function, "__func__", type(function).__call__)  # a method, or an object that can be called
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "" if code is None else shown_place(f"{code.co_filename}:{code.co_firstlineno}")


def shown_place(place: str) -> str:
    """Return ``"FILE:LINE"`` with the file relative to the checkout or the working folder, if it is in one of them."""
    file, _, line = place.rpartition(":")
    path = Path(file).resolve()
    for folder in (_ROOT, Path.cwd()):
        if path.is_relative_to(folder):
            return f"{path.relative_to(folder).as_posix()}:{line}"
    return f"{path.as_posix()}:{line}"
