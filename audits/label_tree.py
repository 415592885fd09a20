"""Which of two datasets an output came from: a learned chance, constant on bins of one number.

The bins are the leaves of a binary tree over the quantiles of both datasets' values together. Every
pruning of the tree is a model: its bins have the chance of the node above, or one of their own, with a
beta prior. Averaging over all prunings, each node split with chance 1/2, takes one pass up the tree
(context tree weighting [1]); the average neither trusts small counts nor misses small sets.

[1] F. Willems, Y. Shtarkov and T. Tjalkens, "The context-tree weighting method: basic properties",
    IEEE Trans. Inform. Theory 41 (1995), 653-664.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, expit

Floats = NDArray[np.float64]

# Both parameters of each prior: for chances near 0 or 1, and for those near 1/2.
_PRIORS = (0.5, 4.0)
# Values at which a node's own share weighs as much as what it inherits.
_TRUST = 8.0
# Depth of the tree at most, and values in a leaf.
_DEPTH = 12
_LEAF = 4


@dataclass(frozen=True, eq=False)
class LabelTree:
    """``chances[i]`` is the chance that a value in ``[edges[i-1], edges[i])`` came from the data."""

    edges: Floats  # (m,), increasing
    chances: Floats  # (m + 1,), in (0, 1)

    @classmethod
    def fit(cls, a: Floats, b: Floats) -> LabelTree:
        """Learn from values ``a`` on the data and ``b`` on the neighbour; infinite values are values."""
        a, b = np.sort(a), np.sort(b)
        values = np.sort(np.concatenate([a, b]))
        depth = int(np.clip(math.log2(max(values.size / _LEAF, 2)), 1, _DEPTH))
        leaves = 1 << depth
        cuts = values[np.arange(1, leaves) * values.size // leaves]
        counts = [np.diff(np.searchsorted(v, cuts), prepend=0, append=v.size).astype(float) for v in (a, b)]
        chances = _averaged(counts[0], counts[1], depth)
        # Where a value repeats, leaves between equal cuts are empty: only the last is reached.
        edges = np.unique(cuts)
        return cls(edges, chances[np.searchsorted(cuts, np.append(-np.inf, edges), side="right")])

    def __call__(self, values: Floats) -> Floats:
        """Chances (n,) of values (n,)."""
        return self.chances[np.searchsorted(self.edges, values, side="right")]


def _averaged(data: Floats, neighbour: Floats, depth: int) -> Floats:
    """Chances (2^depth,) of the leaves, averaged over all prunings, from their counts."""
    counts = [(data, neighbour)]  # from the leaves to the root
    for _ in range(depth):
        x, y = (v.reshape(-1, 2).sum(axis=1) for v in counts[-1])
        counts.append((x, y))
    inherited = [np.full(1, 0.5)]  # from the root to the leaves: each node's chance as its parent knows it
    for x, y in counts[:0:-1]:
        known = (x + _TRUST * inherited[-1]) / (x + y + _TRUST)
        inherited.append(np.repeat(known, 2))
    # From the leaves to the root: a node's mean as a leaf of its own, and the weight of its being one.
    nodes: list[tuple[Floats, Floats]] = []
    split = np.full(data.size, -np.inf)
    for (x, y), known in zip(counts, reversed(inherited), strict=True):
        logs = [betaln(x + c, y + c) - betaln(c, c) for c in _PRIORS] + [x * np.log(known) + y * np.log1p(-known)]
        means = [(x + c) / (x + y + 2 * c) for c in _PRIORS] + [known]
        own = np.logaddexp.reduce(logs) - math.log(len(logs))
        mean = (np.exp(logs - own) * means).sum(axis=0) / len(logs)
        # The leaves cannot be split.
        total = np.logaddexp(own, split) - math.log(2) if nodes else own
        nodes.append((mean, expit(own - split)))
        split = total.reshape(-1, 2).sum(axis=1) if total.size > 1 else total
    chances, left = np.zeros(1), np.ones(1)
    for mean, weight in reversed(nodes):
        if mean.size > chances.size:
            chances, left = np.repeat(chances, 2), np.repeat(left, 2)
        chances = chances + left * weight * mean
        left = left * (1 - weight)
    return np.asarray(chances)
