"""Bets that no private pair of output laws lets anyone win on average.

A round is one fresh output x on the data (law P) and one fresh y on the neighbour (law Q). A bet is
a pair of functions, fixed before the round, and the wealth is multiplied by ``e(x) f(y)``:

``e = alpha + a - e^epsilon b``,  ``f = beta - e^epsilon a + b``,  all divided by ``1 + delta (A + B) / 2``,

with ``alpha + beta = 2``, ``0 <= a <= A`` and ``0 <= b <= B``, so small that e and f are positive.

Null hypothesis: (P, Q) is (epsilon, delta)-private in both directions. Then ``E_P[a] <= e^epsilon
E_Q[a] + delta A``, since a / A is a test, and likewise for b; before the division ``E_P[e] + E_Q[f]
<= 2 + delta (A + B)``, and as x and y are independent, ``E[e(x) f(y)]`` is at most the square of half
of that: after the division at most 1. The wealth is a nonnegative supermartingale that starts at 1,
so it ever reaches 1 / level with probability at most ``level``, whenever one looks [1].

The bet that grows fastest when P and Q have densities p and q is their likelihood ratio against the
nearest private pair, ``e = p / p0`` and ``f = q / q0`` [2]; it has this form, a and b are where one
law exceeds e^epsilon times the other, and A and B cap them to save what delta would cost.

[1] J. Ville, "Etude critique de la notion de collectif", Gauthier-Villars 1939.
[2] P. Grunwald, R. de Heide and W. Koolen, "Safe testing", JRSS B 86 (2024), 1091-1128.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Values tried for alpha / beta, spread over e^-epsilon to e^epsilon; caps tried, each half of the last.
_TILTS = 9
_CAPS = 10
# Beyond, no number of rounds could win anything.
_LARGEST = 300.0


def stakes(share: Floats, mass: Floats, epsilon: float, delta: float = 0.0) -> tuple[Floats, Floats]:
    """Logarithms (J,) of the factors e and f on J bins of the outputs, for the null hypothesis above.

    share : (J,) in (0, 1), the chance that an output in the bin came from the data, both being as
        likely beforehand; mass : (J,), the bin's probability under P plus that under Q

    Both are guesses: they make the bet good or bad, and the null hypothesis wins either way.
    """
    if epsilon > _LARGEST:
        return np.zeros(share.size), np.zeros(share.size)
    ratio = math.exp(epsilon)
    tilt = np.exp(np.linspace(-epsilon, epsilon, _TILTS if epsilon > 0 else 1))[:, None]
    alpha, beta = 2 * tilt / (1 + tilt), 2 / (1 + tilt)
    # (tilts, J): the maximisers of share log e + (1 - share) log f; one of them is always 0.
    a = np.maximum(share * beta / ratio - (1 - share) * alpha, 0)
    b = np.maximum((1 - share) * alpha / ratio - share * beta, 0)
    cost = np.zeros((len(a), 1))
    if delta > 0:
        a = _capped(a, share, mass, alpha, beta, ratio, delta)
        b = _capped(b, 1 - share, mass, beta, alpha, ratio, delta)
        cost = np.log1p(delta * (a.max(axis=1, keepdims=True) + b.max(axis=1, keepdims=True)) / 2)
    e = np.log(alpha + a - ratio * b) - cost
    f = np.log(beta - ratio * a + b) - cost
    best = int(np.argmax((mass * (share * e + (1 - share) * f)).sum(axis=1)))
    return e[best], f[best]


def _capped(a: Floats, share: Floats, mass: Floats, alpha: Floats, beta: Floats, ratio: float, delta: float) -> Floats:
    """``min(a, A)`` with the cap A, for each tilt, that grows fastest after paying ``delta A``."""
    caps = a.max(axis=1)[:, None] * np.append(0.5 ** np.arange(_CAPS), 0)  # (tilts, caps)
    cut = np.minimum(a[:, None, :], caps[:, :, None])
    gains = share * np.log(alpha[:, None] + cut) + (1 - share) * np.log(beta[:, None] - ratio * cut)
    best = np.argmax((mass * gains).sum(axis=2) - delta * caps, axis=1)
    return cut[np.arange(len(a)), best]
