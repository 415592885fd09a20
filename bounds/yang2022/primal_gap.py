"""The exact gap between the population and the empirical primal risk, over all datasets of n signs.

Every record is 1 or -1 with equal chance. The output is a saddle point of F_S, or a function of the
mean of the records, so that the gap is a sum over the n + 1 values of that mean.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm

_DIGITS = 10**12


def expected(records: int, value: Callable[[Fraction], Fraction]) -> Fraction:
    """Return E value(mean of the records), rounded down to twelve decimals."""
    values = [value(Fraction(2 * ones - records, records)) for ones in range(records + 1)]
    common = lcm(*(each.denominator for each in values))
    total, ways = 0, 1  # ways: datasets with this many ones
    for ones, each in enumerate(values):
        total += ways * each.numerator * (common // each.denominator)
        ways = ways * (records - ones) // (ones + 1)
    return Fraction(total * _DIGITS // (common << records), _DIGITS)


def highest(slope: Fraction, radius: Fraction) -> Fraction:
    """Return the maximum of slope v - v^2/2 over |v| <= radius."""
    v = _clip(slope, radius)
    return slope * v - v * v / 2


def stable_gap(root: int) -> Fraction:
    """Return E[R(w_S) - R_S(w_S)] for f = (w + c z) v - v^2/2, |v| <= 1, n = root^2, c = root/2.

    The output is w_S = -root times the mean, at most 1 in size.
    """
    one = Fraction(1)

    def value(mean: Fraction) -> Fraction:
        w = -_clip(root * mean, one)
        return highest(w, one) - highest(w + Fraction(root, 2) * mean, one)

    return expected(root * root, value)


def saddle_gap(root: int) -> Fraction:
    """Return E[R(w_S) - R_S(w_S)] for f = w^2/2 + 2 w v + z v - v^2/2, |w| and |v| at most 1/(2 root), n = root^2.

    R_S(w) = w^2/2 + max (2 w + mean) v - v^2/2 has the slope w + 2 v: it vanishes at w = -2 mean/5,
    v = mean/5, or with v at its end at w = -2 v; w_S is that point, or the end of W nearest to it.
    """
    radius = Fraction(1, 2 * root)

    def value(mean: Fraction) -> Fraction:
        w = _clip(-2 * _clip(mean / 5, radius), radius)
        return highest(2 * w, radius) - highest(2 * w + mean, radius)

    return expected(root * root, value)


def corner_gap(records: int) -> Fraction:
    """Return E[R(w_S) - R_S(w_S)] for f = y - z x/10 - v^2/2 on |x| <= 1, 0 <= y <= 1, an odd number of records.

    The saddle point is y = v = 0 with x the sign of the mean: R = 0 there, and R_S = -|mean|/10.
    """
    return expected(records, lambda mean: abs(mean) / 10)


def _clip(value: Fraction, radius: Fraction) -> Fraction:
    return max(-radius, min(radius, value))
