"""How private random allocation is at best: a lower bound on epsilon beside the certificate.

With S_1, ..., S_e the likelihood ratios of e epochs times t (:mod:`dpcheck.accounting.allocation`), delta with the
record added is at least E_Q (prod_i S_i / t - e^epsilon)^+, since outputs that do not depend on earlier ones are one
way to run. This is convex and rising in every copy X of the lognormal that S_i adds up, so each may be replaced by
anything below it in the increasing convex order:

1. X by its mean in each cell of a grid, and beyond the last by the cell's beginning;
2. that mean y by the grid's finer points next to it, p below and q above, which keep it: below the cell's own law if,
   with C = E ((X - y)^+; cell) / P(cell), C >= P(X <= y | cell) (y - p) and C >= P(X > y | cell) (q - y), as then the
   tangent at y of the cell's call lies above the two points' chord. Where this fails the cell joins
   its neighbour, and at last goes to its beginning.

Heavy tails of up to 8 steps are priced from copy to copy instead, each time by tangents below the convex price.

What remains is exact but for rounding: the law of a sum by a Fourier transform, and of the composed losses, each cut
down to a grid's point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from dpcheck.accounting.allocation_few import log_delta
from dpcheck.arrays import Floats
from dpcheck.errors import require_count, require_delta, require_positive

Places = NDArray[np.int64]

_FINE, _COARSE, _LEVELS = 0.02, 4, 4  # the fine grid in deviations of a copy, a cell in its points, how often it joins
_ROUNDED = 3e-16  # a Fourier coefficient's relative error for each factor, and for each of some fifty additions
_FINEST = 1e-4  # relative, of epsilon: what cutting the losses down may cost
_MOST = 2**22
_COARSEST = 4  # by how much the fine grid's interval may grow where tails are heavy
_PART = 0.007  # of the steps, that it then is at most
_FEW_STEPS = 8  # whose heavy tails are followed from copy to copy, in one epoch
_MOST_HEAVY = 2**17  # points there, for one epoch: each more adds to what roundings take away


def allocation_epsilon_below(noise_multiplier: float, steps: int, epochs: int, delta: float) -> float:
    """Bound the epsilon of random allocation at delta from below; 0 for a multiplier below 0.3 or a delta below 1e-11.

    >>> from dpcheck import certify
    >>> from dpcheck.events import Gaussian, RandomAllocation
    >>> low = allocation_epsilon_below(1.0, 234, 1, 1e-5)
    >>> low < certify(RandomAllocation(Gaussian(1.0), 234), 1e-5).epsilon < 1.02 * low
    True
    """
    require_positive(noise_multiplier, "noise_multiplier")
    require_count(steps, "steps")
    require_count(epochs, "epochs")
    require_delta(delta, zero=False)
    shift = 1 / noise_multiplier
    if shift > 1 / 0.3 or delta < 1e-11:
        return 0.0
    few = shift > 1 and epochs == 1
    sizes = [_MOST] if not few else [_MOST_HEAVY] if delta > 1e-7 else [_MOST_HEAVY, _MOST]
    laws = [_losses(steps, shift, delta, most) for most in sizes]
    single, (losses, chances) = max(((epsilon_of(*law, delta), law) for law in laws), key=lambda found: found[0])
    if epochs == 1:
        return max(single, _few_steps(steps, shift, delta, single))
    return _composed(losses, chances, epochs, delta, single * math.sqrt(epochs))


def _few_steps(steps: int, shift: float, delta: float, low: float) -> float:
    """Return the epsilon of the tangents of :mod:`dpcheck.accounting.allocation_few`, rounded down, or one known."""
    if not 2 <= steps <= _FEW_STEPS or shift < 1:
        return low
    high = low + 10 * shift
    for _ in range(50):
        middle = (low + high) / 2
        more = log_delta(np.array([middle]), steps, shift, added=True, above=False)[0] > math.log(delta)
        low, high = (middle, high) if more else (low, middle)
    return low


def _losses(steps: int, shift: float, delta: float, most: int) -> tuple[Floats, Floats]:
    """Return losses of one epoch, at most so many, and their chances under P."""
    deviation = math.sqrt(math.expm1(shift * shift))
    reach = 2.5 - float(special.ndtri(delta))  # how far a copy is followed, in deviations under P
    if most < _MOST:  # as far as delta feels it, or, where roundings count more, farther on a coarser grid
        reach = -float(special.ndtri(4e-4 * delta)) if delta > 1e-7 else reach + 1
    end = math.exp(shift * reach + shift * shift / 2)
    coarse = _FINE * deviation * min(deviation * deviation / math.expm1(1), _COARSEST)
    h = max(
        _FINE * min(deviation, 1.0),
        min(coarse, _PART * steps),
        2 * (end + 12 * math.sqrt(steps) * min(deviation, end)) / most,
    )
    first, law = _one_below(shift, h, end)
    top = steps * (1 - first * h) + end + 14 * math.sqrt(steps) * min(deviation, end)  # above steps * first * h
    size = fft.next_fast_len(max(int(top / h) + 2, law.size), real=True)
    size = min(size, most)
    total = chances_of_sum(law, steps, size)  # what lies past the window wraps to smaller sums
    ratios = (steps * first + np.arange(size)) * h / steps
    kept = (ratios > 0) & (total > 0)
    return np.log(ratios[kept]), ratios[kept] * total[kept]


def chances_of_sum(law: Floats, number: int, size: int) -> Floats:
    """Return lower bounds on the chances of a sum of so many, modulo the size."""
    total = fft.irfft(fft.rfft(law, size) ** number, size)
    return np.asarray(np.maximum(total - _ROUNDED * (number + 50) * float(np.linalg.norm(total)), 0.0))


def _one_below(shift: float, h: float, end: float) -> tuple[int, Floats]:
    """Return a law on the grid below that of a copy: the first point's number and the chances."""
    number = 2**_LEVELS * math.ceil(end / h / _COARSE / 2**_LEVELS)
    levels = [_cells(shift, h, np.arange(0, number + 1, 2**level) * _COARSE) for level in range(_LEVELS + 1)]
    done = [levels[0].fits]
    for cells in levels[1:]:
        done.append((done[-1][::2] & done[-1][1::2]) | cells.fits)
    chances = np.zeros(number * _COARSE + 1)
    chances[-1] = levels[0].beyond
    wanted = np.ones(levels[-1].mass.size, bool)
    for level in range(_LEVELS, -1, -1):  # a cell serves where one of its halves would not do
        halves = done[level - 1][::2] & done[level - 1][1::2] if level else np.zeros_like(wanted)
        used = wanted & ~halves & (levels[level].fits | (level == 0))
        levels[level].add(chances, used)
        wanted = np.repeat(wanted & ~used, 2)
    first = int(np.flatnonzero(chances > 0)[0])
    return first, chances[first:]


