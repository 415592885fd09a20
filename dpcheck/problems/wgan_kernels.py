"""Kernels of :mod:`dpcheck.problems.wgan`, whose head has the formulas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from dpcheck.algorithms.kernels import mlp
from dpcheck.algorithms.kernels.jit import (
    DATA,
    DIFFERENCE_SIGNATURE,
    GRADIENT_SIGNATURE,
    INDICES,
    MEAN_SIGNATURE,
    PLACE,
    VALUE_SIGNATURE,
    VECTOR,
    kernel,
)  # fmt: skip
from dpcheck.algorithms.kernels.named import Place

# params: lambda, slope, number of G's widths, G's widths, D's widths; a record: x, z


@kernel(INDICES(VECTOR))
def generator_widths(params):  # type: ignore[no-untyped-def]
    """Widths of G."""
    return mlp.widths_of(params[3 : 3 + np.int64(params[2])])


@kernel(INDICES(VECTOR))
def discriminator_widths(params):  # type: ignore[no-untyped-def]
    """Widths of D."""
    return mlp.widths_of(params[3 + np.int64(params[2]) :])


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record, in plain loops."""
    g_widths, d_widths = generator_widths(params), discriminator_widths(params)
    k, penalty, slope = d_widths[0], params[0], params[1]
    a, b, top = np.empty(g_widths.sum()), np.empty(d_widths.sum()), np.ones(1)
    fake, back, part = np.empty(k), np.empty(k), np.empty(v.size)
    mlp.activate(v, d_widths, slope, record, b)
    mlp.propagate(v, d_widths, slope, b, top, out_v, back)
    start = mlp.activate(w, g_widths, slope, record[k:], a)
    for i in range(k):
        fake[i] = np.tanh(a[start + i])
    mlp.activate(v, d_widths, slope, fake, b)
    mlp.propagate(v, d_widths, slope, b, top, part, back)
    for i in range(v.size):
        out_v[i] -= part[i] + 2.0 * penalty * v[i]
    for i in range(k):
        back[i] *= fake[i] * fake[i] - 1.0
    mlp.propagate(w, g_widths, slope, a, back, out_w, np.empty(g_widths[0]))


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record."""
    g_widths, d_widths = generator_widths(params), discriminator_widths(params)
    k = d_widths[0]
    a, b, fake = np.empty(g_widths.sum()), np.empty(d_widths.sum()), np.empty(k)
    real = b[mlp.activate(v, d_widths, params[1], record, b)]
    start = mlp.activate(w, g_widths, params[1], record[k:], a)
    for i in range(k):
        fake[i] = np.tanh(a[start + i])
    return real - b[mlp.activate(v, d_widths, params[1], fake, b)] - params[0] * mlp.inner(v, v)


class Networks(NamedTuple):
    """G and D at work, and the first rows of a place: in G, and in D of the real and of the fake images."""

    g: mlp.Layers
    d: mlp.Layers
    first: int
    real: int
    fake: int


_NETWORKS = types.NamedTuple(  # type: ignore[no-untyped-call]
    (mlp.LAYERS, mlp.LAYERS, types.int64, types.int64, types.int64), Networks
)


@kernel(types.void(DATA, PLACE, _NETWORKS))
def produced(data, place, networks):  # type: ignore[no-untyped-def]
    """Forward passes of the records of a place: D's outputs at the real and the fake images are its last z."""
    params, records, index = data.params, data.records, place.chosen
    w, v = place.x[: data.dim_w], place.x[data.dim_w :]
    g, d, g_first, real, fake = networks
    g_widths, g_rows, g_work = g
    d_widths, d_rows, d_work = d
    k, m, slope = d_widths[0], index.size, params[1]
    images, latent = mlp.inputs(d_work, d_widths, d_rows, 0), mlp.inputs(g_work, g_widths, g_rows, 0)
    mlp.gather(records, index, images[real : real + m])
    for j in range(m):
        for i in range(g_widths[0]):
            latent[g_first + j, i] = records[index[j], k + i]
        latent[g_first + j, g_widths[0]] = 1.0
    mlp.forward(w, g_widths, slope, g_rows, g_first, g_first + m, g_work)
    made = mlp.signals(g_work, g_widths, g_rows, g_widths.size - 1)
    for j in range(m):
        for i in range(k):
            images[fake + j, i] = np.tanh(made[g_first + j, i])
        images[fake + j, k] = 1.0
    mlp.forward(v, d_widths, slope, d_rows, real, real + m, d_work)
    mlp.forward(v, d_widths, slope, d_rows, fake, fake + m, d_work)


