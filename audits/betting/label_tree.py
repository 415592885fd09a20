"""The learned chance that an output came from the data, constant on bins of one number.

The bins are the leaves of a binary tree over the quantiles of both datasets' values together. Every pruning of the tree
is a model, in which a bin has the chance of the node above it, or one of its own with a beta prior. The average over
all prunings, where each node is split with chance 1/2, takes one pass up the tree (context tree weighting [1]). It
neither trusts small counts nor misses small sets.

[1] F. Willems, Y. Shtarkov and T. Tjalkens, "The context-tree weighting method: basic properties",
    IEEE Trans. Inform. Theory 41 (1995), 653-664.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpcheck.compiled import njit

Floats = NDArray[np.float64]
Leaves = NDArray[np.int32]
Counts = NDArray[np.int64]

# The two equal parameters of each beta prior: one for chances near 0 or 1, one for chances near 1/2.
_PRIORS = (0.5, 4.0)
# Log-gamma of k + c and of k + 2 c for each prior, for the small counts that are most common.
_TABLES = np.array([[special.gammaln(np.arange(2_000) + m * c) for m in (1, 2)] for c in _PRIORS])
# The number of values at which a node's own share weighs as much as the share it inherits.
_TRUST = 8.0
# No chance is nearer to 0 or 1 than this, so that its logarithm and that of its complement are finite.
_SURE = 1e-12
# The greatest depth of the tree, and values in a leaf.
_DEPTH = 12
_LEAF = 4


@dataclass(eq=False)
class LabelTree:
    """A tree over values; ``chances[i]`` is the chance that a value in ``[cuts[i-1], cuts[i])`` came from the data.

    cuts : (m,), ascending; if a value repeats, leaves between equal cuts are empty. NaN comes last
    counts : (2, m + 1), past values on data and on neighbour;  chances : (m + 1,), in (0, 1)
    """

    cuts: Floats
    counts: Counts
    chances: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.chances = _averaged(self.counts, _TABLES)

    @classmethod
    def fit(cls, a: Floats, b: Floats) -> LabelTree:
        """Learn from values ``a`` on the data and ``b`` on the neighbour; infinite values and NaN are values."""
        a, b = np.sort(a), np.sort(b)
        values = np.sort(np.concatenate([a, b]), kind="stable")  # merges
        leaves = 1 << int(np.clip(math.log2(max(values.size / _LEAF, 2)), 1, _DEPTH))
        cuts = values[np.arange(1, leaves) * values.size // leaves]
        return cls(cuts, np.array([np.diff(np.searchsorted(v, cuts), prepend=0, append=v.size) for v in (a, b)]))

    def __call__(self, values: Floats) -> Floats:
        """Return the chances (n,) of values (n,)."""
        return self.chances[self.leaves(values)]

    def leaves(self, values: Floats) -> Leaves:
        """Return the leaf (n,) of each of values (n,)."""
        return _leaves(self.cuts, values)

    def add(self, counts: Counts) -> None:
        """Learn from further values, counted by leaves (2, m + 1); the cuts stay."""
        self.counts = self.counts + counts
        self.__post_init__()


@njit("int32[::1](float64[::1], float64[:])", nogil=True)
def _leaves(cuts: Floats, values: Floats) -> Leaves:
    """Return ``searchsorted(cuts, values, side="right")``, without branches; cuts are one fewer than a power of two."""
    found = np.empty(values.size, np.int32)
    for i in range(values.size):
        value, place, step = values[i], 0, (cuts.size + 1) // 2
        while step > 0:
            place += step * ((value >= cuts[place + step - 1]) | (value != value))
            step //= 2
        found[i] = place
    return found


@njit("float64(int64, float64, float64[::1])", nogil=True)
def _log_gamma(k: int, more: float, table: Floats) -> float:
    """Return log-gamma of k + more; ``table`` holds it for the smallest k."""
    return float(table[k]) if k < table.size else math.lgamma(k + more)


@njit("float64[::1](int64[:, ::1], float64[:, :, ::1])", nogil=True, error_model="numpy")
def _averaged(counts: Counts, tables: Floats) -> Floats:
    """Return the chances (L,) of the leaves, averaged over all prunings, from their counts (2, L).

    Nodes are numbered level by level from the root, 0; the children of node i are 2 i + 1 and 2 i + 2.
    tables : (2, 2, m), for each prior c the log-gamma of k + c and of k + 2 c
    """
    inner = counts.shape[1] - 1
    size = 2 * inner + 1
    x, y, known = np.empty(size, np.int64), np.empty(size, np.int64), np.full(size, 0.5)
    x[inner:], y[inner:] = counts[0], counts[1]
    for i in range(inner - 1, -1, -1):
        x[i], y[i] = x[2 * i + 1] + x[2 * i + 2], y[2 * i + 1] + y[2 * i + 2]
    for i in range(1, size):  # each node's chance as its parent estimates it
        up = (i - 1) // 2
        share = (x[up] + _TRUST * known[up]) / (x[up] + y[up] + _TRUST)
        known[i] = min(max(share, _SURE), 1 - _SURE)
    # From the leaves to the root: the mean of a node if it is a leaf, and the weight of its being one.
    mean, weight, total = np.empty(size), np.ones(size), np.empty(size)
    logs, means = np.empty(3), np.empty(3)
    for i in range(size - 1, -1, -1):
        for j in range(2):
            c, once, twice = _PRIORS[j], tables[j, 0], tables[j, 1]
            logs[j] = _log_gamma(x[i], c, once) + _log_gamma(y[i], c, once) - _log_gamma(x[i] + y[i], 2 * c, twice)
            logs[j] -= 2 * once[0] - twice[0]
            means[j] = (x[i] + c) / (x[i] + y[i] + 2 * c)
        logs[2] = x[i] * math.log(known[i]) + y[i] * math.log1p(-known[i])
        means[2] = known[i]
        most = max(logs[0], logs[1], logs[2])
        likely = mean[i] = 0.0
        for j in range(3):
            share = math.exp(logs[j] - most)
            likely += share
            mean[i] += share * means[j]
        mean[i] /= likely
        own = most + math.log(likely / 3)
        total[i] = own
        if i < inner:  # the leaves cannot be split
            split = total[2 * i + 1] + total[2 * i + 2]
            weight[i] = 1 / (1 + math.exp(min(split - own, 700.0)))
            total[i] = max(own, split) + math.log1p(math.exp(-abs(own - split))) - math.log(2.0)
    chances, left = weight * mean, 1 - weight
    for i in range(1, size):
        up = (i - 1) // 2
        chances[i] = chances[up] + left[up] * chances[i]
        left[i] *= left[up]
    return chances[inner:].copy()
