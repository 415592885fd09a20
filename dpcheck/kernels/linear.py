"""Linear scores of many records at once: inner products, and weighted sums of records.

A record's gradient in the weights of a linear score is a multiple of the record, so a clipped mean needs each
record twice, for its score and norm and for its share of the sum, and no gradient of its own. Four records together
read the weights once for all of them, and the sums of 24 columns together stay in registers.

Records of a minibatch lie anywhere, and the processor reads ahead in a few places at a time: it is told which
records come next.
"""

from __future__ import annotations

import numpy as np
from numba import types

from dpcheck.kernels.jit import INDICES, MATRIX, VECTOR, kernel
from dpcheck.kernels.vectors import WIDTH, fma, load, prefetch, row, splat, store, sums

_AHEAD = 8  # records are asked for this many records before they are needed
_LINE = 8  # numbers in a line of the cache
_ENDS = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])  # from number r on: four factors that keep the last r


@kernel(types.int64(MATRIX))
def chunk(records):  # type: ignore[no-untyped-def]
    """How many records to take between the two passes: they are still in a near cache when they come again."""
    return 128 if records.shape[1] <= 32 else 32


@kernel(types.void(MATRIX, INDICES, types.int64, VECTOR, VECTOR, VECTOR, VECTOR), apart=True)
def products(records, index, count, w, y, h, q):  # type: ignore[no-untyped-def]
    """h_k = <w, x>, q_k = <x, x> and y_k of the first ``count`` records (x, y) of ``index``.

    w begins with the weights and may go on; so may ``index``, with the records that are needed next.
    """
    d, fours = records.shape[1] - 1, 0
    if d >= WIDTH:
        whole, fours, ends, zero = d - d % 4, count - count % 4, load(_ENDS, d % 4), splat(0.0)
        for k in range(0, fours, 4):
            a, b = row(records, index, k), row(records, index, k + 1)
            c, e = row(records, index, k + 2), row(records, index, k + 3)
            n, pace = min(k + _AHEAD, index.size - 4), 1
            next_a, next_b = index[n] * (d + 1), index[n + 1] * (d + 1)
            next_c, next_e = index[n + 2] * (d + 1), index[n + 3] * (d + 1)
            prefetch(records, next_a + d, next_b + d, next_c + d, next_e + d)
            if next_e - next_a == 3 * (d + 1):  # four in a row are read fastest from beginning to end
                pace, next_b, next_c, next_e = 4, next_a + _LINE, next_a + 2 * _LINE, next_a + 3 * _LINE
            h_a = h_b = h_c = h_e = q_a = q_b = q_c = q_e = zero
            for i in range(0, whole, 4):
                if i % _LINE == 0:
                    prefetch(records, next_a + pace * i, next_b + pace * i, next_c + pace * i, next_e + pace * i)
                u, x_a, x_b, x_c, x_e = load(w, i), load(a, i), load(b, i), load(c, i), load(e, i)
                h_a, h_b, h_c, h_e = fma(u, x_a, h_a), fma(u, x_b, h_b), fma(u, x_c, h_c), fma(u, x_e, h_e)
                q_a, q_b, q_c, q_e = fma(x_a, x_a, q_a), fma(x_b, x_b, q_b), fma(x_c, x_c, q_c), fma(x_e, x_e, q_e)
            if whole < d:
                u, x_a, x_b = load(w, d - 4), fma(ends, load(a, d - 4), zero), fma(ends, load(b, d - 4), zero)
                x_c, x_e = fma(ends, load(c, d - 4), zero), fma(ends, load(e, d - 4), zero)
                h_a, h_b, h_c, h_e = fma(u, x_a, h_a), fma(u, x_b, h_b), fma(u, x_c, h_c), fma(u, x_e, h_e)
                q_a, q_b, q_c, q_e = fma(x_a, x_a, q_a), fma(x_b, x_b, q_b), fma(x_c, x_c, q_c), fma(x_e, x_e, q_e)
            store(h, k, sums(h_a, h_b, h_c, h_e))
            store(q, k, sums(q_a, q_b, q_c, q_e))
            labels = y[k : k + 4]
            labels[0], labels[1], labels[2], labels[3] = a[d], b[d], c[d], e[d]
    for k in range(fours, count):
        j, h_j, q_j = index[k], 0.0, 0.0
        for i in range(d):
            h_j += w[i] * records[j, i]
            q_j += records[j, i] * records[j, i]
        h[k], q[k], y[k] = h_j, q_j, records[j, d]


@kernel(types.void(MATRIX, INDICES, types.int64, VECTOR, VECTOR, VECTOR), apart=True)
def add_combination(records, index, count, s, total, out):  # type: ignore[no-untyped-def]
    """Add the sum of s_k x over the first ``count`` records (x, y) of ``index`` to the beginning of ``out``.

    ``total`` is as long as ``out`` and of no use.
    """
    d = records.shape[1] - 1
    if d >= WIDTH:
        last, zero = d - 4, splat(0.0)  # four columns that would go on beyond the last ones are the last ones once more
        for i in range(0, d, 24):
            i_0, i_1, i_2 = min(i, last), min(i + 4, last), min(i + 8, last)
            i_3, i_4, i_5 = min(i + 12, last), min(i + 16, last), min(i + 20, last)
            t_0 = t_1 = t_2 = t_3 = t_4 = t_5 = zero
            for k in range(count):
                x, u = row(records, index, k), splat(s[k])
                t_0, t_1, t_2 = fma(u, load(x, i_0), t_0), fma(u, load(x, i_1), t_1), fma(u, load(x, i_2), t_2)
                t_3, t_4, t_5 = fma(u, load(x, i_3), t_3), fma(u, load(x, i_4), t_4), fma(u, load(x, i_5), t_5)
            for j, t in ((i_0, t_0), (i_1, t_1), (i_2, t_2), (i_3, t_3), (i_4, t_4), (i_5, t_5)):
                store(total, j, t)
        for i in range(d):
            out[i] += total[i]
    else:
        for k in range(count):
            for i in range(d):
                out[i] += s[k] * records[index[k], i]