@kernel(types.void(DATA, PLACE, _NETWORKS))
def backpropagated(data, place, networks):  # type: ignore[no-untyped-def]
    """Backward passes: signals of D(x) and of D(G(z)) in D, signals of f in G."""
    w, v = place.x[: data.dim_w], place.x[data.dim_w :]
    g, d, g_first, real, fake = networks
    g_widths, g_rows, g_work = g
    d_widths, d_rows, d_work = d
    k, m, slope, top = d_widths[0], place.chosen.size, data.params[1], d_widths.size - 1
    last = mlp.signals(d_work, d_widths, d_rows, top)
    last[real : real + m] = 1.0
    last[fake : fake + m] = 1.0
    mlp.backward(v, d_widths, slope, d_rows, real, real + m, d_work)
    mlp.backward(v, d_widths, slope, d_rows, fake, fake + m, d_work)
    images = mlp.inputs(d_work, d_widths, d_rows, 0)
    made = mlp.signals(g_work, g_widths, g_rows, g_widths.size - 1)[g_first : g_first + m]
    np.dot(
        mlp.signals(d_work, d_widths, d_rows, 1)[fake : fake + m],
        np.transpose(mlp.weights(v, d_widths, 1)[:k]),
        made,
    )
    for j in range(m):
        for i in range(k):
            made[j, i] *= images[fake + j, i] * images[fake + j, i] - 1.0
    mlp.backward(w, g_widths, slope, g_rows, g_first, g_first + m, g_work)


@kernel(types.void(INDICES, types.float64, types.int64, VECTOR, types.float64, VECTOR))
def add_own_products(widths, slope, rows, work, factor, out):  # type: ignore[no-untyped-def]
    """Add factor <V, grad D(x) - grad D(G(z))> to ``out``, but for the last layer, where it is D(x) - D(G(z)).

    <V_l, input signal'> = <z_l, signal>, and z_l is what the leaky ReLU made the next layer's input from.
    """
    m = out.size
    for layer in range(1, widths.size - 1):
        a, s = mlp.inputs(work, widths, rows, layer), mlp.signals(work, widths, rows, layer)
        for j in range(2 * m):
            total = 0.0
            for i in range(s.shape[1]):
                total += s[j, i] * a[j, i] * (1.0 if a[j, i] >= 0.0 else 1.0 / slope)
            if j < m:
                out[j] += factor * total
            else:
                out[j - m] -= factor * total


