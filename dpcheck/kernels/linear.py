"""Linear scores of many records at once: inner products, and weighted sums of records.

A record's gradient in the weights of a linear score is a multiple of the record, so a clipped mean needs each
record twice, for its score and norm and for its share of the sum, and no gradient of its own. Four and eight
records together read the weights and the sum once for all of them.
"""

from __future__ import annotations

from numba import types

from dpcheck.kernels.jit import INDICES, MATRIX, VECTOR, kernel

CHUNK = 32  # records between the two passes: they are still in the cache when they come again

_LINE = 8  # numbers in a line of the cache
_LEAD = 128  # numbers after which the processor reads ahead by itself


@kernel(types.void(MATRIX, INDICES, VECTOR))
def touch(records, index, out):  # type: ignore[no-untyped-def]
    """Ask for the beginnings of the records ``index`` all at once; what lands in ``out`` is of no use.

    Records lie anywhere, and a short one ends before the processor has begun to read ahead.
    """
    columns = min(records.shape[1], _LEAD)
    for k in range(index.size):
        total = 0.0
        for i in range(0, columns, _LINE):
            total += records[index[k], i]
        out[k] = total


@kernel(types.void(MATRIX, INDICES, VECTOR, VECTOR, VECTOR))
def products(records, index, w, h, q):  # type: ignore[no-untyped-def]
    """h_k = <w, x> and q_k = <x, x> of the records ``index``, x their first ``w.size`` numbers."""
    whole = index.size - index.size % 4
    for k in range(0, whole, 4):
        a, b, c, d = records[index[k]], records[index[k + 1]], records[index[k + 2]], records[index[k + 3]]
        h_a = h_b = h_c = h_d = q_a = q_b = q_c = q_d = 0.0
        for i in range(w.size):
            h_a += w[i] * a[i]
            h_b += w[i] * b[i]
            h_c += w[i] * c[i]
            h_d += w[i] * d[i]
            q_a += a[i] * a[i]
            q_b += b[i] * b[i]
            q_c += c[i] * c[i]
            q_d += d[i] * d[i]
        h[k], h[k + 1], h[k + 2], h[k + 3] = h_a, h_b, h_c, h_d
        q[k], q[k + 1], q[k + 2], q[k + 3] = q_a, q_b, q_c, q_d
    for k in range(whole, index.size):
        a, h_a, q_a = records[index[k]], 0.0, 0.0
        for i in range(w.size):
            h_a += w[i] * a[i]
            q_a += a[i] * a[i]
        h[k], q[k] = h_a, q_a


@kernel(types.void(MATRIX, INDICES, VECTOR, VECTOR))
def add_combination(records, index, s, out):  # type: ignore[no-untyped-def]
    """Add the sum over the records ``index`` of s_k x to ``out``, x their first ``out.size`` numbers."""
    whole = index.size - index.size % 8
    for k in range(0, whole, 8):
        a, b, c, d = records[index[k]], records[index[k + 1]], records[index[k + 2]], records[index[k + 3]]
        e, f, g, h = records[index[k + 4]], records[index[k + 5]], records[index[k + 6]], records[index[k + 7]]
        s_a, s_b, s_c, s_d = s[k], s[k + 1], s[k + 2], s[k + 3]
        s_e, s_f, s_g, s_h = s[k + 4], s[k + 5], s[k + 6], s[k + 7]
        for i in range(out.size):
            first = (s_a * a[i] + s_b * b[i]) + (s_c * c[i] + s_d * d[i])
            out[i] += first + ((s_e * e[i] + s_f * f[i]) + (s_g * g[i] + s_h * h[i]))
    for k in range(whole, index.size):
        a, s_a = records[index[k]], s[k]
        for i in range(out.size):
            out[i] += s_a * a[i]
