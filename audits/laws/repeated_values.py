"""Values of continuous noise that repeat, against what rounding and few random bits explain."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpcheck.audits.laws.noise_laws import Law
from dpcheck.audits.laws.noise_statistics import about_centre
from dpcheck.audits.numbers.precision import SINGLE, rounded

Array = NDArray[np.float64]


def repeats(
    noise: Array, law: Law, scale: float, centre: Array | float, bits: int, rng: np.random.Generator,
    simulations: int,
) -> tuple[int, float]:  # fmt: skip
    """Count values of continuous noise that repeat, and compare them with what rounding and few random bits explain.

    Clipped noise repeats few values often, and noise on a grid many values: the count and the commonest value are
    tested, with half of the error each.
    """
    observed = _multiplicity(noise)
    if observed[0] == 0:
        return 0, 1.0
    found = []
    for _ in range(simulations):
        # 23 bits, and a sign of their own for the sizes that are compared
        few = _multiplicity(rng.integers(0, 2 ** (SINGLE - 2), noise.size).astype(float))
        # one bit fewer than seen: a sum or product of rounded numbers is rounded again
        values = rounded(law.draw(rng, noise.shape, scale) + centre, min(bits, SINGLE) - 1)
        coarse = _multiplicity(values if np.ndim(centre) == 0 else about_centre(values, law))
        found.append(np.maximum(few, coarse))
    least = float((np.array(found) >= observed).sum(0).min())
    p_value = min(1.0, 2 * (least + 1) / (1 + simulations))
    if least == 0:  # beyond every simulation, where a bound may say more
        p_value = min(p_value, _most_repeats(noise, scale, centre, bits, observed[0]))
    return int(observed[0]), p_value


def _most_repeats(noise: Array, scale: float, centre: Array | float, bits: int, repeats: float) -> float:
    """Bound the chance of so many repeats under the same null.

    Each value repeats the size of an earlier one with a chance of at most n times the likeliest size's, whatever those
    were: the count is at most binomial. No density of the laws is above 1/scale, and a size has two signs.
    """
    _, exponent = np.frexp(np.abs(noise + centre).max())
    step = math.ldexp(1.0, int(exponent) - (min(bits, SINGLE) - 1))
    likeliest = max(2.0 ** (2 - SINGLE), 2 * step / scale)
    return float(special.bdtrc(repeats - 1, noise.size, min(1.0, noise.size * likeliest)))


def _multiplicity(noise: Array) -> Array:
    """Return how many values repeat an earlier one's size, and how often the commonest size occurs."""
    ordered = np.sort(np.abs(noise), axis=None)
    starts = np.flatnonzero(np.append(True, np.diff(ordered) != 0))
    return np.array([ordered.size - starts.size, np.diff(np.append(starts, ordered.size)).max()], float)
