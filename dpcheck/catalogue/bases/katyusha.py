"""Katyusha: n + sqrt(n kappa) gradients times log(1/accuracy); minimisation.

Allen-Zhu, "Katyusha: the first direct acceleration of stochastic gradient methods", 2017, Algorithm 1
with m = 2n, tau_2 = 1/2, tau_1 = min(sqrt(m sigma/(3L)), 1/2), alpha = 1/(3 tau_1 L), option I, for
mean f + psi with psi sigma-strongly convex. All of the strong convexity is given to psi (sigma = mu):
the records' f less (mu - r)/2 |w|^2 is still convex and l-smooth. psi goes by prox: with
W^ = W(snapshot) + W_i(x) - W_i(snapshot),

    z <- P(z - alpha/(1 + alpha mu) (W^ + mu (z - x))),    y <- P(x - W^/(3L + mu)).
"""

from __future__ import annotations

import numpy as np

from dpcheck.algorithms.kernels.jit import BASE_SIGNATURE, kernel
from dpcheck.algorithms.kernels.parts import below, copy
from dpcheck.algorithms.kernels.saddle import ENERGY, MOST, MU_W, L, certificate, confine, full, pull, step


@kernel(BASE_SIGNATURE)
def run(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Run epochs: a pass at the snapshot z, m = 2n steps of two gradients each."""
    n, size, mu, most = index.size, z.size, constants[MU_W], constants[MOST]
    smooth, length = max(constants[L], mu), 2 * n
    negative = 0.5  # tau_2, the pull back to the snapshot
    ahead = min(np.sqrt(length * mu / (3.0 * smooth)), 0.5)  # tau_1
    alpha = 1.0 / (3.0 * ahead * smooth)
    confine(data, z)
    g, x, y, far = np.empty(size), np.empty(size), z.copy(), z.copy()
    new, old, average = np.empty(size), np.empty(size), np.empty(size)
    count = 0
    while count + n <= most:
        count += full(gradient, data, index, constants, centre, z, g)
        if certificate(data, constants, z, g, new) <= constants[ENERGY]:
            return count
        if count + 2 * length > most:
            break
        average[:] = 0.0
        total = 0.0  # of the weights (1 + alpha mu)^j, divided by the last one
        for _ in range(length):
            for j in range(size):
                x[j] = ahead * far[j] + negative * z[j] + (1.0 - ahead - negative) * y[j]
            i = index[below(n, rng)]
            pull(gradient, data, constants, centre, i, x, new)
            pull(gradient, data, constants, centre, i, z, old)
            for j in range(size):
                new[j] += g[j] - old[j]
                old[j] = new[j] + mu * (far[j] - x[j])
            step(data, constants, far, old, mu * alpha / (1.0 + alpha * mu), far)
            step(data, constants, x, new, mu / (3.0 * smooth + mu), y)
            total = total / (1.0 + alpha * mu) + 1.0
            for j in range(size):
                average[j] += (y[j] - average[j]) / total
        copy(average, z)
        count += 2 * length
    return -max(count, 1)
