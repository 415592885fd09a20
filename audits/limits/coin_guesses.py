"""What right guesses of many coins in one run say about epsilon.

A mechanism sees m fair coins, and r of them, a number fixed beforehand, are guessed from its output alone. Null
hypothesis: turning one coin over, whatever the others show, changes the law of the output by at most (epsilon, delta),
in both directions. Let B be binomial with r trials of probability e^epsilon / (1 + e^epsilon), and beta = P(B >= v).
Then the number W of right guesses obeys

    P(W >= v)  <=  beta + m delta beta (1 - beta) / (v P(B = v)),  or 1 if that is less,

and no smaller bound holds for all such mechanisms.

* Let w_k = P(W = k). Where guess i is right and W = k, turning coin i over makes guess i wrong and W = k - 1 on the
  same output. The output sets of different k are disjoint, so for each i the excesses
  ``(P(W = k, i right) - e^epsilon P(W = k - 1, i wrong))_+`` add up to at most delta over k. Added over i they give
  ``sum_k (k w_k - e^epsilon (r - k + 1) w_{k-1})_+ <= m delta``. How the guesses are made, and which coins are
  left out, plays no role. Choosing r from the output would: all of delta could go where r is some rare number.
* Write w_k = z_k P(B = k). Then ``sum_k k P(B = k) (z_k - z_{k-1})_+ <= m delta``. The mass at k >= v is largest if
  z never falls, since the largest nondecreasing sequence below z wastes less below v. A rise at j <= v gains
  beta P(B < j) / (j P(B = j)) for its price, one at j >= v gains (1 - beta) P(B >= j) / (j P(B = j)). Binomials are
  log-concave, so the first gain grows with j and the second falls. One rise at j = v is therefore best, and gives the
  bound.
* A mechanism attains the bound: it draws W with these w and r coins at random, and reveals W of them correctly and the
  rest wrongly.

With delta = 0 this is the theorem of [1]. With delta > 0 it replaces the bound there, which rests on another argument:
at level 0.05 and r = m = 1000 the part due to delta is 5 times as large there for epsilon = 1, and 11 times for 2.

[1] T. Steinke, M. Nasr, M. Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from dpcheck.audits.limits.binomial import clopper_pearson_lower
from dpcheck.errors import require, require_count, require_delta

Floats = NDArray[np.float64]

# Limits on epsilon are this much too small, so that none is rounded up.
_TOLERANCE = 1e-9
# Tails below this are no longer normal floats.
_TINY = 1e-290
# From this epsilon on, a coin is guessed right with probability 1 in floats.
_LARGEST = 300.0


def p_value(right: int, guesses: int, canaries: int, epsilon: ArrayLike, delta: ArrayLike = 0.0) -> Floats:
    """Return the largest probability of at least ``right`` right guesses, for each point (epsilon, delta) of a claim.

    epsilon >= 0 (natural log) and delta in [0, 1) broadcast to the result's shape. The claim at any one point implies
    the bound, so the least over the points of a curve is a p-value too.
    """
    _require_counts(right, guesses, canaries)
    e, d = np.broadcast_arrays(np.minimum(epsilon, _LARGEST), np.asarray(delta, float))
    if right == 0:
        return np.ones(e.shape)
    v, r = right, guesses
    least = special.betainc(v, r - v + 1, special.expit(e))  # beta
    log_equal = special.gammaln(r + 1) - special.gammaln(v + 1) - special.gammaln(r - v + 1)
    log_equal = log_equal + v * special.log_expit(e) + (r - v) * special.log_expit(-e)
    with np.errstate(divide="ignore"):
        below = np.log(special.betaincc(v, r - v + 1, special.expit(e)))
        tail = np.log(least) - log_equal  # log of P(B >= v) / P(B = v)
    # So far out, P(B = k) falls at least geometrically from v on.
    far = least <= _TINY
    tail = np.where(far, -np.log1p(-np.where(far, (r - v) / (v + 1) * np.exp(e), 0.0)), tail)
    return np.asarray(np.minimum(1.0, least + canaries * d / v * np.exp(tail + below)))


def epsilon_lower(right: int, guesses: int, canaries: int, *, delta: float = 0.0, alpha: float = 0.05) -> float:
    """Return a lower confidence limit on epsilon (natural log, one-sided, level ``1 - alpha``), at least 0.

    It exceeds an epsilon that the mechanism keeps at this delta with probability at most ``alpha``.
    """
    _require_counts(right, guesses, canaries)
    require_delta(delta)
    require(0 < alpha < 0.5, "alpha", "lie in (0, 0.5)", alpha)

    def excess(epsilon: float) -> float:
        return float(p_value(right, guesses, canaries, epsilon, delta)) - alpha

    if excess(0.0) > 0:
        return 0.0
    # at this epsilon all r guesses are right with probability alpha, so the limit for v <= r lies below it
    most = -math.log(math.expm1(-math.log(alpha) / guesses)) + 1e-6
    return max(0.0, float(optimize.brentq(excess, 0.0, most, xtol=_TOLERANCE)) - 2 * _TOLERANCE)


def right_if_independent(epsilon: ArrayLike, delta: ArrayLike) -> float:
    """Return the largest probability with which a guess is right under a claim, for an output of independent parts.

    The claim is given by its points (epsilon, delta). Assumption: given the coins, the output consists of independent
    parts, one for each coin and affected by no other. The total variation t between the two laws of a part is at most
    ``(e^epsilon - 1 + 2 delta) / (e^epsilon + 1)``, so the best guess of its coin is right with probability at most
    (1 + t) / 2, independently of the others. Given all parts no guess does better, so that W is at most binomial with
    that probability however all coins are guessed.
    """
    e, d = np.asarray(epsilon, float), np.asarray(delta, float)
    return float((special.expit(e) + d * special.expit(-e)).min())


def gaussian_shift_lower(right: int, guesses: int, *, alpha: float = 0.05) -> float:
    """Return a lower confidence limit on mu from guesses of all coins, for an output of independent Gaussian parts.

    It assumes the parts of :func:`right_if_independent`, each at least as private as a Gaussian of standard deviation 1
    that its coin shifts by mu. The guess of a part is then right with probability at most Phi(mu / 2).
    """
    _require_counts(right, guesses, guesses)
    return max(0.0, 2 * float(special.ndtri(clopper_pearson_lower(right, guesses, alpha))))


def _require_counts(right: int, guesses: int, canaries: int) -> None:
    require_count(canaries, "canaries")
    require_count(guesses, "guesses")
    require_count(right, "right", least=0)
    require(guesses <= canaries, "guesses", f"be at most canaries = {canaries}", guesses)
    require(right <= guesses, "right", f"be at most guesses = {guesses}", right)
