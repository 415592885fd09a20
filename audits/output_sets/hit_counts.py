"""Counts of one block of fresh runs: the hits of the set under test, and a histogram of its score for plotting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.output_sets.choice import Choice
from dpcheck.audits.output_sets.output_set import OutputSet
from dpcheck.audits.running.run_plan import SIDES
from dpcheck.compiled import njit

Floats = NDArray[np.float64]

_BARS = 80
# Earlier runs of each dataset that decide where the bars lie.
_GLANCED = 4_000


class HitCounts:
    """Counts the outputs of fresh runs as they arrive."""

    def __init__(self, test: Choice, earlier: tuple[Floats, Floats]) -> None:
        self.test = test
        values = np.sort(test.event.values(np.concatenate([v[:_GLANCED] for v in earlier])))
        finite = values[np.isfinite(values)]
        with np.errstate(all="ignore"):
            cut = finite.size // 2_000
            low, high = (finite[cut], finite[-1 - cut]) if finite.size else (0.0, 0.0)
            self.edges = np.linspace(low, high if high > low else low + 1.0, _BARS + 1)
            drawn = bool((np.diff(self.edges) > 0).all())
        if not drawn:  # numbers too large or too small
            self.edges = np.linspace(-1.0, 1.0, _BARS + 1)
        self.bars = np.zeros((2, _BARS))
        self._hits = [0, 0]

    def add(self, side: int, outputs: Floats) -> None:
        """Count the outputs (n, k) of runs on one dataset."""
        event = self.test.event
        with np.errstate(all="ignore"):
            values = event.score(outputs)
        self._hits[side] += _count(values, event.sign, event.level, self.edges[0], self.edges[-1], self.bars[side])

    def event(self, trials: int) -> OutputSet:
        """Return the set with its hits in ``trials`` runs of each dataset."""
        event = self.test.event
        favoured = SIDES.index(event.favours)
        return replace(event, hits=self._hits[favoured], other_hits=self._hits[1 - favoured], trials=trials)


@njit("int64(float64[:], int64, float64, float64, float64, float64[::1])", nogil=True)
def _count(values: Floats, sign: int, level: float, low: float, high: float, bars: Floats) -> int:
    """Return how many values, times ``sign``, reach ``level``; count all of them in ``bars``.

    Values beyond an end count in the bar at that end; NaN lies below all others.
    """
    hits, scale = 0, bars.size / (high - low)
    for each in values:
        value = -np.inf if np.isnan(each) else sign * each
        hits += value >= level
        place = (min(max(value, low), high) - low) * scale
        bars[int(place) if place < bars.size else bars.size - 1] += 1
    return hits
