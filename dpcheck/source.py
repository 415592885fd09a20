"""The file and line of code."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

# What holds the package: a checkout, where links lead to `bounds` and `audits`, or site-packages.
_ROOT = Path(__file__).resolve().parent.parent
_DEEPEST = 20  # wrappers around a function


def code_of(function: Any) -> CodeType | None:
    """Return the Python code that a call of a function runs, compiled or wrapped or not; None where it has none."""
    for _ in range(_DEEPEST):
        if isinstance(function, partial):
            function = function.func
            continue
        # compiled by numba, wrapped, a method
        inner = next((name for name in ("py_func", "__wrapped__", "__func__") if hasattr(function, name)), None)
        if inner is not None:
            function = getattr(function, inner)
        elif hasattr(function, "__code__") or inspect.isroutine(function) or not callable(function):
            break
        else:
            function = type(function).__call__
    return getattr(function, "__code__", None)


def docstring(documented: Any) -> str:
    """Return the docstring of a function or module, from its file where ``python -OO`` has dropped it."""
    if documented.__doc__ or sys.flags.optimize < 2:
        return documented.__doc__ or ""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(documented)))
    except (OSError, SyntaxError):  # typed at a prompt
        return ""
    node = tree if inspect.ismodule(documented) else tree.body[0]
    return (ast.get_docstring(node) or "") if isinstance(node, ast.Module | ast.FunctionDef) else ""


def place_of(function: Callable[..., Any], line: int = 0) -> str:
    """Return ``"dpcheck/catalogue/yang2022/nseg.py:49"`` for a function or a line of it; nothing for what was typed."""
    code = code_of(function)
    if code is None or not Path(code.co_filename).is_file():  # as at a prompt, and in a notebook
        return ""
    return shown_place(f"{code.co_filename}:{line or code.co_firstlineno}")


def place_of_theorem(statement: Any) -> str | None:
    """Return the place of a theorem among a module's ``THEOREMS``: the line of its id, or of the first one there."""
    for module in list(sys.modules.values()):
        named = vars(module).get("THEOREMS", ())
        if any(one is statement for one in (named if isinstance(named, tuple) else ())):
            file = Path(str(module.__file__))
            lines = file.read_text("utf-8").splitlines()
            ids = [number for number, text in enumerate(lines, 1) if f'id="{statement.id}"' in text]
            made = [number for number, text in enumerate(lines, 1) if "Theorem(" in text]
            return shown_place(f"{file}:{(ids or made or [1])[0]}")
    return None


def shown_place(place: str) -> str:
    """Return ``"FILE:LINE"`` with the file relative to the checkout or the working folder, if it is in one of them."""
    file, _, line = place.rpartition(":")
    path = Path(file).resolve()
    for folder in (_ROOT, Path.cwd()):
        if path.is_relative_to(folder):
            return f"{path.relative_to(folder).as_posix()}:{line}"
    return f"{path.as_posix()}:{line}"
