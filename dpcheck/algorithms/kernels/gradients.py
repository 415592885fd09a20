"""Clipped means of per-record gradients and of their differences, and steps by them, for any problem.

They call the problem's gradient one record at a time. A problem whose gradients come cheaper in
batches brings kernels of the same signatures instead; and what an algorithm never calls has stand-ins here.
"""

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import clip_factor, project


@kernel("void(vector, int64, vector, int64, vector)")
def add_clipped(g, d, clip, batch, out):  # type: ignore[no-untyped-def]
    """Add g / batch to ``out``, its first d entries clipped to clip[0] and the others to clip[1]."""
    scale = clip_factor(g[:d], clip[0]) / batch
    for i in range(d):
        out[i] += scale * g[i]
    scale = clip_factor(g[d:], clip[1]) / batch
    for i in range(d, g.size):
        out[i] += scale * g[i]


@kernel("mean")
def mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Sum the gradients at x over ``index``, each block clipped per record, divided by ``batch``."""
    params, records, d = data.params, data.records, data.dim_w
    one = np.empty(x.size)
    w, v, g_w, g_v = x[:d], x[d:], one[:d], one[d:]  # here, as each view that is made counts references
    out[:] = 0.0
    for j in range(index.size):
        gradient(params, records[index[j]], w, v, g_w, g_v)
        add_clipped(one, d, clip, batch, out)


@kernel("difference")
def difference(gradient, data, new, old, batch, clip, out):  # type: ignore[no-untyped-def]
    """Sum gradient(index[j], x) - gradient(old_index[j], old_x), clipped, over the pairs, divided by ``batch``."""
    params, records, d = data.params, data.records, data.dim_w
    index, x, old_index, old_x = new.chosen, new.x, old.chosen, old.x
    size = x.size
    one, other = np.empty(size), np.empty(size)
    w, v, g_w, g_v = x[:d], x[d:], one[:d], one[d:]
    old_w, old_v, old_g_w, old_g_v = old_x[:d], old_x[d:], other[:d], other[d:]
    out[:] = 0.0
    for j in range(index.size):
        gradient(params, records[index[j]], w, v, g_w, g_v)
        gradient(params, records[old_index[j]], old_w, old_v, old_g_w, old_g_v)
        for i in range(size):
            one[i] -= other[i]
        add_clipped(one, d, clip, batch, out)


@kernel("ascent")
def ascent(gradient, mean, data, index, steps, clip, point, g):  # type: ignore[no-untyped-def]
    """Climb in v at a fixed w, with the records' whole gradients at every step."""
    d = data.dim_w
    for i in range(steps.size):
        mean(gradient, data, index, index.size, point, clip, g)
        for j in range(d, g.size):
            point[j] += steps[i] * g[j]
        project(point[d:], data.domain_v)


@kernel("mean")
def no_mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Stand in where an algorithm takes no means: compiled at once, and all NaN if one is taken after all."""
    for i in range(out.size):
        out[i] = np.nan


@kernel("difference")
def no_difference(gradient, data, new, old, batch, clip, out):  # type: ignore[no-untyped-def]
    """Stand in where an algorithm takes no differences: compiled at once, and all NaN if one is taken after all."""
    for i in range(out.size):
        out[i] = np.nan


@kernel("ascent")
def no_ascent(gradient, mean, data, index, steps, clip, point, g):  # type: ignore[no-untyped-def]
    """Stand in where an algorithm climbs by itself: compiled at once, and all NaN if it is called after all."""
    for i in range(point.size):
        point[i] = np.nan
