"""Privacy curves of Gaussian noise on what a record adds several times: drawn with replacement, or one of several.

Gaussian noise on a minibatch drawn with replacement is bounded as follows. Of m draws from n records, each takes the
record in question with probability 1/n. Fix what all draws would take if they missed it; both neighbours share that, so
joint convexity removes it. What is left are the sets A of draws that hit, of probability p_A = (1/n)^|A| (1 - 1/n)^(m -
|A|), and

    P = sum_A p_A N(v_A),  Q = sum_A p_A N(w_A),

where v_A and w_A are the sums over A of what the record, or the other record in its place, changes in a draw. Each such
change, and each difference of a v and a w, is at most the ``shift`` s; so |v_A|, |w_A|, |v_A - w_A| <= |A| s.

Let P0 = Q0 = N(0) be the part without a hit, eta the chance of a hit, P1 and Q1 the rest divided by eta. Advanced joint
convexity (Balle, Barthe and Gaboardi 2018, Theorem 2) gives, for e^epsilon = 1 + eta (e^inner - 1), epsilon >= 0 and
beta = e^(epsilon - inner),

    delta(epsilon) <= eta ((1 - beta) D(P1 | P0) + beta D(P1 | Q1)),  D the hockey stick at inner.

1. D(P1 | P0) is the price of a call on the basket sum_A (p_A / eta) e^(<v_A, x> - |v_A|^2 / 2), x standard normal: of
   exponential martingales, jointly Gaussian in the exponent. By Price's theorem the price of a convex function of a
   basket with nonnegative weights does not decrease in any covariance <v_A, v_B>; each is at most |A| |B| s^2; and all
   are at that at once where v_A = |A| s along one line. So D(P1 | P0) is at most the hockey stick of the mixture of
   N(k s), k the number of hits given that there is one, against N(0). It is attained.
2. D(P1 | Q1) is at most the sum of those of N(v_A) against N(w_A), groups of |A| records.

The same holds with the neighbours exchanged. With all groups in both places this is their Theorem 10, which pays for
k hits as if it were known that there are k. The worst pair that is known, the mixture of N(k s), k = 0, 1, ..., against
N(0), has the delta eta D(P1 | P0): what is above it is at most beta times the groups' delta.

Several records that are added together, each drawn with its own coin, are step 1 alone: without them there is nothing
to be hit, so that Q = N(0), and P is at most, in either order of the two, the mixture of N(k s) with the binomial
chances of k hits (a put on the basket is a convex function of it, too). It is attained by equal records.
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
    gaussian_log_delta,
    log_stick,
    unamplified,
    unamplified_back,
)  # fmt: skip
from dpcheck.events import Sampled

_MOST_KINDS = 256  # numbers of hits that are told apart
_STEPS = 40  # of Newton's method at most
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
    inner = unamplified(epsilon, event)
    shifts = draws.copies * shift
    groups = _log_sum(
        _by_kind(lambda chance, s: chance + gaussian_log_delta(inner, s), draws.log_chances, shifts, inner.size)
        if shifts[-1] < HUGE
        else np.array([c + gaussian_log_delta(inner, s) for c, s in zip(draws.log_chances, shifts, strict=True)])
    )
    total = groups
    if event.rest > 0 and shifts[-1] < HUGE:
        with np.errstate(divide="ignore"):
            most = epsilon + np.log(-np.expm1(-epsilon))
        others = np.minimum(math.log(event.rest) + most - math.log(event.rate) - inner, 0)  # log(1 - beta)
        mixed = _mixture(inner, draws.log_chances, shifts, math.log(event.rate))
        total = np.minimum(groups, np.logaddexp(others + mixed, np.minimum(epsilon - inner, 0) + groups))
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(total, np.log(draws.rest)))


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
    chances, shifts, log_rate = log_chances[kept], hits[kept] * shift, math.log(event.rate)

    def forward(epsilon: Array) -> Array:
        return _mixture(unamplified(epsilon, event), chances, shifts, log_rate)

    def backward(epsilon: Array) -> Array:
        inner = unamplified_back(epsilon, event)
        result = np.full(epsilon.shape, -math.inf)
        some = np.isfinite(inner)
        result[some] = epsilon[some] + _mixture_back(inner[some], chances, shifts, log_rate)
        return np.asarray(np.minimum(result, 0))

    return CurvePair(lambda epsilon: np.minimum(forward(epsilon), 0), backward)
