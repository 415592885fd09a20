"""Base solvers for saddle points that draw records: SVRG, SAGA, variance-reduced extragradient, Catalyst around them.

SVRG and SAGA are those of Palaniappan, Bach, "Stochastic variance reduction methods for saddle-point problems", 2016,
with uniform sampling: W = identity + B in the weighted coordinates, B and every B_i Lipschitz with the same Lbar. Steps
sigma/(1 + sigma) along W(snapshot) + W_i(z) - W_i(snapshot) are forward in B, backward in the identity.

Catalyst is Nesterov's extrapolation around any base solver, on the block with the smaller modulus mu:
Lin, Mairal, Harchaoui, "Catalyst acceleration for first-order convex optimization", 2018, with criterion
C2. Let x be that block, q = mu/(mu + beta). Each subproblem adds beta/2 |x - y|^2 (minus it where x is v)
and is solved until its duality gap is at most sqrt(q)/4 beta |x - y|^2; then
y <- x + (1 - sqrt(q))/(1 + sqrt(q)) (x - x_last). The gap is at most E/2, E the certificate: a residual xi of
the inclusion, in the weighted coordinates, bounds each block's excess by half its square, and the
certificate's point z+ has one with |xi|^2 <= E. (At z itself, which is kept, this holds with E/8 wherever no
constraint is active.)

beta lifts mu to the other block's modulus mu' or to l/sqrt(n), whichever is less: a solver that needs
n + sqrt(n) kappa spends n + sqrt(n) l/mu' on the subproblem, so that sqrt((mu + beta)/mu) of them make
sqrt(n kappa kappa') where kappa' = l/mu' is above sqrt(n), and n^(3/4) sqrt(kappa) where it is not. Where mu is
above l/sqrt(n) already, nothing is added.

AL-SVRE is it around the loopless variance-reduced extragradient ``jin_sidford_tian``, whose reference point moves with
probability about 1/n a step: Luo, Xie, Zhang, Zhang, "Near optimal stochastic algorithms for finite-sum unbalanced
convex-concave minimax optimization", 2021. Catalyst-Acc-SVRG is it around ``accelerated_svrg``: Yang, Zhang, Kiyavash,
He, "A catalyst framework for minimax optimization", 2020. Both are reconstructed from abstracts and common knowledge.
"""

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import types

from dpcheck.algorithms.kernels.jit import Data, Gradient, Indices, Vector, kernel
from dpcheck.algorithms.kernels.parts import below, copy
from dpcheck.catalogue.bases.saddle import (
    ENERGY,
    MOST,
    MU_V,
    MU_W,
    R_V,
    R_W,
    L,
    certificate,
    confine,
    distance,
    full,
    lipschitz,
    pull,
    rest_lipschitz,
    step,
)


class Operator(NamedTuple):
    """The objective's gradient on its records, and the regularisers, which W is made of."""

    data: Data
    gradient: Gradient
    chosen: Indices
    constants: Vector
    centre: Vector


class Goal(NamedTuple):
    """The accuracy that :func:`reached` asks for."""

    relative: Vector
    anchor: Vector


# inner(operator, goal, rng, z, g): a base solver that goes on from z, where g = W(z) is known, until ``reached``;
# z and g are then the solution's. Returns the number of gradients evaluated, or its complement -1 - number if
# constants[MOST] of them did not suffice.
INNER = "int64(Operator, Goal, stream, vector, vector)"


@kernel("boolean(Operator, Goal, vector, vector, vector)")
def reached(operator, goal, z, g, ahead):  # type: ignore[no-untyped-def]
    """Say whether the certificate is at most constants[ENERGY] + relative times |z - anchor|^2, block by block."""
    data, constants, relative, anchor = operator.data, operator.constants, goal.relative, goal.anchor
    d, most = data.dim_w, constants[ENERGY]
    for j in range(z.size):
        most += (relative[0] if j < d else relative[1]) * (z[j] - anchor[j]) ** 2
    return certificate(data, constants, z, g, ahead) <= most


