"""Compiled code of solvers and audits: one decorator, one folder that keeps what it compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

try:
    from dpcheck.compiled import numba_private
except ImportError:  # a version of Numba that has moved them
    numba_private = None  # type: ignore[assignment]

Function = TypeVar("Function", bound=Callable[..., Any])


def njit(*signatures: Any, apart: bool = False, **options: Any) -> Callable[[Function], Function]:
    """Compile for ``signatures`` at the first call, by Python or by another kernel, and keep the code on disk.

    Python calls the first signature. A version of Numba that lacks what :mod:`dpcheck.compiled.numba_private` needs
    compiles at import, and keeps nothing.

    ``apart`` : the caller sees to it that no two arrays overlap; a write to one is not looked for in the others
    """

    def compile_(function: Function) -> Function:
        compiled: Any = numba.njit(**options)(function)
        if not hasattr(compiled, "py_func"):  # with NUMBA_DISABLE_JIT
            return function
        if numba_private is None or numba_private.missing(compiled):
            return cast(Function, numba.njit(list(signatures), **options)(function))
        if apart:
            numba_private.assume_apart(compiled)
        numba_private.keep_on_disk(compiled, signatures, apart)
        numba_private.compile_on_demand(compiled, signatures)
        return cast(Function, compiled)

    return compile_
