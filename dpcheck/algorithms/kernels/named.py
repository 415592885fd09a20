"""What kernels are given and what they write, by name.

Numba compiles a NamedTuple to its fields, so that a name costs nothing. One type of run serves all algorithms, whose
numbers therefore travel as vectors (:class:`Numbers`); :func:`named` gives them the names of the algorithm back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

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
    """The objective as a run sees it: its data and its kernels, of the types in ``dpcheck.algorithms.kernels.jit``.

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


class Replay(NamedTuple):
    """A run on other data that is fed what was released; ``needed`` is 0 where it is one that was made already."""

    data: Data
    rng: np.random.Generator
    tape: Tape
    needed: int


class Others(NamedTuple):
    """The runs that a transcript is scored by: the numbers of all of them, and a replay on each data set."""

    numbers: Numbers
    replays: tuple[Replay, Replay, Replay, Replay, Replay]


class Scheme(NamedTuple):
    """How minibatches are drawn, one of ``dpcheck.algorithms.kernels.parts``, and from how many records."""

    kind: int
    population: int


class Bounds(NamedTuple):
    """What the SPIDER estimator is told: clipping norms (of a difference: a unit of distance), the noise over them."""

    L0: float
    Ls: float
    sigma_1: float
    sigma_2: float


class Scratch(NamedTuple):
    """What the SPIDER estimator works on: the estimate ``v`` of the gradient at ``old``, and what it is made with.

    deck : all records;  big, small : room for the minibatches of a refresh and of a difference
    clip : room for the clipping norms (2,);  g : room for a gradient
    """

    v: Vector
    old: Vector
    deck: Indices
    big: Indices
    small: Indices
    clip: Vector
    g: Vector


def named(names: type[AnyNames], vector: NDArray[Any]) -> AnyNames:
    """Read a vector as this NamedTuple, one entry a field."""
    return names(*vector)


@overload(named)
def _named(names, vector):  # type: ignore[no-untyped-def]
    # Numba compiles no call with an array behind the star, so the entries are written out
    entries = ", ".join(f"vector[{place}]" for place in range(len(names.instance_class._fields)))
    return eval(f"lambda names, vector: make({entries})", {"make": names.instance_class})
