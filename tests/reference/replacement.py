"""Drawing with replacement on the second route: a curve instead of densities, and the moments that follow from it.

With p_k the chance of k copies, b_k = phi_(k mu) / phi_0 at x, and alpha = e^epsilon, every number of copies is told
from its absence, or from as many of the other record, from its own place on (see :mod:`dpcheck.accounting.hits`):

    delta(epsilon) = sum over k >= 1 of p_k integral of (phi_(k mu) - r_k phi_0)^+,  r_k = max(alpha, b_k).

All is written in terms of the x that the numbers with b_k > alpha share: there
alpha = (p_0 + sum p_k b_k) / (p_0 + sum p_k), the sums over these k, which is the largest such ratio of any set of k.
The moments of the loss of a pair whose two directions share the curve are

    E e^(s loss) = 1 + s (s + 1) integral over epsilon > 0 of (e^(s epsilon) + e^(-(s + 1) epsilon)) delta(epsilon).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_PANEL, _PHASE, _REACH = 0.5, 6.0, 12.0  # in standard deviations, in radians, in standard deviations
_NEGLIGIBLE = 1e-18  # of the heaviest panel, what is left out
_LARGEST = 700.0  # exponent


@dataclass(frozen=True)
class Drawn:
    """The curve for ``copies`` (chance of each number, given at least one), their chance ``q`` and the shift ``mu``."""

    copies: tuple[tuple[int, float], ...]
    q: float
    mu: float

    def log_moment(self, order: float, frequencies: Array) -> NDArray[np.complex128]:
        """Return log E e^((order + i frequency) loss), (k,)."""
        fastest = float(np.max(np.abs(frequencies), initial=0.0))
        epsilon, weight = self._rule(order, fastest)
        if epsilon.size == 0:
            return np.full(len(frequencies), np.inf, np.complex128)
        s = order + 1j * frequencies
        waves = np.exp(np.multiply.outer(1j * frequencies, epsilon))
        total = waves @ (np.exp(order * epsilon) * weight) + np.conj(waves) @ (np.exp(-(order + 1) * epsilon) * weight)
        return np.asarray(np.log1p(s * (s + 1) * total), np.complex128)

    def stick(self, epsilon: float) -> float:
        """Return delta(epsilon)."""
        low, high = -1e6, 1e6
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if float(self._epsilon(np.array([middle]))[0]) < epsilon else (low, middle)
        return float(self._delta(np.array([high]))[0])

    def _rule(self, order: float, frequency: float) -> tuple[Array, Array]:
        """Return epsilons and weights that integrate over epsilon > 0 what oscillates up to this frequency."""
        high = self.mu / 2  # where epsilon is 0: from there on one copy counts
        most = max(k for k, _ in self.copies) * self.mu
        edges = np.arange(high, high + _REACH + most * (order + 2) + _PANEL, _PANEL)
        edges = np.sort(np.concatenate([edges, self._bends(edges)]))
        ends = self._epsilon(edges)
        if order * ends[-1] > _LARGEST and self.mu * order > _LARGEST:
            return np.empty(0), np.empty(0)
        with np.errstate(divide="ignore"):
            sizes = np.log(self._delta(edges[:-1])) + order * ends[:-1]
        kept = sizes > np.max(sizes) + math.log(_NEGLIGIBLE)
        last = int(np.flatnonzero(kept)[-1]) + 1
        if order * ends[last] > _LARGEST:
            return np.empty(0), np.empty(0)
        pieces = [
            np.linspace(edges[i], edges[i + 1], max(1, math.ceil((ends[i + 1] - ends[i]) * frequency / _PHASE)) + 1)[1:]
            for i in range(last)
        ]
        edges = np.concatenate([edges[:1], *pieces])
        half = np.diff(edges)[:, None] / 2
        x = ((edges[1:] + edges[:-1])[:, None] / 2 + half * _NODES).ravel()
        weights = (half * _WEIGHTS).ravel()
        return self._epsilon(x), weights * self._slope(x) * self._delta(x)

    def _parts(self, x: Array) -> tuple[Array, Array]:
        """Return the logarithms of b_k, (k, n), and those that p_k is part of, with p_0 for a last row."""
        bends = np.array([k * self.mu * x - (k * self.mu) ** 2 / 2 for k, _ in self.copies])
        return bends, np.array([math.log(self.q * c) + bend for (_, c), bend in zip(self.copies, bends, strict=True)])

    def _epsilon(self, x: Array) -> Array:
        """Return the largest logarithm of alpha, one more copy after the other, the largest b_k first."""
        bends, parts = self._parts(x)
        order = np.argsort(-bends, axis=0)
        chances = np.array([self.q * c for _, c in self.copies])[order]
        grown = chances * np.expm1(np.minimum(np.take_along_axis(bends, order, 0), 1.0))
        small = np.log1p(np.max(np.cumsum(grown, 0) / (1 - self.q + np.cumsum(chances, 0)), axis=0, initial=0.0))
        sums = np.logaddexp.accumulate(
            np.vstack([np.full_like(x, math.log1p(-self.q)), np.take_along_axis(parts, order, 0)])
        )
        large = np.max(sums - np.log(1 - self.q + np.vstack([0 * x, np.cumsum(chances, 0)])), axis=0)
        return np.where(np.max(bends, axis=0) < 1.0, small, large)

    def _bends(self, edges: Array) -> Array:
        """Return the places at which a number of copies begins or ceases to be one of those that share them."""
        found: list[float] = []
        x = np.linspace(edges[0], edges[-1], 20 * edges.size)
        for row, signs in enumerate(self._parts(x)[0] > self._epsilon(x)):
            for i in np.flatnonzero(signs[1:] != signs[:-1]):
                low, high = float(x[i]), float(x[i + 1])
                for _ in range(60):
                    middle = np.array([(low + high) / 2])
                    same = bool((self._parts(middle)[0][row] > self._epsilon(middle))[0]) == bool(signs[i])
                    low, high = (float(middle[0]), high) if same else (low, float(middle[0]))
                found.append(high)
        return np.array(found)

    def _slope(self, x: Array) -> Array:
        """Return the derivative of epsilon."""
        bends, parts = self._parts(x)
        shared = np.exp(np.where(bends > self._epsilon(x), parts, -np.inf))
        rising = np.array([k * self.mu for k, _ in self.copies]) @ shared
        return np.asarray(rising / (1 - self.q + shared.sum(axis=0)))

    def _delta(self, x: Array) -> Array:
        """Return delta where the shared place is ``x``; all integrands are positive."""
        epsilon, total = self._epsilon(x), np.zeros_like(x)
        for k, c in self.copies:
            shift = k * self.mu
            place = np.maximum(x, epsilon / shift + shift / 2)
            total += self.q * c * np.exp(shift * place - shift**2 / 2) * _gain(place, shift)
        return total


def _gain(x: Array, shift: float) -> Array:
    """Return the integral over u > 0 of phi_0(x + u) (e^(shift u) - 1), (n,)."""
    edges = np.arange(0.0, _REACH + shift + max(0.0, float(-np.min(x))) + _PANEL, _PANEL)
    half = np.diff(edges)[:, None] / 2
    u = ((edges[1:] + edges[:-1])[:, None] / 2 + half * _NODES).ravel()
    weights = (half * _WEIGHTS).ravel()
    total = np.empty_like(x)
    for first in range(0, x.size, 4096):
        some = x[first : first + 4096, None]
        grown = -((some + u) ** 2) / 2 + shift * u + np.log(-np.expm1(-shift * u)) + np.log(weights)
        total[first : first + 4096] = np.sum(np.exp(grown), axis=1)
    return total / math.sqrt(2 * math.pi)
