"""Statistics of noise that tell a law from others: its scale, shape and tails, and how draws depend on each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.laws.noise_laws import Law

Array = NDArray[np.float64]
# Samples that a Monte Carlo p-value is made of, at least.
SIMULATIONS = 999
# Each call is compared with so many calls before it.
_LAGS = 4
# Distance from a whole number that rounding explains, in units of the numbers' size.
_ROUNDING = 1e-9


def about_centre(samples: Array, law: Law) -> Array:
    """Centre samples (..., n, k) about the mean, or discrete noise about one of its values, which keeps its lattice."""
    if law.discrete:
        middle = (samples.shape[-2] - 1) // 2
        noise = samples - np.partition(samples, middle, axis=-2)[..., middle : middle + 1, :]
        return np.asarray(np.where(np.abs(noise - np.round(noise)) <= room(samples), np.round(noise), noise))
    return np.asarray(samples - samples.mean(-2, keepdims=True))


def room(sample: Array) -> float:
    """Return the distance from a whole number that rounding explains."""
    return _ROUNDING * (1 + float(np.abs(sample).max()))


def statistics(noise: Array, law: Law, scale: float, centred: bool) -> dict[str, Array]:
    """Return the statistics (B,) of B samples (B, n, k)."""
    moved = noise if centred else noise + law.mean * scale
    ordered = np.sort(moved.reshape(len(noise), -1), axis=1)
    ranks, n = law.cdf(ordered, scale), ordered.shape[1]
    grid = np.arange(1, n + 1) / n
    shape = np.abs(grid - ranks)
    if law.discrete:
        shape[:, :-1] *= ordered[:, 1:] != ordered[:, :-1]  # the last of equal values counts them all
    else:
        shape = np.maximum(shape, np.abs(ranks - grid + 1 / n))
    # How many draws of the law would lie beyond the last on either side: about one, and many where noise is clipped.
    tails = n * (1 - ranks[:, -1])
    if not law.mean:  # an exponential begins where its centre says
        tails = np.maximum(tails, n * law.cdf(ordered[:, 0] - law.discrete, scale))
    z = np.array(noise.transpose(0, 2, 1), order="C")  # a copy, each series contiguous
    z -= z.mean(2, keepdims=True)
    spread = law.size(noise if centred else z)
    expected = law.expected(scale) * (np.sqrt(2) if centred and law.mean else 1.0)
    sizes = np.abs(z)
    sizes -= sizes.mean(2, keepdims=True)
    dependence = np.maximum(_dependence(z), _dependence(sizes))
    return {"scale": spread / expected / scale, "shape": shape.max(1), "tails": tails, "dependence": dependence}


def _dependence(z: Array) -> Array:
    """Return the largest correlation with earlier calls and between coordinates, (B,) from centred (B, k, n)."""
    width, n = z.shape[1:]
    found = [
        np.abs(np.einsum("bkn,bkn->bk", z[..., lag:], z[..., :-lag])).max(1) / (n - lag) for lag in range(1, _LAGS + 1)
    ]
    if width > 1:
        product = np.abs(z @ z.transpose(0, 2, 1)) / n
        found.append(product[:, *np.triu_indices(width, 1)].max(1))
    square = np.einsum("bkn,bkn->b", z, z) / (n * width)
    return np.asarray(np.max(found, axis=0) / np.maximum(square, np.finfo(float).tiny))
