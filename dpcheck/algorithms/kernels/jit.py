"""How kernels are compiled; what they are given and what they write, by name; and the types of both.

Numba compiles a NamedTuple to its fields, so that a name costs nothing. One type of run serves all algorithms, whose
numbers therefore travel as vectors (:class:`Numbers`); :func:`named` gives them the names of the algorithm back.
"""

from collections.abc import Callable
from functools import partial, reduce
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_type_hints

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from dpcheck.compiled import njit

Vector = NDArray[np.float64]
Matrix = Annotated[NDArray[np.float64], "two axes"]
Indices = NDArray[np.int64]
IndexMatrix = Annotated[NDArray[np.int64], "two axes"]
Gradient = Annotated[Callable[..., Any], "gradient"]
AnyNames = TypeVar("AnyNames", bound=tuple[Any, ...])


class Data(NamedTuple):
    """The objective's numbers: public constants (p,), records (n, k), domains (blocks, 4) and start (d_w + d_v,)."""

    params: Vector
    records: Matrix
    domain_w: Matrix
    domain_v: Matrix
    start: Vector  # w and v in one vector
    dim_w: int


class Place(NamedTuple):
    """Which records' gradients are taken, and at which point (w, v)."""

    chosen: Indices
    x: Vector


class Objective(NamedTuple):
    """The objective as a run sees it: its data and its kernels, of the types below.

    ``base`` solves subproblems for the algorithms that perturb outputs; they take no means, and the others no base.
    """

    data: Data
    gradient: Gradient
    mean: Callable[..., Any]
    difference: Callable[..., Any]
    ascent: Callable[..., Any]
    base: Callable[..., Any]


class Numbers(NamedTuple):
    """The numbers of an algorithm: real and whole ones in the order of its own NamedTuples, and a row a step."""

    reals: Vector
    counts: Indices
    steps: Matrix


class Tape(NamedTuple):
    """What a run writes down; ``dpcheck.algorithms.kernels.tape`` says how.

    cursor : (7,) counts the releases, the minibatches, the marks and a base solver's gradient evaluations
        so far; it holds the mode, how the run ended, and the iteration whose x it returned (-1 where it does not say)
    drawn : (rows, capacity) int64, the records of each minibatch, padded with -1
    clean, released : (rows, size), every private quantity before and after its noise, zero-padded
    noise : (rows, 2), the standard deviation of that noise, and the sensitivity it is meant for
    marks, path : the iterations (increasing) at which the iterate is kept, and these iterates
    """

    cursor: Indices
    drawn: IndexMatrix
    clean: Matrix
    released: Matrix
    noise: Matrix
    marks: Indices
    path: Matrix


class Play(NamedTuple):
    """What a run needs beside the objective: numbers, a stream and a tape."""

    numbers: Numbers
    rng: np.random.Generator
    tape: Tape


def named(names: type[AnyNames], vector: NDArray[Any]) -> AnyNames:
    """Read a vector as this NamedTuple, one entry a field."""
    return names(*vector)


@overload(named)
def _named(names, vector):  # type: ignore[no-untyped-def]
    # Numba compiles no call with an array behind the star, so the entries are written out
    entries = ", ".join(f"vector[{place}]" for place in range(len(names.instance_class._fields)))
    return eval(f"lambda names, vector: make({entries})", {"make": names.instance_class})


_TYPES: dict[Any, Any] = {
    Vector: types.float64[::1], Matrix: types.float64[:, ::1], Indices: types.int64[::1],
    IndexMatrix: types.int64[:, ::1], np.random.Generator: types.npy_rng, float: types.float64, int: types.int64,
}  # fmt: skip


def _typed(kind: Any) -> Any:
    """Return Numba's type of what is annotated by ``kind``, for a NamedTuple that of its fields."""
    if kind in _TYPES:
        return _TYPES[kind]
    fields = get_type_hints(kind, include_extras=True).values() if isinstance(kind, type) else get_args(kind)
    return types.BaseTuple.from_types([_typed(field) for field in fields], kind if isinstance(kind, type) else None)


# What a signature may name beside Numba's types and those of the kernel's file.
_NAMES: dict[str, Any] = {
    "vector": _TYPES[Vector], "matrix": _TYPES[Matrix], "indices": _TYPES[Indices], "stream": types.npy_rng,
    "single_vector": types.float32[::1], "single_matrix": types.float32[:, ::1], "index_matrix": _TYPES[IndexMatrix],
    "data": _typed(Data), "place": _typed(Place), "numbers": _typed(Numbers), "tape": _typed(Tape),
    "play": _typed(Play),
}  # fmt: skip


