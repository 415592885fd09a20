"""A second accountant of another design: delta as a contour integral of the losses' moments, without any grid of losses.

For a pair P, Q with loss L = log dP/dQ and M(s) = E_P e^(sL), and any c > 0 where M is finite,

    delta(epsilon) = E_P (1 - e^(epsilon - L))^+ = 1/(2 pi i) int_(c - i inf)^(c + i inf) M(s) e^(-s epsilon) / (s (s + 1)) ds.

M multiplies over a composition. One step's is an integral over a real line, by the trapezoidal rule, which converges
geometrically there; so it does along the contour, which goes through the saddle point.
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]
_SMALL = 1e-13
_MOST = 20_000


@dataclass(frozen=True)
class Steps:
    """So many Gaussian steps, Poisson sampled at a rate (1 for none), one record added or removed."""

    multiplier: float
    rate: float
    count: int

    def log_moments(self, s: Complex, added: bool) -> Complex:
        """Logarithm of M at these s (n,), up to multiples of 2 pi i; with the record in P, or in Q."""
        shift = 1 / self.multiplier
        x = np.linspace(-12 - shift, 12 + 3 * shift + shift * float(np.real(s).max()), 3000)
        joined = shift * x - shift * shift / 2
        ratio = joined if self.rate == 1 else np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + joined)
        base = -x * x / 2 - 0.5 * math.log(2 * math.pi) + math.log(x[1] - x[0])
        powers = (s + 1) if added else -s
        exponent = base + np.multiply.outer(powers, ratio)
        most = np.real(exponent).max(axis=1)
        total = np.exp(exponent - most[:, None]).sum(axis=1)
        total[total == 0] = 1e-300  # far out on the contour it may cancel, and adds nothing
        return self.count * (np.log(total) + most)


def contour_delta(steps: Sequence[Steps], epsilon: float, added: bool) -> float:
    """Return delta in one direction; nan where the integrand does not end."""

    def log_moments(s: Complex) -> Complex:
        return np.sum([part.log_moments(s, added) for part in steps], axis=0)

    def height(log_c: float) -> float:
        c = math.exp(log_c)
        return float(np.real(log_moments(np.array([c + 0j]))[0])) - c * epsilon - math.log(c * (c + 1))

    c = math.exp(float(optimize.minimize_scalar(height, bounds=(-4, 7), method="bounded").x))
    at, step = height(math.log(c)), 1e-3 * c
    bend = (height(math.log(c + step)) - 2 * at + height(math.log(c - step))) / step**2
    wide = math.sqrt(max(bend, 1e-12))
    period = (40 - at) / c + 20 * wide
    h, total = 2 * math.pi / period, 0.0
    for start in range(0, _MOST, 200):
        t = h * np.arange(start, start + 200)
        s = c + 1j * t
        terms = np.real(np.exp(log_moments(s) - s * epsilon - at) / (s * (s + 1)))
        sizes = np.abs(np.exp(log_moments(s[-1:]) - s[-1:] * epsilon - at) / (s[-1:] * (s[-1:] + 1)))
        terms[0] *= 0.5 if start == 0 else 1.0
        total += float(terms.sum())
        if sizes[0] * t[-1] < _SMALL * abs(total):
            return total * h / math.pi * math.exp(at)
    return math.nan


def both(steps: Sequence[Steps], epsilon: float) -> float:
    """Return the larger delta of the two directions."""
    return max(contour_delta(steps, epsilon, added) for added in (True, False))
