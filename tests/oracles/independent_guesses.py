"""The tail of Xiang, Wang, Xiao, Tian and Wang (Tight privacy audit in one run, arXiv 2509.08704), and who breaks it.

It counts wrong guesses as if the canaries' traces were independent. A channel is given by its levels: at level x, |log
q/p|, a guess is wrong with probability 1 / (1 + e^x).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Levels:
    """Levels (k,), falling, and the mass of each under the mean of the two laws."""

    levels: Floats
    mass: Floats

    @classmethod
    def gaussian(cls, mu: float, rate: float = 1.0, cells: int = 40_000) -> Levels:
        """N(0, 1) against N(mu, 1), the record drawn with this rate."""
        edges = np.linspace(-12, 12 + mu, cells + 1)
        x = (edges[1:] + edges[:-1]) / 2
        p, q = stats.norm.pdf(x), (1 - rate) * stats.norm.pdf(x) + rate * stats.norm.pdf(x - mu)
        log_ratio = np.logaddexp(np.log1p(-rate), np.log(rate) + mu * x - mu**2 / 2) if rate < 1 else mu * x - mu**2 / 2
        order = np.argsort(-np.abs(log_ratio), kind="stable")
        return cls(np.abs(log_ratio)[order], (p + q)[order] / (p + q).sum())

    def tail(self, wrong: int, guesses: int, canaries: int) -> float:
        """P(at most ``wrong`` of the surest guesses wrong), one independent channel a canary."""
        rates = self.mass * special.expit(-self.levels)
        if guesses == canaries:
            return float(stats.binom.cdf(wrong, guesses, rates.sum()))
        cut = stats.beta(guesses + 1, canaries - guesses)  # mass above the surest guess that is left out
        share = np.linspace(*cut.ppf([1e-9, 1 - 1e-9]), 2_001)
        errors = np.interp(share, np.cumsum(self.mass), np.cumsum(rates)) / share
        weights = cut.pdf(share)
        return float(weights @ stats.binom.cdf(wrong, guesses, errors) / weights.sum())

    def together(self, wrong: int, guesses: int, canaries: int) -> float:
        """Return the same chance where lucky canaries, ``guesses`` drawn at random, share one of the highest levels."""
        kept = np.clip(guesses / canaries - np.cumsum(self.mass) + self.mass, 0, self.mass)
        return float(kept @ stats.binom.cdf(wrong, guesses, special.expit(-self.levels)) / kept.sum())

    def critical(self, guesses: int, canaries: int, level: float = 0.05) -> int:
        """Return the largest number of wrong guesses whose tail is at most ``level``, or -1."""
        low, high = -1, guesses
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.tail(middle, guesses, canaries) <= level else (low, middle)
        return low
