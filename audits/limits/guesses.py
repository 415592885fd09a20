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

A claim of many points (epsilon, delta) is tested at all of them together. With w_k the chance of k right guesses of r,
a_k = k w_k and b_k = (r - k + 1) w_{k-1}, a mechanism on m coins keeping the points (e_l, delta_l) has ``sum_k (a_k -
exp(e_l) b_k)_+ <= m delta_l`` for each l as above. For any weights ``0 <= y_kl <= x_l`` therefore ``sum_kl y_kl (a_k -
exp(e_l) b_k) <= m sum_l x_l delta_l``. Added to the chance of v or more right guesses, coefficient by coefficient of
w_k, this gives

    P(W >= v)  <=  m sum_l x_l delta_l + max_k (1{k >= v} - k Y_k + (r - k) Z_{k+1}),
    Y_k = sum_l y_kl,  Z_k = sum_l exp(e_l) y_kl.

The bound holds whatever x and y are: nothing rests on the program that proposes x, a linear one over the likely k and a
few points around the best. For each x the best y is found exactly. A maximum of at most s allows Z_1 = s / r, hence a
largest Y_1, hence a largest Z_2, and so on up to v; it asks for Y_r = (1 - s) / r at least, hence a least Z_r, hence a
least Y_{r-1}, and so on down to v. Where the two meet, s is enough. Filling the smallest epsilons first gives the most
Y for a Z.

For a point alone this is the bound above. For curves it is the largest chance under the inequalities above, and below
the bound of [2], which uses them only for the sets of all k from some number on.

[1] T. Steinke, M. Nasr, M. Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023.
[2] S. Mahloujifar, L. Melis, K. Chaudhuri, "Auditing f-differential privacy in one run", ICML 2025.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, sparse, special, stats

from dpcheck.accounting import gaussian_epsilon
from dpcheck.arrays import Floats
from dpcheck.audits.limits import clopper_pearson_lower
from dpcheck.compiled import njit
from dpcheck.errors import require, require_count, require_delta

# Limits on epsilon are this much too small, so that none is rounded up.
_TOLERANCE = 1e-9
# Tails below this are no longer normal floats.
_TINY = 1e-290
# From this epsilon on, a coin is guessed right with probability 1 in floats.
_LARGEST = 300.0


def p_value(right: int, guesses: int, canaries: int, epsilon: ArrayLike, delta: ArrayLike = 0.0) -> Floats:
    """Return the largest probability of ``right`` right guesses or more at each point (epsilon, delta) of a claim."""
    _require_counts(right, guesses, canaries)
    e, d = np.broadcast_arrays(np.asarray(epsilon, float), np.asarray(delta, float))
    if right == 0:
        return np.ones(e.shape)
    least, slope = _parts(right, guesses, canaries, e)
    return np.asarray(np.minimum(1.0, least + d * slope))


def _parts(right: int, guesses: int, canaries: int, epsilon: Floats) -> tuple[Floats, Floats]:
    """Return the bound at delta = 0 and how fast it grows with delta, of the epsilons' shape."""
    v, r, e = right, guesses, np.minimum(epsilon, _LARGEST)
    least = special.betainc(v, r - v + 1, special.expit(e))  # beta
    log_equal = special.gammaln(r + 1) - special.gammaln(v + 1) - special.gammaln(r - v + 1)
    log_equal = log_equal + v * special.log_expit(e) + (r - v) * special.log_expit(-e)
    with np.errstate(divide="ignore"):
        below = np.log(special.betaincc(v, r - v + 1, special.expit(e)))
        tail = np.log(least) - log_equal  # log of P(B >= v) / P(B = v)
    # So far out, P(B = k) falls at least geometrically from v on.
    far = least <= _TINY
    tail = np.where(far, -np.log1p(-np.where(far, (r - v) / (v + 1) * np.exp(e), 0.0)), tail)
    return least, np.asarray(canaries / v * np.exp(tail + below))


def epsilon_lower(right: int, guesses: int, canaries: int, *, delta: float = 0.0, alpha: float = 0.05) -> float:
    """Return a lower confidence limit on epsilon (natural log, one-sided, level ``1 - alpha``), at least 0."""
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


def _require_counts(right: int, guesses: int, canaries: int) -> None:
    require_count(canaries, "canaries")
    require_count(guesses, "guesses")
    require_count(right, "right", least=0)
    require(guesses <= canaries, "guesses", f"be at most canaries = {canaries}", guesses)
    require(right <= guesses, "right", f"be at most guesses = {guesses}", right)


Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class IndependentBound:
    """A test and a bound under the assumptions that they state, each with the confidence asked for.

    Attributes
    ----------
    verdict : str
        ``"violated"`` where ``p_value`` rejects the claim, else ``"consistent"``.
    p_value : float
        The largest probability of so many right guesses under claim and assumption.
    right : int
        Right guesses, of all canaries.
    gaussian_shift : float
        Lower confidence limit on mu, the shift over the standard deviation of a Gaussian mechanism.
    gaussian_epsilon : float or None
        Epsilon (natural log) of a Gaussian mechanism with this shift, at the audit's delta; None where delta is 0.
    assumption, gaussian_assumption : str
        What the test assumes, and what the bound assumes besides.
    """

    verdict: str
    p_value: float
    right: int
    gaussian_shift: float
    gaussian_epsilon: float | None
    assumption: str = "given the coins, the output consists of independent parts, one a canary and moved by no other"
    gaussian_assumption: str = "and each part is at least as private as a Gaussian mechanism of the same shift"


