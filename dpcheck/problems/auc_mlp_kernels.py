"""Kernels of :mod:`dpcheck.problems.auc_mlp`, whose head has the formulas."""

from __future__ import annotations

import numpy as np
from numba import types

from dpcheck.algorithms.kernels import mlp
from dpcheck.algorithms.kernels.jit import (
    ASCENT_SIGNATURE,
    DATA,
    DIFFERENCE_SIGNATURE,
    GRADIENT_SIGNATURE,
    INDICES,
    MATRIX,
    MEAN_SIGNATURE,
    PLACE,
    SINGLE_VECTOR,
    VALUE_SIGNATURE,
    VECTOR,
    kernel,
)  # fmt: skip
from dpcheck.algorithms.kernels.named import Place
from dpcheck.problems.auc import climb

# params: s+, s-, s0, slope, widths

# What single precision may add to the norm of a record's clipped gradient, of some hundred roundings of 6e-8 that
# mostly cancel.
SINGLE_ERROR = 1e-5


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record (x, y), in plain loops."""
    widths, d = mlp.widths_of(params[4:]), w.size - 2
    a = np.empty(widths.sum())
    h = a[mlp.activate(w[:d], widths, params[3], record, a)]
    if record[record.size - 1] > 0:
        weight, centre, sign = params[0], w[d], -1.0
    else:
        weight, centre, sign = params[1], w[d + 1], 1.0
    pull = 2.0 * weight * (centre - h)
    top, unused = np.empty(1), np.empty(widths[0])
    top[0] = 2.0 * weight * sign * (1.0 + v[0]) - pull
    mlp.propagate(w[:d], widths, params[3], a, top, out_w[:d], unused)
    out_w[d] = pull if sign < 0 else 0.0
    out_w[d + 1] = pull if sign > 0 else 0.0
    out_v[0] = 2.0 * (sign * weight * h - params[2] * v[0])


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (x, y)."""
    widths, d = mlp.widths_of(params[4:]), w.size - 2
    a = np.empty(widths.sum())
    h = a[mlp.activate(w[:d], widths, params[3], record, a)]
    if record[record.size - 1] > 0:
        weight, centre, sign = params[0], w[d], -1.0
    else:
        weight, centre, sign = params[1], w[d + 1], 1.0
    return weight * ((h - centre) * (h - centre) + 2.0 * sign * (1.0 + v[0]) * h) - params[2] * v[0] * v[0]


@kernel(
    types.void(DATA, PLACE, VECTOR, types.int64, mlp.LAYERS, MATRIX),
    types.void(DATA, PLACE, SINGLE_VECTOR, types.int64, mlp.SINGLE_LAYERS, MATRIX),
)
def backpropagated(data, place, theta, first, layers, rest):  # type: ignore[no-untyped-def]
    """Inputs and signals of f for the records of a place, in the rows from ``first`` on.

    theta : the network's part of the place, in the precision of the layers
    rest : (records, 3), the gradients in a, b and v
    """
    params, records, d = data.params, data.records, data.dim_w - 2
    index, x = place
    widths, rows, work = layers
    stop, last = first + index.size, records.shape[1] - 1
    mlp.gather(records, index, mlp.inputs(work, widths, rows, 0)[first:stop])
    mlp.forward(theta, widths, params[3], rows, first, stop, work)
    top = mlp.signals(work, widths, rows, widths.size - 1)
    v = x[d + 2]
    for j in range(index.size):
        h = top[first + j, 0]
        positive = records[index[j], last] > 0
        weight, sign = (params[0], -1.0) if positive else (params[1], 1.0)
        pull = 2.0 * weight * (x[d if positive else d + 1] - h)
        top[first + j, 0] = 2.0 * weight * sign * (1.0 + v) - pull
        rest[j, 0] = pull if positive else 0.0
        rest[j, 1] = 0.0 if positive else pull
        rest[j, 2] = 2.0 * (sign * weight * h - params[2] * v)
    mlp.backward(theta, widths, params[3], rows, first, stop, work)


@kernel(types.void(VECTOR, MATRIX, types.int64, VECTOR, VECTOR, VECTOR))
def add_rest(square, rest, batch, clip, scale, out):  # type: ignore[no-untyped-def]
    """Weights of the records' clipped gradients in ``scale``; their parts in a, b and v added to ``out``."""
    d = out.size - 3
    for j in range(rest.shape[0]):
        a, b, v = rest[j, 0], rest[j, 1], rest[j, 2]
        scale[j] = mlp.clip_weight(square[j] + a * a + b * b, clip[0]) / batch
        out[d] += scale[j] * a
        out[d + 1] += scale[j] * b
        out[d + 2] += mlp.clip_weight(v * v, clip[1]) / batch * v


