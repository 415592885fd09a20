"""The stakes of a bet that nobody wins on average if a pair of output laws is private.

A round is one fresh output x on the data (law P) and one fresh output y on the neighbour (law Q). A bet is a pair of
functions, fixed before the round, which multiplies the wealth by ``e(x) f(y)``:

``e = alpha + a - e^epsilon b``,  ``f = beta - e^epsilon a + b``,  all divided by ``1 + delta (A + B) / 2``,

with ``alpha + beta = 2``, ``0 <= a <= A`` and ``0 <= b <= B``, so small that e and f are positive.

Null hypothesis: (P, Q) is (epsilon, delta)-private in both directions. Then ``E_P[a] <= e^epsilon E_Q[a] + delta A``,
since a / A is a test, and likewise for b. Before the division ``E_P[e] + E_Q[f] <= 2 + delta (A + B)``. Since x and y
are independent, ``E[e(x) f(y)]`` is at most the square of half of that, and after the division at most 1. The wealth is
a nonnegative supermartingale that starts at 1, so the probability that it ever reaches 1 / level is at most ``level``,
whenever one looks [1].

If P and Q have densities p and q, the bet that grows fastest is their likelihood ratio against the nearest private
pair, ``e = p / p0`` and ``f = q / q0`` [2]. It has this form: a and b are nonzero where one law exceeds e^epsilon times
the other, and the caps A and B limit what delta costs.

[1] J. Ville, "Etude critique de la notion de collectif", Gauthier-Villars 1939.
[2] P. Grunwald, R. de Heide and W. Koolen, "Safe testing", JRSS B 86 (2024), 1091-1128.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Values tried for log(alpha / beta) / epsilon, densest near 0; number of caps tried, each half of the one before.
_TILTS = np.array([-0.64, -0.36, -0.16, -0.04, 0, 0.04, 0.16, 0.36, 0.64])
_CAPS = 7
# Beyond this epsilon no number of rounds could win anything.
_LARGEST = 300.0


def stakes(share: Floats, mass: Floats, epsilons: Floats, delta: float = 0.0) -> tuple[Floats, Floats]:
    """Return the logarithms (m, J) of the factors e and f on J bins of the outputs, against each of m claims.

    share : (J,) in (0, 1), the chance that an output in the bin came from the data, if both are equally likely
        beforehand;  mass : (J,), the probability of the bin under P plus that under Q
    epsilons : (m,) >= 0, and delta in [0, 1), of the null hypotheses

    Share and mass are guesses. They decide how good a bet is; it is fair under a null hypothesis whatever they are.
    """
    known = np.minimum(epsilons, _LARGEST)[:, None, None]
    ratio = np.exp(known)
    tilt = np.exp(known * _TILTS[:, None])  # all arrays: (claims, tilts, bins)
    alpha, beta = 2 * tilt / (1 + tilt), 2 / (1 + tilt)
    # The maximisers of share log e + (1 - share) log f; one of them is always 0.
    a = np.maximum(share * beta / ratio - (1 - share) * alpha, 0)
    b = np.maximum((1 - share) * alpha / ratio - share * beta, 0)
    cost: float | Floats = 0.0
    if delta > 0:
        a = _capped(a, share, mass, alpha, beta, ratio, delta)
        b = _capped(b, 1 - share, mass, beta, alpha, ratio, delta)
        cost = np.log1p(delta * (a.max(axis=2, keepdims=True) + b.max(axis=2, keepdims=True)) / 2)
    e = np.log(alpha + a - ratio * b) - cost
    f = np.log(beta - ratio * a + b) - cost
    best = np.argmax((mass * (share * e + (1 - share) * f)).sum(axis=2), axis=1)
    claims = np.arange(len(best))
    played = (epsilons <= _LARGEST)[:, None]
    return e[claims, best] * played, f[claims, best] * played


def _capped(a: Floats, share: Floats, mass: Floats, alpha: Floats, beta: Floats, ratio: Floats, delta: float) -> Floats:
    """Return ``min(a, A)`` for the cap A, of each claim and tilt, whose bet grows fastest after paying ``delta A``."""
    top = a.max(axis=2, keepdims=True)
    best, result = np.full(top.shape, -np.inf), a
    for level in (*0.5 ** np.arange(_CAPS), 0.0):
        cut = np.minimum(a, level * top)
        gains = share * np.log(alpha + cut) + (1 - share) * np.log(beta - ratio * cut)
        growth = (mass * gains).sum(axis=2, keepdims=True) - delta * level * top
        result = np.where(growth > best, cut, result)
        best = np.maximum(growth, best)
    return result
