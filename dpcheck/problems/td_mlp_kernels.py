"""Kernels of :mod:`dpcheck.problems.td_mlp`, whose head has the formulas and the letters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpcheck.algorithms.kernels.jit import Matrix, Place, kernel
from dpcheck.problems import mlp

# params: gamma, hidden units; a record: s (k), s' (k), r, c; theta and omega: (k + 1, H) by rows, H, 1


@kernel("float64(int64, vector, vector, int64, vector)")
def one_value(units, theta, record, first, tau):  # type: ignore[no-untyped-def]
    """V at the state that begins at ``first`` of one record, in plain loops; fills tau."""
    k = record.size // 2 - 1
    total = theta[theta.size - 1]
    for i in range(units):
        z = theta[k * units + i]
        for j in range(k):
            z += record[first + j] * theta[j * units + i]
        tau[i] = np.tanh(z)
        total += theta[(k + 1) * units + i] * tau[i]
    return total


@kernel("float64(vector, vector, vector, vector, vector, vector, vector)")
def one_product(params, record, w, v, tau, dot, next_tau):  # type: ignore[no-untyped-def]
    """u of one record, in plain loops; fills tau at s and at s', and z'. ``dot`` has a last entry: delta."""
    units, k = np.int64(params[1]), record.size // 2 - 1
    here = one_value(units, w, record, 0, tau)
    there = one_value(units, w, record, k, next_tau)
    dot[units] = record[2 * k] + params[0] * record[2 * k + 1] * there - here
    u = v[v.size - 1]
    for i in range(units):
        dot[i] = v[k * units + i]
        for j in range(k):
            dot[i] += record[j] * v[j * units + i]
        at = (k + 1) * units + i
        u += v[at] * tau[i] + w[at] * (1.0 - tau[i] * tau[i]) * dot[i]
    return u


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record, in plain loops."""
    units, k = np.int64(params[1]), record.size // 2 - 1
    tau, dot, next_tau = np.empty(units), np.empty(units + 1), np.empty(units)
    u = one_product(params, record, w, v, tau, dot, next_tau)
    rest, later = dot[units] - u, u * params[0] * record[2 * k + 1]
    for i in range(units):
        at = (k + 1) * units + i
        slope = 1.0 - tau[i] * tau[i]
        here = rest * slope * (v[at] - 2.0 * w[at] * tau[i] * dot[i]) - u * w[at] * slope
        there = later * w[at] * (1.0 - next_tau[i] * next_tau[i])
        for j in range(k + 1):
            s, s_next = (record[j], record[k + j]) if j < k else (1.0, 1.0)
            out_w[j * units + i] = s * here + s_next * there
            out_v[j * units + i] = s * rest * w[at] * slope
        out_w[at] = rest * slope * dot[i] - u * tau[i] + later * next_tau[i]
        out_v[at] = rest * tau[i]
    out_w[w.size - 1] = later - u
    out_v[w.size - 1] = rest


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record."""
    units = np.int64(params[1])
    tau, dot, next_tau = np.empty(units), np.empty(units + 1), np.empty(units)
    u = one_product(params, record, w, v, tau, dot, next_tau)
    return dot[units] * u - 0.5 * u * u


class Signals(NamedTuple):
    """What gradients are made of, a row a record.

    In W they are s outer here - s' outer there, in Omega s outer other, in (c, c_0) last_w and last_v.
    """

    s: Matrix  # with a last column of ones, as s'
    s_next: Matrix
    here: Matrix
    there: Matrix
    other: Matrix
    last_w: Matrix
    last_v: Matrix


@kernel("void(data, place, Signals)")
def backpropagated(data, place, filled):  # type: ignore[no-untyped-def]
    """Fill the signals of the records of a place."""
    params, records, index = data.params, data.records, place.chosen
    w, v = place.x[: data.dim_w], place.x[data.dim_w :]
    s, s_next, here, there, other, last_w, last_v = filled
    units, k = np.int64(params[1]), records.shape[1] // 2 - 1
    for j in range(index.size):
        record = records[index[j]]
        for i in range(k):
            s[j, i] = record[i]
            s_next[j, i] = record[k + i]
        s[j, k] = 1.0
        s_next[j, k] = 1.0
    cut = (k + 1) * units
    matrix, c = w[:cut].reshape((k + 1, units)), w[cut:]
    omega = v[cut:]
    np.dot(s, matrix, here)
    np.dot(s_next, matrix, there)
    np.dot(s, v[:cut].reshape((k + 1, units)), other)
    for j in range(index.size):
        record = records[index[j]]
        going = params[0] * record[2 * k + 1]
        u, delta = omega[units], record[2 * k] + (going - 1.0) * c[units]
        for i in range(units):
            tau, next_tau = np.tanh(here[j, i]), np.tanh(there[j, i])
            here[j, i], there[j, i] = tau, next_tau
            u += omega[i] * tau + c[i] * (1.0 - tau * tau) * other[j, i]
            delta += c[i] * (going * next_tau - tau)
        rest = delta - u
        for i in range(units):
            tau, next_tau, dot = here[j, i], there[j, i], other[j, i]
            slope = 1.0 - tau * tau
            last_w[j, i] = rest * slope * dot + u * (going * next_tau - tau)
            last_v[j, i] = rest * tau
            here[j, i] = slope * (rest * (omega[i] - 2.0 * c[i] * tau * dot) - u * c[i])
            there[j, i] = -u * going * c[i] * (1.0 - next_tau * next_tau)
            other[j, i] = rest * c[i] * slope
        last_w[j, units] = u * (going - 1.0)
        last_v[j, units] = rest


@kernel("void(matrix, matrix, vector, vector)")
def add_layer(a, s, scale, out):  # type: ignore[no-untyped-def]
    """Add the sum of scale_j a_j outer s_j to ``out``; the signals are overwritten."""
    for j in range(scale.size):
        for i in range(s.shape[1]):
            s[j, i] *= scale[j]
    g = np.empty((a.shape[1], s.shape[1]))
    np.dot(np.transpose(a[: scale.size]), s[: scale.size], g)
    flat = g.reshape(g.size)
    for i in range(flat.size):
        out[i] += flat[i]


@kernel("void(matrix, vector, vector)")
def add_rows(rows, scale, out):  # type: ignore[no-untyped-def]
    """Add the sum of scale_j rows_j to ``out``."""
    for j in range(scale.size):
        for i in range(out.size):
            out[i] += scale[j] * rows[j, i]


@kernel("mean")
def mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean by matrix products, see ``dpcheck.problems.mlp``; ``gradient`` is not called."""
    d, units, width = data.dim_w, np.int64(data.params[1]), data.records.shape[1] // 2
    chunk, cut = min(index.size, mlp.CHUNK), width * units
    states, signals = np.empty((2 * chunk, width)), np.empty((2 * chunk, units))
    other, last_w, last_v = np.empty((chunk, units)), np.empty((chunk, units + 1)), np.empty((chunk, units + 1))
    square, scale = np.empty(chunk), np.empty(2 * chunk)
    out[:] = 0.0
    for start in range(0, index.size, mlp.CHUNK):
        part = index[start : start + mlp.CHUNK]
        m = part.size
        filled = Signals(
            states[:m], states[m : 2 * m], signals[:m], signals[m : 2 * m], other[:m], last_w[:m], last_v[:m]
        )
        backpropagated(data, Place(part, x), filled)
        square[:m] = 0.0
        mlp.add_difference_squares(states, signals, 1, square[:m])
        for j in range(m):
            scale[j] = mlp.clip_weight(square[j] + mlp.inner(last_w[j], last_w[j]), clip[0]) / batch
            scale[m + j] = -scale[j]
        add_layer(states, signals, scale[: 2 * m], out[:cut])
        add_rows(last_w, scale[:m], out[cut:d])
        for j in range(m):
            norm = mlp.inner(states[j], states[j]) * mlp.inner(other[j], other[j]) + mlp.inner(last_v[j], last_v[j])
            scale[j] = mlp.clip_weight(norm, clip[1]) / batch
        add_layer(states, other, scale[:m], out[d : d + cut])
        add_rows(last_v, scale[:m], out[d + cut :])


