"""The parts that every private first-order method shares: draw, clip, project."""

from enum import IntEnum

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel


class Draw(IntEnum):
    """How a minibatch is drawn."""

    WITH_REPLACEMENT, WITHOUT_REPLACEMENT, POISSON = range(3)


class Shape(IntEnum):
    """The kinds of a domain's blocks."""

    BALL, BOX, SIMPLEX = range(3)


_BITS = 2**53  # what one ``rng.random()`` holds


@kernel("int64(int64, stream)")
def below(n, rng):  # type: ignore[no-untyped-def]
    """Draw uniformly from 0, ..., n - 1, exactly; several times faster than a compiled ``rng.integers``.

    The 53 bits of a draw, modulo n; those beyond the last whole multiple of n are drawn again.
    """
    while True:
        bits = np.int64(rng.random() * _BITS)
        rest = bits % n
        if bits - rest <= _BITS - n:
            return rest


@kernel("void(vector, vector)")
def copy(x, out):  # type: ignore[no-untyped-def]
    """Write x to ``out``; Numba takes seconds to compile ``out[:] = x``, for the message of its error."""
    for i in range(x.size):
        out[i] = x[i]


@kernel("void(vector, float64)")
def scale(x, factor):  # type: ignore[no-untyped-def]
    """Multiply x by a number; ``x *= factor`` of a slice compiles as slowly as the assignment in :func:`copy`."""
    for i in range(x.size):
        x[i] *= factor


@kernel("float64(vector)")
def norm(x):  # type: ignore[no-untyped-def]
    """Return the l2 norm |x|."""
    square = 0.0
    for i in range(x.size):
        square += x[i] * x[i]
    return np.sqrt(square)


@kernel("float64(vector, float64)")
def clip_factor(g, bound):  # type: ignore[no-untyped-def]
    """Return the factor min(1, bound / |g|) that brings ``g`` into the ball of radius ``bound``."""
    if bound == np.inf:
        return 1.0
    square = 0.0
    for i in range(g.size):
        square += g[i] * g[i]
    return 1.0 if square <= bound * bound else bound / np.sqrt(square)


@kernel("void(vector, float64)")
def project_simplex(x, total):  # type: ignore[no-untyped-def]
    """Project ``x`` onto the vectors of entries >= 0 with sum ``total`` > 0.

    The projection is max(x - tau, 0) with entries of sum ``total``. From tau = (largest entry) - total, which is
    at most the right one, tau is raised to (sum of the entries from tau on - total) over their number until no
    more entries fall below: each such tau is at most the right one too, so that only entries that end as 0 are
    left out. Entries are taken relative to the largest, so that tau is exact however large they are.
    """
    peak = x[0]
    for i in range(1, x.size):
        peak = max(peak, x[i])
    for i in range(x.size):
        x[i] -= peak
    tau, above, count = -total, x.size + 1, x.size + 2
    while above < count:
        count, above, sum_above = above, 0, 0.0
        for i in range(x.size):
            if x[i] >= tau:
                sum_above += x[i]
                above += 1
        tau = (sum_above - total) / above
    for i in range(x.size):
        x[i] = max(x[i] - tau, 0.0)


@kernel("void(vector, matrix)")
def project(x, domain):  # type: ignore[no-untyped-def]
    """Project ``x`` onto a product of blocks, rows ``(start, stop, kind, radius)`` of ``domain``.

    A ball is Euclidean, a box is [-radius, radius] in each coordinate, both centred at 0; a simplex
    holds the vectors of entries >= 0 whose sum is radius.
    """
    for block in range(domain.shape[0]):
        start, stop = np.int64(domain[block, 0]), np.int64(domain[block, 1])
        radius = domain[block, 3]
        kind = np.int64(domain[block, 2])
        if kind == Shape.SIMPLEX:
            project_simplex(x[start:stop], radius)
        elif kind == Shape.BALL:
            factor = clip_factor(x[start:stop], radius)
            if factor < 1.0:
                for i in range(start, stop):
                    x[i] *= factor
        else:
            for i in range(start, stop):
                x[i] = min(max(x[i], -radius), radius)
