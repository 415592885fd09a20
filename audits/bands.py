"""A lower bound on epsilon from one sample of scores, by confidence bands that hold at all thresholds at once.

The bound assumes nothing of the mechanism; the score and its orientation are fixed beforehand. It is meant for
comparison with :func:`~dpcheck.audits.membership.audit_privacy`, which pays for its choice of threshold with runs
instead.

Null hypothesis: ``P(E) <= e^epsilon Q(E) + delta`` for the sets E = {score >= t} of every t, and ``Q(E) <= e^epsilon
P(E) + delta`` for their complements. At the k-th largest of n scores, G(t) = P(score >= t) is in law at least as large
as the k-th smallest U_(k) of n uniform variables, for all k together, with equality for continuous scores. So

* G(t) >= c_k for all t at once, k the number of scores >= t, where c_k is the quantile of Beta(k, n + 1 - k) at a
  local level eta, the same for all k (bands of Berk and Jones, equal local levels [1]);
* eta makes the probability that any U_(k) < c_k equal to half the error; upper bounds follow by reflection.

That probability is computed, not bounded: the number of uniforms below c_1 < c_2 < ... is a Poisson process given its
value at 1, and convolution leads from one c to the next [2]. Ranks whose neighbours say the same are dropped, and take
the bound of the rank kept below them. Mass beyond 10 standard deviations is left out, which errs on the safe side.

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

from dpcheck.arguments import checked
from dpcheck.arrays import Floats, real_numbers
from dpcheck.audits.running.datasets import plain
from dpcheck.errors import require, require_confidence, require_count, require_delta

# Ranks that are kept lie this far apart, in standard deviations of a count or in shares of the rank.
_APART, _RATIO = 0.3, 0.002
_FAR = 10.0
# The error falls short of the allowed one by at most this share.
_PRECISION = 1e-3


@dataclass(frozen=True)
class ThresholdBound:
    """A lower confidence limit on epsilon, and the set of scores that shows it.

    Attributes
    ----------
    epsilon_lower : float
        The limit (natural log, one-sided).
    threshold : float
        Where the set begins or ends.
    complement : bool
        False where the set is {score >= threshold}. True where it is {score < threshold}, from
        :func:`band_bound`, or {score <= threshold}, from :func:`~dpcheck.audits.split.split_bound`.
    hits, other_hits : int
        Scores in the set, on the law that favours it and on the other.
    trials : int
        Scores on each dataset.
    delta : float
        At which the limit holds.
    confidence : float
        Of the limit.
    assumption : str
        What the limit assumes, in words.
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
        """Return everything, ready for JSON."""
        return asdict(self) | {"threshold": plain(self.threshold)}


@checked
def band_bound(
    scores: ArrayLike, other_scores: ArrayLike, *, delta: float = 0.0, confidence: float = 0.95
) -> ThresholdBound:
    """Return the largest of the limits on epsilon at all thresholds of a score, which hold together.

    The first call for an n computes the bands, which takes the longer the larger n is; they are then kept.

    Parameters
    ----------
    scores, other_scores : array_like, (n,)
        Scores of n >= 2 independent runs on each of the two datasets, without NaN. The score must be one that the first
        dataset was expected to raise before these runs were seen.
    delta : float
        In [0, 1).
    confidence : float
        Of the limit, in (0.5, 1).

    Returns
    -------
    ThresholdBound
        The limit and the set that shows it.

    Raises
    ------
    InputError
        For scores that are no such arrays, and for numbers outside their domains.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcheck.audits.bands import band_bound
    >>> rng = np.random.default_rng(0)
    >>> bound = band_bound(1 + rng.laplace(size=1000), rng.laplace(size=1000))  # epsilon is 1
    >>> 0.5 < bound.epsilon_lower < 1
    True
    """
    require_delta(delta)
    require_confidence(confidence)
    a, b = (np.sort(v) for v in read_scores(scores, other_scores))
    n = a.size
    require_count(n, "trials", least=2)
    least = _least(n, (1 - confidence) / 2)
    thresholds = np.unique(a)
    x, y = (n - np.searchsorted(v, thresholds, side="left") for v in (a, b))
    # from the hits of a set, the least and the largest probability of it; those of its complement are 1 minus these
    limits = _limits(least[x], 1 - least[n - y], delta), _limits(least[n - y], 1 - least[x], delta)
    complement = bool(limits[1].max() > limits[0].max())
    place = int(np.argmax(limits[complement]))
    hits, other = (n - y[place], n - x[place]) if complement else (x[place], y[place])
    epsilon = max(0.0, float(limits[complement][place]))
    return ThresholdBound(epsilon, float(thresholds[place]), complement, int(hits), int(other), n, delta, confidence)


def read_scores(scores: ArrayLike, other_scores: ArrayLike) -> tuple[Floats, Floats]:
    """Return both samples as (n,) float64, after checking them."""
    a, b = real_numbers(scores, "scores"), real_numbers(other_scores, "other_scores")
    require(a.ndim == 1 and not np.isnan(a).any(), "scores", "be an array (n,) of numbers", a.shape)
    require(b.shape == a.shape and not np.isnan(b).any(), "other_scores", f"be numbers of shape {a.shape}", b.shape)
    return a, b


def _limits(p: Floats, q: Floats, delta: float) -> Floats:
    """Return the limits on epsilon from lower limits p and upper limits q."""
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(p - delta, 0)) - np.log(q)


@lru_cache(maxsize=16)
def _least(n: int, alpha: float) -> Floats:
    """Return lower limits (n + 1,) on the probability of a set hit 0 ... n times, of error ``alpha`` together."""
    ranks = _ranks(n)
    eta, aim = alpha / ranks.size, alpha * (1 - _PRECISION / 2)
    # the chance is nearly proportional to eta, so that this ends after a few steps
    while not alpha * (1 - _PRECISION) <= (missed := crossing(n, ranks, _quantiles(n, ranks, eta))) <= alpha:
        eta *= aim / missed
    bounds = np.append(0.0, _quantiles(n, ranks, eta))
    return np.asarray(bounds[np.searchsorted(ranks, np.arange(n + 1), side="right")])


def _ranks(n: int) -> NDArray[np.int64]:
    """Return the ranks that are kept, out of 1 ... n."""
    ranks, k = [], 1.0
    while k <= n:
        ranks.append(int(k))
        room = min(k, n - k)
        k = int(k) + max(1, int(max(_APART * math.sqrt(max(room, 0) * (1 - room / n)), _RATIO * room)))
    return np.unique([*ranks, n])


def _quantiles(n: int, ranks: NDArray[np.int64], eta: float) -> Floats:
    """Return the quantiles of Beta(k, n + 1 - k) at level eta, for each rank k."""
    return np.asarray(special.betaincinv(ranks, n + 1 - ranks, eta))


def crossing(n: int, ranks: NDArray[np.int64], limits: Floats) -> float:
    """Return the chance that the ``ranks[j]``-th smallest of n uniforms is below ``limits[j]`` for some j, (m,)."""
    start, mass, last = 0, np.ones(1), 0.0
    for rank, limit in zip(ranks, limits, strict=True):
        # counts of start ... rank - 1 at this limit stay inside
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
