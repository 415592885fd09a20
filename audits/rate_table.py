"""A table of measurements, checked and put into the form to which a power law is fitted."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import Floats, real_numbers
from dpcheck.errors import InputError, one_line, require, short

if TYPE_CHECKING:
    import pandas as pd

_TO_ZERO = frozenset({"epsilon", "delta", "alpha", "mu", "gamma", "rho"})  # rates are claimed as these go to 0
_SAME = 1e-9  # logarithms closer than this are one size
_SQUARED = 1e-150, 1e150  # whose squares are numbers


@dataclass(frozen=True, eq=False)
class Measurements:
    """Measurements, one a row, in an order that does not depend on the order of the table."""

    factors: tuple[str, ...]
    x: Floats  # (rows, factors), logarithms, 0 at the end of the grid where the rate is claimed
    y: Floats  # (rows,), the response
    known: Floats  # (rows,), the logarithm of the known factor
    clusters: NDArray[np.int64]  # (rows,), the independent cluster of each row
    cells: NDArray[np.int64]  # (rows,), equal for rows with the same factors

    @property
    def line(self) -> Floats:
        """The design of a power law, (rows, 1 + factors)."""
        return np.column_stack([np.ones(len(self.x)), self.x])

    def sign(self, factor: int) -> float:
        """Return -1 for a factor that goes to 0, and 1 for one that goes to infinity."""
        return -1.0 if self.factors[factor] in _TO_ZERO else 1.0

    @property
    def independent(self) -> int:
        """The number of independent clusters."""
        return int(self.clusters.max()) + 1

    def sizes(self, factor: int) -> int:
        """Return how many values a factor takes."""
        return 1 + int((np.diff(np.sort(self.x[:, factor])) > _SAME).sum())


def read(
    frame: pd.DataFrame, response: str, factors: Sequence[str], *, cluster: str | None, offset: str | None
) -> Measurements:
    """Read the measurements of a table; raise InputError if no power law can be fitted to it."""
    _check_columns(frame, response, factors, cluster)
    y = _numbers(frame, response)
    largest = float(np.abs(y).max()) if len(y) else 0.0
    good = largest == 0 or _SQUARED[0] <= largest <= _SQUARED[1]
    require(good, response, "be in units in which its squares can be computed", f"{largest:g} as the largest")
    numbers = [_numbers(frame, name) for name in factors]
    for name, values in zip(factors, numbers, strict=True):
        _require_all(values > 0, values, name, "be positive")
    logs = np.log(np.column_stack(numbers))
    to_zero = np.array([name in _TO_ZERO for name in factors])
    x = logs - np.where(to_zero, logs.min(0), logs.max(0))
    for name, column in zip(factors, x.T, strict=True):
        require(float(np.ptp(column)) > _SAME, name, "vary in frame", "one value")
    least = len(factors) + 3
    require(len(x) >= least, "frame", f"have at least {least} rows for {len(factors)} factors", len(x))
    offsets = np.log(known(frame, response, offset))
    labels = _labels(frame, cluster)
    order = np.lexsort([labels, y, offsets, *x.T[::-1]])  # sums are then the same for any order of rows
    x, y, offsets, labels = x[order], y[order], offsets[order], labels[order]
    cells = np.concatenate([[0], np.cumsum((np.abs(np.diff(x, axis=0)) > _SAME).any(1))])
    clusters = np.unique(labels, return_inverse=True)[1].reshape(-1) if cluster else np.arange(len(x))
    table = Measurements(tuple(factors), x, y, offsets, clusters.astype(np.int64), cells.astype(np.int64))
    full = np.linalg.matrix_rank(table.line) == table.line.shape[1]
    require(bool(full), "factors", "vary independently", list(factors))
    return table


def _check_columns(frame: object, response: str, factors: Sequence[str], cluster: str | None) -> None:
    import pandas as pd

    require(isinstance(frame, pd.DataFrame), "frame", "be a pandas DataFrame", type(frame).__name__)
    assert isinstance(frame, pd.DataFrame)
    named = not isinstance(factors, str) and all(isinstance(name, str) for name in factors)
    require(named, "factors", "be several names", factors)
    require(response not in factors, "factors", f"leave out the response {response!r}", list(factors))
    require(len(factors) > 0, "factors", "name at least one column", list(factors))
    require(len(set(factors)) == len(factors), "factors", "be distinct", list(factors))
    require(cluster != response, "cluster", f"not be the response {response!r}", cluster)
    columns = frame.columns.tolist()
    for name in (response, *factors, *([] if cluster is None else [cluster])):
        require(name in columns, "frame", f"have a column {short(name)!r}", columns)
        require(columns.count(name) == 1, "frame", f"have one column {name!r}", "several")
    require(len(frame) > 0, "frame", "have rows", "none")


def _numbers(frame: pd.DataFrame, name: str) -> Floats:
    column = frame[name]
    try:
        # asked for NaN, pandas 2.2 refuses a column of whole numbers
        values: Floats = real_numbers(column.to_numpy(na_value=np.nan) if column.hasnans else column.to_numpy(), name)
    except InputError as error:
        raise InputError(f"{name} must be numeric, got {column.dtype}") from error
    _require_all(np.isfinite(values), values, name, "be finite")
    return values


def _require_all(good: NDArray[np.bool_], values: Floats, name: str, constraint: str) -> None:
    row = int(np.argmin(good))
    require(bool(good.all()), name, constraint, f"{values[row]} at row {row}")


def known(frame: pd.DataFrame, response: str, offset: str | None) -> Floats:
    """Return the known factor of the law, (rows,)."""
    if offset is None:
        return np.ones(len(frame))
    columns = frame.columns.tolist()
    numeric = [
        name for name in columns
        if name != response and columns.count(name) == 1 and frame[name].dtype.kind in "iuf"
    ]  # fmt: skip
    if offset in numeric:
        factor = _numbers(frame, offset)
    else:
        factor = evaluate(offset, {str(name): frame[name].to_numpy(dtype=float) for name in numeric})
    _require_all(np.isfinite(factor) & (factor > 0), factor, f"the offset {offset}", "be positive and finite")
    return factor


def _labels(frame: pd.DataFrame, cluster: str | None) -> NDArray[np.int64]:
    """Return a number for each row's value in the cluster's column, which does not depend on the order of rows."""
    if cluster is None:
        return np.zeros(len(frame), dtype=np.int64)
    import pandas as pd

    codes, values = pd.factorize(frame[cluster], use_na_sentinel=True)
    require(bool((codes >= 0).all()), cluster, "have a value in every row", "a missing one")
    rank = np.argsort(np.argsort([repr(value) for value in values], kind="stable"), kind="stable")
    return np.asarray(rank[codes], dtype=np.int64)


_OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {"log": np.log, "sqrt": np.sqrt, "exp": np.exp}
_LONGEST = 400  # characters: no formula of columns is longer, and Python's parser and stack have limits


def evaluate(text: str, columns: Mapping[str, Floats]) -> Floats:
    """Return the value (rows,) of a formula of columns, numbers, ``+ - * / ^``, brackets, log, sqrt and exp."""
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