def independent_bound(
    right: int, canaries: int, epsilons: Floats, deltas: Floats, delta: float, alpha: float
) -> IndependentBound:
    """Test a claim's points (m,) and bound epsilon, for an output of independent parts, each affected by one coin.

    The total variation t between a part's two laws is at most ``(e^epsilon - 1 + 2 delta) / (e^epsilon + 1)``, so that
    its coin's guess is right with probability at most (1 + t) / 2, independently of the others: W is at most binomial
    however all coins are guessed. Of a Gaussian part that its coin shifts by mu, that probability is Phi(mu / 2).
    """
    most = float((special.expit(epsilons) + deltas * special.expit(-epsilons)).min())
    p = float(stats.binom.sf(right - 1, canaries, most))
    shift = max(0.0, 2 * float(special.ndtri(clopper_pearson_lower(right, canaries, alpha))))
    epsilon = gaussian_epsilon(shift, delta) if delta > 0 else None
    return IndependentBound("violated" if p <= alpha else "consistent", p, right, shift, epsilon)


_POINTS, _BELOW, _ABOVE = 12, 0.6, 0.9  # points tested jointly, and how far from the best alone
_LARGEST_PROGRAM = 7_000  # points times numbers of right guesses: what a linear program is worth
_LIKELY = 0.6, 3.0  # the program's window begins where this share of epsilon has this many deviations fewer
_FARTHEST = 12.0  # or at so many deviations below the right guesses, whichever is nearer
_ROUNDING = 1e-9  # more than the recurrences lose


def joint_p_value(right: int, guesses: int, canaries: int, best: float, deltas_at: Callable[[Floats], Floats]) -> float:
    """Bound the chance of so many right guesses under a curve, epsilons to deltas (n,), by points around ``best``."""
    epsilons = _around(best)
    return _bound(right, guesses, canaries, tuple(epsilons.tolist()), tuple(deltas_at(epsilons).tolist()))


def _around(best: float) -> Floats:
    steps = np.linspace(-1, 1, _POINTS)
    around = best + np.sign(steps) * np.abs(steps) ** 1.5 * np.where(steps < 0, _BELOW, _ABOVE)
    return np.unique(np.maximum(around, 0.0))


@lru_cache(maxsize=4096)
def _bound(right: int, guesses: int, canaries: int, epsilons: tuple[float, ...], deltas: tuple[float, ...]) -> float:
    e, d = np.array(epsilons), np.array(deltas)
    weights = _proposed(right, guesses, canaries, e, d)
    return 1.0 if weights is None else bound_of(weights, right, guesses, canaries, e, d)


def bound_of(weights: Floats, right: int, guesses: int, canaries: int, epsilons: Floats, deltas: Floats) -> float:
    """Return the bound that weights x (n,) >= 0 of the points give, valid for any."""
    spent = canaries * float(weights @ deltas)
    return min(1.0, (spent + _free(weights, right, guesses, epsilons)) * (1 + _ROUNDING)) if spent < 1 else 1.0


