"""Kernels that draw minibatches and describe them: from arrays to numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcheck.compiled import njit

Index = NDArray[np.int64]
Floats = NDArray[np.float64]

# The statistics of one run of T minibatches, which :func:`describe` explains.
STATISTICS = ("size", "spread", "distinct", "evenness", "overlap", "groups", "halves", "parity", "least", "most")
# Each minibatch is compared with so many before it, one bit of a word for each.
_LAGS = 16


@njit("void(npy_rng, int64[::1], int64[::1], boolean, int64[:, ::1])", nogil=True)
def draw(rng: np.random.Generator, order: Index, sizes: Index, replace: bool, out: Index) -> None:
    """Draw ``sizes`` (T,) records uniformly into the rows of ``out`` (T, capacity).

    order : any permutation of all record numbers; another one afterwards
    """
    n = order.size
    for t in range(sizes.size):
        for k in range(sizes[t]):
            if replace:
                out[t, k] = int(rng.random() * n)
            else:  # the first steps of a shuffle
                j = k + int(rng.random() * (n - k))
                order[k], order[j] = order[j], order[k]
                out[t, k] = order[k]


@njit("float64[::1](int64[:, ::1], int64)", nogil=True)
def describe(drawn: Index, population: int) -> Floats:
    """Return statistics (10,) of minibatches (T, capacity), whose unused places are negative.

    size, spread : mean and standard deviation of the sizes;  distinct : minibatches without a repeat
    evenness : standard deviation of how often a record is drawn
    overlap : mean number of records shared with the minibatch before
    groups : standard deviation of the number shared with one of the 15 before that; records that always come in groups
        are shared in groups
    halves, parity : standard deviation of the excess of the first half of the records, of even places
    least, most : the smallest size and the largest
    """
    steps = drawn.shape[0]
    sizes, halves, parity = np.zeros(steps), np.zeros(steps), np.zeros(steps)
    hits, last = np.zeros(population), np.full(population, -1)
    before = np.zeros(population, np.uint64)  # bit l - 1 says whether it was in the minibatch l before its last
    shared = np.zeros((steps, _LAGS))
    distinct = 0
    for t in range(steps):
        repeated = False
        for record in drawn[t]:
            if record < 0:
                continue
            sizes[t] += 1
            halves[t] += 1 if record < population // 2 else -1
            parity[t] += 1 if record % 2 == 0 else -1
            hits[record] += 1
            if last[record] == t:
                repeated = True
            else:
                gap = t - last[record]
                mask = np.uint64(0)
                if last[record] >= 0 and gap <= _LAGS:
                    mask = ((before[record] << np.uint64(1)) | np.uint64(1)) << np.uint64(gap - 1)
                before[record], last[record] = mask, t
            for lag in range(_LAGS):
                shared[t, lag] += (before[record] >> np.uint64(lag)) & np.uint64(1)
        distinct += not repeated
    overlap = shared[1:, 0].mean() if steps > 1 else 0.0
    count = total = square = 0.0
    for t in range(steps):
        for lag in range(1, min(t, _LAGS)):
            count += 1
            total += shared[t, lag]
            square += shared[t, lag] ** 2
    groups = math.sqrt(max(square / count - (total / count) ** 2, 0.0))
    return np.array([
        sizes.mean(), sizes.std(), distinct, hits.std(), overlap, groups, halves.std(), parity.std(), sizes.min(),
        sizes.max(),
    ])  # fmt: skip
