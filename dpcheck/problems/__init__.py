"""Minimax objectives with per-record gradients and closed forms: the problem of a name is the file of that name.

Problems share how records are read and drawn: as arrays that are within their bounds, or an error that names the row.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.arrays import real_numbers
from dpcheck.errors import require, require_known, require_seed, require_work

if TYPE_CHECKING:
    from dpcheck.algorithms.problem import Array, Problem


def _declared(folder: Path) -> dict[str, str]:
    """Return name -> class of the files that declare the problem of their own name; nothing is imported."""
    classes = {}
    for file in sorted(folder.glob("*.py")):
        before, declares, _ = file.read_text("utf-8").partition(f'\n    name: str = "{file.stem}"\n')
        if declares:
            classes[file.stem] = before.rpartition("\nclass ")[2].partition("(")[0]
    return classes


PROBLEMS = _declared(Path(__file__).parent)  # name -> class, in the module of that name


def problem_class(name: str) -> Any:
    """Return the class of the problem of this name; InputError for an unknown one."""
    require_known(name, PROBLEMS, "problem")
    return getattr(importlib.import_module(f"dpcheck.problems.{name}"), PROBLEMS[name])


def example(name: str, *, seed: int = 0) -> Problem:
    """Make a small instance of a problem.

    Parameters
    ----------
    name : str
        One of ``PROBLEMS``; ``dpcheck list`` shows them.
    seed : int
        Seed of its records.

    Returns
    -------
    Problem
        The instance.

    Raises
    ------
    InputError
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> from dpcheck.problems import example
    >>> example("quadratic").records.shape
    (200, 6)
    """
    family = problem_class(name)
    require_seed(seed)
    instance: Problem = family.example(np.random.default_rng(seed))
    return instance


# More than rounding adds to a norm in single precision, and in double precision.
_SINGLE, _DOUBLE = 1e-6, 1e-12


def as_records(value: object, name: str, columns: int | None = None) -> Array:
    """Return a finite C-ordered float64 matrix with at least one row, or an error naming ``name``."""
    array = np.ascontiguousarray(real_numbers(value, name))
    require(array.ndim == 2, name, "have shape (n, k)", f"shape {array.shape}")
    require(array.shape[0] >= 1, name, "hold at least one record", f"shape {array.shape}")
    if columns is not None:
        require(array.shape[1] == columns, name, f"have {columns} columns", array.shape[1])
    bad = np.argwhere(~np.isfinite(array))
    if bad.size:
        row, column = bad[0]
        require(False, name, "be finite", f"{array[row, column]} at row {row}, column {column}")
    return array


def bounded_rows(records: object, bound: float, columns: int | None = None) -> Array:
    """Return records of Euclidean norm at most ``bound``."""
    return within_bound(as_records(records, "records", columns), bound, "records", "|z|")


def bounded_pairs(records: object, bound: float) -> Array:
    """Return records (b, c), of an even number of columns, whose halves have Euclidean norm at most ``bound``."""
    rows = as_records(records, "records")
    require(rows.shape[1] % 2 == 0, "records", "have an even number of columns", rows.shape)
    return within_bound(rows.reshape(len(rows), 2, -1), bound, "records", "|b|, |c|").reshape(rows.shape)


def within_bound(vectors: Array, bound: float, name: str, what: str) -> Array:
    """Return vectors (..., k) of norm at most ``bound``, named ``what``; one that rounding put outside is shortened.

    Rows that were divided by their norm in single precision may be longer by a few units of their last place. Each is
    brought back by itself, so that replacing one record still changes one row.
    """
    sizes = np.abs(vectors[..., 0]) if vectors.shape[-1] == 1 else np.linalg.norm(vectors, axis=-1)
    largest = float(sizes.max())
    require(largest <= bound * (1 + _SINGLE), name, f"have {what} <= {bound}", largest)
    over = sizes > bound * (1 + _DOUBLE)
    return vectors / np.where(over, sizes / bound, 1.0)[..., None] if over.any() else vectors


def sphere(n: int, d: int, rng: np.random.Generator, radius: float = 1.0) -> Array:
    """Draw ``n`` records uniform on the sphere of this radius, +-radius where d = 1, of mean 0 : (n, d)."""
    require_work(n, "n")
    require_work(d, "d")
    rows = rng.standard_normal((n, d))
    return np.asarray(radius * rows / np.linalg.norm(rows, axis=1, keepdims=True))
