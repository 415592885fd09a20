"""The exact curve of composed Laplace mechanisms, in many digits: no grid, no transform.

The loss of one with scale b is s = 1/b with probability 1/2, -s with probability e^-s / 2, and has the density
e^(-s/2) e^(l/2) / 4 between. A sum of i losses from between has e^(-i s/2) (s/2)^i e^(t/2) times the density of a sum
of i uniform numbers in [-s, s], which is a polynomial between its knots.
"""

from __future__ import annotations

import math

import mpmath


def laplace_delta(scale: float, count: int, epsilon: float) -> mpmath.mpf:
    """Delta at epsilon of ``count`` Laplace mechanisms of this scale over the sensitivity."""
    with mpmath.workdps(40):
        s, e = 1 / mpmath.mpf(scale), mpmath.mpf(epsilon)
        total = mpmath.mpf(0)
        for ups in range(count + 1):
            for downs in range(count + 1 - ups):
                inner = count - ups - downs
                ways = math.factorial(count) // (math.factorial(ups) * math.factorial(downs) * math.factorial(inner))
                weight = ways * mpmath.mpf(1) / 2**ups * (mpmath.exp(-s) / 2) ** downs
                total += weight * _between(inner, s, e - (ups - downs) * s)
        return total


def _between(number: int, s: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Integral of (1 - e^(epsilon - t)) over t > epsilon for a sum of losses that all lie between."""
    if number == 0:
        return max(mpmath.mpf(0), 1 - mpmath.exp(epsilon))
    knots = [-number * s + 2 * s * k for k in range(number + 1)]
    points = sorted({max(k, epsilon) for k in knots if k > epsilon} | {max(epsilon, knots[0])})
    if len(points) < 2:
        return mpmath.mpf(0)

    def density(t: mpmath.mpf) -> mpmath.mpf:
        terms = [
            (-1) ** k * math.comb(number, k) * (t - knots[k]) ** (number - 1) for k in range(number + 1) if t > knots[k]
        ]
        return sum(terms, mpmath.mpf(0)) / (math.factorial(number - 1) * (2 * s) ** number)

    def inside(t: mpmath.mpf) -> mpmath.mpf:
        return mpmath.exp(t / 2) * density(t) * (1 - mpmath.exp(epsilon - t))

    return mpmath.exp(-number * s / 2) * (s / 2) ** number * mpmath.quad(inside, points)
