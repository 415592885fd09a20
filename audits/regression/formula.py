"""Formulas of a table's columns, such as ``log(n)`` or ``sqrt(d) / n``, evaluated without executing anything else."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import InputError, one_line, require

_OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {"log": np.log, "sqrt": np.sqrt, "exp": np.exp}
_LONGEST = 400  # characters: no formula of columns is longer, and Python's parser and stack have limits


def evaluate(text: str, columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the value of ``text`` at every row, (rows,).

    Parameters
    ----------
    text : str
        Column names, numbers, ``+ - * / ^``, brackets, ``log`` (natural), ``sqrt``, ``exp``.
    columns : mapping of str to array (rows,)
        What the names stand for.

    Raises
    ------
    InputError
        For anything else, naming it.
    """
    require(len(text) <= _LONGEST, "a formula", f"have at most {_LONGEST} characters", len(text))
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"a formula must be one expression, got {one_line(text)[:80]!r}") from error
    with np.errstate(all="ignore"):
        value = np.asarray(_value(tree, columns, text), dtype=float)
    rows = len(next(iter(columns.values())))
    return np.broadcast_to(value, (rows,)).astype(float)


def _value(node: ast.expr, columns: Mapping[str, Any], text: str) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return np.float64(node.value)  # NumPy's powers and quotients never raise
    if isinstance(node, ast.Name):
        require(node.id in columns, "a formula", f"name columns among {list(columns)}", node.id)
        return columns[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left, columns, text), _value(node.right, columns, text))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, columns, text)
    single = isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
    if single and isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        return _FUNCTIONS[node.func.id](_value(node.args[0], columns, text))
    known = "columns, numbers, + - * / ^, log, sqrt and exp"
    raise InputError(f"a formula must be made of {known}, got {one_line(text)[:80]!r}")
