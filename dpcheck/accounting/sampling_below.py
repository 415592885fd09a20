"""How private sampled Gaussian noise is at best: a lower bound on epsilon beside the certificate.

A pair of neighbours whose steps release one number each, whatever came before, bounds the epsilon of all mechanisms
with the same events from below. Here that number is N(k a, 1), k how often a record is drawn. Its line is cut into
cells: to see the cell alone is a post-processing, so that the losses log P(cell) / Q(cell) and their sums give a lower
bound. To be composed they are rounded to a grid. What roundings add up to falls short of its mean by more than
``_composed`` allows for with a chance, by Hoeffding's inequality, that is taken from delta.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import fft, special
from scipy.stats import binom

from dpcheck.accounting.allocation_below import chance_below, chances_of_sum, epsilon_of
from dpcheck.arrays import Floats
from dpcheck.events import Sampled, shift_of

_CELLS, _REACH = 2**14, 9.0  # cells, and how far they go beyond the outermost means, in deviations
_FAINT = 1e-16  # chance of the numbers of hits that are left out together, and are counted where they lower the bound
_DOWN = 1 - 1e-9  # past the rounding of sums
_LEAST = 1e-11  # delta, which roundings would blur below
_SIZE, _WIDE, _RARE = 2**19, 8.0, 1e-3  # a composition's grid, half of it in deviations, and the part of delta given up


def sampled_epsilon_below(event: Sampled, steps: int, delta: float, at_most: float) -> float | None:
    """Bound the epsilon of so many Gaussian steps from below, ``at_most`` what is certified; None where nothing is.

    >>> from dpcheck import certify
    >>> from dpcheck.events import Gaussian, Repeated, Sampled
    >>> step = Sampled((Gaussian(1.0),), "poisson", 1000, 10)
    >>> most = certify(Repeated(step, 1000), 1e-5).epsilon
    >>> 0.99 * most < sampled_epsilon_below(step, 1000, 1e-5, most) <= most
    True
    """
    shift = shift_of(event.noise_multiplier)
    if event.laplace or event.records > 1 or delta < _LEAST or not 0 < shift <= 20 or at_most == math.inf:
        return None
    return _DOWN * max(_of_pair(chances, means, steps, delta, at_most) for chances, means in _pairs(event, shift))


def _pairs(event: Sampled, shift: float) -> list[tuple[Floats, tuple[Floats, Floats]]]:
    """Return pairs as chances of hits and the two means of each; the second record may be one that all others are."""
    if event.scheme == "with_replacement":
        hits = np.arange(int(binom.isf(_FAINT, event.batch, 1 / event.population)) + 1.0)
        chances = binom.pmf(hits, event.batch, 1 / event.population)
    else:
        hits, chances = np.arange(2.0), np.array([event.rest, event.rate])
    alone = chances, (hits * shift, hits * 0.0)  # against nothing, or a record like all others
    apart = chances, (hits * shift / 2, -hits * shift / 2)  # against its opposite, where all others are zero
    if event.neighbours == "add_or_remove_one":
        return [alone]
    return [apart] if event.scheme == "poisson" else [alone, apart]


def _of_pair(chances: Floats, means: tuple[Floats, Floats], steps: int, delta: float, at_most: float) -> float:
    edges = np.linspace(min(map(np.min, means)) - _REACH, max(map(np.max, means)) + _REACH, _CELLS + 1)
    p, q = (sum(chance * _cells(edges - mean) for chance, mean in zip(chances, where, strict=True)) for where in means)
    seen = (p > 0) & (q > 0)
    faint = _FAINT if chances.size > 2 else 0.0  # may lie in any cell
    losses, laws = np.log(p[seen] / (q[seen] + faint)), p[seen]
    return epsilon_of(losses, laws, delta) if steps == 1 else _composed(losses, laws, steps, delta, at_most)


def _composed(losses: Floats, chances: Floats, steps: int, delta: float, at_most: float) -> float:
    """Compose so many steps; whatever is left out of the losses, or cut down, takes away from delta."""
    total = float(chances.sum())
    mean = float(chances @ losses) / total
    wide = math.sqrt(float(chances @ (losses - mean) ** 2) / total * steps)
    reach = max(_WIDE * wide, 2 * at_most)
    h = 2 * reach / _SIZE
    kept = losses > mean - 0.9 * reach
    if not (wide and kept.any()):  # losses that do not vary
        return 0.0
    losses, chances = np.minimum(losses[kept] - mean, 0.9 * reach), chances[kept]
    places = np.rint(losses / h).astype(np.int64)
    first = int(places.min())
    law = np.asarray(np.bincount(places - first, chances), np.float64)
    off = steps * float(chances @ (losses - places * h)) / law.sum()  # the mean of what rounding takes away
    lost = _RARE * delta
    most = h * math.sqrt(steps * math.log(1 / lost) / 2)  # by which it falls short of that, but with this chance
    # the window: what lies above it wraps to its beginning, and only takes away; what lies below is bounded and added
    start = -_SIZE // 2
    sums = np.roll(chances_of_sum(law, steps, fft.next_fast_len(_SIZE, real=True)), -((start - steps * first) % _SIZE))
    values = np.arange(float(law.size)) * h
    orders = np.geomspace(0.1, 100, 40) / wide
    wrapped = min(chance_below(law, values, float(order), steps, (start - steps * first) * h) for order in orders)
    found = epsilon_of((start + np.arange(float(_SIZE))) * h + steps * mean, sums, delta + lost + wrapped)
    return max(float(found + off - most), 0.0) if found else 0.0  # 0 may also be that nothing is found


def _cells(edges: Floats) -> Floats:
    """Return a standard normal's chances between the edges, each taken on the side where it is precise."""
    right = edges[:-1] > 0
    upper, lower = np.where(right, -edges[:-1], edges[1:]), np.where(right, -edges[1:], edges[:-1])
    return np.asarray(special.ndtr(upper) - special.ndtr(lower))
