"""Minimax objectives with per-record gradients and closed forms: the problem of a name is the file of that name."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.errors import require_known, require_seed

if TYPE_CHECKING:
    from dpcheck.algorithms.problem import Problem


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
    require_seed(seed)
    instance: Problem = problem_class(name).example(np.random.default_rng(seed))
    return instance