@kernel(
    types.void(DATA, INDICES, types.int64, VECTOR, VECTOR, VECTOR, mlp.LAYERS, VECTOR, VECTOR),
    types.void(DATA, INDICES, types.int64, VECTOR, VECTOR, SINGLE_VECTOR, mlp.SINGLE_LAYERS, SINGLE_VECTOR, VECTOR),
)
def add_chunks(data, index, batch, x, clip, theta, layers, total, out):  # type: ignore[no-untyped-def]
    """Clipped mean, as many records at a time as the layers have rows for: ``total`` in theta, ``out`` in the rest."""
    widths, chunk, work = layers
    square, scale, rest = np.empty(chunk), np.empty(chunk), np.empty((chunk, 3))
    for start in range(0, index.size, max(chunk, 1)):
        part = index[start : start + chunk]
        m = part.size
        backpropagated(data, Place(part, x), theta, 0, layers, rest)
        mlp.squares(widths, chunk, work, square[:m])
        add_rest(square, rest[:m], batch, clip, scale, out)
        mlp.weighted_sum(widths, chunk, work, scale[:m], start > 0, total)


@kernel(MEAN_SIGNATURE)
def mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean by matrix products, see ``dpcheck.algorithms.kernels.mlp``; ``gradient`` is not called."""
    widths, d, chunk = mlp.widths_of(data.params[4:]), data.dim_w - 2, min(index.size, mlp.CHUNK)
    out[d if index.size > 0 else 0 :] = 0.0  # the products fill the rest
    layers = mlp.Layers(widths, chunk, np.empty(chunk * mlp.room(widths)))
    add_chunks(data, index, batch, x, clip, x[:d], layers, out[:d], out)


@kernel(MEAN_SIGNATURE)
def mean_single(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Compute ``mean`` by products in single precision, with norms lowered by more than these are off."""
    widths, d, chunk = mlp.widths_of(data.params[4:]), data.dim_w - 2, min(index.size, 2 * mlp.CHUNK)
    layers = mlp.Layers(widths, chunk, np.empty(chunk * mlp.room(widths), np.float32))
    total = np.zeros(d, np.float32)
    out[d:] = 0.0
    add_chunks(data, index, batch, x, (1.0 - SINGLE_ERROR) * clip, x[:d].astype(np.float32), layers, total, out)
    out[:d] = total


@kernel(DIFFERENCE_SIGNATURE)
def difference(gradient, data, new, old, batch, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean of gradient differences by matrix products; ``gradient`` is not called."""
    index, old_index, d = new.chosen, old.chosen, data.dim_w - 2
    widths, chunk = mlp.widths_of(data.params[4:]), min(index.size, mlp.CHUNK)
    work, square, scale = np.empty(2 * chunk * mlp.room(widths)), np.empty(chunk), np.empty(2 * chunk)
    layers, rest, old_rest = mlp.Layers(widths, 2 * chunk, work), np.empty((chunk, 3)), np.empty((chunk, 3))
    out[d if index.size > 0 else 0 :] = 0.0
    for start in range(0, index.size, mlp.CHUNK):
        part, old_part = index[start : start + mlp.CHUNK], old_index[start : start + mlp.CHUNK]
        m = part.size
        backpropagated(data, Place(part, new.x), new.x[:d], 0, layers, rest)
        backpropagated(data, Place(old_part, old.x), old.x[:d], m, layers, old_rest)
        mlp.difference_squares(widths, 2 * chunk, work, 1, square[:m])
        for j in range(m):
            for k in range(3):
                rest[j, k] -= old_rest[j, k]
        add_rest(square, rest[:m], batch, clip, scale, out)
        for j in range(m):
            scale[m + j] = -scale[j]
        mlp.weighted_sum(widths, 2 * chunk, work, scale[: 2 * m], start > 0, out[:d])


@kernel(ASCENT_SIGNATURE)
def ascent(gradient, mean, data, index, steps, clip, point, g):  # type: ignore[no-untyped-def]
    """Climb with scores from one forward pass, since v is not in them; ``gradient`` and ``mean`` are not called."""
    params, records, d = data.params, data.records, data.dim_w - 2
    widths, last = mlp.widths_of(params[4:]), records.shape[1] - 1
    rows = min(index.size, mlp.CHUNK)
    work, pulls = np.empty(rows * mlp.room(widths)), np.empty(index.size)
    top = mlp.signals(work, widths, rows, widths.size - 1)
    for start in range(0, index.size, mlp.CHUNK):
        part = index[start : start + mlp.CHUNK]
        mlp.gather(records, part, mlp.inputs(work, widths, rows, 0)[: part.size])
        mlp.forward(point[:d], widths, params[3], rows, 0, part.size, work)
        for j in range(part.size):
            pulls[start + j] = (-params[0] if records[part[j], last] > 0 else params[1]) * top[j, 0]
    climb(params[2], pulls, steps, clip[1], data.domain_v, point[d + 2 :])
