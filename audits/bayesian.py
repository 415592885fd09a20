"""A credible lower bound on epsilon from two counts, which is Bayesian and no confidence limit.

The model follows [1]: a fixed output set was hit x and y times in n runs on each of two datasets, and its probabilities
P and Q are a priori independent Beta(1/2, 1/2). The pair is (epsilon, delta)-private if ``P <= e^epsilon Q + delta``,
if the same holds with P and Q exchanged, and if both hold for the complement. The bound is the epsilon at which the
posterior probability of this region is ``1 - credibility``.

If P and Q are drawn from that prior, the truth is below the bound with probability ``1 - credibility``. For given P and
Q the bound can be wrong more often: far more where both directions are at their limit (as for randomised response,
where the region has a corner), and always where P = Q, which a prior without atoms excludes. The set must not have been
chosen on the same runs either. No verdict therefore rests on this bound.

[1] S. Zanella-Beguelin et al., "Bayesian estimation of differential privacy", ICML 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import optimize, special

from dpcheck.arguments import checked
from dpcheck.arrays import Floats
from dpcheck.errors import require, require_confidence, require_count, require_delta
from dpcheck.shown import Result

_LARGEST = 50.0


@dataclass(frozen=True)
class CredibleBound(Result):
    """A credible lower bound on epsilon, with the counts behind it.

    Attributes
    ----------
    epsilon_lower : float
        The bound (natural log): epsilon is larger with posterior probability ``credibility``.
    hits, other_hits : int
        Hits of the set on the two datasets.
    trials : int
        Runs on each dataset.
    delta : float
        At which the bound is stated.
    credibility : float
        Of the bound.
    assumption : str
        What the bound assumes, in words.
    """

    epsilon_lower: float
    hits: int
    other_hits: int
    trials: int
    delta: float
    credibility: float
    assumption: str = "probabilities drawn from a Beta(1/2, 1/2) prior: credible, not confident"


@checked
def credible_bound(
    hits: int, other_hits: int, trials: int, *, delta: float = 0.0, credibility: float = 0.95
) -> CredibleBound:
    """Return a credible bound on epsilon from the hits of a set that was fixed beforehand.

    Parameters
    ----------
    hits, other_hits : int
        Hits of the set on the two datasets.
    trials : int
        Runs on each dataset.
    delta : float
        In [0, 1).
    credibility : float
        Posterior probability that epsilon is larger than the bound, in (0.5, 1).

    Returns
    -------
    CredibleBound
        The bound and its counts.

    Raises
    ------
    InputError
        For counts and numbers outside their domains.

    References
    ----------
    S. Zanella-Beguelin et al. Bayesian estimation of differential privacy. ICML 2023.

    Examples
    --------
    >>> from dpcheck.audits.bayesian import credible_bound
    >>> 0.5 < credible_bound(731, 269, 1000).epsilon_lower < 1  # randomised response with epsilon 1
    True
    """
    require_count(trials, "trials")
    for name, count in (("hits", hits), ("other_hits", other_hits)):
        require_count(count, name, least=0)
        require(count <= trials, name, f"be at most trials = {trials}", count)
    hits, other_hits, trials = int(hits), int(other_hits), int(trials)  # none of NumPy, whose small ones overflow
    require_delta(delta)
    require_confidence(credibility)

    q = _quantiles(other_hits, trials)

    def excess(epsilon: float) -> float:
        return _inside(epsilon, hits, trials, q, delta) - (1 - credibility)

    if excess(0.0) >= 0:
        epsilon = 0.0
    elif excess(_LARGEST) <= 0:
        epsilon = _LARGEST
    else:
        epsilon = float(optimize.brentq(excess, 0.0, _LARGEST, xtol=1e-7))
    return CredibleBound(epsilon, hits, other_hits, trials, delta, credibility)


def _quantiles(hits: int, trials: int) -> Floats:
    """Return the quantiles of a probability's posterior at the nodes."""
    return np.asarray(special.betaincinv(hits + 0.5, trials - hits + 0.5, _rule()[0]))


def _inside(epsilon: float, hits: int, trials: int, q: Floats, delta: float) -> float:
    """Return the posterior probability of the private region, integrated over q."""
    growth = math.exp(epsilon)
    most = np.minimum(growth * q + delta, 1 - (1 - q - delta) / growth)
    least = np.maximum((q - delta) / growth, 1 - growth * (1 - q) - delta)
    below = (special.betainc(hits + 0.5, trials - hits + 0.5, np.clip(p, 0, 1)) for p in (most, least))
    return float(_rule()[1] @ np.maximum(next(below) - next(below), 0))


@cache
def _rule() -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights on (0, 1), in pieces that shrink towards both ends."""
    edges = np.concatenate([[0], 0.5 ** np.arange(30, 0, -1)])
    edges = np.concatenate([edges, 1 - edges[-2::-1]])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()
