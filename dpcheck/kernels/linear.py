"""Linear scores of many records at once: inner products, and weighted sums of records.

A record's gradient in the weights of a linear score is a multiple of the record, so a clipped mean needs each
record twice, for its score and norm and for its share of the sum, and no gradient of its own. Four and eight
records together read the weights and the sum once for all of them.
"""

from __future__ import annotations

from numba import types

from dpcheck.kernels.jit import INDICES, MATRIX, VECTOR, kernel

CHUNK = 64  # records between the two passes: they are still in a near cache when they come again

_LINE = 8  # numbers in a line of the cache
_SHORT = 32  # numbers of a record that is read as fast untouched
_LEAD = 128  # numbers after which the processor reads ahead by itself


@kernel(types.void(MATRIX, INDICES, types.int64, VECTOR), apart=True)
def touch(records, index, count, out):  # type: ignore[no-untyped-def]
    """Ask for the beginnings of the first ``count`` records of ``index`` all at once; ``out`` is of no use.

    Records lie anywhere, and the processor reads ahead in a few places at a time.
    """
    columns = records.shape[1]
    if columns > _SHORT:
        for k in range(count):
            total = 0.0
            for i in range(0, min(columns, _LEAD), _LINE):
                total += records[index[k], i]
            out[k] = total


@kernel(types.void(MATRIX, INDICES, types.int64, VECTOR, VECTOR, VECTOR, VECTOR), apart=True)
def products(records, index, count, w, y, h, q):  # type: ignore[no-untyped-def]
    """h_k = <w, x>, q_k = <x, x> and y_k of the first ``count`` records (x, y) of ``index``.

    w begins with the weights and may go on.
    """
    d, whole = records.shape[1] - 1, count - count % 4
    for k in range(0, whole, 4):
        a, b, c, e = records[index[k]], records[index[k + 1]], records[index[k + 2]], records[index[k + 3]]
        h_a = h_b = h_c = h_e = q_a = q_b = q_c = q_e = 0.0
        for i in range(d):
            h_a += w[i] * a[i]
            h_b += w[i] * b[i]
            h_c += w[i] * c[i]
            h_e += w[i] * e[i]
            q_a += a[i] * a[i]
            q_b += b[i] * b[i]
            q_c += c[i] * c[i]
            q_e += e[i] * e[i]
        h[k], h[k + 1], h[k + 2], h[k + 3] = h_a, h_b, h_c, h_e
        q[k], q[k + 1], q[k + 2], q[k + 3] = q_a, q_b, q_c, q_e
        y[k], y[k + 1], y[k + 2], y[k + 3] = a[d], b[d], c[d], e[d]
    for k in range(whole, count):
        a, h_a, q_a = records[index[k]], 0.0, 0.0
        for i in range(d):
            h_a += w[i] * a[i]
            q_a += a[i] * a[i]
        h[k], q[k], y[k] = h_a, q_a, a[d]


@kernel(types.void(MATRIX, INDICES, types.int64, VECTOR, VECTOR), apart=True)
def add_combination(records, index, count, s, out):  # type: ignore[no-untyped-def]
    """Add the sum of s_k x over the first ``count`` records (x, y) of ``index`` to the beginning of ``out``."""
    columns, whole = records.shape[1] - 1, count - count % 8
    for k in range(0, whole, 8):
        a, b, c, d = records[index[k]], records[index[k + 1]], records[index[k + 2]], records[index[k + 3]]
        e, f, g, h = records[index[k + 4]], records[index[k + 5]], records[index[k + 6]], records[index[k + 7]]
        s_a, s_b, s_c, s_d = s[k], s[k + 1], s[k + 2], s[k + 3]
        s_e, s_f, s_g, s_h = s[k + 4], s[k + 5], s[k + 6], s[k + 7]
        for i in range(columns):
            first = (s_a * a[i] + s_b * b[i]) + (s_c * c[i] + s_d * d[i])
            out[i] += first + ((s_e * e[i] + s_f * f[i]) + (s_g * g[i] + s_h * h[i]))
    for k in range(whole, count):
        a, s_a = records[index[k]], s[k]
        for i in range(columns):
            out[i] += s_a * a[i]
