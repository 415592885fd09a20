"""SVRG: n + kappa gradients times log(1/accuracy); minimisation.

Johnson, Zhang, "Accelerating stochastic gradient descent using predictive variance reduction", 2013;
with projection and regulariser, Xiao, Zhang, "A proximal stochastic gradient method with progressive
variance reduction", 2014, Theorem 3.1: with step eta = theta/L and m steps an epoch, the excess value
contracts in expectation by

    kappa / (theta (1 - 4 theta) m) + 4 theta (m + 1) / ((1 - 4 theta) m),    kappa = L/mu,

which theta = 1/16 and m >= 64 kappa make 2/3 + 1/(3m) at most. L is f's own l: the regulariser goes by prox.
"""

from __future__ import annotations

import math

import numpy as np

from dpcheck.algorithms.kernels.jit import BASE_SIGNATURE, kernel
from dpcheck.algorithms.kernels.parts import below
from dpcheck.algorithms.kernels.saddle import ENERGY, MOST, MU_W, R_W, L, certificate, confine, full, pull, step

THETA, LENGTH = 1 / 16, 64  # eta L and m/kappa


@kernel(BASE_SIGNATURE)
def run(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Run epochs: a pass at the snapshot z, m steps of two gradients each, their average the next snapshot."""
    n, size, mu, most = index.size, z.size, constants[MU_W], constants[MOST]
    smooth = max(constants[L], mu)
    length = math.ceil(LENGTH * smooth / mu)
    eta = THETA / smooth
    tau = mu * eta / (1.0 + eta * constants[R_W])
    g, x, new, old, average = np.empty(size), np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    confine(data, z)
    count = 0
    while count + n <= most:
        count += full(gradient, data, index, constants, centre, z, g)
        if certificate(data, constants, z, g, new) <= constants[ENERGY]:
            return count
        if count + 2 * length > most:
            break
        x[:] = z
        average[:] = 0.0
        for _ in range(length):
            i = index[below(n, rng)]
            pull(gradient, data, constants, centre, i, x, new)
            pull(gradient, data, constants, centre, i, z, old)
            for j in range(size):
                new[j] += g[j] - old[j]
            step(data, constants, x, new, tau, x)
            for j in range(size):
                average[j] += x[j] / length
        z[:] = average
        count += 2 * length
    return -max(count, 1)
