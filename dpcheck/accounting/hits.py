"""Privacy curves of Gaussian noise on what a record adds several times: drawn with replacement, or one of several.

Gaussian noise on a minibatch drawn with replacement is bounded as follows. Of m draws from n records, each takes the
record in question with probability 1/n. Fix what all draws would take if they missed it; both neighbours share that, so
joint convexity removes it. What is left are the sets A of draws that hit, of probability p_A = (1/n)^|A| (1 - 1/n)^(m -
|A|), and

    P = sum_A p_A N(v_A),  Q = sum_A p_A N(w_A),

where v_A and w_A are what the record, or the other record in its place, changes in all draws of A together: by the
sensitivity of one draw, the ``shift`` s, |v_A|, |w_A|, |v_A - w_A| <= |A| s. With alpha = e^epsilon >= 1,

    P - alpha Q = sum_{A not empty} p_A (N(v_A) - alpha N(w_A)) - (alpha - 1) p_0 N(0),  p_0 the chance of no hit.

What misses is given away in parts: each A gets (r_A - alpha) p_A N(0), where r_A >= alpha and

    sum_{A not empty} p_A (r_A - alpha) <= (alpha - 1) p_0,

so that delta is at most the sum of p_A times the integral of (N(v_A) - alpha N(w_A) - (r_A - alpha) N(0))^+. Split
N(v_A) in the proportion of the other two: each part is a hockey stick at log r_A of Gaussians at most |A| s apart. So,
with p_k the chance of k hits and one r_k for all A of that size,

    delta(epsilon) <= sum_k p_k D_k(log r_k),  D_k the hockey stick of N(k s) against N(0).

The least such sum has r_k = max(alpha, e^(k s x - (k s)^2 / 2)), with one x for all k, the place from which on so many
hits count. Where no r_k is alpha, the sum is the hockey stick of the mixture of N(k s), k = 0, 1, ..., against N(0),
and attained. It is also at epsilon = 0, where all r_k are 1: by records that change v and w = -v. The least value of a
function that is convex in alpha and all r_k together is convex in alpha. The same holds with the neighbours exchanged.

Several records that are added together are each drawn with their own coin, and without them there is nothing to be hit:
Q = N(0). Over the density of Q, P is a basket sum_A p_A e^(<v_A, x> - |v_A|^2 / 2), x standard normal: of exponential
martingales, jointly Gaussian in the exponent. By Price's theorem the mean of a convex function of a basket with
nonnegative weights does not decrease in any covariance <v_A, v_B>; each is at most |A| |B| s^2; and all are at that at
once where v_A = |A| s along one line. So P is at most, in either order of the two, the mixture of N(k s) with the
binomial chances of k hits. It is attained by equal records (claims U01
and U02).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from dpcheck.accounting.privacy_curves import (
    HUGE,
    Array,
    CurvePair,
    log_stick,
    unamplified,
    unamplified_back,
)  # fmt: skip
from dpcheck.events import Sampled

_MOST_KINDS = 256  # numbers of hits that are told apart
_STEPS = 40  # of Newton's method at most
_LARGEST = 600.0  # exponent
_FEW, _AT_ONCE = 64, 20_000  # roots that others are found between, and numbers in one call


@dataclass(frozen=True)
class Draws:
    """Numbers of hits, (k,), increasing from 1, the logarithms of their chances, and the chance ``rest`` of more."""

    copies: Array
    log_chances: Array
    rest: float


def multiplicities(event: Sampled, negligible: float) -> Draws:
    """How often a record is drawn; where many numbers matter, neighbouring ones count as the largest of them."""
    draws = binom(int(event.batch), 1 / event.population)
    few, most = 0, 1
    while most < event.batch and draws.sf(most) > negligible:
        most *= 2
    while most - few > 1:
        middle = (few + most) // 2
        few, most = (few, middle) if draws.sf(middle) <= negligible else (middle, most)
    most = min(most, int(event.batch))
    rest = float(draws.sf(most))
    if most <= _MOST_KINDS:
        copies = np.arange(1, most + 1)
        chances = draws.pmf(copies)
    else:
        least = max(1, int(draws.ppf(1e-12)))
        copies = np.unique(np.linspace(least, most, _MOST_KINDS).astype(np.int64))
        halfway = float(draws.median())
        below = np.diff(draws.cdf(copies), prepend=draws.pmf(0))
        above = -np.diff(draws.sf(copies), prepend=1 - draws.pmf(0))
        chances = np.where(copies <= halfway, below, above) * (1 + 1e-10)
    with np.errstate(divide="ignore"):
        return Draws(copies.astype(np.float64), np.log(np.maximum(chances, 0)), rest)


def with_replacement(epsilon: Array, event: Sampled, draws: Draws, shift: float) -> Array:
    """Log delta, (n,) -> (n,), as derived above."""
    shifts = draws.copies * shift
    x = _shared(epsilon, event.rest, draws.log_chances, shifts)

    def part(chance: Array, s: Array) -> Array:
        place = np.maximum(x, epsilon / s + s / 2) - s
        return chance + np.where(s < HUGE, log_stick(place, np.minimum(s, HUGE)), -0.5 * np.maximum(place, 0) ** 2)

    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(_log_sum(_by_kind(part, draws.log_chances, shifts, x.size)), np.log(draws.rest)))


def _shared(epsilon: Array, missed: float, log_chances: Array, shifts: Array) -> Array:
    """Return at most the x at which the parts r_k - alpha amount to all that misses; what is too small is safe."""
    if shifts[-1] >= HUGE:  # where exponents have no digits left, each r_k is alpha
        return np.full_like(epsilon, -math.inf)
    with np.errstate(divide="ignore"):
        log_given = np.log(missed) + np.log(-np.expm1(-epsilon))
        enough = np.logaddexp(0, log_given[:, None] - log_chances)  # log r_k - epsilon where all goes to one k
    x = np.min((enough + epsilon[:, None]) / shifts + shifts / 2, axis=1)
    given, chances = np.exp(log_given), np.exp(log_chances)
    taken = np.empty_like(x)
    for _ in range(_STEPS):  # Newton's method, which from the right never passes the root of a convex function
        above = np.minimum((x[:, None] - shifts / 2) * shifts - epsilon[:, None], _LARGEST)
        parts = np.expm1(np.maximum(above, 0))
        taken = parts @ chances
        slope = np.where(above > 0, parts + 1, 0.0) @ (chances * shifts)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(taken > given, (taken - given) / slope, 0.0)
        x = x - step
        if np.all(step <= 1e-13 * (1 + np.abs(x))):
            break
    else:
        x[taken > given] = -math.inf  # each at its own place
    return np.asarray(x - 1e-12 * (1 + np.abs(x)))


def _mixture(inner: Array, log_chances: Array, shifts: Array, log_rate: float) -> Array:
    """Log of rate times the hockey stick at ``inner`` of the mixture of N(shifts) against N(0).

    With the x where the likelihood ratio, increasing, is e^inner it is a sum over the parts of P(X > x) minus
    the part's likelihood ratio at x times Q(X > x), each positive. An x too small is on the safe side.
    """
    target = inner + log_rate
    x = _crossing(target, log_chances, shifts)
    x = x - 1e-12 * (1 + np.abs(x))
    over = _height(x, log_chances, shifts)[0] > target
    parts = _by_kind(lambda chance, s: chance + log_stick(x - s, s), log_chances, shifts, x.size)
    return np.where(over, math.inf, _log_sum(parts))


def _mixture_back(inner: Array, log_chances: Array, shifts: Array, log_rate: float) -> Array:
    """Log of the hockey stick at ``inner`` of N(0) against the mixture of N(shifts), times rate times e^-inner.

    A sum as in :func:`_mixture`, of the parts' likelihood ratio at x times Q(X < x), minus P(X < x): an x too large is
    on the safe side.
    """
    target = log_rate - inner
    x = _crossing(target, log_chances, shifts)
    x = x + 1e-12 * (1 + np.abs(x))
    under = _height(x, log_chances, shifts)[0] < target
    parts = _by_kind(
        lambda chance, s: chance + s * x - s * s / 2 + log_stick(0 * s - x, s), log_chances, shifts, x.size
    )
    return np.where(under, math.inf, _log_sum(parts))


def _height(x: Array, log_chances: Array, shifts: Array) -> tuple[Array, Array]:
    """Log of the mixture's likelihood ratio at x, times its rate, and its slope."""
    terms = log_chances - shifts**2 / 2 + x[:, None] * shifts
    largest = np.max(terms, axis=1)
    weights = np.exp(terms - largest[:, None])
    total = np.sum(weights, axis=1)
    return largest + np.log(total), weights @ shifts / total


