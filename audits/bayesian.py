"""A credible lower bound on epsilon from two counts: Bayesian, no confidence limit.

Model, after [1]: a fixed output set was hit x and y times in n runs on each of two datasets; its probabilities P and
Q are a priori independent Beta(1/2, 1/2). The pair is (epsilon, delta)-private if ``P <= e^epsilon Q + delta``, the
same with P and Q changed over, and both for the complement. The bound is the epsilon at which the posterior gives
this region the probability ``1 - credibility``.

What holds: if P and Q are drawn from that prior, the truth is below the bound with probability ``1 - credibility``.
What does not: for given P and Q the bound can be wrong more often, far more where both directions are at their limit
(randomised response: the region has a corner there), and always where P = Q, which a prior without atoms excludes.
The set must not have been chosen on the same runs either. It is therefore never part of a verdict.

[1] S. Zanella-Beguelin et al., "Bayesian estimation of differential privacy", ICML 2023.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from dpcheck.errors import require, require_confidence, require_count, require_delta

Floats = NDArray[np.float64]

_LARGEST = 50.0


@dataclass(frozen=True)
class CredibleBound:
    """``epsilon_lower``: epsilon (natural log) that a posteriori is exceeded with probability ``credibility``."""

    epsilon_lower: float
    hits: int
    other_hits: int
    trials: int
    delta: float
    credibility: float
    assumption: str = "probabilities drawn from a Beta(1/2, 1/2) prior: credible, not confident"

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self)


def credible_bound(
    hits: int, other_hits: int, trials: int, *, delta: float = 0.0, credibility: float = 0.95
) -> CredibleBound:
    """The bound from ``hits`` and ``other_hits`` of a set fixed beforehand, in ``trials`` runs on each dataset."""
    require_count(trials, "trials")
    for name, count in (("hits", hits), ("other_hits", other_hits)):
        require_count(count, name, least=0)
        require(count <= trials, name, f"be at most trials = {trials}", count)
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


def posterior(epsilon: float, hits: int, other_hits: int, trials: int, *, delta: float) -> float:
    """Posterior probability that P and Q obey (epsilon, delta), to about 1e-4 of itself."""
    return _inside(epsilon, hits, trials, _quantiles(other_hits, trials), delta)


def _quantiles(hits: int, trials: int) -> Floats:
    """Of a probability's posterior, at the nodes."""
    return np.asarray(special.betaincinv(hits + 0.5, trials - hits + 0.5, _rule()[0]))


def _inside(epsilon: float, hits: int, trials: int, q: Floats, delta: float) -> float:
    growth = math.exp(epsilon)
    most = np.minimum(growth * q + delta, 1 - (1 - q - delta) / growth)
    least = np.maximum((q - delta) / growth, 1 - growth * (1 - q) - delta)
    below = (special.betainc(hits + 0.5, trials - hits + 0.5, np.clip(p, 0, 1)) for p in (most, least))
    return float(_rule()[1] @ np.maximum(next(below) - next(below), 0))


@cache
def _rule() -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on (0, 1), in pieces that shrink towards both ends."""
    edges = np.concatenate([[0], 0.5 ** np.arange(30, 0, -1)])
    edges = np.concatenate([edges, 1 - edges[-2::-1]])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()
