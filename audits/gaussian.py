"""A lower bound on epsilon from means and spread: assumes that the scores are Gaussian.

Assumption: on both datasets the score is normal with one variance, which is unknown. Its shift in standard deviations,
mu, then has the exact lower limit below; and a mechanism whose output gives such a score is no more private than a
Gaussian mechanism of shift mu, since a score is computed from the output. Nothing in the claim implies the assumption
unless the claim is a Gaussian mechanism and the score linear in its output; elsewhere the bound can be wrong
always (Laplace noise: a delta of 1e-5 lies far in the tail, where it is no Gaussian). Never part of a verdict;
``if_independent`` of :func:`~dpcheck.audits.one_run.audit_one_run` and ``in_family`` of
:func:`~dpcheck.audits.membership.audit_privacy` assume less, a trade-off curve and no law of the scores.

The t statistic of two samples of n has the noncentral t law with 2 n - 2 degrees of freedom and noncentrality
mu sqrt(n / 2), which grows with mu: inverting it gives the limit, exact under the assumption.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from dpcheck.accounting import gaussian_epsilon
from dpcheck.errors import require, require_confidence, require_delta


@dataclass(frozen=True)
class GaussianBound:
    """``shift_lower``: limit on mu, one-sided;  ``epsilon_lower``: of a Gaussian mechanism of that shift, at ``delta``.

    shift : as estimated
    """

    epsilon_lower: float
    shift_lower: float
    shift: float
    trials: int
    delta: float
    confidence: float
    assumption: str = "scores normal on both datasets, with one variance"

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self)


def gaussian_bound(
    scores: ArrayLike, other_scores: ArrayLike, *, delta: float, confidence: float = 0.95
) -> GaussianBound:
    """The bound from scores (n,) of independent runs on each dataset, n >= 2, that the first was expected to raise.

    delta : in (0, 1): a Gaussian mechanism keeps no epsilon at delta = 0
    """
    require_delta(delta, zero=False)
    require_confidence(confidence)
    a, b = np.asarray(scores, float), np.asarray(other_scores, float)
    require(a.ndim == 1 and a.size >= 2, "scores", "have shape (n,), n >= 2", a.shape)
    require(b.shape == a.shape, "other_scores", f"have the shape of scores, {a.shape}", b.shape)
    require(bool(np.isfinite([a, b]).all()), "scores", "be finite", "NaN or infinity")
    n = a.size
    spread = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2)
    require(spread > 0, "scores", "vary", "constant ones")
    shift = float(a.mean() - b.mean()) / spread
    lower = _shift_lower(shift, n, 1 - confidence)
    return GaussianBound(gaussian_epsilon(lower, delta), lower, shift, n, delta, confidence)


def _shift_lower(shift: float, n: int, alpha: float) -> float:
    """Where the t statistic is exceeded with probability ``alpha``, at least 0."""
    root, freedom = math.sqrt(n / 2), 2 * n - 2

    def excess(mu: float) -> float:
        return float(stats.nct.sf(shift * root, freedom, mu * root)) - alpha

    if shift <= 0 or excess(0.0) >= 0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, shift, xtol=1e-9 * shift))
