"""The recursive gradient estimator that the SPIDER algorithms share: one private release an iterate."""

from __future__ import annotations

from numba import types

from dpcheck.kernels.jit import DATA, DIFFERENCE, GRADIENT, INDICES, MEAN, STREAM, TAPE, VECTOR, kernel
from dpcheck.kernels.parts import WITHOUT_REPLACEMENT
from dpcheck.kernels.tape import release, sample


@kernel(types.float64(VECTOR, VECTOR))
def distance(x, y):  # type: ignore[no-untyped-def]
    """Return the l2 distance |x - y|."""
    square = 0.0
    for i in range(x.size):
        square += (x[i] - y[i]) ** 2
    return square**0.5


@kernel(
    types.void(
        types.boolean, GRADIENT, MEAN, DIFFERENCE, DATA, VECTOR, VECTOR, VECTOR, INDICES, INDICES, INDICES,
        VECTOR, VECTOR, VECTOR, STREAM, TAPE,
    )
)  # fmt: skip
def estimate(  # type: ignore[no-untyped-def]
    refresh, gradient, mean, difference, data, x, old, bounds, deck, big, small, clip, g, v, rng, tape
):
    """Bring ``v``, the estimate of the gradient at ``old``, to ``x``; or make it anew where ``refresh`` is true.

    bounds : L0, Ls, sigma_1, sigma_2. Gradients are clipped to L0 per record, their differences to
    min(Ls |x - old|, 2 L0); so a minibatch of b moves by twice that over b. The noise is sigma_1, sigma_2
    times the clipping norm.
    big, small : room for the two minibatches;  clip, g : scratch of sizes 2 and d
    """
    L0, Ls, sigma_1, sigma_2 = bounds[0], bounds[1], bounds[2], bounds[3]
    _, records, _, _, _, _ = data
    n = records.shape[0]
    if refresh:
        sample(WITHOUT_REPLACEMENT, n, big.size, deck, rng, big, tape)
        clip[0] = L0
        mean(gradient, data, big, big.size, x, clip, v)
        release(v, sigma_1 * L0, 2 * L0 / big.size, rng, tape)
        return
    bound = 2 * L0
    reach = Ls * distance(x, old)
    if reach < bound:
        bound = reach
    sample(WITHOUT_REPLACEMENT, n, small.size, deck, rng, small, tape)
    clip[0] = bound
    difference(gradient, data, small, x, small, old, small.size, clip, g)
    release(g, sigma_2 * bound, 2 * bound / small.size, rng, tape)
    for i in range(v.size):
        v[i] += g[i]
