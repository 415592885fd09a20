"""Base solvers that read all records at every step: gradient descent, gradient descent ascent, extragradient."""

from __future__ import annotations

import numpy as np

from dpcheck.algorithms.kernels.jit import BASE_SIGNATURE, kernel
from dpcheck.algorithms.kernels.parts import copy
from dpcheck.catalogue.bases.saddle import ENERGY, MOST, certificate, confine, full, lipschitz, step


@kernel(BASE_SIGNATURE)
def gradient_descent(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Descend; each iteration contracts the distance by 1 - 1/kappa, kappa = (l + r)/mu.

    w <- P(w - grad F(w)/(l + r)), Nesterov, "Lectures on Convex Optimization", Theorem 2.2.14. The
    stopping certificate makes this very step, so it costs nothing.
    """
    n, g, ahead = index.size, np.empty(z.size), np.empty(z.size)
    confine(data, z)
    count = 0
    while count + n <= constants[MOST]:
        count += full(gradient, data, index, constants, centre, z, g)
        if certificate(data, constants, z, g, ahead) <= constants[ENERGY]:
            return count
        copy(ahead, z)
    return -max(count, 1)


@kernel(BASE_SIGNATURE)
def gda(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Make one pass over the records an iteration.

    z <- P(z - W(z)/l'^2) in the weighted coordinates, all records at every step. As W is l'-Lipschitz
    and strongly monotone with modulus 1, the squared distance contracts by 1 - 2 eta + eta^2 l'^2, which
    eta = 1/l'^2 makes 1 - 1/l'^2.
    """
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


@kernel(BASE_SIGNATURE)
def extragradient(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Make two passes over the records an iteration; the first also serves the certificate.

    Korpelevich 1976; Tseng, "On linear convergence of iterative methods for the variational inequality
    problem", 1995 (zhang2022's [43]). In the weighted coordinates, with z' = P(z - eta W(z)),
    z <- P(z - eta W(z')). From |z+ - z*|^2 <= |z - z*|^2 - (1 - eta^2 l'^2) |z - z'|^2 - 2 eta |z' - z*|^2
    and |z' - z*|^2 >= |z - z*|^2 / 2 - |z - z'|^2, the squared distance contracts by 1 - eta as long as
    eta^2 l'^2 + 2 eta <= 1, which eta = (sqrt(2) - 1)/l' satisfies, l' being at least 1.
    """
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
