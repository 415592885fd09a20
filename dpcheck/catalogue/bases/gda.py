"""Gradient descent ascent: n kappa^2 gradients times log(1/accuracy); saddle points.

z <- P(z - W(z)/l'^2) in the weighted coordinates, all records at every step. As W is l'-Lipschitz
and strongly monotone with modulus 1, the squared distance contracts by 1 - 2 eta + eta^2 l'^2, which
eta = 1/l'^2 makes 1 - 1/l'^2.
"""

from __future__ import annotations

import numpy as np

from dpcheck.algorithms.kernels.jit import BASE_SIGNATURE, kernel
from dpcheck.algorithms.kernels.saddle import ENERGY, MOST, certificate, confine, full, lipschitz, step


@kernel(BASE_SIGNATURE)
def run(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Make one pass over the records an iteration."""
    n, g, ahead = index.size, np.empty(z.size), np.empty(z.size)
    eta = lipschitz(constants, data.dim_w, z.size) ** -2.0
    confine(data, z)
    count = 0
    while count + n <= constants[MOST]:
        count += full(gradient, data, index, constants, centre, z, g)
        if certificate(data, constants, z, g, ahead) <= constants[ENERGY]:
            return count
        step(data, constants, z, g, eta, z)
    return -max(count, 1)
