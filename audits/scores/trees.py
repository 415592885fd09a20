"""A log-likelihood ratio learned by boosted trees, in which what one number reveals may depend on the others.

The trees boost the gradient of the logistic loss on binned features; each is grown on its share of the runs. Nothing is
drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.scores.histograms import Coordinate, Pair, partition

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Number of trees, the step that each takes, and the weight (in runs times p (1 - p)) that pulls each leaf to 0.
_TREES = 50
_RATE = 0.15
_PULL = 2.0
# Bins of a feature, and values that have bins of their own: together fewer than 256.
_BINS = 48
_ATOMS = 64
# The most runs of each dataset that are fitted, and runs of both for one tree.
_ROWS = 100_000
_SAMPLE = 20_000


@dataclass(frozen=True, eq=False)
class Trees:
    """The sum of T trees of depth 3; node i of a tree has the children 2 i + 1 and 2 i + 2.

    feature : (T, 7), the feature of each node, a place in ``sources``;  cut : (T, 7), values from here on go right
    leaves : (T, 8), what each leaf adds
    """

    sources: tuple[Coordinate | Pair, ...]
    feature: Whole
    cut: Floats
    leaves: Floats
    words = "learned trees of the output"

    def __call__(self, outputs: Floats) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""
        from dpcheck.audits.scores import tree_kernels as kernels  # here: compiled only for outputs of several numbers

        return np.asarray(kernels.evaluate(_features(self.sources, outputs), self.feature, self.cut, self.leaves))


def trees(sources: Sequence[Coordinate | Pair], a: Floats, b: Floats) -> Trees:
    """Fit trees to outputs ``a`` on one dataset and ``b`` on the other, (n, k) each."""
    from dpcheck.audits.scores import tree_kernels as kernels

    rows = min(len(a), len(b), _ROWS)
    # The datasets in turn, so that every tree's runs hold both.
    features = _features(sources, np.stack([a[:rows], b[:rows]], axis=1).reshape(2 * rows, -1))
    edges = [partition(features[:, j], _BINS, _ATOMS) for j in range(len(sources))]
    bins = np.empty(features.shape, np.uint8)
    for j, e in enumerate(edges):
        bins[:, j] = np.searchsorted(e, features[:, j], side="right")
    feature, place, leaves = kernels.grow(bins, _TREES, max(1, round(2 * rows / _SAMPLE)), _RATE, _PULL)
    padded = [np.append(e, np.nan) for e in edges]  # no number reaches NaN: a node that is not split sends all left
    cut = np.array([[padded[j][min(p, padded[j].size - 1)] for j, p in zip(*t, strict=True)]
                    for t in zip(feature.tolist(), place.tolist(), strict=True)])  # fmt: skip
    return Trees(tuple(sources), feature, cut, leaves)


def _features(sources: Sequence[Coordinate | Pair], outputs: Floats) -> Floats:
    """Return the features (n, len(sources)), with infinity in place of NaN, which has no place in an order."""
    features = np.column_stack([source(outputs) for source in sources])
    return np.where(np.isnan(features), np.inf, features)
