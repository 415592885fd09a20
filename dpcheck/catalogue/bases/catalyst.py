"""Catalyst: Nesterov's extrapolation around any base solver, on the block with the smaller modulus mu.

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

from __future__ import annotations

import math

import numpy as np
from numba import types

from dpcheck.algorithms.kernels.jit import DATA, VECTOR, kernel
from dpcheck.algorithms.kernels.parts import copy
from dpcheck.catalogue.bases.saddle import (
    ENERGY,
    MOST,
    MU_V,
    MU_W,
    OPERATOR,
    R_V,
    R_W,
    Goal,
    L,
    Operator,
    certificate,
    confine,
    full,
)
from dpcheck.catalogue.bases.saddle_methods import accelerated_svrg_inner, jin_sidford_tian_inner, with_inner

# begin and end of the block x in z, beta, the factor of the extrapolation
PLAN = types.Tuple((types.int64, types.int64, types.float64, types.float64))


@kernel(PLAN(VECTOR, types.int64, types.int64, types.int64, VECTOR, VECTOR))
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


@kernel(types.void(PLAN, OPERATOR, VECTOR, VECTOR, VECTOR, VECTOR, types.float64))
def add(planned, operator, y, z, where, g, sign):  # type: ignore[no-untyped-def]
    """Turn g = W(z) into the subproblem's operator (sign 1), or back (-1).

    ``where`` receives the centre of both its regularisers.
    """
    begin, end, beta, _ = planned
    constants, centre, d = operator.constants, operator.centre, operator.data.dim_w
    copy(centre, where)
    if beta > 0.0:
        r = constants[R_W] if begin < d else constants[R_V]
        for j in range(begin, end):
            where[j] = (r * centre[j] + beta * y[j]) / (r + beta)
            g[j] += sign * beta * (z[j] - y[j])


@kernel(types.void(PLAN, DATA, VECTOR, VECTOR, VECTOR))
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
