"""Base solvers that differ in the solver inside them alone."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import BASE_SIGNATURE, kernel
from dpcheck.algorithms.kernels.saddle import MOST, Goal, Operator, confine, full


def with_inner(loop: Callable[..., Any], inner: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the base solver of this name: ``loop`` around ``inner``, a kernel with a cache of its own.

    Numba compiles a function with the names of its module; ``inner`` is therefore added to a copy of them.
    """
    copied = FunctionType(loop.__code__, {**loop.__globals__, "inner": inner}, name)
    copied.__qualname__ = name  # which names the file in the cache
    copied.__doc__ = loop.__doc__
    return kernel(BASE_SIGNATURE)(copied)


def after_a_pass(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Make a pass over the records at the start, then go to the solution by ``inner``."""
    confine(data, z)
    if index.size > constants[MOST]:
        return -1
    g, left, nothing = np.empty(z.size), constants.copy(), np.zeros(2)
    count = full(gradient, data, index, constants, centre, z, g)
    left[MOST] -= count
    operator, goal = Operator(data, gradient, index, left, centre), Goal(nothing, z)
    more = inner(operator, goal, rng, z, g)  # type: ignore[name-defined]  # noqa: F821
    return count + more if more >= 0 else -(count + ~more)
