"""How kernels are compiled, and the types they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types

VECTOR = types.float64[::1]
MATRIX = types.float64[:, ::1]
INDICES = types.int64[::1]
INDEX_MATRIX = types.int64[:, ::1]
STREAM = types.npy_rng

# gradient(params, record, w, v, out_w, out_v): both partial gradients of one record's objective.
# A function *type*: a solver compiles once and takes any problem's gradient.
GRADIENT_SIGNATURE = types.void(VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR)
GRADIENT = types.FunctionType(GRADIENT_SIGNATURE)

# Sums may be reordered (that is what makes them fast); infinities and NaN keep their meaning.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def kernel(signature: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile for ``signature``, without the GIL, cached on disk where any folder can be written."""

    def compile_(function: Callable[..., Any]) -> Callable[..., Any]:
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": _FASTMATH}
        try:
            compiled: Callable[..., Any] = njit(signature, cache=True, **options)(function)
        except RuntimeError as error:  # neither the package nor a user cache can be written
            if "cannot cache" not in str(error):
                raise
            compiled = njit(signature, **options)(function)
        return compiled

    return compile_
