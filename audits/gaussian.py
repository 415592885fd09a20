"""A lower bound on epsilon from means and spread, which assumes Gaussian scores.

The bound assumes that the score is normal on both datasets, with one unknown variance. Its shift mu, in standard
deviations, then has an exact lower limit. A mechanism whose output gives such a score is no more private than a
Gaussian mechanism of shift mu, since the score is computed from the output. The claim implies the assumption only if it
is a Gaussian mechanism and the score is linear in the output; elsewhere the bound can be wrong on every sample (as for
Laplace noise, which is not Gaussian far in the tail, where a delta of 1e-5 lies). No verdict therefore rests on it.
``if_independent`` of :func:`~dpcheck.audits.one_run.audit_one_run` and ``in_family`` of
:func:`~dpcheck.audits.membership.audit_privacy` assume less: a trade-off curve, and no law of the scores.

The t statistic of two samples of n has the noncentral t law with 2 n - 2 degrees of freedom and noncentrality
mu sqrt(n / 2). It grows with mu, and inverting it gives the limit, which is exact under the assumption.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from dpcheck.accounting import gaussian_epsilon
from dpcheck.arguments import checked
from dpcheck.arrays import real_numbers
from dpcheck.errors import require, require_confidence, require_delta
from dpcheck.shown import Result


@dataclass(frozen=True)
class GaussianBound(Result):
    """A lower confidence limit on epsilon under the assumption of Gaussian scores.

    Attributes
    ----------
    epsilon_lower : float
        Epsilon (natural log) at ``delta`` of a Gaussian mechanism of the shift ``shift_lower``.
    shift_lower : float
        One-sided lower limit on the shift, in standard deviations.
    shift : float
        The estimated shift.
    trials : int
        Scores on each dataset.
    delta : float
        At which ``epsilon_lower`` is stated.
    confidence : float
        Of the limits.
    assumption : str
        What the limits assume, in words.
    """

    epsilon_lower: float
    shift_lower: float
    shift: float
    trials: int
    delta: float
    confidence: float
    assumption: str = "scores normal on both datasets, with one variance"


@checked
def gaussian_bound(
    scores: ArrayLike, other_scores: ArrayLike, *, delta: float, confidence: float = 0.95
) -> GaussianBound:
    """Return a limit on epsilon from scores that are assumed to be Gaussian.

    Parameters
    ----------
    scores, other_scores : array_like, (n,)
        Scores of n >= 2 independent runs on each of the two datasets, finite. The score must be one that the first
        dataset was expected to raise before these runs were seen.
    delta : float
        In (0, 1); a Gaussian mechanism keeps no epsilon at delta = 0.
    confidence : float
        Of the limit, in (0.5, 1).

    Returns
    -------
    GaussianBound
        The limit on epsilon and on the shift.

    Raises
    ------
    InputError
        For scores that are no such arrays or do not vary, and for numbers outside their domains.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcheck.audits.gaussian import gaussian_bound
    >>> rng = np.random.default_rng(0)
    >>> bound = gaussian_bound(1 + rng.normal(size=1000), rng.normal(size=1000), delta=1e-5)
    >>> 0.8 < bound.shift_lower < 1
    True
    """
    require_delta(delta, zero=False)
    require_confidence(confidence)
    a, b = real_numbers(scores, "scores"), real_numbers(other_scores, "other_scores")
    require(a.ndim == 1 and a.size >= 2, "scores", "have shape (n,), n >= 2", a.shape)
    require(b.shape == a.shape, "other_scores", f"have the shape of scores, {a.shape}", b.shape)
    require(bool(np.isfinite([a, b]).all()), "scores", "be finite", "NaN or infinity")
    n = a.size
    spread = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2)
    require(spread > 0 or math.isnan(spread), "scores", "vary", "constant ones")
    require(math.isfinite(spread), "scores", "have a variance that float64 holds", spread)
    shift = float(a.mean() - b.mean()) / spread
    root, freedom, alpha = math.sqrt(n / 2), 2 * n - 2, 1 - confidence

    def excess(mu: float) -> float:
        return float(stats.nct.sf(shift * root, freedom, mu * root)) - alpha

    lower = 0.0  # or the shift at which the t statistic is exceeded with probability alpha
    if shift > 0 and excess(0.0) < 0:
        lower = float(optimize.brentq(excess, 0.0, shift, xtol=1e-9 * shift))
    return GaussianBound(gaussian_epsilon(lower, delta), lower, shift, n, delta, confidence)