def _crossing(target: Array, log_chances: Array, shifts: Array) -> Array:
    """Return the x at which :func:`_height` is the target, up to rounding."""
    slopes, heights = shifts, log_chances - shifts**2 / 2

    def root(target: Array, x: Array) -> Array:
        """Newton's method; from the right it never passes the root of a convex function, from the left once."""
        for number in range(_STEPS):
            height, slope = _height(x, log_chances, shifts)
            step = (height - target) / slope
            x = x - (np.maximum(step, 0) if number else step)
            if np.all(np.abs(step) <= 1e-13 * (1 + np.abs(x))):
                break
        return x

    def alone(target: Array) -> Array:
        """Return at least the root, as each part alone is less."""
        return np.asarray(np.min((target[:, None] - heights) / slopes, axis=1))

    if target.size > 2 * _FEW:  # start all from between a few
        ends = float(np.min(target)), float(np.max(target))
        few = np.unique(np.concatenate([np.linspace(*ends, _FEW), np.quantile(target, np.linspace(0, 1, _FEW))]))
        return root(target, np.interp(target, few, root(few, alone(few))))
    return root(target, alone(target))


def _by_kind(curve: Callable[[Array, Array], Array], log_chances: Array, shifts: Array, points: int) -> Array:
    """Return ``curve`` of columns of log chances and of shifts, (k, points): few calls, and none of them too large."""
    size = max(1, _AT_ONCE // max(points, 1))
    cuts = range(0, shifts.size, size)
    return np.concatenate([curve(log_chances[i : i + size, None], shifts[i : i + size, None]) for i in cuts])


def _log_sum(terms: Array) -> Array:
    """Log of the sum over the first axis of e^terms."""
    largest = np.maximum(np.max(terms, axis=0), -1e300)
    with np.errstate(divide="ignore"):
        return np.asarray(largest + np.log(np.sum(np.exp(terms - largest), axis=0)))


def several(event: Sampled, shift: float) -> CurvePair:
    """Return the curves of Gaussian noise on records that are added together, as derived above."""
    hits = np.arange(1, event.records + 1)
    with np.errstate(divide="ignore"):
        log_chances = binom(event.records, event.batch / event.population).logpmf(hits)
    kept = np.isfinite(log_chances)
    return hits_alone(event, log_chances[kept], hits[kept] * shift)


def hits_alone(event: Sampled, log_chances: Array, shifts: Array) -> CurvePair:
    """Return the curves of the mixture of N(shifts), these being all hits, and N(0) for none, against N(0)."""
    log_rate = math.log(event.rate)

    def forward(epsilon: Array) -> Array:
        return np.minimum(_mixture(unamplified(epsilon, event), log_chances, shifts, log_rate), 0)

    def backward(epsilon: Array) -> Array:
        inner = unamplified_back(epsilon, event)
        result = np.full(epsilon.shape, -math.inf)
        some = np.isfinite(inner)
        result[some] = epsilon[some] + _mixture_back(inner[some], log_chances, shifts, log_rate)
        return np.asarray(np.minimum(result, 0))

    return CurvePair(forward, backward)
