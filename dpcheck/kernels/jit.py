"""How kernels are compiled, and the types they share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit, types
from numba.core.compiler_lock import global_compiler_lock

VECTOR = types.float64[::1]
MATRIX = types.float64[:, ::1]
INDICES = types.int64[::1]
INDEX_MATRIX = types.int64[:, ::1]
STREAM = types.npy_rng

# gradient(params, record, w, v, out_w, out_v): both partial gradients of one record's objective.
# A function *type*: a solver compiles once and takes any problem's gradient.
GRADIENT_SIGNATURE = types.void(VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR)
GRADIENT = types.FunctionType(GRADIENT_SIGNATURE)

# value(params, record, w, v): one record's objective.
VALUE_SIGNATURE = types.float64(VECTOR, VECTOR, VECTOR, VECTOR)

# What a run reads: params, records, domain_w, domain_v, start (w and v in one vector), dim_w.
DATA = types.Tuple((VECTOR, MATRIX, MATRIX, MATRIX, VECTOR, types.int64))

# mean(gradient, data, index, batch, x, clip, out): the sum over ``index`` of the per-record gradients at
# x = (w, v), each block clipped to clip[0] and clip[1], over ``batch``.
MEAN_SIGNATURE = types.void(GRADIENT, DATA, INDICES, types.int64, VECTOR, VECTOR, VECTOR)
MEAN = types.FunctionType(MEAN_SIGNATURE)

# difference(gradient, data, index, x, old_index, old_x, batch, clip, out): likewise for the differences of
# the gradients of records ``index`` at x and of records ``old_index`` at old_x, pair by pair.
DIFFERENCE_SIGNATURE = types.void(GRADIENT, DATA, INDICES, VECTOR, INDICES, VECTOR, types.int64, VECTOR, VECTOR)
DIFFERENCE = types.FunctionType(DIFFERENCE_SIGNATURE)

# What a run writes, see ``dpcheck.kernels.tape``.
TAPE = types.Tuple((INDICES, INDEX_MATRIX, MATRIX, MATRIX, MATRIX, INDICES, MATRIX))

# run(gradient, mean, difference, data, reals, counts, steps, rng, out, tape): one run of an algorithm.
RUN_SIGNATURE = types.void(GRADIENT, MEAN, DIFFERENCE, DATA, VECTOR, INDICES, MATRIX, STREAM, VECTOR, TAPE)
RUN = types.FunctionType(RUN_SIGNATURE)

# base(gradient, data, index, constants, centre, rng, z): solve, over the records ``index``, the saddle problem
#     mean f(w, v) + r_w/2 |w - c_w|^2 - r_v/2 |v - c_v|^2   over the domains, (c_w, c_v) = centre,
# with constants = (l, mu_w, mu_v, r_w, r_v, energy, most): f is l-smooth, mu_w and mu_v are the moduli of the
# whole (with r_w, r_v), and mu_w |w - w*|^2 + mu_v |v - v*|^2 <= energy is certified at the end. ``z`` is the start
# and receives the solution. Returns the number of per-record gradient evaluations, negative if ``most`` of them
# did not suffice. Without v (dim_w = size) it is plain minimisation.
BASE_SIGNATURE = types.int64(GRADIENT, DATA, INDICES, VECTOR, VECTOR, STREAM, VECTOR)
BASE = types.FunctionType(BASE_SIGNATURE)

# phased(base, gradient, data, reals, counts, steps, rng, out, tape): one run of an output-perturbation algorithm.
PHASED_SIGNATURE = types.void(BASE, GRADIENT, DATA, VECTOR, INDICES, MATRIX, STREAM, VECTOR, TAPE)
PHASED = types.FunctionType(PHASED_SIGNATURE)

# Sums may be reordered (that is what makes them fast); infinities and NaN keep their meaning.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def kernel(signature: Any, *, apart: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile for ``signature`` when first needed, without the GIL, cached on disk where any folder can be written.

    ``apart`` : the caller sees to it that no two arrays overlap; a write to one is not looked for in the others
    """

    def compile_(function: Callable[..., Any]) -> Callable[..., Any]:
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": _FASTMATH}
        try:
            compiled: Any = njit(cache=True, **options)(function)
        except RuntimeError as error:  # neither the package nor a user cache can be written
            if "cannot cache" not in str(error):
                raise
            compiled = njit(**options)(function)
        if compiled is not function:  # with NUMBA_DISABLE_JIT it is
            if apart:
                compiled._compiler._customize_flags = _apart
            _stamp(compiled)
            _on_demand(compiled, signature)
        return compiled  # type: ignore[no-any-return]

    return compile_


def _apart(flags: Any) -> Any:
    flags.noalias = True
    return flags


def _on_demand(compiled: Any, signature: Any) -> None:
    """Have the kernel compiled for ``signature``, and nothing else, at its first call, by Python or another kernel.

    A run needs a fraction of the kernels that its imports bring along.
    """
    compile_now = compiled.compile

    def compile_declared(_: Any) -> Any:
        with global_compiler_lock:  # threads may come to a kernel's first call together
            if not compiled.overloads:
                compile_now(signature)
                compiled.disable_compile()
            (found,) = compiled.overloads.values()
            return found.entry_point

    def compile_and_retry(*_: Any, **__: Any) -> Any:
        compile_declared(None)
        return compiled  # is called again, and now checks and converts the arguments

    compiled.compile = compile_declared
    compiled._compile_for_args = compile_and_retry


def _stamp(compiled: Any) -> None:
    """Have the cached code go stale with any file of this folder, and with the kernels called from elsewhere.

    A kernel holds the code of those it calls, and Numba looks at one file only.
    """
    index = _index(compiled)
    if index is not None:
        function = compiled.py_func
        called = (_index(function.__globals__.get(name)) for name in function.__code__.co_names)
        stamps = tuple(other._source_stamp for other in called if other is not None)
        index._source_stamp = (index._source_stamp, _folder_stamp(), stamps)


def _index(compiled: Any) -> Any:
    """Return Numba's index of a kernel's cached code, if it has one."""
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    return index if hasattr(index, "_source_stamp") else None


@cache
def _folder_stamp() -> tuple[tuple[str, float, int], ...]:
    files = sorted(Path(__file__).parent.glob("*.py"))
    return tuple((file.name, file.stat().st_mtime, file.stat().st_size) for file in files)