def _free(weights: Floats, right: int, guesses: int, epsilons: Floats) -> float:
    """Return what these weights leave of the bound where all deltas are 0, in [0, 1]."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if enough(middle, weights, np.exp(epsilons), right, guesses):
            high = middle
        else:
            low = middle
    return high


_SEARCHED = 1 - np.linspace(0.05, 1, 12) ** 2  # of the largest epsilon that a test can reject
_CLOSE, _WIDEST = 3e-3, 12  # factors are found to this share, within so many steps either way


def least_factor(
    tests: Sequence[tuple[int, int, float]], canaries: int, curve: Callable[[float, Floats], Floats]
) -> float:
    """Return a factor z on a claim's noise, near the least, whose curve a test (right, guesses, alpha) rejects.

    ``curve(z, epsilons)`` gives deltas, and falls in z, so that greater factors are rejected as well; inf if none is.
    """
    tops = [epsilon_lower(right, guesses, canaries, alpha=alpha) for right, guesses, alpha in tests]
    tried = [(test, top * _SEARCHED) for test, top in zip(tests, tops, strict=True) if top > 0]
    if not tried:
        return math.inf
    points = np.concatenate([epsilons for _, epsilons in tried])
    allowed = np.concatenate([
        (alpha - least) / slope
        for (right, guesses, alpha), epsilons in tried
        for least, slope in [_parts(right, guesses, canaries, epsilons)]
    ])  # fmt: skip

    def beyond(z: float) -> Floats:
        return np.asarray(np.log(np.maximum(curve(z, points), _TINY) / np.maximum(allowed, _TINY)))

    factor = _least(lambda z: float(beyond(z).min()), 1.0, 2.0)
    if not math.isfinite(factor):
        return factor
    place = int(beyond(factor).argmin())
    (right, guesses, alpha), _ = tried[place // _SEARCHED.size]
    epsilons = _around(float(points[place]))
    weights = _proposed(right, guesses, canaries, epsilons, curve(factor, epsilons))
    if weights is None:
        return factor
    # Weights give a bound for any curve. What they leave for the deltas decides which factors they reject.
    left = alpha / (1 + _ROUNDING) - _free(weights, right, guesses, epsilons)
    used, paid = epsilons[weights > 0], canaries * weights[weights > 0]
    if left <= 0 or paid @ curve(factor, used) > left:
        return factor
    return _least(lambda z: math.log(max(float(paid @ curve(z, used)), _TINY) / left), factor, 1.25)


def _least(over: Callable[[float], float], near: float, step: float) -> float:
    """Return a z at which a function that falls in z is at most 0, near the least; inf where there is none."""
    rejected = over(near) <= 0
    z, step = near, 1 / step if rejected else step
    for _ in range(_WIDEST):
        z *= step
        if (over(z) <= 0) != rejected:
            break
    else:
        return z if rejected else math.inf
    low, high = sorted((z, z / step))
    root = optimize.brentq(lambda log_z: over(math.exp(log_z)), math.log(low), math.log(high), xtol=_CLOSE)
    return next((z for k in range(4) if over(z := math.exp(root + k * _CLOSE)) <= 0), high)


def _proposed(right: int, guesses: int, canaries: int, epsilons: Floats, deltas: Floats) -> Floats | None:
    """Propose weights by the dual of a linear program over laws of W; None where it is too large or not solved."""
    share, deviations = _LIKELY
    usual = float(special.expit(share * epsilons[len(epsilons) // 2]))
    wide = max(1.0, math.sqrt(guesses * usual * (1 - usual)))
    first = max(0, int(guesses * usual - deviations * wide), int(right - _FARTHEST * wide))
    last = min(guesses, int(right + 4 * wide) + 2)
    k, n = np.arange(first, last + 1), len(epsilons)
    if k.size < 2 or k.size * n > _LARGEST_PROGRAM:
        return None
    ahead = sparse.diags_array(k.astype(float), format="csr")[1:]
    behind = sparse.diags_array((guesses - k[1:] + 1.0), offsets=-1, shape=(k.size, k.size), format="csr")[1:]
    rises, slacks = (k.size - 1) * n, sparse.identity((k.size - 1) * n, format="csr")
    excess = sparse.hstack([sparse.vstack([ahead - math.exp(e) * behind for e in epsilons]), -slacks])
    total = sparse.hstack(
        [sparse.csr_array((n, k.size)), sparse.kron(sparse.identity(n), np.ones((1, k.size - 1)), format="csr")]
    )
    one = np.concatenate([np.ones(k.size), np.zeros(rises)])[None]
    solution = optimize.linprog(
        np.concatenate([-(k >= right).astype(float), np.zeros(rises)]),
        A_ub=sparse.vstack([excess, total]).tocsr(), b_ub=np.concatenate([np.zeros(rises), canaries * deltas]),
        A_eq=one, b_eq=[1.0], method="highs-ipm",
    )  # fmt: skip
    if not solution.success or solution.ineqlin.marginals is None:
        return None
    return np.maximum(-np.asarray(solution.ineqlin.marginals[rises:], np.float64), 0.0)


@njit("boolean(float64, float64[::1], float64[::1], int64, int64)", nogil=True)
def enough(most: float, weights: Floats, growth: Floats, right: int, guesses: int) -> bool:
    """Say whether some weights y keep all coefficients of w_k at most ``most``; ``growth`` is e^epsilon, rising."""
    y = 0.0
    for k in range(right):  # the largest Y_1, ..., Y_right
        left = (most + k * y) / (guesses - k)
        y = 0.0
        for i in range(weights.size):
            part = min(weights[i] * growth[i], left)
            y += part / growth[i]
            left -= part
    whole = weights.sum()
    needed, z = 0.0, 0.0
    for k in range(guesses, right - 1, -1):  # the least Y_guesses, ..., Y_right
        needed = (1 - most + (guesses - k) * z) / k
        if needed > whole:
            return False
        left, z = needed, 0.0
        for i in range(weights.size):
            part = min(weights[i], left)
            z += part * growth[i]
            left -= part
    return y >= needed
