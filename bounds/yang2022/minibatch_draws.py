"""Minibatches by enumeration: every draw of m indices out of n, in rational arithmetic.

Records are numbered from 0; record ``n - 1`` is the one in which neighbouring datasets differ.
This is for the small n and m of a counterexample: there are ``n**m`` draws with replacement.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product


def draws(n: int, m: int, replacement: bool = True) -> Iterator[tuple[int, ...]]:
    """Yield all equally likely minibatches: ordered tuples with replacement, else subsets."""
    return product(range(n), repeat=m) if replacement else combinations(range(n), m)


def chance_absent(n: int, m: int, replacement: bool = True) -> Fraction:
    """Return the probability that the differing record is in no place of the minibatch."""
    absent = [n - 1 not in batch for batch in draws(n, m, replacement)]
    return Fraction(sum(absent), len(absent))


def mean_share(n: int, m: int, replacement: bool = True) -> Fraction:
    """Return the expected share of the minibatch that the differing record takes up, E[k]/m."""
    shares = [Fraction(batch.count(n - 1), m) for batch in draws(n, m, replacement)]
    return sum(shares, Fraction(0)) / len(shares)


def largest_difference(n: int, m: int, replacement: bool = True) -> Fraction:
    """Return the largest change of the minibatch's mean gradient, over all draws, in units of G.

    The function is f(w; z) = z G w with records in [-1, 1]: record n - 1 changes from +1 to -1,
    the largest change a gradient of norm at most G can make, and the others stay.
    """
    before, after = [1] * n, [1] * (n - 1) + [-1]
    return max(Fraction(abs(sum(before[i] - after[i] for i in batch)), m) for batch in draws(n, m, replacement))
