"""SVRG and SAGA for saddle points: n + kappa^2 gradients times log(1/accuracy).

Palaniappan, Bach, "Stochastic variance reduction methods for saddle-point problems", 2016, for
monotone operators with uniform sampling: W = identity + B in the weighted coordinates, where B and
every B_i are Lipschitz with the same constant Lbar. Steps sigma/(1 + sigma) along
W(snapshot) + W_i(z) - W_i(snapshot) are forward in B, backward in the identity.

SVRG: sigma = 1/(4 Lbar^2), m = log 4 (1 + 1/sigma) steps an epoch. Proof of the rate 3/4: with
delta = z - z*, delta~ = snapshot - z*, one step gives
(1 + sigma)^2 E|delta+|^2 <= (1 + 3 sigma^2 Lbar^2) |delta|^2 + 2 sigma^2 Lbar^2 |delta~|^2. The first
factor, over (1 + sigma)^2, is 1/(1 + sigma) at most, whose m-th power is at most 1/4; the second sums
up to at most 2 sigma Lbar^2 = 1/2.

SAGA: sigma = 1/max(4 Lbar^2, 3n/2 - 1); the table holds each record's B_i where it was last seen.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from dpcheck.algorithms.kernels.jit import BASE_SIGNATURE, STREAM, VECTOR, kernel
from dpcheck.algorithms.kernels.parts import below, copy
from dpcheck.algorithms.kernels.saddle import (
    ENERGY,
    MOST,
    MU_V,
    MU_W,
    OPERATOR,
    Operator,
    certificate,
    confine,
    full,
    pull,
    rest_lipschitz,
    step,
)


@kernel(types.int64(OPERATOR, types.float64, types.int64, STREAM, VECTOR, VECTOR))
def epoch(operator, sigma, length, rng, z, g):  # type: ignore[no-untyped-def]
    """Make ``length`` steps from the snapshot z with g = W(z) to the last iterate; returns the gradients made."""
    data, gradient, index, constants, centre = operator
    size = z.size
    x, new, old = z.copy(), np.empty(size), np.empty(size)
    for _ in range(length):
        i = index[below(index.size, rng)]
        pull(gradient, data, constants, centre, i, x, new)
        pull(gradient, data, constants, centre, i, z, old)
        for j in range(size):
            new[j] += g[j] - old[j]
        step(data, constants, x, new, sigma / (1.0 + sigma), x)
    copy(x, z)
    return 2 * length


@kernel(BASE_SIGNATURE)
def run(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Run SVRG: a pass at the snapshot, an epoch from it, and so on."""
    n, most, g, ahead = index.size, constants[MOST], np.empty(z.size), np.empty(z.size)
    sigma = 0.25 * rest_lipschitz(constants, data.dim_w, z.size) ** -2.0
    length = math.ceil(math.log(4.0) * (1.0 + 1.0 / sigma))
    confine(data, z)
    count = 0
    while count + n <= most:
        count += full(gradient, data, index, constants, centre, z, g)
        if certificate(data, constants, z, g, ahead) <= constants[ENERGY]:
            return count
        if count + 2 * length > most:
            break
        count += epoch(Operator(data, gradient, index, constants, centre), sigma, length, rng, z, g)
    return -max(count, 1)


@kernel(BASE_SIGNATURE)
def saga(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Run SAGA: one gradient a step; every 2/sigma steps, at least 2n, a pass for the certificate alone."""
    n, size, d, most = index.size, z.size, data.dim_w, constants[MOST]
    sigma = 1.0 / max(4.0 * rest_lipschitz(constants, d, size) ** 2, 1.5 * n - 1.0)
    length = max(math.ceil(2.0 / sigma), 2 * n)
    table, mean, g, new = np.empty((n, size)), np.zeros(size), np.empty(size), np.empty(size)
    mu = np.empty(size)
    mu[:d] = constants[MU_W]
    mu[d:] = constants[MU_V]
    confine(data, z)
    if n > most:
        return -1
    for k in range(n):
        pull(gradient, data, constants, centre, index[k], z, new)
        for j in range(size):
            table[k, j] = new[j] - mu[j] * z[j]
            mean[j] += table[k, j] / n
    count = n
    for j in range(size):
        g[j] = mean[j] + mu[j] * z[j]
    while certificate(data, constants, z, g, new) > constants[ENERGY]:
        if count + length + n > most:
            return -count
        for _ in range(length):
            k = below(n, rng)
            pull(gradient, data, constants, centre, index[k], z, new)
            for j in range(size):
                seen = new[j] - mu[j] * z[j]
                new[j] += mean[j] - table[k, j]
                mean[j] += (seen - table[k, j]) / n
                table[k, j] = seen
            step(data, constants, z, new, sigma / (1.0 + sigma), z)
        count += length + full(gradient, data, index, constants, centre, z, g)
    return count
