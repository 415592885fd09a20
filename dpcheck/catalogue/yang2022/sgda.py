"""Private stochastic gradient descent ascent: the loop."""

from typing import NamedTuple

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel, named
from dpcheck.algorithms.kernels.parts import Draw, below, copy, project
from dpcheck.algorithms.kernels.tape import mark, release, sample

# Which iterate a run returns: the average of all, the last, or one drawn uniformly beforehand.
AVERAGE, LAST, UNIFORM = 0, 1, 2


class Reals(NamedTuple):
    """Noise, clipping norms and sensitivities of the minibatch means, in either block."""

    sigma_w: float
    sigma_v: float
    clip_w: float
    clip_v: float
    sensitivity_w: float
    sensitivity_v: float


class Counts(NamedTuple):
    """How minibatches are drawn, how large they are, and which iterate is returned."""

    scheme: int
    batch: int
    output: int


@kernel("run")
def sgda(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """Run Yang et al. 2022, Algorithm 1, with per-record clipping (infinite bounds switch it off).

    steps : (2, T) eta_w, eta_v
    ``out`` receives (w, v): the average of iterates 1..T, the T-th as printed, or a uniform one of them.
    """
    gradient, mean, data = objective.gradient, objective.mean, objective.data
    reals, counts, steps = named(Reals, numbers.reals), named(Counts, numbers.counts), numbers.steps
    scheme, batch, output = counts.scheme, counts.batch, counts.output
    n, size, dim_w, T = data.records.shape[0], data.start.size, data.dim_w, steps.shape[1]
    x, g, clip = data.start.copy(), np.empty(size), np.array([reals.clip_w, reals.clip_v])
    w, v, g_w, g_v = x[:dim_w], x[dim_w:], g[:dim_w], g[dim_w:]
    deck, index = np.arange(n), np.empty(n if scheme == Draw.POISSON else batch, np.int64)
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
        mean(gradient, data, index[:count], batch, x, clip, g)
        release(g_w, reals.sigma_w, reals.sensitivity_w, rng, tape)  # line 5
        release(g_v, reals.sigma_v, reals.sensitivity_v, rng, tape)
        for i in range(dim_w):
            w[i] -= steps[0, t] * g_w[i]
        for i in range(size - dim_w):
            v[i] += steps[1, t] * g_v[i]
        project(w, data.domain_w)  # line 6
        project(v, data.domain_v)  # line 7
