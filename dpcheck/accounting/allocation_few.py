"""Random allocation to few steps: delta between two bounds, one copy of the lognormal after the other.

With S the sum of t copies of X (:mod:`dpcheck.accounting.allocation`), delta is E (S - K)^+ / t at K = t e^epsilon
with the record added, and E (K - S)^+ / K at K = t e^-epsilon with it removed. Such prices of a sum are convex in K,
and those of one copy more are means of them, E c(K - X): a bound on c at all K gives one on the next. Between the
points of a grid c lies below its chords and above its tangents, and both are sums of w (k - K)^+, calls, or
w (K - k)^+, puts, with w >= 0. Their means over X are sums of w times X's own price at K - k: Black and Scholes's, in
closed form. Beyond the grid a call is at most the last, and at least 0. Unlike a grid of the copies themselves, this
has no tail to cut.

The mean of more copies is smaller in convex order, as of exchangeable ones: delta never rises with the steps, and that
of 64 bounds that of more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import special

from dpcheck.accounting.privacy_curves import Array, gaussian_log_delta

MANY_STEPS, _SOME_STEPS = 64, 8
_LARGEST_SHIFT, _HEAVY_SHIFT, _LEAST_SHIFT = 20.0, 1.9, 1.0
_REACH, _POINTS = 8.5, 700  # in deviations of log X, and the grid's points
_FEW = 32  # so many epsilons are computed each, and not between the grid's
_SAFE = 1 + 1e-11  # for the rounding of one copy's prices and their sum


def covers(steps: int, shift: float) -> bool:
    """Say whether these bounds are worth it: of small shifts or many steps the grid of the copies is finer."""
    least = _HEAVY_SHIFT if steps > _SOME_STEPS else _LEAST_SHIFT
    return steps <= MANY_STEPS and least < shift < _LARGEST_SHIFT


@dataclass(frozen=True, eq=False)
class _Prices:
    """Bounds on the price of t - 1 copies, as a sum of prices at expiry and the least that is added to it."""

    shift: float
    calls: bool
    grid: Array
    knots: Array
    weights: Array
    added: float
    safe: float

    def at(self, strikes: Array) -> Array:
        """Return the bounds with one copy more at each strike, (n,)."""
        one = call if self.calls else put
        return (one(strikes[:, None] - self.knots, self.shift) @ self.weights + self.added) * self.safe

    @cached_property
    def on_grid(self) -> Array:
        """Return those at the grid's points."""
        return self.at(self.grid)


@lru_cache(maxsize=64)
def _prices(steps: int, shift: float, *, calls: bool, above: bool) -> _Prices:
    """Bound the calls or puts of so many copies, less one, from above, or calls from below."""
    reach = _REACH * shift + shift * shift / 2
    ends = (0.01, steps * math.exp(reach)) if calls else (math.exp(-reach), float(steps))
    grid = np.append(0.0, np.geomspace(*ends, _POINTS))
    safe = _SAFE if above else 1 / _SAFE
    one = call if calls else put
    values, falls = one(grid, shift), chance_above(grid, shift)
    kernel = one(grid[:, None] - grid, shift) if above and steps > 2 else np.empty((0, 0))
    for left in range(steps - 2, -1, -1):
        knots, weights, added = _chords(grid, values, calls) if above else _tangents(grid, values, falls)
        if left and above:
            values = (kernel[:, : knots.size] @ weights + added) * safe
        elif left:
            apart = grid[:, None] - knots
            values, falls = call(apart, shift) @ weights * safe, chance_above(apart, shift) @ weights
    return _Prices(shift, calls, grid, knots, weights, added, safe)


def _chords(grid: Array, values: Array, calls: bool) -> tuple[Array, Array, float]:
    """The knots, weights and constant of the chords; slopes of calls begin at -1 and end at 0, of puts begin at 0."""
    slopes = np.diff(values) / np.diff(grid)
    if calls:
        return grid, np.maximum(np.diff(slopes, prepend=-1.0, append=0.0), 0), float(values[-1])
    return grid[:-1], np.maximum(np.diff(slopes, prepend=0.0), 0), 0.0


def _tangents(grid: Array, values: Array, falls: Array) -> tuple[Array, Array, float]:
    """The same of the tangents at the grid's points, from where one is above the next."""
    falls = np.append(1.0, np.minimum.accumulate(np.minimum(falls[1:], 1.0)))  # at 0 it is certain that S is above
    weights = falls[:-1] - falls[1:]
    meet = np.diff(values + falls * grid) / np.where(weights > 0, -weights, -1.0)
    knots = np.clip(np.where(weights > 0, meet, grid[:-1]), grid[:-1], grid[1:])
    return knots, weights, 0.0


def log_delta(epsilon: Array, steps: int, shift: float, *, added: bool, above: bool = True) -> Array:
    """Bound log delta of 2 steps or more with the record added or removed, at each epsilon >= 0."""
    prices = _prices(steps, shift, calls=added, above=above)
    furthest = np.minimum(epsilon, 600.0)  # delta falls in epsilon, and further strikes are no longer numbers
    strikes = steps * np.exp(furthest if added else -furthest)
    found = prices.at(strikes) if strikes.size <= _FEW else np.interp(strikes, prices.grid, prices.on_grid)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(found / (steps if added else strikes)))


def call(strikes: Array, shift: float) -> Array:
    """E (X - strike)^+, at strikes of any sign."""
    return np.where(strikes < 1, 1 - strikes, 0.0) + _out_of_the_money(strikes, shift)


def put(strikes: Array, shift: float) -> Array:
    """E (strike - X)^+, at strikes of any sign."""
    return np.where(strikes < 1, 0.0, strikes - 1) + _out_of_the_money(strikes, shift)


def _out_of_the_money(strikes: Array, shift: float) -> Array:
    """The put of a strike below 1, and the call of one above: the Gaussian's hockey stick, by its symmetry."""
    price = np.zeros_like(strikes)
    some = strikes > 0
    logs = np.log(strikes[some])
    price[some] = np.exp(gaussian_log_delta(np.abs(logs), shift) + np.minimum(logs, 0))
    return price


def chance_above(strikes: Array, shift: float) -> Array:
    """P(X > strike)."""
    return np.asarray(special.ndtr(-(np.log(np.maximum(strikes, 1e-300)) / shift + shift / 2)))
