"""Numba's compiler for kernels that are compiled where they are defined, with a cache that heals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def njit(*signature: Any, **options: Any) -> Callable[[Function], Function]:
    """Compile as ``numba.njit`` does; where a cache file is damaged, throw the function's away and compile again.

    Numba stops with the error of ``pickle`` or of LLVM, at each import until somebody deletes the file.
    """

    def decorate(function: Function) -> Function:
        try:
            return _jitted(function, signature, options)
        except Exception:
            if not options.get("cache"):
                raise
        try:
            _jitted(function, (), {"cache": True})._cache.flush()  # type: ignore[attr-defined]
            return _jitted(function, signature, options)
        except Exception:  # a folder that cannot be written, or an error in the function itself, which comes out here
            return _jitted(function, signature, {**options, "cache": False})

    return decorate


def _jitted(function: Function, signature: tuple[Any, ...], options: dict[str, Any]) -> Function:
    compiled: Function = numba.njit(*signature, **options)(function)
    return compiled
