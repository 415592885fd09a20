"""The exact privacy curve of Laplace mechanisms of one scale composed: no grid, and no difference of like numbers.

With s = 1 / scale, the loss of one is s with probability 1/2, -s with probability e^-s / 2, and has the density
e^((l - s)/2) / 4 between. In units of s the sum of n losses, u of them s, d of them -s and i between, has atoms at
n - 2d and otherwise the density

    e^(s (U - n) / 2) sum_i sum_(u + d = n - i) n! / (u! d! i!) 2^-(n - i) (s/2)^i b_i(U - (u - d)),

b_i that of a sum of i uniform numbers in [-1, 1]: a spline with whole knots, by a recursion that only adds. Gauss and
Legendre's rule between the knots integrates it to rounding.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import gammaln

from dpcheck.accounting.privacy_curves import Array, Curve

_MOST, _WIDEST = 64, 500.0  # mechanisms, and their epsilons' sum, that are worth it
_STEEP = 8.0  # exponent over one piece that the rule integrates to rounding


def has_laplace_sum(shift: float, count: int) -> bool:
    """Whether the curve of so many mechanisms of scale 1 / ``shift`` is computed here."""
    return count <= _MOST and 1e-12 <= shift <= _WIDEST / count


@lru_cache(maxsize=64)
def laplace_sum_curve(shift: float, count: int) -> Curve:
    """Return the curve, epsilon (n,) >= 0 to log delta (n,), of ``count`` mechanisms of scale 1 / ``shift``."""
    atoms = count - 2 * np.arange(count + 1, dtype=np.float64)
    log_atoms = _log_ways(count, 0) - np.arange(count + 1) * shift - count * math.log(2)
    pieces = math.ceil(shift / _STEEP)
    edges = np.arange(count * pieces + 1) / pieces  # losses above 0, which alone count
    nodes, weights = leggauss(count // 2 + 20)
    places = (edges[:-1, None] + edges[1:, None] + np.diff(edges)[:, None] * nodes) / 2
    log_parts = _log_density(places.ravel(), shift, count).reshape(places.shape) + np.log(weights / 2 / pieces)

    def one(epsilon: float) -> float:
        epsilon *= 1 - 1e-15  # the rounding of the shift is on the safe side
        least = epsilon / shift
        if least >= count:
            return -math.inf
        first = int(np.searchsorted(edges, least, side="right"))  # pieces from here on are whole
        width = edges[first] - least
        near = least + width * (1 + nodes) / 2
        cut = _log_density(near, shift, count) + np.log(weights * max(width, 1e-300) / 2)
        where = np.concatenate([atoms, places[first:].ravel(), near])
        mass = np.concatenate([log_atoms, log_parts[first:].ravel(), cut])
        above = where > least
        terms = mass[above] + np.log(-np.expm1(epsilon - where[above] * shift))
        largest = float(np.max(terms))
        return min(largest + math.log(math.fsum(np.exp(terms - largest))), 0.0)

    return lambda epsilon: np.array([one(float(each)) for each in np.ravel(epsilon)])


def _log_ways(count: int, between: int) -> Array:
    """Log of n! / (u! d! i!), by d."""
    downs = np.arange(count - between + 1)
    ways = gammaln(count + 1) - gammaln(between + 1) - gammaln(downs + 1) - gammaln(count - between - downs + 1)
    return np.asarray(ways, dtype=np.float64)


def _log_density(places: Array, shift: float, count: int) -> Array:
    """Log density of the sum's loss, in units of the shift, at these places between -count and count."""
    moved = places - np.arange(-count, count + 1)[:, None]  # (2 count + 1, places): u - d along the first axis
    spline = np.where(np.abs(moved) < 1, 0.5, 0.0)
    total = np.zeros_like(places)
    for between in range(1, count + 1):
        if between > 1:  # of one number more, at places one to either side
            rising = np.maximum(moved[1:-1] + between, 0) * spline[:-2]
            spline = (rising + np.maximum(between - moved[1:-1], 0) * spline[2:]) / (2 * (between - 1))
            moved = moved[1:-1]
        ways = _log_ways(count, between) - (count - between) * math.log(2) + between * math.log(shift / 2)
        middle = moved.shape[0] // 2
        chosen = spline[middle - (count - between) : middle + (count - between) + 1 : 2]
        total += np.exp(ways) @ chosen
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + shift * (places - count) / 2)
