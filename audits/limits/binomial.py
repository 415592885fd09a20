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

[1] R. J. Buehler, "Confidence intervals for the product of two binomial parameters", JASA 52
    (1957), 482-493.
[2] R. L. Berger and D. D. Boos, "P values maximized over a confidence set for the nuisance
    parameter", JASA 89 (1994), 1012-1016.
"""

from __future__ import annotations

import math

from scipy import special

from dpcheck.audits.limits import binomial_kernels as kernels
from dpcheck.audits.limits import binomial_order as order
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
    """Return a lower confidence limit on epsilon (natural log, one-sided, level ``1 - alpha``), at least 0.

    Whatever P and Q are, the limit exceeds an epsilon >= 0 that obeys ``P <= e^epsilon Q + delta`` with probability at
    most ``alpha``. ``x`` and ``y`` count the hits in ``trials`` runs of each dataset; the output set must have been
    chosen without these runs.
    """
    _require_counts(x, y, trials, delta, alpha)
    score = order.score(x, y, trials, stand_off(alpha), delta)
    if score == -math.inf:
        return 0.0
    problem = _problem(x, y, trials, delta, alpha, score)
    spread = math.sqrt((1 - x / trials) / x + (1 - y / trials) / max(y, 1)) or 1 / trials
    step = min(max(_PRECISION * score / spread, _FINEST), _COARSEST)
    level = alpha * (1 - _NUISANCE)
    return float(kernels.invert(trials, delta, problem, level, score, spread, step))


def p_value(x: int, y: int, trials: int, epsilon: float, delta: float = 0.0, *, alpha: float = 0.05) -> float:
    """Return the p-value of the claim ``P <= e^epsilon Q + delta``, which is small if the counts contradict it.

    It is valid for every P and Q, and never below ``0.002 alpha``. ``alpha``, the level to which the order of outcomes
    is tuned, must be fixed before the counts are seen.
    """
    _require_counts(x, y, trials, delta, alpha)
    require_epsilon(epsilon)
    score = order.score(x, y, trials, stand_off(alpha), delta)
    if score == -math.inf:
        return 1.0
    problem = _problem(x, y, trials, delta, alpha, score)
    worst = kernels.worst_case(trials, min(epsilon, _LARGEST), delta, problem, 0.0)
    return min(1.0, float(worst) + alpha * _NUISANCE)


def rejects(x: int, y: int, trials: int, epsilon: float, *, delta: float, alpha: float) -> bool:
    """Say whether the counts contradict ``P <= e^epsilon Q + delta`` at level ``alpha``, sooner than the p-value would.

    If they do not, :func:`epsilon_lower` is at most ``epsilon``.
    """
    _require_counts(x, y, trials, delta, alpha)
    require_epsilon(epsilon)
    score = order.score(x, y, trials, stand_off(alpha), delta)
    if score == -math.inf:
        return False
    problem, level = _problem(x, y, trials, delta, alpha, score), alpha * (1 - _NUISANCE)
    return bool(kernels.worst_case(trials, min(epsilon, _LARGEST), delta, problem, level) < level)


def most(x: int, y: int, trials: int, *, delta: float, alpha: float) -> float:
    """Return quickly, by a normal approximation, more than :func:`epsilon_lower` can be; possibly -inf.

    Infinity for a large delta, near which the limit is steeper than that approximation knows.
    """
    if delta > _STEEP:
        return math.inf
    limit = float(order.score(x, y, trials, stand_off(alpha), delta))
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


def _problem(x: int, y: int, trials: int, delta: float, alpha: float, score: float) -> kernels.Problem:
    """Return what outcomes are at least as extreme as (x, y), and where P and Q almost surely lie."""
    tail = alpha * _NUISANCE / 4
    p1, p2 = clopper_pearson_lower(x, trials, tail), clopper_pearson_upper(x, trials, tail)
    q1, q2 = clopper_pearson_lower(y, trials, tail), clopper_pearson_upper(y, trials, tail)
    # Any y left out of the front counts as a hit, so it is enough that the margins are wide.
    low, high = trials * q1, trials * q2
    first = max(0, math.floor(low - 9 * math.sqrt(low) - 40))
    last = min(trials, math.ceil(high + 9 * math.sqrt(high) + 60))
    least = order.front(trials, stand_off(alpha), score - _TIE, delta, first, last)
    return kernels.Problem(kernels.Front(least, first), p1, p2, q1, q2)


def _require_counts(x: int, y: int, trials: int, delta: float, alpha: float) -> None:
    require_count(trials, "trials")
    for name, count in (("x", x), ("y", y)):
        require_count(count, name, least=0)
        require(count <= trials, name, f"be at most trials = {trials}", count)
    require_delta(delta)
    require(0 < alpha < 0.5, "alpha", "lie in (0, 0.5)", alpha)
