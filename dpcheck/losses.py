"""Composition of privacy curves on a grid of losses, rounded so that delta never shrinks.

1. Each curve is interpolated linearly in e^epsilon between grid points, which is again a curve
   and lies above (connect the dots: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). Its
   loss lives on the grid.
2. The losses add up under composition, also adaptive (Zhu, Dong and Wang 2022). Their sum is
   found by Fourier transform after exponential tilting: each probability p(l) becomes
   p(l) e^(tilt l) / M, with the tilt that centres the sum near the wanted epsilon, so that
   rounding errors are relative to delta itself, however small, and not to 1.
3. What the transform leaves out or may get wrong is bounded and added: the tail beyond the window
   by Chernoff, mass that wraps around is moved to larger losses, rounding by its own bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import minimize_scalar
from scipy.signal import lfilter

from dpcheck.privacy_curves import Array, Curve, CurvePair

_UNIT = 2.0**-52
_NEGLIGIBLE = 1e-8  # of delta: what the tails may add to it
_LIFT = 1e-9  # of delta: covers the curves' own rounding
_LEAST_DELTA = 1e-280
_MOST_POINTS = 2_000_000
_WIDEST = 100.0  # grid interval whose exponential is still a number


@dataclass(frozen=True)
class Grid:
    """Loss of one event: log probabilities at ``losses``, and mass ``infinite`` at infinity.

    ``losses`` = (lowest, lowest + 1, ...) * interval, (n,).
    """

    lowest: int
    losses: Array
    log_mass: Array
    infinite: float

    def variance(self) -> float:
        """Return the variance of the finite part."""
        mass = np.exp(self.log_mass)
        return float(mass @ self.losses**2 - (mass @ self.losses) ** 2)

    def log_moment(self, order: float) -> float:
        """Return log E e^(order loss) of the finite part."""
        exponent = order * self.losses + self.log_mass
        largest = float(np.max(exponent))
        return largest + math.log(float(np.sum(np.exp(exponent - largest))))


@dataclass(frozen=True)
class Composition:
    """Upper bound on the curve of a composition, from ``lowest * interval`` upwards.

    ``log_delta[i]`` bounds log delta at epsilon = (lowest + i) * interval; between the points
    delta is linear in e^epsilon; past the last, its value there. ``tilt`` is the Chernoff exponent.
    """

    interval: float
    lowest: int
    log_delta: Array
    tilt: float

    def epsilon(self, delta: float) -> float:
        """The least epsilon >= 0 shown to satisfy (epsilon, delta); inf if none is."""
        target = math.log(delta)
        index = int(np.searchsorted(-self.log_delta, -target))
        if index == self.log_delta.size:
            return math.inf
        if index == 0:
            return max(0.0, self.lowest * self.interval)
        above, below = self.log_delta[index - 1 : index + 1]
        part = math.expm1(target - above) / math.expm1(below - above)
        left = (self.lowest + index - 1) * self.interval
        return max(0.0, left + math.log1p(part * math.expm1(self.interval)))

    def delta(self, epsilon: Array) -> Array:
        """Bound delta at each epsilon, (n,) -> (n,), from above; 1 below the window."""
        place = epsilon / self.interval - self.lowest
        last = self.log_delta.size - 1
        index = np.clip(np.floor(place), 0, last).astype(np.int64)
        excess = np.clip(place - index, 0, 1) * self.interval
        part = np.expm1(excess) / math.expm1(self.interval)
        left = np.exp(self.log_delta[index])
        right = np.exp(self.log_delta[np.minimum(index + 1, last)])
        return np.where(place < 0, 1.0, np.minimum(left + part * (right - left), 1.0))


def compose(
    parts: list[tuple[CurvePair, int]],
    delta: float,
    *,
    guess: float,
    tolerance: float,
    floor: float = 0.0,
) -> Composition | None:
    """Compose ``count`` times each ``(curves, count)``, sharply for ``delta`` in (0, 1).

    ``guess`` > 0: any upper bound on epsilon, a start for the grid. The grid is refined until its
    own effect on epsilon, at most (tilt + 1) interval^2 / 8 a step, is below ``tolerance`` times
    the largest of epsilon, ``floor`` and a tenth of the loss's standard deviation, or until the
    grid is as large as it may be. None if ``delta`` is too small or the losses too large
    for double precision.
    """
    steps = sum(count for _, count in parts)
    if delta < _LEAST_DELTA * steps or not math.isfinite(guess):
        return None
    negligible = delta * _NEGLIGIBLE / steps
    reach = [
        (_reach(curves.forward, negligible), _reach(curves.backward, max(negligible, 1e-15))) for curves, _ in parts
    ]
    finest = max(up + down for up, down in reach) / _MOST_POINTS
    if finest > _WIDEST:
        return None
    best: Composition | None = None
    epsilon = scale = guess
    tilt, interval, width = max(1.0, -math.log(delta)) / guess, math.inf, 0.0
    for _ in range(40):
        wanted = math.sqrt(4 * tolerance * scale / (steps * (tilt + 1)))
        wanted = max(wanted, tolerance * scale / steps / 2, finest, width / _MOST_POINTS)
        wanted = min(wanted, _WIDEST)
        # Early passes may misjudge the tilt by far: approach the wanted grid in bounded steps.
        interval = min(max(wanted, interval / 16), interval) if best else wanted
        grids = [
            (_discretise(curves, interval, *ends), count) for (curves, count), ends in zip(parts, reach, strict=True)
        ]
        result = _convolve(grids, interval, delta, epsilon, scale)
        if best is None or result.epsilon(delta) <= best.epsilon(delta):
            best = result
        last, epsilon = epsilon, min(epsilon, result.epsilon(delta))
        tilt, width = result.tilt, result.log_delta.size * interval
        deviation = math.sqrt(sum(count * grid.variance() for grid, count in grids))
        scale = max(epsilon, floor, 0.1 * deviation)
        error = steps * min((tilt + 1) * interval**2 / 8, interval)
        settled = last - epsilon <= 10 * tolerance * scale
        if settled and (error <= tolerance * scale or interval <= wanted):
            break
    return best


def _reach(curve: Curve, negligible: float) -> float:
    """An epsilon, at most 1% too large, from which on delta <= ``negligible``."""
    points = np.geomspace(1e-150, 1e15, 121)
    for _ in range(3):
        enough = np.append(curve(points[:-1]) <= math.log(negligible), True)
        index = max(1, int(np.argmax(enough)))
        points = np.geomspace(points[index - 1], points[index], 41)
    return float(points[-1])


def _discretise(curves: CurvePair, interval: float, up: float, down: float) -> Grid:
    """Connect the dots of ``curves`` on the multiples of ``interval`` from -down to up.

    Works on the excess of delta over its least possible value max(0, 1 - e^epsilon); for
    epsilon < 0 that excess is e^epsilon times the other direction's delta at -epsilon, small in
    both tails, so no difference of nearly equal numbers is taken. The least curve itself
    contributes mass 1 at 0.
    """
    first, last = -math.ceil(down / interval), math.ceil(up / interval)
    ahead = np.arange(last + 1, dtype=np.float64) * interval
    behind = -np.arange(first, 0, dtype=np.float64) * interval
    right = curves.forward(ahead)
    left = curves.backward(behind) - behind
    excess = np.exp(np.concatenate([left, right])) * (1 + _LIFT)
    step = np.diff(excess)
    mass = np.empty_like(excess)
    mass[0] = step[0] / math.expm1(interval) - excess[0]
    mass[1:-1] = step[1:] / math.expm1(interval) + step[:-1] / math.expm1(-interval)
    mass[-1] = step[-1] / math.expm1(-interval)
    mass[-first] += 1
    # A curve is convex in e^epsilon, so negative mass is rounding; zero is on the safe side.
    with np.errstate(divide="ignore"):
        log_mass = np.log(np.maximum(mass, 0))
    losses = np.concatenate([-behind, ahead])
    return Grid(first, losses, log_mass, float(excess[-1]))


def _convolve(grids: list[tuple[Grid, int]], interval: float, delta: float, guess: float, scale: float) -> Composition:
    tilt, bottom, top = _window(grids, delta, guess, scale)
    least = sum(count * grid.lowest for grid, count in grids)
    most = least + sum(count * (grid.losses.size - 1) for grid, count in grids)
    first = min(max(math.floor(bottom / interval), least), most)
    last = max(min(math.ceil(top / interval), most), first)

    size = int(next_fast_len(last - first + 1, real=True))
    # Error of a Fourier coefficient of a distribution, and of each factor in raising it.
    unit = 4 * _UNIT * (math.log2(size) + 4)
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    bound, smallest = np.ones(size // 2 + 1), np.full(size // 2 + 1, math.inf)
    log_scale, rounding = 0.0, 4 * _UNIT * size  # the recursions' own, then the weights'
    for grid, count in grids:
        log_moment = grid.log_moment(tilt)
        exponent = tilt * grid.losses + (grid.log_mass - log_moment)
        place = (grid.lowest + np.arange(exponent.size)) % size
        transform = rfft(np.bincount(place, np.exp(exponent), minlength=size))
        product *= transform**count
        magnitude = np.abs(transform) + unit
        bound *= magnitude**count
        smallest = np.minimum(smallest, magnitude)
        log_scale += count * log_moment
        felt = exponent > -80
        sizes = np.abs(tilt * grid.losses[felt]) + np.abs(grid.log_mass[felt])
        rounding += 4 * _UNIT * count * (1 + abs(log_moment) + float(np.max(sizes)))
    steps = sum(count for _, count in grids)
    wrong = 4 * unit * (steps * float(np.mean(bound / smallest)) + float(np.mean(bound)))
    mass = np.roll(irfft(product, size), -(first % size))
    stick = _hockey_stick(np.maximum(mass, 0) + wrong, interval, tilt)

    losses = (first + np.arange(size)) * interval
    outside = delta * _NEGLIGIBLE + sum(count * grid.infinite for grid, count in grids)
    log_delta = np.logaddexp(log_scale + rounding - tilt * losses + stick, math.log(outside))
    return Composition(interval, first, np.maximum.accumulate(log_delta[::-1])[::-1], tilt)


def _window(grids: list[tuple[Grid, int]], delta: float, guess: float, scale: float) -> tuple[float, float, float]:
    """The tilt that suits ``delta``, and the losses between which the sum has to be known.

    ``guess``: at least epsilon; ``scale`` > 0: its size, or that of the loss.
    """

    def growth(order: float) -> float:
        return sum(count * grid.log_moment(order) for grid, count in grids)

    # The least (growth + level) / order is the Renyi bound on epsilon, convex in 1 / order.
    level = max(1.0, -math.log(delta))
    widest = max(float(np.max(np.abs(grid.losses))) for grid, _ in grids)
    middle = level / scale
    while True:
        ladder = middle * 1.5 ** np.arange(-12, 13)
        up = np.array([growth(order) for order in ladder])
        chosen = int(np.argmin((up + level) / ladder))
        middle = float(ladder[chosen])
        if 0 < chosen < ladder.size - 1 or not 1e-6 < middle * widest < 1e6:
            break
    # The mean of the tilted sum is the derivative of growth: put it where epsilon is expected.
    centre = min(guess, float((up[chosen] + level) / middle))
    near = int(np.argmin(up - ladder * centre))
    best = minimize_scalar(
        lambda log: growth(math.exp(log)) - math.exp(log) * centre,
        bounds=(math.log(ladder[near] / 1.5), math.log(ladder[near] * 1.5)),
        method="bounded",
        options={"xatol": 0.01},
    )
    tilt = math.exp(best.x)
    # Chernoff bounds: delta itself loses a negligible tail above the top, and of the tilted mass
    # at most e^-30 on either side of the window wraps around to its other end.
    top = float(np.min((up - math.log(delta * _NEGLIGIBLE)) / ladder))
    aside = tilt * np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.2, 1.8, 2.5, 4.0, 8.0])
    here = growth(tilt)
    above = np.array([growth(order) for order in tilt + aside]) - here
    below = np.array([growth(order) for order in tilt - aside]) - here
    top = max(top, float(np.min((above + 30) / aside)))
    return tilt, float(np.max(-(below + 30) / aside)), top


def _hockey_stick(mass: Array, interval: float, tilt: float) -> Array:
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
