"""Extragradient: n kappa gradients times log(1/accuracy); saddle points.

Korpelevich 1976; Tseng, "On linear convergence of iterative methods for the variational inequality
problem", 1995 (zhang2022's [43]). In the weighted coordinates, with z' = P(z - eta W(z)),
z <- P(z - eta W(z')). From |z+ - z*|^2 <= |z - z*|^2 - (1 - eta^2 l'^2) |z - z'|^2 - 2 eta |z' - z*|^2
and |z' - z*|^2 >= |z - z*|^2 / 2 - |z - z'|^2, the squared distance contracts by 1 - eta as long as
eta^2 l'^2 + 2 eta <= 1, which eta = (sqrt(2) - 1)/l' satisfies, l' being at least 1.
"""

from __future__ import annotations

import numpy as np

from dpcheck.algorithms.kernels.jit import BASE_SIGNATURE, kernel
from dpcheck.algorithms.kernels.saddle import ENERGY, MOST, certificate, confine, full, lipschitz, step


@kernel(BASE_SIGNATURE)
def run(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Make two passes over the records an iteration; the first also serves the certificate."""
    n, g, ahead = index.size, np.empty(z.size), np.empty(z.size)
    eta = (np.sqrt(2.0) - 1.0) / lipschitz(constants, data.dim_w, z.size)
    confine(data, z)
    count = 0
    while count + n <= constants[MOST]:
        count += full(gradient, data, index, constants, centre, z, g)
        if certificate(data, constants, z, g, ahead) <= constants[ENERGY]:
            return count
        if count + n > constants[MOST]:
            break
        step(data, constants, z, g, eta, ahead)
        count += full(gradient, data, index, constants, centre, ahead, g)
        step(data, constants, z, g, eta, z)
    return -max(count, 1)