def with_inner(loop: Callable[..., Any], inner: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the base solver of this name, ``loop`` around ``inner``: numba compiles it with that among its names."""
    copied = FunctionType(loop.__code__, {**loop.__globals__, "inner": inner}, name)
    copied.__qualname__ = name  # which names the file in the cache
    copied.__doc__ = loop.__doc__
    return kernel("base")(copied)


def after_a_pass(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Make a pass over the records at the start, then go to the solution by ``inner``."""
    confine(data, z)
    if index.size > constants[MOST]:
        return -1
    g, left, nothing = np.empty(z.size), constants.copy(), np.zeros(2)
    count = full(gradient, data, index, constants, centre, z, g)
    left[MOST] -= count
    operator, goal = Operator(data, gradient, index, left, centre), Goal(nothing, z)
    more = inner(operator, goal, rng, z, g)  # type: ignore[name-defined]  # noqa: F821
    return count + more if more >= 0 else -(count + ~more)


@kernel("int64(Operator, float64, int64, stream, vector, vector)")
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


@kernel("base")
def saddle_svrg(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Run SVRG: a pass at the snapshot, an epoch from it, and so on.

    sigma = 1/(4 Lbar^2), m = log 4 (1 + 1/sigma) steps an epoch. Proof of the rate 3/4: with
    delta = z - z*, delta~ = snapshot - z*, one step gives
    (1 + sigma)^2 E|delta+|^2 <= (1 + 3 sigma^2 Lbar^2) |delta|^2 + 2 sigma^2 Lbar^2 |delta~|^2. The first
    factor, over (1 + sigma)^2, is 1/(1 + sigma) at most, whose m-th power is at most 1/4; the second sums
    up to at most 2 sigma Lbar^2 = 1/2.
    """
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


@kernel("base")
def saddle_saga(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Run SAGA: one gradient a step; every 2/sigma steps, at least 2n, a pass for the certificate alone.

    sigma = 1/max(4 Lbar^2, 3n/2 - 1); the table holds each record's B_i where it was last seen.
    """
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


@kernel(INNER)
def accelerated_svrg_inner(operator, goal, rng, z, g):  # type: ignore[no-untyped-def]
    """Solve from z with g = W(z).

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


accelerated_svrg = with_inner(after_a_pass, accelerated_svrg_inner, "accelerated_svrg")


@kernel(INNER)
def jin_sidford_tian_inner(operator, goal, rng, z, g):  # type: ignore[no-untyped-def]
    """Solve from the reference point z with g = W(z).

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


jin_sidford_tian = with_inner(after_a_pass, jin_sidford_tian_inner, "jin_sidford_tian")


# begin and end of the block x in z, beta, the factor of the extrapolation
PLAN = types.Tuple((types.int64, types.int64, types.float64, types.float64))


@kernel("PLAN(vector, int64, int64, int64, vector, vector)")
def plan(constants, n, d, size, sub, relative):  # type: ignore[no-untyped-def]
    """Choose the block and beta; fill the subproblems' constants ``sub`` and their criterion ``relative``."""
    on_w = size == d or constants[MU_W] <= constants[MU_V]
    mu_at, r_at = (MU_W, R_W) if on_w else (MU_V, R_V)
    mu, wanted = constants[mu_at], constants[L] / math.sqrt(n)
    if size > d:
        wanted = min(wanted, constants[MU_V] if on_w else constants[MU_W])
    beta = max(wanted - mu, 0.0)
    q = mu / (mu + beta)
    copy(constants, sub)
    relative[:] = 0.0
    if beta > 0.0:
        sub[mu_at] += beta
        sub[r_at] += beta
        sub[ENERGY] *= q * q / 8.0  # below what the relative part asks for in the end
        relative[0 if on_w else 1] = 0.5 * math.sqrt(q) * beta
    begin, end = (0, d) if on_w else (d, size)
    return begin, end, beta, (1.0 - math.sqrt(q)) / (1.0 + math.sqrt(q))


@kernel("void(PLAN, Operator, vector, vector, vector, vector, float64)")
def add(planned, operator, y, z, where, g, sign):  # type: ignore[no-untyped-def]
    """Turn g = W(z) into the subproblem's operator (sign 1), or back (-1); ``where`` receives its centre."""
    begin, end, beta, _ = planned
    constants, centre, d = operator.constants, operator.centre, operator.data.dim_w
    copy(centre, where)
    if beta > 0.0:
        r = constants[R_W] if begin < d else constants[R_V]
        for j in range(begin, end):
            where[j] = (r * centre[j] + beta * y[j]) / (r + beta)
            g[j] += sign * beta * (z[j] - y[j])


@kernel("void(PLAN, data, vector, vector, vector)")
def extrapolate(planned, data, z, last, y):  # type: ignore[no-untyped-def]
    """Move y, and z with it: the next subproblem starts where its solution is expected, the other block too."""
    factor = planned[3]
    for j in range(z.size):
        y[j] = z[j] + factor * (z[j] - last[j])
        last[j] = z[j]
        z[j] = y[j]
    confine(data, z)


def around(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Make a pass at the start, then solve one subproblem after the other by ``inner``."""
    n, size, d, most = index.size, z.size, data.dim_w, constants[MOST]
    sub, relative, where = np.empty(constants.size), np.empty(2), np.empty(size)
    planned, whole = plan(constants, n, d, size, sub, relative), Operator(data, gradient, index, constants, centre)
    confine(data, z)
    if n > most:
        return -1
    g, ahead, last, y = np.empty(size), np.empty(size), z.copy(), z.copy()
    count, first = full(gradient, data, index, constants, centre, z, g), True
    while certificate(data, constants, z, g, ahead) > constants[ENERGY]:
        if planned[2] > 0.0 and not first:
            extrapolate(planned, data, z, last, y)
            if count + n > most:
                return -count
            count += full(gradient, data, index, constants, centre, z, g)
        add(planned, whole, y, z, where, g, 1.0)
        first = False
        sub[MOST] = most - count
        operator, goal = Operator(data, gradient, index, sub, where), Goal(relative, y)
        more = inner(operator, goal, rng, z, g)  # type: ignore[name-defined]  # noqa: F821
        if more < 0:
            return -(count + ~more)
        count += more
        add(planned, whole, y, z, where, g, -1.0)
    return count


al_svre = with_inner(around, jin_sidford_tian_inner, "al_svre")
catalyst_svrg = with_inner(around, accelerated_svrg_inner, "catalyst_svrg")
