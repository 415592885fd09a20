"""Jin-Sidford-Tian: n + sqrt(n) (l/mu_w + l/sqrt(mu_w mu_v) + l/mu_v) gradients times log(1/accuracy); saddle points.

Jin, Sidford, Tian, "Sharper rates for separable minimax and finite sum optimization via primal-dual
extragradient methods", 2022. Reconstructed from its abstract and common knowledge: what is kept is the
extragradient step on one sampled record about a reference point, phases whose length is drawn beforehand,
the norm weighted by mu_w and mu_v, and separable parts that cost nothing (here the regularisers, which go by
prox: sqrt(l_g/mu_w) and sqrt(l_h/mu_v) are 1 then). The recursion is the variance-reduced extragradient of
Alacaoglu, Malitsky, "Stochastic variance reduction for variational inequality methods", 2022.

With W = identity + B in the weighted coordinates, s the reference point, zbar = alpha z + (1 - alpha) s,
alpha = 1 - p, p = 2/n, and B's Lipschitz constant Lbar, tau = sqrt(p/2)/Lbar:

    z' = prox(zbar - tau B(s)),    z <- prox(zbar - tau (B(s) + B_i(z') - B_i(s))),    s <- z with probability p.

The two prox inequalities, added, give with E B^(z') = B(z'), monotonicity and 2 tau^2 Lbar^2 = p

    (alpha + tau) E|z+ - z*|^2 + E|s+ - z*|^2
        <= alpha |z - z*|^2 + |s - z*|^2 - tau |z' - z*|^2 - p/2 |s - z'|^2,

and the last two terms take at least min(tau, p/2)/2 |s - z*|^2 off: both distances contract by
1 - min(tau, p/2)/2 a step, that is 4n or so, or 4 sqrt(n) Lbar steps of two gradients for a factor 1/e.
"""

from __future__ import annotations

import math

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import below, copy
from dpcheck.algorithms.kernels.saddle import (
    INNER_SIGNATURE,
    MOST,
    MU_V,
    MU_W,
    full,
    pull,
    reached,
    rest_lipschitz,
    step,
)
from dpcheck.catalogue.bases.inside import after_a_pass, with_inner


@kernel(INNER_SIGNATURE)
def inner(operator, goal, rng, z, g):  # type: ignore[no-untyped-def]
    """Solve from the reference point z with g = W(z)."""
    data, gradient, index, constants, centre = operator
    n, size, d = index.size, z.size, data.dim_w
    p = min(2.0 / n, 1.0)
    tau = math.sqrt(0.5 * p) / rest_lipschitz(constants, d, size)
    rate = -math.log1p(-p) if p < 1.0 else math.inf
    x, half, bar, new, old = z.copy(), np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    count = 0
    while not reached(operator, goal, z, g, new):
        length = 1 + int(rng.standard_exponential() / rate)  # geometric with mean 1/p
        if count + 2 * length + n > constants[MOST]:
            return ~count
        for _ in range(length):
            for j in range(size):  # W's exact part is taken at zbar in both steps, B at the reference point
                bar[j] = (1.0 - p) * x[j] + p * z[j]
                new[j] = g[j] + constants[MU_W if j < d else MU_V] * (bar[j] - z[j])
            step(data, constants, bar, new, tau / (1.0 + tau), half)
            i = index[below(n, rng)]
            pull(gradient, data, constants, centre, i, half, new)
            pull(gradient, data, constants, centre, i, z, old)
            for j in range(size):
                new[j] += g[j] - old[j] + constants[MU_W if j < d else MU_V] * (bar[j] - half[j])
            step(data, constants, bar, new, tau / (1.0 + tau), x)
        copy(x, z)
        count += 2 * length + full(gradient, data, index, constants, centre, z, g)
    return count


run = with_inner(after_a_pass, inner, "jin_sidford_tian")
