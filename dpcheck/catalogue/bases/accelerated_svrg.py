"""Accelerated SVRG for saddle points: n + sqrt(n) kappa gradients times log(1/accuracy).

Palaniappan, Bach 2016, their accelerated variant (a proximal-point loop around SVRG): each subproblem has the extra
term tau/2 |z - zbar|^2 in the weighted coordinates, tau = max(Lbar/sqrt(n) - 1, 0), so that its epochs cost
about n; zbar moves to the current point every 1 + log(1 + tau)/log(4/3) epochs.

Here zbar moves earlier where it is safe to, by a step of Solodov, Svaiter, "A hybrid approximate
extragradient-proximal point algorithm", 1999, which needs no accuracy that grows with tau. Let z+ be the point
of the subproblem's certificate, v in W(z+) + normal cone, xi = v + tau (z+ - zbar) the subproblem's residual
there. Then zbar+ = zbar - v/tau = z+ - xi/tau has, W having modulus 1,

    |zbar+ - z*|^2 <= |zbar - z*|^2 - 2/tau |z+ - z*|^2 - |z+ - zbar|^2 + |xi|^2/tau^2.

The certificate E bounds |xi|^2 by (1 + tau) E, and |z - z+| by |z - zbar|/4 once
(1 + tau) E <= tau^2/4 |z - zbar|^2, the condition asked for: then |xi|/tau <= 2/3 |z+ - zbar|, and the squared
distance contracts by 1 - min(1/tau, 5/18). A move costs one pass, at z+.
"""

from __future__ import annotations

import math

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import copy
from dpcheck.algorithms.kernels.saddle import (
    INNER_SIGNATURE,
    MOST,
    MU_V,
    MU_W,
    R_V,
    R_W,
    Operator,
    certificate,
    distance,
    full,
    lipschitz,
    reached,
    rest_lipschitz,
)
from dpcheck.catalogue.bases.inside import after_a_pass, with_inner
from dpcheck.catalogue.bases.saddle_svrg import epoch


@kernel(INNER_SIGNATURE)
def inner(operator, goal, rng, z, g):  # type: ignore[no-untyped-def]
    """Solve from z with g = W(z)."""
    data, gradient, index, constants, centre = operator
    n, size, d = index.size, z.size, data.dim_w
    rest = rest_lipschitz(constants, d, size)
    tau = max(rest / math.sqrt(n) - 1.0, 0.0)
    sigma = 0.25 * ((1.0 + tau) / rest) ** 2
    length = math.ceil(math.log(4.0) * (1.0 + 1.0 / sigma))
    patience = 1 if tau == 0.0 else math.ceil(1.0 + math.log(1.0 + tau) / math.log(4 / 3))
    sub = constants.copy()  # the subproblem's; its prox centre enters through ``pulled`` alone
    sub[MU_W] *= 1.0 + tau
    sub[MU_V] *= 1.0 + tau
    sub[R_W] += tau * constants[MU_W]
    sub[R_V] += tau * constants[MU_V]
    bound = lipschitz(sub, d, size)
    bar, pulled, ahead, epochs = z.copy(), g.copy(), np.empty(size), 0
    count = 0
    while not reached(operator, goal, z, g, ahead):
        if count + 2 * length + n > constants[MOST]:
            return ~count
        count += epoch(Operator(data, gradient, index, sub, centre), sigma, length, rng, z, pulled)
        count += full(gradient, data, index, constants, centre, z, g)
        epochs += 1
        for j in range(size):
            pulled[j] = g[j] + tau * constants[MU_W if j < d else MU_V] * (z[j] - bar[j])
        error = (1.0 + tau) * certificate(data, sub, z, pulled, ahead)
        if tau > 0.0 and error <= 0.25 * tau * tau * distance(data, constants, z, bar):
            if count + n > constants[MOST]:
                return ~count
            for j in range(size):  # the residual at ``ahead``, first without W there
                mu = constants[MU_W if j < d else MU_V]
                normal = bound * (1.0 + tau) * mu * (z[j] - ahead[j]) - pulled[j]
                pulled[j] = normal / (tau * mu) + ahead[j] - bar[j]
            copy(ahead, z)
            count += full(gradient, data, index, constants, centre, z, g)
            for j in range(size):
                mu = constants[MU_W if j < d else MU_V]
                bar[j] = z[j] - pulled[j] - g[j] / (tau * mu)
                pulled[j] = g[j] + tau * mu * (z[j] - bar[j])
            epochs = 0
        elif epochs >= patience:
            copy(z, bar)
            copy(g, pulled)
            epochs = 0
    return count


run = with_inner(after_a_pass, inner, "accelerated_svrg")
