r"""Clipped stochastic ascent on quadratics of one variable, run on neighbouring datasets, in rational arithmetic.

f(y; z) = c (z y - b y^2/2) on an interval [-radius, radius], records z, step 1/(mu (i + 1)) at
i = 0, 1, .... f is c b-smooth and c mu'-strongly concave for every mu' <= b; mu is the strong concavity
that the step size is computed from.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

Number = int | Fraction


def climb(
    batches: Sequence[Sequence[Number]],
    *,
    scale: Number = 1,
    bend: Number = 1,
    modulus: Number = 1,
    threshold: Number | None = None,
    radius: Number = 1,
) -> Fraction:
    """Return the last iterate from 0, with per-record clipping at ``threshold`` if one is given."""
    y, bound = Fraction(0), Fraction(radius)
    for i, batch in enumerate(batches):
        gradients = [scale * (Fraction(z) - bend * y) for z in batch]
        if threshold is not None:
            gradients = [max(-Fraction(threshold), min(Fraction(threshold), g)) for g in gradients]
        y += sum(gradients, Fraction(0)) / len(batch) / Fraction(modulus * (i + 1))
        y = max(-bound, min(bound, y))
    return y


def full_batch_distance(n: int, steps: int, scale: Fraction) -> Fraction:
    """Return |y - y'| after ``steps`` full-batch steps, mu = beta = ``scale``, one record 1 or -1, the others 0.

    The threshold is 2 ``scale`` >= G_y, so that nothing is clipped.
    """
    ends = [
        climb([[record, *[0] * (n - 1)]] * steps, scale=scale, modulus=scale, threshold=2 * scale) for record in (1, -1)
    ]
    return abs(ends[0] - ends[1])


def expected_distance(n: int, steps: int, scale: Fraction) -> Fraction:
    """Return E|y - y'| with one uniform record a step, over all draws; as :func:`full_batch_distance`."""
    found = _distances(n, steps, scale)
    return sum(found, Fraction(0)) / len(found)


def largest_distance(n: int, steps: int, scale: Fraction) -> Fraction:
    """Return the largest |y - y'| over all draws of one record a step."""
    return max(_distances(n, steps, scale))


def clipped_distance(steps: int, threshold: Fraction) -> Fraction:
    """Return |y - y'| after full-batch steps on the records 1, -1 and -1, -1, clipped far below their gradients."""
    ends = [climb([data] * steps, threshold=threshold) for data in ([1, -1], [-1, -1])]
    return abs(ends[0] - ends[1])


def overshot_distance(n: int, steps: int, bend: int) -> Fraction:
    """Return |y - y'| after full-batch steps 1/(mu i) with mu = 1 and smoothness ``bend``: early steps exceed 2/beta.

    Y = [-1/10, 1/10], so that G_y = 1 + ``bend``/10, which is the threshold.
    """
    radius = Fraction(1, 10)
    ends = [
        climb([[record, *[0] * (n - 1)]] * steps, bend=bend, threshold=1 + bend * radius, radius=radius)
        for record in (1, -1)
    ]
    return abs(ends[0] - ends[1])


def _distances(n: int, steps: int, scale: Fraction) -> list[Fraction]:
    found = []
    for draw in product(range(n), repeat=steps):
        ends = []
        for record in (1, -1):
            data = [record, *[0] * (n - 1)]
            ends.append(climb([[data[i]] for i in draw], scale=scale, modulus=scale))
        found.append(abs(ends[0] - ends[1]))
    return found
