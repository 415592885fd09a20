"""Sums of losses after exponential tilting: every probability p(l) becomes p(l) e^(tilt l) / M.

With the tilt that centres the sum near the wanted epsilon, rounding errors are relative to delta itself, however small.
An error x of the tilted probabilities adds at most x M e^(-tilt epsilon) to delta at epsilon, whatever is composed
with them: that prices what a Fourier transform gets wrong, and what wraps around in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.signal import lfilter

from dpcheck.accounting.loss_grids import Grid
from dpcheck.accounting.privacy_curves import Array

_UNIT = 2.0**-52
_DROP = 30.0  # minus the logarithm of what may wrap around at either end of a window


@dataclass(frozen=True)
class Tilted:
    """A tilted loss on the grid's points lowest, lowest + 1, ..., or an upper bound on each probability.

    ``log_scale`` is log M. ``lost`` bounds tilted probability that is at a wrong place, ``rounding`` the error of
    log_scale. ``growths`` are log moments of the tilted loss at the orders of :func:`asides`.
    """

    lowest: int
    weights: Array
    log_scale: float
    growths: Array
    lost: float = 0.0
    rounding: float = 0.0


def asides(deviation: float, blocks: float) -> Array:
    """Orders of Chernoff bounds that suit sums of any part of the events, from all to one in ``blocks``."""
    steps = np.arange(-2, math.ceil(math.log2(max(blocks, 1)) / 2) + 4)
    ladder = math.sqrt(2 * _DROP) / deviation * 2.0**steps
    return np.concatenate([ladder, -ladder])


def tilt_grid(grid: Grid, tilt: float, orders: Array) -> Tilted:
    """Tilt the loss of one event."""
    log_moment = grid.log_moment(tilt)
    exponent = tilt * grid.losses + (grid.log_mass - log_moment)
    growths = np.array([grid.log_moment(tilt + order) for order in orders]) - log_moment
    felt = exponent > -80
    sizes = np.abs(tilt * grid.losses[felt]) + np.abs(grid.log_mass[felt])
    rounding = 4 * _UNIT * (1 + abs(log_moment) + float(np.max(sizes)))
    return Tilted(grid.lowest, np.exp(exponent), log_moment, growths, 0.0, rounding)


def window(factors: list[tuple[Tilted, int]], orders: Array, interval: float, top: float | None = None) -> range:
    """The grid points outside of which the tilted sum hardly is, reaching up to ``top`` at least."""
    growths = sum(count * factor.growths for factor, count in factors)
    least = sum(count * factor.lowest for factor, count in factors)
    most = least + sum(count * (factor.weights.size - 1) for factor, count in factors)
    ends = (growths + _DROP) / orders
    high, low = float(np.min(ends[orders > 0])), float(np.max(ends[orders < 0]))
    if top is not None:
        high = max(high, top)
    first = min(max(_whole(low / interval), least), most)
    return range(first, max(min(_whole(high / interval) + 1, most), first) + 1)


def _whole(place: float) -> int:
    return math.floor(min(max(place, -1e15), 1e15))


def convolve(factors: list[tuple[Tilted, int]], points: range) -> Tilted:
    """Bound the tilted probabilities of a sum, each factor so many times, on a window that holds nearly all of it."""
    size = int(next_fast_len(len(points), real=True))
    # Error of a Fourier coefficient of a distribution, and of each factor in raising it.
    unit = 4 * _UNIT * (math.log2(size) + 4)
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    bound, smallest = np.ones(size // 2 + 1), np.full(size // 2 + 1, math.inf)
    log_scale, rounding, lost, steps = 0.0, 0.0, 2 * math.exp(-_DROP), 0.0
    for factor, count in factors:
        power = float(count)
        place = (factor.lowest + np.arange(factor.weights.size)) % size
        transform = rfft(np.bincount(place, factor.weights, minlength=size))
        product *= transform**power
        magnitude = np.abs(transform) + unit
        bound *= magnitude**power
        smallest = np.minimum(smallest, magnitude)
        log_scale += power * factor.log_scale
        rounding += power * factor.rounding
        lost += power * factor.lost
        steps += power
    wrong = 4 * unit * (steps * float(np.mean(bound / smallest)) + float(np.mean(bound)))
    mass = np.roll(irfft(product, size), -(points[0] % size))
    growths = np.asarray(sum(count * factor.growths for factor, count in factors))
    return Tilted(points[0], np.maximum(mass, 0) + wrong, log_scale, growths, lost, rounding)


def coarsened(loss: Tilted, ratio: int, interval: float, tilt: float, orders: Array) -> Tilted:
    """Move the loss to every ``ratio``-th point of its grid, whose spacing is ``interval``.

    Each probability is shared between the two points around it so that its mean of e^-loss stays: delta, convex in
    e^-loss whatever is composed, does not shrink.
    """
    first = loss.lowest // ratio
    before = loss.lowest - first * ratio
    blocks = -(-(before + loss.weights.size) // ratio)
    table = np.zeros(blocks * ratio)
    table[before : before + loss.weights.size] = loss.weights
    inside = np.arange(ratio) * interval
    upper = np.expm1(-inside) / math.expm1(-ratio * interval)
    rows = table.reshape(blocks, ratio)
    weights = np.zeros(blocks + 1)
    weights[:-1] = rows @ ((1 - upper) * np.exp(-tilt * inside))
    weights[1:] += rows @ (upper * np.exp(tilt * (ratio * interval - inside)))
    total = float(np.sum(weights))
    weights /= total
    losses = (first + np.arange(blocks + 1) - loss.lowest / ratio) * (ratio * interval)
    here = loss.lowest * interval  # as a sum of large and small numbers loses digits, the large is kept apart
    growths = np.array([_log_mean(weights, order * losses) + order * here for order in orders])
    log_scale, rounding = loss.log_scale + math.log(total), loss.rounding + 8 * _UNIT * (1 + abs(loss.log_scale))
    return Tilted(first, weights, log_scale, growths, loss.lost, rounding)


def _log_mean(weights: Array, exponent: Array) -> float:
    largest = float(
        np.max(exponent[weights > 0])
    )  # where there is no weight, exponents may be out of reach of the rest
    return largest + math.log(float(weights @ np.exp(np.minimum(exponent - largest, 0))))


def hockey_stick(mass: Array, interval: float, tilt: float) -> Array:
    """Return log of sum_{j > i} (1 - e^(l_i - l_j)) e^(-tilt (l_j - l_i)) mass_j for each i, (n,).

    By two recursions from the top that only add: first
    e_i = sum_{j >= i} e^(-(1 + tilt) (l_j - l_i)) mass_j, then
    s_{i-1} = e^(-tilt interval) (s_i + (1 - e^-interval) e_i).
    """
    fall = math.exp(-tilt * interval)
    inner = lfilter([1.0], [1.0, -fall * math.exp(-interval)], mass[::-1])
    outer = lfilter([0.0, -fall * math.expm1(-interval)], [1.0, -fall], inner)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(outer[::-1]))
