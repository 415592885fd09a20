"""Private stochastic gradient descent ascent: the loop."""

from __future__ import annotations

import numpy as np

from dpcheck.kernels.jit import RUN_SIGNATURE, kernel
from dpcheck.kernels.parts import AVERAGE, POISSON, UNIFORM, below, copy, project
from dpcheck.kernels.tape import mark, release, sample


@kernel(RUN_SIGNATURE)
def sgda(gradient, mean, difference, data, reals, counts, steps, rng, out, tape):  # type: ignore[no-untyped-def]
    """Run Yang et al. 2022, Algorithm 1, with per-record clipping (infinite bounds switch it off).

    reals : sigma_w, sigma_v, clip_w, clip_v, sensitivity_w, sensitivity_v
    counts : scheme, batch, output;  steps : (2, T) eta_w, eta_v
    ``out`` receives (w, v): the average of iterates 1..T, the T-th as printed, or a uniform one of them.
    """
    _, records, domain_w, domain_v, start, dim_w = data
    scheme, batch, output = counts
    n, size, T = records.shape[0], start.size, steps.shape[1]
    x, g = start.copy(), np.empty(size)
    w, v, g_w, g_v = x[:dim_w], x[dim_w:], g[:dim_w], g[dim_w:]
    deck, index = np.arange(n), np.empty(n if scheme == POISSON else batch, np.int64)
    chosen = below(T, rng) if output == UNIFORM else T - 1
    out[:] = 0.0
    for t in range(T):
        if output == AVERAGE:
            for i in range(size):
                out[i] += x[i] / T
        elif t == chosen:
            copy(x, out)
        if mark(t, x, tape):
            return
        count = sample(scheme, n, batch, deck, rng, index, tape)  # line 4
        mean(gradient, data, index[:count], batch, x, reals[2:], g)
        release(g_w, reals[0], reals[4], rng, tape)  # line 5
        release(g_v, reals[1], reals[5], rng, tape)
        for i in range(dim_w):
            w[i] -= steps[0, t] * g_w[i]
        for i in range(size - dim_w):
            v[i] += steps[1, t] * g_v[i]
        project(w, domain_w)  # line 6
        project(v, domain_v)  # line 7
