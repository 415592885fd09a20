"""SARAH: n + kappa gradients times log(1/accuracy); minimisation.

Nguyen, Liu, Scheinberg, Takac, "SARAH: a novel method for machine learning problems using stochastic
recursive gradient", 2017, here with a projection: w_{t+1} = P(w_t - eta v_t), v_0 = grad F(w_0),
v_t = v_{t-1} + grad f_i(w_t) - grad f_i(w_{t-1}); an epoch ends at w_t, t uniform on 1..m.

That the projection does no harm. Let F be L-smooth and mu-strongly convex (regulariser included),
theta = eta L, G(w) = (w - P(w - eta grad F(w)))/eta, D_t = w_t - w_{t-1}, d_t the gradients' difference
and e_t = v_t - grad F(w_t), a martingale. Projections do not expand, so |D_{t+1}|^2 <= |D_t - eta d_t|^2,
and as |d_t|^2 <= L <d_t, D_t> (co-coercivity) the sum of E|d_t|^2, and so E|e_t|^2, is at most
theta/(2 - theta) |G(w_0)|^2. Smoothness and the projection give

    F(w_{t+1}) <= F(w_t) - (1/eta - L/2) |D_{t+1}|^2 + |e_t| |D_{t+1}|
               <= F(w_t) - (c/eta) |D_{t+1}|^2 + eta/(2a) |e_t|^2,    c = 1 - theta/2 - a/2.

Summed over t = 1..m, with F(w_1) - F* <= |G(w_0)|^2/(2 mu) (an exact step) and
|G(w_t)|^2 <= 2 |D_{t+1}/eta|^2 + 2 |e_t|^2, the mean of E|G(w_t)|^2 over t is at most

    [ kappa/(c theta m) + (1/(a c) + 2) theta/(2 - theta) ] |G(w_0)|^2,

which a = 0.9, theta = 1/8 and m >= 32 kappa make less than 0.8.
"""

from __future__ import annotations

import math

import numpy as np

from dpcheck.algorithms.kernels.jit import BASE_SIGNATURE, kernel
from dpcheck.algorithms.kernels.parts import below
from dpcheck.algorithms.kernels.saddle import ENERGY, MOST, MU_W, R_W, L, certificate, confine, full, pull, step

THETA, LENGTH = 1 / 8, 32  # eta L and m/kappa


@kernel(BASE_SIGNATURE)
def run(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Run epochs: a pass at z, one step along it, then t - 1 steps of two gradients each."""
    n, size, mu, most = index.size, z.size, constants[MU_W], constants[MOST]
    smooth = constants[L] + constants[R_W]
    length = math.ceil(LENGTH * smooth / mu)
    tau = mu * THETA / smooth
    g, last, new, old = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    confine(data, z)
    count = 0
    while count + n <= most:
        count += full(gradient, data, index, constants, centre, z, g)
        if certificate(data, constants, z, g, new) <= constants[ENERGY]:
            return count
        further = below(length, rng)
        if count + 2 * further > most:
            break
        last[:] = z
        step(data, constants, z, g, tau, z)
        for _ in range(further):
            i = index[below(n, rng)]
            pull(gradient, data, constants, centre, i, z, new)
            pull(gradient, data, constants, centre, i, last, old)
            for j in range(size):
                g[j] += new[j] - old[j]
            last[:] = z
            step(data, constants, z, g, tau, z)
        count += 2 * further
    return -max(count, 1)