@dataclass(frozen=True)
class _Cells:
    """Cells of a copy's values: where they begin, their chances, and the two points that keep their means."""

    begins: Places
    mass: Floats
    points: Places
    shares: Floats
    fits: NDArray[np.bool_]
    beyond: float

    def add(self, chances: Floats, used: NDArray[np.bool_]) -> None:
        mass, share = np.where(used, self.mass, 0.0), np.where(self.fits, self.shares, 0.0)
        lower = np.where(self.fits, self.points, self.begins)
        np.add.at(chances, lower, mass * (1 - share))
        np.add.at(chances, lower + 1, mass * share)


def _cells(shift: float, h: float, places: Places) -> _Cells:
    below, moments = _law(np.asarray(places * h, np.float64), shift)
    mass, part = np.maximum(np.diff(below), 0), np.diff(moments)
    precise = mass > 1e-13  # where differences have no precision a cell's chance goes to its beginning
    y = np.clip(part / np.where(precise, mass, 1.0), places[:-1] * h, places[1:] * h)
    p = np.minimum(np.floor(y / h).astype(np.int64), places[1:] - 1)
    under, taken = _law(y, shift)
    under, taken = under - below[:-1], taken - moments[:-1]
    call = part - taken - y * (mass - under)
    fits = precise & (call >= under * (y - p * h)) & (call >= (mass - under) * ((p + 1) * h - y))
    return _Cells(places[:-1], mass, p, y / h - p, fits, float(1 - below[-1]))


def _law(values: Floats, shift: float) -> tuple[Floats, Floats]:
    """Return Q(X <= value) and E_Q (X; X <= value)."""
    logs = np.log(np.maximum(values, 1e-300))
    return special.ndtr(logs / shift + shift / 2), special.ndtr(logs / shift - shift / 2)


def epsilon_of(losses: Floats, chances: Floats, delta: float) -> float:
    """Return the epsilon at which losses with these chances under P have this delta, rounded down."""

    def at(epsilon: float) -> float:
        above = losses > epsilon
        return float(chances[above] @ -np.expm1(epsilon - losses[above]))

    if at(0.0) <= delta:
        return 0.0
    low, high = 0.0, float(losses.max())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle) > delta else (low, middle)
    return low


def _composed(losses: Floats, chances: Floats, epochs: int, delta: float, rough: float) -> float:
    """Compose so many epochs, their losses cut down to a grid."""
    mean = float(chances @ losses / chances.sum())
    wide = math.sqrt(float(chances @ (losses - mean) ** 2 / chances.sum()))
    reach = max(14 * wide * math.sqrt(epochs), 2 * rough) + float(losses.max()) - mean
    interval = max(_FINEST * max(rough, 1e-6) / epochs, 2 * reach / _MOST)
    kept = losses > mean - reach
    places = np.floor((losses[kept] - mean) / interval).astype(np.int64)
    first = int(places.min())
    law = np.asarray(np.bincount(places - first, chances[kept]), np.float64)
    size = fft.next_fast_len(int(2 * reach / interval), real=True)
    if law.size > size:
        return 0.0
    total = chances_of_sum(law, epochs, size)
    # the window: what lies above it wraps to its beginning, and only takes away; what lies below is bounded and added
    start = int(epochs * float(law @ (first + np.arange(law.size))) / law.sum()) - size // 2
    total = np.roll(total, -((start - epochs * first) % size))
    sums = start * interval + np.arange(size) * interval + epochs * mean
    values = (first + np.arange(law.size)) * interval
    orders = np.geomspace(1, 100, 20) / (wide * math.sqrt(epochs))
    wrapped = min(chance_below(law, values - values[0], float(order), epochs, start * interval - epochs * values[0])
                  for order in orders)  # fmt: skip
    return epsilon_of(sums, total, delta + wrapped)


def chance_below(law: Floats, values: Floats, order: float, epochs: int, start: float) -> float:
    """Bound the chance that a sum of values >= 0 lies below the start (Chernoff)."""
    if start <= 0:
        return 0.0
    return math.exp(min(0.0, epochs * math.log(float(law @ np.exp(-order * values))) + order * start))
