"""Which of two datasets an output came from: a learned chance, constant on bins of one number.

The bins are the leaves of a binary tree over the quantiles of both datasets' values together. Every
pruning of the tree is a model: its bins have unknown chances, with a mixture of beta priors around
one half. Averaging over all prunings, each split with chance 1/2, takes one pass up the tree
(context tree weighting [1]); the average neither trusts small counts nor misses small sets.

[1] F. Willems, Y. Shtarkov and T. Tjalkens, "The context-tree weighting method: basic properties",
    IEEE Trans. Inform. Theory 41 (1995), 653-664.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

Floats = NDArray[np.float64]

# Both parameters of each prior: for chances near 0 or 1, and for those near 1/2.
_PRIORS = (0.5, 4.0)
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
        values = np.sort(np.concatenate([a, b]))
        depth = int(np.clip(math.log2(max(values.size / _LEAF, 2)), 1, _DEPTH))
        leaves = 1 << depth
        cuts = values[np.arange(1, leaves) * values.size // leaves]
        counts = [np.bincount(np.searchsorted(cuts, v, side="right"), minlength=leaves) for v in (a, b)]
        chances = _averaged(counts[0].astype(float), counts[1].astype(float), depth)
        # Where a value repeats, leaves between equal cuts are empty: only the last is reached.
        edges = np.unique(cuts)
        return cls(edges, chances[np.searchsorted(cuts, np.append(-np.inf, edges), side="right")])

    def __call__(self, values: Floats) -> Floats:
        """Chances (n,) of values (n,)."""
        return self.chances[np.searchsorted(self.edges, values, side="right")]


def _averaged(data: Floats, neighbour: Floats, depth: int) -> Floats:
    """Chances (2^depth,) of the leaves, averaged over all prunings, from their counts."""
    levels = []  # from the leaves to the root: mean and weight of each node as a leaf of its own
    below = np.zeros(0)
    for level in range(depth + 1):
        logs = [betaln(data + c, neighbour + c) - betaln(c, c) - math.log(len(_PRIORS)) for c in _PRIORS]
        own = np.logaddexp.reduce(logs)
        means = [
            np.exp(log - own) * (data + c) / (data + neighbour + 2 * c) for log, c in zip(logs, _PRIORS, strict=True)
        ]
        total = own if level == 0 else np.logaddexp(own, below) - math.log(2)
        weight = np.ones(own.size) if level == 0 else np.exp(own - math.log(2) - total)
        levels.append((sum(means), weight))
        if level < depth:
            below = total.reshape(-1, 2).sum(axis=1)
            data, neighbour = (v.reshape(-1, 2).sum(axis=1) for v in (data, neighbour))
    chances, left = np.zeros(1), np.ones(1)
    for mean, weight in reversed(levels):
        if mean.size > chances.size:
            chances, left = np.repeat(chances, 2), np.repeat(left, 2)
        chances = chances + left * weight * mean
        left = left * (1 - weight)
    return np.asarray(chances)
