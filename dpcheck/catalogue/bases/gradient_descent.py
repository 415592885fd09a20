"""Gradient descent: n kappa gradients times log(1/accuracy); minimisation.

w <- P(w - grad F(w)/(l + r)), Nesterov, "Lectures on Convex Optimization", Theorem 2.2.14. The
stopping certificate makes this very step, so it costs nothing.
"""

from __future__ import annotations

import numpy as np

from dpcheck.algorithms.kernels.jit import BASE_SIGNATURE, kernel
from dpcheck.algorithms.kernels.parts import copy
from dpcheck.algorithms.kernels.saddle import ENERGY, MOST, certificate, confine, full


@kernel(BASE_SIGNATURE)
def run(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Descend; each iteration contracts the distance by 1 - 1/kappa, kappa = (l + r)/mu."""
    n, g, ahead = index.size, np.empty(z.size), np.empty(z.size)
    confine(data, z)
    count = 0
    while count + n <= constants[MOST]:
        count += full(gradient, data, index, constants, centre, z, g)
        if certificate(data, constants, z, g, ahead) <= constants[ENERGY]:
            return count
        copy(ahead, z)
    return -max(count, 1)
