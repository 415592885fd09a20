"""Privacy curves in closed form: delta as a function of epsilon, in logarithms.

The curve of a pair of distributions (P, Q) is the hockey stick
delta(epsilon) = integral (P - e^epsilon Q)^+. All curves here are upper bounds for every pair of
neighbours; epsilon >= 0 and natural logarithms throughout.

The functions take epsilon (n,) and return log delta (n,). ``shift`` > 0 is the sensitivity over the noise, the inverse
of the multiplier; ``event`` says at which rate records are drawn; ``noise`` is the curve without drawing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, roots_legendre

from dpcheck.events import Gaussian, Laplace, RandomAllocation, Sampled, shift_of

Array: TypeAlias = NDArray[np.float64]
Curve: TypeAlias = Callable[[Array], Array]
"""epsilon (n,) >= 0 -> log delta (n,)."""

Noise: TypeAlias = Callable[[Array, float], Array]
"""(epsilon (n,), shift) -> log delta (n,) of noise without sampling."""

_NODES, _WEIGHTS = roots_legendre(8)
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
HUGE = 1e6  # shift beyond which a Gaussian's curve is only bounded


@dataclass(frozen=True)
class CurvePair:
    """The curve of (P, Q), and that of (Q, P), the neighbours exchanged."""

    forward: Curve
    backward: Curve

    def reversed(self) -> CurvePair:
        """The pair of curves with the roles of the two neighbours exchanged."""
        return CurvePair(self.backward, self.forward)

    @property
    def symmetric(self) -> bool:
        """Whether both directions share one curve."""
        return self.forward is self.backward


def gaussian_log_delta(epsilon: Array, mu: float | Array) -> Array:
    """log delta of N(mu, 1) against N(0, 1), without cancellation: Balle and Wang (2018).

    Relative error of delta below 1e-11 for 1e-12 <= mu <= 1e3; from mu = 1e6 on the first term's Chernoff bound.
    """
    x = epsilon / mu - mu / 2
    return log_stick(x, mu) if np.all(mu < HUGE) else -0.5 * np.maximum(x, 0) ** 2


def log_stick(x: Array, width: float | Array) -> Array:
    """log of phi(x) (R(x) - R(x + width)), R(x) = Phi(-x) / phi(x) the Mills ratio; a width, or one for each x.

    As -R' = 1 - x R > 0, a narrow width is integrated rather than subtracted; the mean over
    the Gauss-Legendre nodes is exact to rounding as the integrand varies on the scale 1.
    """
    x = np.asarray(x, dtype=np.float64)
    width = np.broadcast_to(np.asarray(width, dtype=np.float64), x.shape)
    result = np.empty_like(x)
    narrow = (x > -8) & (width < 1)
    left, gap = x[narrow], width[narrow]
    near = left[:, None] + 0.5 * gap[:, None] * (1 + _NODES)
    with np.errstate(divide="ignore"):
        # 1 - x R(x), or the bound 1 / x^2 on it where the difference would lose its digits
        slope = np.where(near < 100, 1 - near * _mills(near), 1 / np.maximum(near, 100) ** 2)
        result[narrow] = np.log(gap / 2 * (slope @ _WEIGHTS)) - _bell(left)
    right = ~narrow & (x > 0)
    if np.any(right):
        left, gap = x[right], width[right]
        result[right] = np.log(_mills(left) - _mills(left + gap)) - _bell(left)
    rest = ~narrow & ~right
    if np.any(rest):
        left, gap = x[rest], width[rest]
        upper = log_ndtr(-left)
        ratio = log_ndtr(-left - gap) - upper + gap * (left + 0.5 * gap)
        result[rest] = upper + np.log(-np.expm1(ratio))
    return result


def _mills(x: Array) -> Array:
    return math.sqrt(math.pi / 2) * np.asarray(erfcx(x / math.sqrt(2)), dtype=np.float64)


def _bell(x: Array) -> Array:
    """-log phi(x)."""
    return 0.5 * x * x + _HALF_LOG_2PI


def laplace_log_delta(epsilon: Array, shift: float) -> Array:
    """log of 1 - e^((epsilon - shift) / 2), and -inf from epsilon = shift on."""
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(np.minimum(epsilon - shift, 0) / 2))


def laplace_replace(epsilon: Array, event: Sampled, shift: float) -> Array:
    """(1-q) L(0) + q L(u) against (1-q) L(0) + q L(-u), with q = rate and u = shift / 2, of one Laplace variable L.

    Why this pair is the worst where records contribute vectors v and w, |v|_1, |w|_1 <= u, to a query with independent
    Laplace noise N of scale 1 in each coordinate: the other records of the batch are shared by both sides, so joint
    convexity removes them. With a in R^k, |a|_1 <= 1, there is a noise Z, independent of L, for which a L + Z has the
    law of N: by characteristic functions Z has the law (1 - (a_1 D_1 + ... + a_k D_k)^2) N, D_i the derivative in
    coordinate i, and that is no signed measure, as it is the density of N times 1 - (sum of a_i sign x_i)^2 >= 0 plus
    a_i^2 times N without coordinate i, on x_i = 0. So what is computed from N(v) can be computed from L(u), with
    a = v / u, and what is computed from N(w) from L(-u). Let S be any set of outputs and N(0)(S) = L(0)([c, inf)): by
    Neyman and Pearson, as the likelihood ratios of L(u) and L(-u) to L(0) are monotone, N(v)(S) is at most
    L(u)([c, inf)), and N(w)(S) at least L(-u)([c, inf)). So this pair has the larger hockey stick, at every epsilon.

    The likelihood ratio increases on [-u, u]; it equals e^epsilon where
    2 c = epsilon + log(1 + (1 - e^-epsilon) e^u (1-q) / q), and there the hockey stick is q (1 - e^(c - u)).
    """
    u = shift / 2
    with np.errstate(divide="ignore"):
        log_rest = np.log(-np.expm1(-epsilon)) + np.log(event.rest) - math.log(event.rate) + u
        gap = (epsilon + np.logaddexp(0, log_rest)) / 2 - u
        return np.asarray(math.log(event.rate) + np.log(-np.expm1(np.minimum(gap, 0))))


def amplified(epsilon: Array, event: Sampled, shift: float, noise: Noise) -> Array:
    """rate * delta(inner) with e^epsilon = 1 + rate (e^inner - 1), inner the epsilon of the noise without sampling."""
    return math.log(event.rate) + noise(unamplified(epsilon, event), shift)


def unamplified(epsilon: Array, event: Sampled) -> Array:
    """The inner epsilon, e^epsilon = 1 + rate (e^inner - 1)."""
    small = np.log1p(np.expm1(np.minimum(epsilon, 1)) / event.rate)
    large = epsilon + np.log1p(-event.rest * np.exp(-np.maximum(epsilon, 1))) - math.log(event.rate)
    return np.where(epsilon < 1, small, large)


def amplified_back(epsilon: Array, event: Sampled, shift: float, noise: Noise) -> Array:
    """N(0) against (1 - rate) N(0) + rate N(shift), or the same of Laplace: the dual of :func:`amplified`.

    The likelihood ratio is below 1 / (1 - rate), so delta is 0 from -log(1 - rate) on. Where little is kept, what is
    left of it, 1 - (1 - rate) e^epsilon, is found from 1 - rate as given: the rate has lost its digits.
    """
    inner = unamplified_back(epsilon, event)
    result = np.full(epsilon.shape, -math.inf)
    some = np.isfinite(inner)
    result[some] = epsilon[some] + math.log(event.rate) - inner[some] + noise(inner[some], shift)
    return result


def unamplified_back(epsilon: Array, event: Sampled) -> Array:
    """The inner epsilon, e^-epsilon = 1 + rate (e^-inner - 1); inf where there is none."""
    rate, rest = event.rate, event.rest
    with np.errstate(divide="ignore", over="ignore"):
        near = -np.log1p(np.maximum(np.expm1(-epsilon) / rate, -1))
        odds = epsilon + (math.log(rest) if rest > 0 else -math.inf)
        far = epsilon + math.log(rate) - np.log(-np.expm1(np.minimum(odds, 0)))
    return np.where(odds < 0, np.where(epsilon < 0.5, near, far), math.inf)


def poisson_replace(epsilon: Array, event: Sampled, shift: float) -> Array:
    """(1-q) N(0) + q N(u) against (1-q) N(0) + q N(-u), with q = rate and u = shift / 2.

    Why this pair is the worst for replace-one neighbours whose records contribute v and w,
    |v|, |w| <= u: the other records of the batch are shared by both sides, so joint convexity
    removes them. For e^epsilon >= 1 advanced joint convexity leaves q times a hockey stick of
    N(v) against a mixture of N(0) and N(w). Divided by the density of N(v) that is the price of a
    put on a basket of two exponential martingales, jointly Gaussian in the exponent with
    variances |v|^2, |w - v|^2 and covariance |v|^2 - <v, w>. By Price's theorem the price of a
    convex function of the basket increases in each of the three, and all three are largest at
    w = -v, |v| = u. For e^epsilon < 1 exchange the neighbours.

    The likelihood ratio increases; it equals e^epsilon where
    u x = epsilon / 2 + asinh(sinh(epsilon / 2) (1-q) e^(u^2/2) / q).
    """
    if shift >= HUGE:
        return gaussian_log_delta(epsilon, shift)
    u, half, rate = shift / 2, epsilon / 2, event.rate
    with np.errstate(divide="ignore"):
        log_sinh = half + np.log(-np.expm1(-epsilon) / 2)
    log_k = log_sinh + math.log(event.rest) - math.log(rate) + u * u / 2
    bend = np.where(log_k > 20, log_k + math.log(2), np.arcsinh(np.exp(np.minimum(log_k, 20))))
    cut = (half + bend) / u
    upper = log_stick(cut - u, u)
    lower = log_stick(cut, u) + half - bend - u * u / 2
    return math.log(rate) + np.logaddexp(upper, lower)


def curves_of(event: Gaussian | Laplace | Sampled | RandomAllocation, *, negligible: float) -> CurvePair:
    """Return the curves of an event that releases something; ``negligible`` > 0 may be added to delta to end a sum."""
    shift = shift_of(event.noise_multiplier)
    match event:
        case Gaussian():
            return _both(lambda epsilon: gaussian_log_delta(epsilon, shift))
        case Laplace():
            return _both(lambda epsilon: laplace_log_delta(epsilon, shift))
        case RandomAllocation():
            from dpcheck.accounting.allocation import allocation_curves  # which stands on this file

            return allocation_curves(int(event.steps), shift, negligible)
    noise = laplace_log_delta if event.laplace else gaussian_log_delta
    from dpcheck.accounting.hits import multiplicities, several, with_replacement  # which stands on this file, too

    match event:
        case Sampled(scheme="poisson", neighbours="replace_one"):
            if event.laplace:
                return _both(lambda epsilon: laplace_replace(epsilon, event, shift))
            return _both(lambda epsilon: poisson_replace(epsilon, event, shift))
        case Sampled(scheme="poisson") if event.records > 1:
            return several(event, shift)
        case Sampled(scheme="poisson"):
            return CurvePair(
                lambda epsilon: amplified(epsilon, event, shift, noise),
                lambda epsilon: amplified_back(epsilon, event, shift, noise),
            )
        case Sampled(scheme="without_replacement"):
            # Balle, Barthe and Gaboardi (2018). Pair each batch that holds the record
            # with the batches in which it is exchanged for another; advanced joint convexity
            # gives this curve for epsilon >= 0 in both directions. Completed by duality for
            # epsilon < 0 it is convex with a kink at 0, hence the curve of some pair, and that
            # pair dominates under adaptive composition (Zhu, Dong and Wang 2022).
            return _both(lambda epsilon: amplified(epsilon, event, shift, noise))
    draws = multiplicities(event, negligible)
    return _both(lambda epsilon: with_replacement(epsilon, event, draws, shift))


def _both(curve: Curve) -> CurvePair:
    return CurvePair(curve, curve)
