"""Catalyst-Acc-SVRG: n + sqrt(n kappa_w kappa_v) + n^(3/4) sqrt(kappa) gradients times log(1/accuracy); saddle points.

Yang, Zhang, Kiyavash, He, "A catalyst framework for minimax optimization", 2020. Reconstructed from its
abstract and common knowledge: :mod:`dpcheck.bases.catalyst` around :mod:`dpcheck.bases.accelerated_svrg`.
"""

from __future__ import annotations

import numpy as np

from dpcheck.bases.accelerated_svrg import inner
from dpcheck.bases.catalyst import add, extrapolate, plan
from dpcheck.kernels.jit import BASE_SIGNATURE, kernel
from dpcheck.kernels.saddle import ENERGY, MOST, certificate, confine, full


@kernel(BASE_SIGNATURE)
def run(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Make a pass at the start, then solve one subproblem after the other."""
    n, size, d, most = index.size, z.size, data[5], constants[MOST]
    sub, relative, where = np.empty(constants.size), np.empty(2), np.empty(size)
    planned = plan(constants, n, d, size, sub, relative)
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
        add(planned, constants, d, centre, y, z, where, g, 1.0)
        first = False
        sub[MOST] = most - count
        more = inner(gradient, data, index, sub, where, relative, y, rng, z, g)
        if more < 0:
            return -(count + ~more)
        count += more
        add(planned, constants, d, centre, y, z, where, g, -1.0)
    return count
