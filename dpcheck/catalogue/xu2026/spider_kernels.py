"""The recursive gradient estimator that the SPIDER algorithms share: one private release an iterate."""

from typing import NamedTuple

import numpy as np

from dpcheck.algorithms.kernels.jit import Indices, Place, Vector, kernel
from dpcheck.algorithms.kernels.parts import Draw
from dpcheck.algorithms.kernels.tape import release, sample


class Bounds(NamedTuple):
    """Clipping norms of the SPIDER estimator (of a difference: a unit of distance), and the noise over them."""

    L0: float
    Ls: float
    sigma_1: float
    sigma_2: float


class Scratch(NamedTuple):
    """The estimate ``v`` of the gradient at ``old``, and the room that the SPIDER estimator makes it in.

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


@kernel("float64(vector, vector)")
def distance(x, y):  # type: ignore[no-untyped-def]
    """Return the l2 distance |x - y|."""
    square = 0.0
    for i in range(x.size):
        square += (x[i] - y[i]) ** 2
    return square**0.5


@kernel("Scratch(int64, int64, int64, vector)")
def scratch(n, b1, b2, start):  # type: ignore[no-untyped-def]
    """Make room for an estimate that begins at ``start``."""
    big, small = np.empty(b1, np.int64), np.empty(b2, np.int64)
    return Scratch(
        np.zeros(start.size), start.copy(), np.arange(n), big, small, np.full(2, np.inf), np.empty(start.size)
    )


@kernel("void(boolean, objective, vector, Bounds, Scratch, stream, tape)")
def estimate(refresh, objective, x, bounds, room, rng, tape):  # type: ignore[no-untyped-def]
    """Bring the estimate of the gradient from ``room.old`` to ``x``; or make it anew where ``refresh`` is true.

    Gradients are clipped to L0 per record, their differences to min(Ls |x - old|, 2 L0); so a minibatch of b moves by
    twice that over b. The noise is sigma_1, sigma_2 times the clipping norm.
    """
    gradient, data, n = objective.gradient, objective.data, objective.data.records.shape[0]
    L0, v, old, big, small, clip, g = bounds.L0, room.v, room.old, room.big, room.small, room.clip, room.g
    if refresh:
        sample(Draw.WITHOUT_REPLACEMENT, n, big.size, room.deck, rng, big, tape)
        clip[0] = L0
        objective.mean(gradient, data, big, big.size, x, clip, v)
        release(v, bounds.sigma_1 * L0, 2 * L0 / big.size, rng, tape)
        return
    bound = 2 * L0
    reach = bounds.Ls * distance(x, old)
    if reach < bound:
        bound = reach
    sample(Draw.WITHOUT_REPLACEMENT, n, small.size, room.deck, rng, small, tape)
    clip[0] = bound
    objective.difference(gradient, data, Place(small, x), Place(small, old), small.size, clip, g)
    release(g, bounds.sigma_2 * bound, 2 * bound / small.size, rng, tape)
    for i in range(v.size):
        v[i] += g[i]
