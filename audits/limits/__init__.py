"""Lower confidence limits on epsilon from two binomial counts.

An output set E was fixed beforehand. In ``trials`` fresh runs on each of two datasets it was hit ``x`` times on one
(probability P) and ``y`` times on the other (probability Q), independently. Every (epsilon, delta)-private mechanism
has ``P <= e^epsilon Q + delta``. Bounding P and Q separately and dividing wastes data. This module tests the one
inequality directly:

* Outcomes are ordered by ``S(x, y) = log((L(x) - delta) / U(y))``, with L and U one-sided limits
  for P and Q of error about ``Phi(-z_alpha / sqrt 2)`` each, the share at which two equally
  uncertain logarithms together miss with probability alpha. ``{S >= s}`` is ``{X >= front(Y)}``.
* The p-value of a claim is the largest probability of ``{S >= S(x, y)}`` under the claim: Buehler's
  construction [1], the best limit for the given order of outcomes. The largest probability is
  sought where P and Q lie in exact confidence intervals, and the error of these is added [2].
* That probability grows with P and falls with Q, so on a cell ``q1 <= Q <= q2`` of the claim's edge
  it is at most its value at ``(e^epsilon q2 + delta, q1)``. Cells are halved until this bound
  decides, so that no grid replaces the maximum.

L and U are normal approximations with continuity and skewness corrections, inverted in closed form.
They only order the outcomes: whatever their accuracy, the limit is valid.

The least noise multiplier that the runs reject is a bound that assumes more, the claimed family of mechanisms, and is
labelled for that: the pair of output laws obeys the family's privacy curve for SOME noise multiplier. The null
hypothesis at multiplier z is that the total variation of the two laws is at most the curve's value at epsilon = 0, so
that P(E) - Q(E) <= delta_z(0). The event E, a score of at least 0, is fixed beforehand; for a log-likelihood ratio it
attains the total variation. The same holds at any other epsilon fixed beforehand, for sets farther out
(:func:`least_rejected`).

[1] R. J. Buehler, "Confidence intervals for the product of two binomial parameters", JASA 52
    (1957), 482-493.
[2] R. L. Berger and D. D. Boos, "P values maximized over a confidence set for the nuisance
    parameter", JASA 89 (1994), 1012-1016.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpcheck.arrays import Floats
from dpcheck.audits.limits import binomial_kernels as kernels
from dpcheck.compiled import njit
from dpcheck.errors import require, require_count, require_delta, require_epsilon

# Share of alpha spent on keeping P and Q inside their confidence intervals.
_NUISANCE = 0.002
# Scores this close count as equal, so that rounding never leaves out an outcome that belongs.
_TIE = 1e-9
# A limit may be too small by this share of itself, but by no less and no more than these shares of its standard
# deviation. More precision would cost more time than it gains.
_PRECISION, _FINEST, _COARSEST = 0.001, 0.005, 0.05
# Allowance for the normal approximation of a limit, in units that shrink with the hits; the largest error seen is 0.07.
_ROUGH = 0.1
_STEEP = 0.2  # delta above which it is not taken
# e^700 still fits a float; no number of trials supports such an epsilon.
_LARGEST = 700.0


def epsilon_lower(x: int, y: int, trials: int, *, delta: float = 0.0, alpha: float = 0.05) -> float:
    """Return a lower confidence limit on epsilon (natural log, one-sided, level ``1 - alpha``), at least 0."""
    extreme, problem = _problem(x, y, trials, delta, alpha)
    if problem is None:
        return 0.0
    spread = math.sqrt((1 - x / trials) / x + (1 - y / trials) / max(y, 1)) or 1 / trials
    step = min(max(_PRECISION * extreme / spread, _FINEST), _COARSEST)
    level = alpha * (1 - _NUISANCE)
    return float(kernels.invert(trials, delta, problem, level, extreme, spread, step))


def p_value(x: int, y: int, trials: int, epsilon: float, delta: float = 0.0, *, alpha: float = 0.05) -> float:
    """Return the p-value of ``P <= e^epsilon Q + delta``, at least ``0.002 alpha``; alpha must be fixed before."""
    return min(1.0, _worst(x, y, trials, epsilon, delta, alpha, 0.0) + alpha * _NUISANCE)


def rejects(x: int, y: int, trials: int, epsilon: float, *, delta: float, alpha: float) -> bool:
    """Say whether the counts contradict ``P <= e^epsilon Q + delta`` at level ``alpha``, sooner than the p-value."""
    level = alpha * (1 - _NUISANCE)
    return _worst(x, y, trials, epsilon, delta, alpha, level) < level


def _worst(x: int, y: int, trials: int, epsilon: float, delta: float, alpha: float, enough: float) -> float:
    """Return the largest probability of outcomes as extreme as (x, y), or ``enough`` to decide."""
    require_epsilon(epsilon)
    _, problem = _problem(x, y, trials, delta, alpha)
    return 1.0 if problem is None else float(kernels.worst_case(trials, min(epsilon, _LARGEST), delta, problem, enough))


def most(x: int, y: int, trials: int, *, delta: float, alpha: float) -> float:
    """Return quickly, by a normal approximation, more than :func:`epsilon_lower` can be; possibly -inf."""
    if delta > _STEEP:  # the limit is steeper here than that approximation knows
        return math.inf
    limit = float(score(x, y, trials, stand_off(alpha), delta))
    return limit + _ROUGH * (1 / math.sqrt(x + 1) + 1 / math.sqrt(y + 1))


def clopper_pearson_lower(count: int, trials: int, alpha: float) -> float:
    """Return the exact one-sided lower confidence limit of a binomial probability, of error ``alpha``."""
    return 0.0 if count == 0 else float(special.betaincinv(count, trials - count + 1, alpha))


def clopper_pearson_upper(count: int, trials: int, alpha: float) -> float:
    """Return the exact one-sided upper confidence limit of a binomial probability, of error ``alpha``."""
    if count == trials:
        return 1.0
    return float(special.betainccinv(count + 1, trials - count, alpha))


def stand_off(alpha: float) -> float:
    """Return by how many standard deviations each of the two limits in the order of outcomes stands off."""
    return float(-special.ndtri(alpha)) / math.sqrt(2)


def _problem(x: int, y: int, trials: int, delta: float, alpha: float) -> tuple[float, kernels.Problem | None]:
    """Return the score of (x, y), what outcomes are as extreme, and where P and Q almost surely lie; None at -inf."""
    require_count(trials, "trials")
    for name, count in (("x", x), ("y", y)):
        require_count(count, name, least=0)
        require(count <= trials, name, f"be at most trials = {trials}", count)
    require_delta(delta)
    require(0 < alpha < 0.5, "alpha", "lie in (0, 0.5)", alpha)
    extreme = float(score(x, y, trials, stand_off(alpha), delta))
    if extreme == -math.inf:
        return extreme, None
    tail = alpha * _NUISANCE / 4
    p1, p2 = clopper_pearson_lower(x, trials, tail), clopper_pearson_upper(x, trials, tail)
    q1, q2 = clopper_pearson_lower(y, trials, tail), clopper_pearson_upper(y, trials, tail)
    # Any y left out of the front counts as a hit, so it is enough that the margins are wide.
    low, high = trials * q1, trials * q2
    first = max(0, math.floor(low - 9 * math.sqrt(low) - 40))
    last = min(trials, math.ceil(high + 9 * math.sqrt(high) + 60))
    least = front(trials, stand_off(alpha), extreme - _TIE, delta, first, last)
    return extreme, kernels.Problem(kernels.Front(least, first), p1, p2, q1, q2)


Whole = NDArray[np.int64]


@njit("float64(float64, int64, float64)", nogil=True)
def lower_limit(count: float, trials: int, z: float) -> float:
    """Return the t whose upper z-quantile ``N t + z sqrt(N t (1 - t)) + (z^2 - 1)(1 - 2 t) / 6 + 1/2`` is ``count``."""
    skew = (z * z - 1) / 6
    excess = count - 0.5 - skew
    if excess <= 0:
        return 0.0
    slope = trials - 2 * skew
    variance = z * z * trials
    root = max(4 * excess * (slope - excess) + variance, 0.0)
    return 2 * excess * excess / (2 * excess * slope + variance + math.sqrt(variance * root))


@njit("float64(float64, float64, int64, float64, float64)", nogil=True)
def score(x: float, y: float, trials: int, z: float, delta: float) -> float:
    """Return ``log((L(x) - delta) / U(y))``, or -inf where L(x) <= delta."""
    gain = lower_limit(x, trials, z) - delta
    return math.log(gain / (1 - lower_limit(trials - y, trials, z))) if gain > 0 else -math.inf


@njit("int64[:](int64, float64, float64, float64, int64, int64)", nogil=True)
def front(trials: int, z: float, score: float, delta: float, first: int, last: int) -> Whole:
    """Return for y = first..last the smallest x of score at least ``score``, or ``trials + 1`` if there is none."""
    result = np.empty(last - first + 1, np.int64)
    skew = (z * z - 1) / 6
    top = lower_limit(trials, trials, z)
    for y in range(first, last + 1):
        t = delta + math.exp(score) * (1 - lower_limit(trials - y, trials, z))
        if t > top:
            result[y - first] = trials + 1
        else:
            quantile = trials * t + z * math.sqrt(trials * t * (1 - t)) + skew * (1 - 2 * t) + 0.5
            result[y - first] = min(max(math.ceil(quantile), 0), trials)
    return result


Curve = Callable[[ArrayLike], Floats]  # epsilon -> delta, an upper bound
_CLOSE = 1.005  # the ratio of a multiplier that is rejected and one that is not, at the end of the search
_LINES = 10  # steps along lines, after which the search halves


def least_rejected(
    x: int, y: int, trials: int, curve: Callable[[float], Curve], *, epsilon: float, guess: float, alpha: float
) -> float:
    """Return the least z, to 0.5 %, at which the counts reject ``P <= e^epsilon Q + curve(z)(epsilon)``; inf if none.

    The output set and ``epsilon`` must have been fixed beforehand. Curves fall in z, so that the rejected z form a ray.
    """

    def refuted(delta: float) -> bool:
        return rejects(x, y, trials, epsilon, delta=min(delta, 1 - 1e-12), alpha=alpha)

    if not refuted(0.0):  # not even at delta = 0
        return math.inf
    edge = _height(_largest(refuted))
    least = guess / 16
    kept, multiplier, z = least, 1e6 * guess, guess
    tried: list[tuple[float, float]] = []
    while multiplier > kept * _CLOSE:
        delta = float(curve(z)(epsilon))
        tried.append((math.log(z), _height(delta)))
        kept, multiplier = (kept, z) if refuted(delta) else (z, multiplier)
        z = _next(tried, edge, kept, multiplier)
    return least if kept == least and refuted(float(curve(least)(epsilon))) else multiplier


def _largest(rejects: Callable[[float], bool]) -> float:
    """Return the largest delta that is rejected, to a thousandth: where the curve crosses it, the search looks."""
    low, high = 1e-12, 1.0
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if rejects(middle) else (low, middle)
    return low


def _height(delta: float) -> float:
    """Return a delta on a scale on which Gaussian curves are nearly straight in log z, near 0 as near 1."""
    return math.log(-math.log1p(-min(max(delta, 1e-15), 1 - 1e-12)))


def _next(tried: list[tuple[float, float]], edge: float, low: float, high: float) -> float:
    """Return where to look next: beside where a line through the last two places meets the edge, or the middle."""
    x, y = tried[-1]
    slope = -1.0
    if len(tried) > 1 and y != tried[-2][1]:
        slope = min((y - tried[-2][1]) / (x - tried[-2][0]), -0.1)
    place = math.exp(x + max(-3.0, min(3.0, (edge - y) / slope)))
    place *= _CLOSE**0.4 if high > place * _CLOSE else _CLOSE**-0.4
    if place <= low:
        place = low * _CLOSE**0.8
    return place if place < high and len(tried) < _LINES else math.sqrt(low * high)
