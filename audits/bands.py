"""A lower bound on epsilon from one sample of scores, every threshold looked at: simultaneous bands.

Assumes nothing of the mechanism; the score and its orientation are fixed beforehand. For comparison with
:func:`~dpcheck.audits.membership.audit_privacy`, which pays for its choice of threshold with runs instead.

Null hypothesis: ``P(E) <= e^epsilon Q(E) + delta`` for the sets E = {score >= t} of every t, and ``Q(E) <= e^epsilon
P(E) + delta`` for their complements. Of the k-th largest of n scores, G(t) = P(score >= t) is at least as large in
law as the k-th smallest of n uniform variables, all k together, with equality for continuous scores. So

* G(t) >= c_k for all t at once, k the number of scores >= t, where c_k is the quantile of Beta(k, n + 1 - k) at a
  local level eta, the same for all k (bands of Berk and Jones, equal local levels [1]);
* eta makes the probability that any U_(k) < c_k equal to half the error; upper bounds follow by reflection.

That probability is computed, not bounded: the number of uniforms below c_1 < c_2 < ... is a Poisson process given its
value at 1, stepped from one c to the next by convolution [2]. Ranks are thinned where neighbours say the same; at the
others the bound of the next rank kept holds. Mass beyond 10 standard deviations is left out, which errs to safety.

[1] S. Aldor-Noiman, L. Brown, A. Buja, W. Rolke, R. Stine, "The power to see", Amer. Statist. 67 (2013), 249-260.
[2] A. Moscovich, B. Nadler, "Fast calculation of boundary crossing probabilities for Poisson processes", Statist.
    Probab. Lett. 123 (2017), 177-182.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import signal, special, stats

from dpcheck.audits.numbers.number_text import plain
from dpcheck.errors import require, require_confidence, require_count, require_delta

Floats = NDArray[np.float64]

# Ranks kept are this far apart, in standard deviations of a count and in shares of the rank.
_APART, _RATIO = 0.3, 0.002
_FAR = 10.0
# The error falls short of what is allowed by at most this share.
_PRECISION = 1e-3


@dataclass(frozen=True)
class ThresholdBound:
    """``epsilon_lower``: limit (natural log, one-sided), shown by {score >= threshold} or by a complement: less than
    the threshold, in bands, or at most it, on a split.

    hits, other_hits : scores in that set, of ``trials`` each, on the law that favours it and on the other
    """

    epsilon_lower: float
    threshold: float
    complement: bool
    hits: int
    other_hits: int
    trials: int
    delta: float
    confidence: float
    assumption: str = "none but that the score was fixed beforehand"

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self) | {"threshold": plain(self.threshold)}


def band_bound(
    scores: ArrayLike, other_scores: ArrayLike, *, delta: float = 0.0, confidence: float = 0.95
) -> ThresholdBound:
    """Largest of the limits that all thresholds give, good together at ``confidence``.

    scores, other_scores : (n,) of independent runs on the two datasets, n >= 2, no NaN; the score is one that the
        first dataset was expected to raise, before these runs were seen. The first call for an n takes seconds,
        half a minute for a million; the bands are then kept
    """
    require_delta(delta)
    require_confidence(confidence)
    a, b = (np.sort(v) for v in read_scores(scores, other_scores))
    n = a.size
    require_count(n, "trials", least=2)
    least = _least(n, (1 - confidence) / 2)
    thresholds = np.unique(a)
    x, y = (n - np.searchsorted(v, thresholds, side="left") for v in (a, b))
    # a set's hits -> the least probability of it, the most of it; the complement's are one minus these
    limits = _limits(least[x], 1 - least[n - y], delta), _limits(least[n - y], 1 - least[x], delta)
    complement = bool(limits[1].max() > limits[0].max())
    place = int(np.argmax(limits[complement]))
    hits, other = (n - y[place], n - x[place]) if complement else (x[place], y[place])
    epsilon = max(0.0, float(limits[complement][place]))
    return ThresholdBound(epsilon, float(thresholds[place]), complement, int(hits), int(other), n, delta, confidence)


def read_scores(scores: ArrayLike, other_scores: ArrayLike) -> tuple[Floats, Floats]:
    """Both as (n,) float64, checked."""
    a, b = np.asarray(scores, float), np.asarray(other_scores, float)
    require(a.ndim == 1 and not np.isnan(a).any(), "scores", "be an array (n,) of numbers", a.shape)
    require(b.shape == a.shape and not np.isnan(b).any(), "other_scores", f"be numbers of shape {a.shape}", b.shape)
    return a, b


def _limits(p: Floats, q: Floats, delta: float) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(p - delta, 0)) - np.log(q)


@lru_cache(maxsize=16)
def _least(n: int, alpha: float) -> Floats:
    """Lower bounds (n + 1,) on the probability of a set hit 0 ... n times, all at once with error ``alpha``."""
    ranks = _ranks(n)
    eta, aim = alpha / ranks.size, alpha * (1 - _PRECISION / 2)
    # nearly proportional to eta, so that this ends after a few steps
    while not alpha * (1 - _PRECISION) <= (missed := crossing(n, ranks, _quantiles(n, ranks, eta))) <= alpha:
        eta *= aim / missed
    bounds = np.append(0.0, _quantiles(n, ranks, eta))
    return np.asarray(bounds[np.searchsorted(ranks, np.arange(n + 1), side="right")])


def _ranks(n: int) -> NDArray[np.int64]:
    ranks, k = [], 1.0
    while k <= n:
        ranks.append(int(k))
        room = min(k, n - k)
        k = int(k) + max(1, int(max(_APART * math.sqrt(max(room, 0) * (1 - room / n)), _RATIO * room)))
    return np.unique([*ranks, n])


def _quantiles(n: int, ranks: NDArray[np.int64], eta: float) -> Floats:
    return np.asarray(special.betaincinv(ranks, n + 1 - ranks, eta))


def crossing(n: int, ranks: NDArray[np.int64], limits: Floats) -> float:
    """Probability that for some j the ``ranks[j]``-th smallest of n uniforms is below ``limits[j]``.

    ranks, limits : (m,), both increasing, limits in (0, 1)
    """
    start, mass, last = 0, np.ones(1), 0.0
    for rank, limit in zip(ranks, limits, strict=True):
        # counts at this limit: start ... rank - 1 stay inside
        step, width = n * (limit - last), _FAR * math.sqrt(n * (limit - last)) + 30
        least = max(0, math.floor(step - width))
        jumps = stats.poisson.pmf(np.arange(least, math.ceil(step + width) + 1), step)
        mass = signal.convolve(mass, jumps) if mass.size < 2_000 else signal.oaconvolve(mass, jumps)
        start, last = start + least, limit
        mass = mass[: max(0, rank - start)]
        cut = math.floor(n * limit - _FAR * math.sqrt(n * limit) - 30) - start
        if cut > 0:
            mass, start = mass[cut:], start + cut
    rest = n * (1 - last)
    counts = n - start - np.arange(mass.size)
    inside = float(mass @ stats.poisson.pmf(counts, rest)) / float(stats.poisson.pmf(n, n))
    return 1 - inside
