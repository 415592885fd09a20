"""The distributions that noise may be claimed to have: draws from them, and their distribution functions.

A scale is the standard deviation of a Gaussian, b of a Laplace (density ``exp(-|x| / b) / 2b``) and the mean of an
exponential. On the integers it is sigma of the discrete Gaussian (mass proportional to ``exp(-k^2 / 2 sigma^2)``) and b
of the two-sided geometric (mass proportional to ``exp(-|k| / b)``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...], float], Array]


@dataclass(frozen=True)
class Law:
    """A distribution of noise: ``draw(rng, shape, scale)`` and ``cdf(x, scale)``.

    size : from samples (B, n, k) to their sizes (B,), which are about ``expected(scale) * scale``
    """

    draw: Draw
    cdf: Callable[[Array, float], Array]
    size: Callable[[Array], Array]
    expected: Callable[[float], float]
    discrete: bool = False
    mean: float = 0.0  # in units of the scale


def _rms(noise: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("bnk,bnk->b", noise, noise) / noise[0].size))


def _mean_size(noise: Array) -> Array:
    return np.asarray(np.abs(noise).mean((1, 2)))


def _gaussian_cdf(x: Array, scale: float) -> Array:
    from scipy import special

    return np.asarray(special.ndtr(x / scale))


def _laplace_cdf(x: Array, scale: float) -> Array:
    tail = 0.5 * np.exp(-np.abs(x) / scale)
    return np.where(x < 0, tail, 1 - tail)


def _exponential_cdf(x: Array, scale: float) -> Array:
    return np.asarray(-np.expm1(-np.maximum(x, 0) / scale))


@lru_cache(maxsize=8)
def _integers(exponent: int, scale: float) -> tuple[Array, Array, Array]:
    """Return support, masses and distribution function for a mass ``exp(-|k / scale|^exponent / exponent)``."""
    most = int(np.ceil(scale * 40)) + 1
    support = np.arange(-most, most + 1, dtype=float)
    mass = np.exp(-(np.abs(support / scale) ** exponent) / exponent)
    mass /= mass.sum()
    return support, mass, np.cumsum(mass)


def _on_integers(exponent: int) -> Law:
    def draw(rng: np.random.Generator, shape: tuple[int, ...], scale: float) -> Array:
        support, _, cumulative = _integers(exponent, scale)
        return support[np.minimum(np.searchsorted(cumulative, rng.random(shape), side="right"), support.size - 1)]

    def cdf(x: Array, scale: float) -> Array:
        support, _, cumulative = _integers(exponent, scale)
        place = np.searchsorted(support, x + 1e-6, side="right") - 1
        return np.where(place < 0, 0.0, cumulative[np.maximum(place, 0)])

    def expected(scale: float) -> float:
        support, mass, _ = _integers(exponent, scale)
        return float(np.sqrt((support**2) @ mass)) / scale

    return Law(draw, cdf, _rms, expected, discrete=True)


LAWS = {
    "gaussian": Law(lambda rng, shape, s: s * rng.standard_normal(shape), _gaussian_cdf, _rms, lambda s: 1.0),
    "laplace": Law(lambda rng, shape, s: s * rng.laplace(size=shape), _laplace_cdf, _mean_size, lambda s: 1.0),
    "exponential": Law(
        lambda rng, shape, s: s * rng.standard_exponential(shape), _exponential_cdf, _rms, lambda s: 1.0, mean=1.0
    ),
    "discrete_gaussian": _on_integers(2),
    "geometric": _on_integers(1),
}
