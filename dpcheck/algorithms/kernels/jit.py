"""How kernels are compiled; what they are given and what they write, by name; and the types of both.

Numba compiles a NamedTuple to its fields, so that a name costs nothing. One type of run serves all algorithms, whose
numbers therefore travel as vectors (:class:`Numbers`); :func:`named` gives them the names of the algorithm back.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from dpcheck.compiled import njit

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]
AnyNames = TypeVar("AnyNames", bound=tuple[Any, ...])


class Data(NamedTuple):
    """The objective's numbers: public constants (p,), records (n, k), domains (blocks, 4) and start (d_w + d_v,)."""

    params: Vector
    records: Vector
    domain_w: Vector
    domain_v: Vector
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
    gradient: Callable[..., Any]
    mean: Callable[..., Any]
    difference: Callable[..., Any]
    ascent: Callable[..., Any]
    base: Callable[..., Any]


class Numbers(NamedTuple):
    """The numbers of an algorithm: real and whole ones in the order of its own NamedTuples, and a row a step."""

    reals: Vector
    counts: Indices
    steps: Vector


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
    drawn: Indices
    clean: Vector
    released: Vector
    noise: Vector
    marks: Indices
    path: Vector


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


VECTOR = types.float64[::1]
MATRIX = types.float64[:, ::1]
SINGLE_VECTOR = types.float32[::1]
INDICES = types.int64[::1]
INDEX_MATRIX = types.int64[:, ::1]
STREAM = types.npy_rng

# gradient(params, record, w, v, out_w, out_v): both partial gradients of one record's objective.
# A function *type*: a solver compiles once and takes any problem's gradient.
GRADIENT_SIGNATURE = types.void(VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR)
GRADIENT = types.FunctionType(GRADIENT_SIGNATURE)

# value(params, record, w, v): one record's objective.
VALUE_SIGNATURE = types.float64(VECTOR, VECTOR, VECTOR, VECTOR)

DATA = types.NamedTuple((VECTOR, MATRIX, MATRIX, MATRIX, VECTOR, types.int64), Data)

# mean(gradient, data, index, batch, x, clip, out): the sum over ``index`` of the per-record gradients at
# x = (w, v), each block clipped to clip[0] and clip[1], over ``batch``.
MEAN_SIGNATURE = types.void(GRADIENT, DATA, INDICES, types.int64, VECTOR, VECTOR, VECTOR)
MEAN = types.FunctionType(MEAN_SIGNATURE)

PLACE = types.NamedTuple((INDICES, VECTOR), Place)

# difference(gradient, data, new, old, batch, clip, out): likewise for the differences of the gradients at two places,
# of as many records, pair by pair.
DIFFERENCE_SIGNATURE = types.void(GRADIENT, DATA, PLACE, PLACE, types.int64, VECTOR, VECTOR)
DIFFERENCE = types.FunctionType(DIFFERENCE_SIGNATURE)

# ascent(gradient, mean, data, index, steps, clip, point, g): a projected step up in v of ``point`` = (w, v) for each of
# ``steps``, by the mean over ``index`` of the gradients, clipped to clip[1]; w stays, and ``g`` is room for a gradient.
ASCENT_SIGNATURE = types.void(GRADIENT, MEAN, DATA, INDICES, VECTOR, VECTOR, VECTOR, VECTOR)
ASCENT = types.FunctionType(ASCENT_SIGNATURE)

# base(gradient, data, index, constants, centre, rng, z): solve, over the records ``index``, the saddle problem
#     mean f(w, v) + r_w/2 |w - c_w|^2 - r_v/2 |v - c_v|^2   over the domains, (c_w, c_v) = centre,
# with constants = (l, mu_w, mu_v, r_w, r_v, energy, most): f is l-smooth, mu_w and mu_v are the moduli of the
# whole (with r_w, r_v), and mu_w |w - w*|^2 + mu_v |v - v*|^2 <= energy is certified at the end. ``z`` is the start
# and receives the solution. Returns the number of per-record gradient evaluations, negative if ``most`` of them
# did not suffice. Without v (dim_w = size) it is plain minimisation.
BASE_SIGNATURE = types.int64(GRADIENT, DATA, INDICES, VECTOR, VECTOR, STREAM, VECTOR)
BASE = types.FunctionType(BASE_SIGNATURE)

# The parts of an objective in its order, as Python passes them; Numba converts kernels in plain tuples alone.
PARTS = types.Tuple((DATA, GRADIENT, MEAN, DIFFERENCE, ASCENT, BASE))
OBJECTIVE = types.NamedTuple((DATA, GRADIENT, MEAN, DIFFERENCE, ASCENT, BASE), Objective)

NUMBERS = types.NamedTuple((VECTOR, INDICES, MATRIX), Numbers)
TAPE = types.NamedTuple((INDICES, INDEX_MATRIX, MATRIX, MATRIX, MATRIX, INDICES, MATRIX), Tape)

# run(objective, numbers, rng, out, tape): one run of an algorithm; ``out`` receives its output (w, v).
RUN_SIGNATURE = types.void(OBJECTIVE, NUMBERS, STREAM, VECTOR, TAPE)

# Sums may be reordered (that is what makes them fast); infinities and NaN keep their meaning. So two copies of a
# kernel, compiled into two callers, may differ in the last bit, and of copies under one name the first that is loaded
# serves all. Kernels are therefore inlined: each caller keeps its own copy, whatever was loaded before.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def kernel(*signatures: Any, apart: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a solver's kernel as :func:`dpcheck.compiled.njit` does, without the GIL.

    Python calls the first signature; the others are for kernels in single precision.

    ``apart`` : the caller sees to it that no two arrays overlap; a write to one is not looked for in the others
    """
    return njit(*signatures, apart=apart, nogil=True, error_model="numpy", fastmath=_FASTMATH, forceinline=True)