def _named_type(name: str, scope: dict[str, Any]) -> Any:
    """Return the type that a signature names, where ``scope`` holds the names of the kernel's file."""
    if name in _NAMES or hasattr(types, name):
        return _NAMES.get(name) or getattr(types, name)
    top, *inner = name.split(".")
    if top not in scope:
        raise NameError(f"a kernel's signature may name types of Numba, {', '.join(_NAMES)} and its file's, got {name}")
    kind = reduce(getattr, inner, scope[top])
    return _typed(kind) if isinstance(kind, type) else kind


def _signature(text: str, scope: dict[str, Any]) -> Any:
    """Return what a text such as ``"void(vector, float64)"`` spells, or the signature of a function type's name."""
    result, call, arguments = text.rstrip(")").partition("(")
    kind = _named_type(result, scope)
    return kind(*(_named_type(name.strip(), scope) for name in arguments.split(","))) if call else kind.signature


def _function(name: str, signature: str) -> Any:
    """Name the type of the functions with this signature: a solver compiles once and takes any problem's gradient."""
    _NAMES[name] = types.FunctionType(_signature(signature, {}))
    return _NAMES[name]


# gradient(params, record, w, v, out_w, out_v): both partial gradients of one record's objective.
_TYPES[Gradient] = _function("gradient", "void(vector, vector, vector, vector, vector, vector)")

# value(params, record, w, v): one record's objective.
_function("value", "float64(vector, vector, vector, vector)")

# mean(gradient, data, index, batch, x, clip, out): the sum over ``index`` of the per-record gradients at
# x = (w, v), each block clipped to clip[0] and clip[1], over ``batch``.
_function("mean", "void(gradient, data, indices, int64, vector, vector, vector)")

# difference(gradient, data, new, old, batch, clip, out): likewise for the differences of the gradients at two places,
# of as many records, pair by pair.
_function("difference", "void(gradient, data, place, place, int64, vector, vector)")

# ascent(gradient, mean, data, index, steps, clip, point, g): a projected step up in v of ``point`` = (w, v) for each of
# ``steps``, by the mean over ``index`` of the gradients, clipped to clip[1]; w stays, and ``g`` is room for a gradient.
_function("ascent", "void(gradient, mean, data, indices, vector, vector, vector, vector)")

# base(gradient, data, index, constants, centre, rng, z): solve, over the records ``index``, the saddle problem
#     mean f(w, v) + r_w/2 |w - c_w|^2 - r_v/2 |v - c_v|^2   over the domains, (c_w, c_v) = centre,
# with constants = (l, mu_w, mu_v, r_w, r_v, energy, most): f is l-smooth, mu_w and mu_v are the moduli of the
# whole (with r_w, r_v), and mu_w |w - w*|^2 + mu_v |v - v*|^2 <= energy is certified at the end. ``z`` is the start
# and receives the solution. Returns the number of per-record gradient evaluations, negative if ``most`` of them
# did not suffice. Without v (dim_w = size) it is plain minimisation.
_function("base", "int64(gradient, data, indices, vector, vector, stream, vector)")

_PARTS = [_NAMES[name] for name in ("data", "gradient", "mean", "difference", "ascent", "base")]
_NAMES["objective"] = types.NamedTuple(_PARTS, Objective)
_NAMES["parts"] = types.Tuple(_PARTS)  # as Python passes them; Numba converts kernels in plain tuples alone

# run(objective, numbers, rng, out, tape): one run of an algorithm; ``out`` receives its output (w, v).
_function("run", "void(objective, numbers, stream, vector, tape)")

# Sums may be reordered (that is what makes them fast); infinities and NaN keep their meaning. So two copies of a
# kernel, compiled into two callers, may differ in the last bit, and of copies under one name the first that is loaded
# serves all. Kernels are therefore inlined: each caller keeps its own copy, whatever was loaded before.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def kernel(*signatures: str, apart: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a solver's kernel as :func:`dpcheck.compiled.njit` does, without the GIL.

    Python calls the first signature; the others are for kernels in single precision. A signature is the name of a
    function's type (``"gradient"``, ``"run"``), or a result and arguments (``"float64(vector, vector)"``): names of
    Numba's types, of those above, and of NamedTuples of the kernel's file.

    ``apart`` : the caller sees to it that no two arrays overlap; a write to one is not looked for in the others
    """
    compile_for = partial(njit, apart=apart, nogil=True, error_model="numpy", fastmath=_FASTMATH, forceinline=True)

    def compile_(function: Any) -> Any:
        spelled = [_signature(text, function.__globals__) for text in signatures]
        return compile_for(*spelled)(function)

    return compile_