@kernel("difference")
def difference(gradient, data, new, old, batch, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean of gradient differences by matrix products; ``gradient`` is not called."""
    index, d = new.chosen, data.dim_w
    units, width = np.int64(data.params[1]), data.records.shape[1] // 2
    chunk, cut = min(index.size, mlp.CHUNK), width * units
    # blocks of rows: s at x, s at old_x, s' at x, s' at old_x
    states, signals, other = np.empty((4 * chunk, width)), np.empty((4 * chunk, units)), np.empty((2 * chunk, units))
    last_w, last_v = np.empty((2 * chunk, units + 1)), np.empty((2 * chunk, units + 1))
    square, scale = np.empty(chunk), np.empty(4 * chunk)
    out[:] = 0.0
    for start in range(0, index.size, mlp.CHUNK):
        m = min(index.size - start, mlp.CHUNK)
        for side in range(2):
            place = new if side == 0 else old
            low, high = side * m, side * m + m
            filled = Signals(
                states[low:high], states[2 * m + low : 2 * m + high], signals[low:high],
                signals[2 * m + low : 2 * m + high], other[low:high], last_w[low:high], last_v[low:high],
            )  # fmt: skip
            backpropagated(data, Place(place.chosen[start : start + m], place.x), filled)
        for j in range(m):
            for i in range(units + 1):
                last_w[j, i] -= last_w[m + j, i]
                last_v[j, i] -= last_v[m + j, i]
        for j in range(m):
            square[j] = mlp.inner(last_w[j], last_w[j])
        mlp.add_difference_squares(states, signals, 2, square[:m])
        for j in range(m):
            scale[j] = mlp.clip_weight(square[j], clip[0]) / batch
            scale[m + j], scale[2 * m + j], scale[3 * m + j] = -scale[j], -scale[j], scale[j]
        add_layer(states, signals, scale[: 4 * m], out[:cut])
        add_rows(last_w, scale[:m], out[cut:d])
        for j in range(m):
            square[j] = mlp.inner(last_v[j], last_v[j])
        mlp.add_difference_squares(states, other, 1, square[:m])
        for j in range(m):
            scale[j] = mlp.clip_weight(square[j], clip[1]) / batch
            scale[m + j] = -scale[j]
        add_layer(states, other, scale[: 2 * m], out[d : d + cut])
        add_rows(last_v, scale[:m], out[d + cut :])
