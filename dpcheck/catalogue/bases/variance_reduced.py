"""Base solvers for minimisation that draw records and correct them by a full gradient: SVRG, SARAH, Katyusha."""

import math

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import below, copy
from dpcheck.catalogue.bases.saddle import ENERGY, MOST, MU_W, R_W, L, certificate, confine, full, pull, step

THETA_SVRG, LENGTH_SVRG = 1 / 16, 64  # eta L and m/kappa
THETA_SARAH, LENGTH_SARAH = 1 / 8, 32


@kernel("base")
def svrg(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Run epochs: a pass at the snapshot z, m steps of two gradients each, their average the next snapshot.

    Johnson, Zhang, "Accelerating stochastic gradient descent using predictive variance reduction", 2013;
    with projection and regulariser, Xiao, Zhang, "A proximal stochastic gradient method with progressive
    variance reduction", 2014, Theorem 3.1: with step eta = theta/L and m steps an epoch, the excess value
    contracts in expectation by

        kappa / (theta (1 - 4 theta) m) + 4 theta (m + 1) / ((1 - 4 theta) m),    kappa = L/mu,

    which theta = 1/16 and m >= 64 kappa make 2/3 + 1/(3m) at most. L is f's own l: the regulariser goes by prox.
    """
    n, size, mu, most = index.size, z.size, constants[MU_W], constants[MOST]
    smooth = max(constants[L], mu)
    length = math.ceil(LENGTH_SVRG * smooth / mu)
    eta = THETA_SVRG / smooth
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


@kernel("base")
def sarah(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Run epochs: a pass at z, one step along it, then t - 1 steps of two gradients each.

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
    n, size, mu, most = index.size, z.size, constants[MU_W], constants[MOST]
    smooth = constants[L] + constants[R_W]
    length = math.ceil(LENGTH_SARAH * smooth / mu)
    tau = mu * THETA_SARAH / smooth
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


@kernel("base")
def katyusha(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Run epochs: a pass at the snapshot z, m = 2n steps of two gradients each.

    Allen-Zhu, "Katyusha: the first direct acceleration of stochastic gradient methods", 2017, Algorithm 1
    with m = 2n, tau_2 = 1/2, tau_1 = min(sqrt(m sigma/(3L)), 1/2), alpha = 1/(3 tau_1 L), option I, for
    mean f + psi with psi sigma-strongly convex. All of the strong convexity is given to psi (sigma = mu):
    the records' f less (mu - r)/2 |w|^2 is still convex and l-smooth. psi goes by prox: with
    W^ = W(snapshot) + W_i(x) - W_i(snapshot),

        z <- P(z - alpha/(1 + alpha mu) (W^ + mu (z - x))),    y <- P(x - W^/(3L + mu)).
    """
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
