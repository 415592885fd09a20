"""The likelihood ratio of an output whose numbers are independent: the sum of their own ratios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.scores.histograms import ATOMS, Coordinate, Histogram, bin_edges, separate

Floats = NDArray[np.float64]

# Numbers of bins that are tried, and the most cells (runs times columns) of each dataset that are fitted.
_BINS = (2, 4, 8, 16, 32)
_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class Product:
    """The sum of the log-likelihood ratios of all numbers: that of the whole output if they are independent."""

    parts: tuple[Histogram, ...]
    words = "sum of the learned likelihood ratios of all coordinates"

    def __call__(self, outputs: Floats) -> Floats:
        """Return the scores (n,) of outputs (n, k)."""
        total = np.zeros(len(outputs))
        for part in self.parts:
            total += part(outputs)
        return total


def product(a: Floats, b: Floats) -> Product:
    """Fit the sum, with the number of bins and the shrinking of the ratios that let it err least.

    Where many numbers reveal a little each, the errors of finely counted ratios would drown them.
    """
    rows = max(_CELLS // a.shape[1], 200)
    a, b = a[:rows], b[:rows]
    columns = []
    for i in range(a.shape[1]):
        values = a[:, i], b[:, i]
        columns.append((np.sort(values[0]), np.sort(values[1]), *separate(np.concatenate(values), ATOMS)))
    best, edges, ratios = -np.inf, [], []
    for bins in _BINS:
        tried = [bin_edges(atoms, rest, bins) for *_, atoms, rest in columns]
        hits = [_sorted_hits(e, (left, right)) for e, (left, right, *_) in zip(tried, columns, strict=True)]
        logs = [np.log(h[0] / h[1]) for h in hits]
        weights = [h.sum(axis=0) / h.sum() for h in hits]
        noise = np.array([(w / h).sum() for w, h in zip(weights, hits, strict=True)])
        signal = np.array([(w * r * r).sum() for w, r in zip(weights, logs, strict=True)]) - noise
        likely = np.maximum((signal + signal.mean()) / 2, 0.0)
        shrink = likely / (likely + noise)
        gain = (shrink * (2 * signal - shrink * (signal + noise))).sum()
        if gain > best:
            best, edges, ratios = gain, tried, [s * r for s, r in zip(shrink, logs, strict=True)]
    width = a.shape[1]
    return Product(tuple(Histogram(Coordinate(i, width), edges[i], ratios[i]) for i in range(width)))


def _sorted_hits(edges: Floats, values: Sequence[Floats]) -> Floats:
    """Count the runs of each dataset in each bin, plus one, from sorted values, (2, edges.size + 1)."""
    return np.array([np.diff(np.searchsorted(v, edges), prepend=0, append=v.size) for v in values]) + 1.0