@kernel(MEAN_SIGNATURE)
def mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean by matrix products, see ``dpcheck.algorithms.kernels.mlp``; ``gradient`` is not called."""
    params, d = data.params, data.dim_w
    g_widths, d_widths = generator_widths(params), discriminator_widths(params)
    v, penalty, slope, top = x[d:], params[0], params[1], d_widths.size - 1
    chunk = min(index.size, mlp.CHUNK)
    g_work, d_work = np.empty(chunk * mlp.room(g_widths)), np.empty(2 * chunk * mlp.room(d_widths))
    g_layers, d_layers = mlp.Layers(g_widths, chunk, g_work), mlp.Layers(d_widths, 2 * chunk, d_work)
    square, scale, apart, pull = np.empty(chunk), np.empty(2 * chunk), np.empty(chunk), 0.0
    if index.size == 0:
        out[:] = 0.0
    for start in range(0, index.size, mlp.CHUNK):
        part = index[start : start + mlp.CHUNK]
        m = part.size
        networks, place = Networks(g_layers, d_layers, 0, 0, m), Place(part, x)
        produced(data, place, networks)
        score = mlp.signals(d_work, d_widths, 2 * chunk, top)
        for j in range(m):
            apart[j] = score[j, 0] - score[m + j, 0]
        backpropagated(data, place, networks)
        mlp.squares(g_widths, chunk, g_work, square[:m])
        for j in range(m):
            scale[j] = mlp.clip_weight(square[j], clip[0]) / batch
        mlp.weighted_sum(g_widths, chunk, g_work, scale[:m], start > 0, out[:d])
        mlp.difference_squares(d_widths, 2 * chunk, d_work, 1, square[:m])
        if penalty > 0.0:  # |grad D(x) - grad D(G(z)) - 2 lambda v|^2
            add_own_products(d_widths, slope, 2 * chunk, d_work, -4.0 * penalty, square[:m])
            own = 4.0 * penalty * penalty * mlp.inner(v, v)
            for j in range(m):
                square[j] = max(square[j] + own - 4.0 * penalty * apart[j], 0.0)
        for j in range(m):
            scale[j] = mlp.clip_weight(square[j], clip[1]) / batch
            scale[m + j] = -scale[j]
            pull += 2.0 * penalty * scale[j]
        mlp.weighted_sum(d_widths, 2 * chunk, d_work, scale[: 2 * m], start > 0, out[d:])
    for i in range(v.size):
        out[d + i] -= pull * v[i]


@kernel(types.void(INDICES, types.int64, VECTOR, VECTOR, VECTOR))
def add_products(widths, rows, work, shift, out):  # type: ignore[no-untyped-def]
    """Add -2 <shift, difference of gradients>, four blocks of rows with signs +, -, -, +, and |shift|^2."""
    m, own = out.size, mlp.inner(shift, shift)
    for j in range(m):
        out[j] += own
    for layer in range(1, widths.size):
        a, s = mlp.inputs(work, widths, rows, layer - 1)[: 4 * m], mlp.signals(work, widths, rows, layer)[: 4 * m]
        u = np.empty(s.shape)
        np.dot(a, mlp.weights(shift, widths, layer), u)
        for j in range(4 * m):
            block = j // m
            sign = 1.0 if block == 0 or block == 3 else -1.0
            out[j % m] -= 2.0 * sign * mlp.inner(u[j], s[j])


@kernel(DIFFERENCE_SIGNATURE)
def difference(gradient, data, new, old, batch, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean of gradient differences by matrix products; ``gradient`` is not called."""
    params, d, index, x = data.params, data.dim_w, new.chosen, new.x
    g_widths, d_widths = generator_widths(params), discriminator_widths(params)
    penalty, chunk = params[0], min(index.size, mlp.CHUNK)
    # blocks of rows: of G at x and at old_x; of D x at v, x at old v, G(z) at v, G(z) at old v
    g_rows, d_rows = 2 * chunk, 4 * chunk
    g_work, d_work = np.empty(g_rows * mlp.room(g_widths)), np.empty(d_rows * mlp.room(d_widths))
    g_layers, d_layers = mlp.Layers(g_widths, g_rows, g_work), mlp.Layers(d_widths, d_rows, d_work)
    square, scale, shift, pull = np.empty(chunk), np.empty(d_rows), np.empty(x.size - d), 0.0
    for i in range(shift.size):
        shift[i] = 2.0 * penalty * (x[d + i] - old.x[d + i])
    if index.size == 0:
        out[:] = 0.0
    for start in range(0, index.size, mlp.CHUNK):
        m = min(index.size - start, mlp.CHUNK)
        for side in range(2):
            at = new if side == 0 else old
            place = Place(at.chosen[start : start + m], at.x)
            networks = Networks(g_layers, d_layers, side * m, side * m, (2 + side) * m)
            produced(data, place, networks)
            backpropagated(data, place, networks)
        mlp.difference_squares(g_widths, g_rows, g_work, 1, square[:m])
        for j in range(m):
            scale[j] = mlp.clip_weight(square[j], clip[0]) / batch
            scale[m + j] = -scale[j]
        mlp.weighted_sum(g_widths, g_rows, g_work, scale[: 2 * m], start > 0, out[:d])
        mlp.difference_squares(d_widths, d_rows, d_work, 2, square[:m])
        if penalty > 0.0:
            add_products(d_widths, d_rows, d_work, shift, square[:m])
        for j in range(m):
            scale[j] = mlp.clip_weight(max(square[j], 0.0), clip[1]) / batch
            scale[m + j], scale[2 * m + j], scale[3 * m + j] = -scale[j], -scale[j], scale[j]
            pull += scale[j]
        mlp.weighted_sum(d_widths, d_rows, d_work, scale[: 4 * m], start > 0, out[d:])
    for i in range(shift.size):
        out[d + i] -= pull * shift[i]
