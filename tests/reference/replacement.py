"""Drawing with replacement on the second route: a curve instead of densities, and the moments that follow from it.

With q the chance that the record is drawn at all, c_k the chance of k copies given that, and e^epsilon = 1 - q + q y,
advanced joint convexity [1, Theorem 2] leaves

    delta(epsilon) = q ((1 - beta) D + beta G),  beta = e^epsilon / y,
    D = integral of (sum_k c_k phi_(k mu) - y phi_0)^+,   G = sum_k c_k integral of (phi_(k mu) - y phi_0)^+,

the first against the batches that lack the record, the second against those that hold the other one, with k shown. All
is written in terms of the x at which sum_k c_k phi_(k mu) / phi_0 is y. The moments of the loss of a pair whose two
directions share the curve are

    E e^(s loss) = 1 + s (s + 1) integral over epsilon > 0 of (e^(s epsilon) + e^(-(s + 1) epsilon)) delta(epsilon).

[1] Balle, Barthe and Gaboardi, "Privacy Amplification by Subsampling", NeurIPS 2018.
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
        low, high = -1e6, 1e6
        for _ in range(200):  # where the likelihood ratio is 1, and epsilon 0
            middle = (low + high) / 2
            low, high = (middle, high) if float(self._height(np.array([middle]))[0]) < 0 else (low, middle)
        most = max(k for k, _ in self.copies) * self.mu
        edges = np.arange(high, high + _REACH + most * (order + 2) + _PANEL, _PANEL)
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

    def _parts(self, x: Array) -> Array:
        """Return the logarithms of c_k phi_(k mu) / phi_0, (k, n)."""
        return np.array([math.log(c) + k * self.mu * x - (k * self.mu) ** 2 / 2 for k, c in self.copies])

    def _height(self, x: Array) -> Array:
        """Return the logarithm of y."""
        return np.asarray(np.logaddexp.reduce(self._parts(x), axis=0))

    def _epsilon(self, x: Array) -> Array:
        height = self._height(x)
        small = np.log1p(self.q * np.expm1(np.minimum(height, 1.0)))
        large = height + np.log(self.q + (1 - self.q) * np.exp(-np.maximum(height, 1.0)))
        return np.where(height < 1.0, small, large)

    def _slope(self, x: Array) -> Array:
        """Return the derivative of epsilon."""
        parts, height = self._parts(x), self._height(x)
        mean = sum(k * self.mu * np.exp(part - height) for (k, _), part in zip(self.copies, parts, strict=True))
        return np.asarray(mean * self.q * np.exp(height - self._epsilon(x)))

    def _delta(self, x: Array) -> Array:
        """Return delta where the likelihood ratio is that at ``x``; all integrands are positive."""
        parts, height, epsilon = self._parts(x), self._height(x), self._epsilon(x)
        apart, seen = np.zeros_like(x), np.zeros_like(x)
        for (k, c), part in zip(self.copies, parts, strict=True):
            shift = k * self.mu
            apart += np.exp(part) * _gain(x, shift)
            seen += c * np.exp(height) * _gain((height + shift**2 / 2) / shift, shift)
        beta = np.exp(np.minimum(epsilon - height, 0.0))
        return np.asarray(self.q * ((1 - beta) * apart + beta * seen))


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
