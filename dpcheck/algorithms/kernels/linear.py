"""Linear scores of many records at once: inner products, and weighted sums of records.

A record's gradient in the weights of a linear score is a multiple of the record, so a clipped mean needs each
record twice, for its score and for its share of the sum, and no gradient of its own. Its norm needs |x|, which no
step changes: it is kept beside the record. Four records together read the weights once for all of them, and the sums
of 24 columns together stay in registers.

Records of a minibatch lie anywhere, and the processor reads ahead in a few places at a time: it is told which
records come next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from dpcheck.algorithms.kernels.jit import INDICES, MATRIX, VECTOR, kernel
from dpcheck.algorithms.kernels.vectors import WIDTH, fma, load, prefetch, row, splat, store, store_pairs, sums

_AHEAD = 8  # records are asked for this many records before they are needed
LINE = 8  # numbers in a line of the cache


def arranged(records: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows (x, y, |x|^2, 0, ...) of the records (x, y), which the kernels below read.

    A row begins with a line of the cache, so that nothing that is read at once lies in two. It is an odd number of
    lines long: the columns of rows a power of two apart would compete for the same few places in the cache.
    """
    n, columns = records.shape
    width = LINE * ((columns + LINE) // LINE | 1)
    numbers = np.zeros(n * width + LINE)
    begin = -(numbers.ctypes.data // numbers.itemsize) % LINE
    rows = numbers[begin : begin + n * width].reshape(n, width)
    rows[:, :columns] = records
    rows[:, columns] = np.einsum("ij,ij->i", records[:, :-1], records[:, :-1])
    return rows


class Scores(NamedTuple):
    """What linear scores of records (x, y) are made of, in the order of the records."""

    y: NDArray[np.float64]
    h: NDArray[np.float64]  # <w, x>
    q: NDArray[np.float64]  # |x|^2


SCORES = types.NamedUniTuple(VECTOR, 3, Scores)


@kernel(types.int64(MATRIX))
def chunk(rows):  # type: ignore[no-untyped-def]
    """Return how many rows to take between the two passes: they are still in a near cache when they come again."""
    return 128 if rows.shape[1] <= 32 else 32


@kernel(types.void(MATRIX, INDICES, types.int64, types.int64, VECTOR, SCORES), apart=True)
def products(rows, index, count, d, w, scores):  # type: ignore[no-untyped-def]
    """Compute the scores of the first ``count`` rows of ``index``, arranged as above.

    x has d columns; w is as long as a row, with 0 after the weights; ``index`` may go on with the rows that are needed
    next.
    """
    y, h, q = scores
    width, fours = rows.shape[1], 0
    if width >= WIDTH:
        fours, zero = count - count % 4, splat(0.0)
        scattered = index[count - 1] - index[0] != count - 1  # the processor sees by itself what comes in order
        for k in range(0, fours, 4):
            n = min(k + _AHEAD, index.size - 4)
            next_a, next_b = row(rows, index, n), row(rows, index, n + 1)
            next_c, next_e = row(rows, index, n + 2), row(rows, index, n + 3)
            a, b, c, e = row(rows, index, k), row(rows, index, k + 1), row(rows, index, k + 2), row(rows, index, k + 3)
            h_a = h_b = h_c = h_e = zero
            for i in range(0, width, LINE):
                if scattered:
                    prefetch(next_a, next_b, next_c, next_e, i)
                u, v = load(w, i), load(w, i + 4)
                h_a, h_b = fma(u, load(a, i), h_a), fma(u, load(b, i), h_b)
                h_c, h_e = fma(u, load(c, i), h_c), fma(u, load(e, i), h_e)
                h_a, h_b = fma(v, load(a, i + 4), h_a), fma(v, load(b, i + 4), h_b)
                h_c, h_e = fma(v, load(c, i + 4), h_c), fma(v, load(e, i + 4), h_e)
            store(h, k, sums(h_a, h_b, h_c, h_e))
            store_pairs((a, b, c, e), d, y, q, k)
    for k in range(fours, count):
        j, h_k = index[k], 0.0
        for i in range(d):
            h_k += w[i] * rows[j, i]
        h[k], y[k], q[k] = h_k, rows[j, d], rows[j, d + 1]


@kernel(types.void(MATRIX, INDICES, types.int64, VECTOR, VECTOR), apart=True)
def add_combination(rows, index, count, s, out):  # type: ignore[no-untyped-def]
    """Add the sum of s_k row_k over the first ``count`` rows of ``index`` to ``out``, which is as long as a row."""
    width = rows.shape[1]
    if width >= WIDTH:
        last = width - 4  # four columns that would go on beyond the last ones are the last ones once more
        for i in range(0, width, 24):
            i_0, i_1, i_2 = min(i, last), min(i + 4, last), min(i + 8, last)
            i_3, i_4, i_5 = min(i + 12, last), min(i + 16, last), min(i + 20, last)
            t_0, t_1, t_2 = load(out, i_0), load(out, i_1), load(out, i_2)
            t_3, t_4, t_5 = load(out, i_3), load(out, i_4), load(out, i_5)
            for k in range(count):
                x, u = row(rows, index, k), splat(s[k])
                t_0, t_1, t_2 = fma(u, load(x, i_0), t_0), fma(u, load(x, i_1), t_1), fma(u, load(x, i_2), t_2)
                t_3, t_4, t_5 = fma(u, load(x, i_3), t_3), fma(u, load(x, i_4), t_4), fma(u, load(x, i_5), t_5)
            for j, t in ((i_0, t_0), (i_1, t_1), (i_2, t_2), (i_3, t_3), (i_4, t_4), (i_5, t_5)):
                store(out, j, t)
    else:
        for k in range(count):
            for i in range(width):
                out[i] += s[k] * rows[index[k], i]
