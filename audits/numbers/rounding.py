"""How far rounding moves a sum of clipped vectors, by the type that it was computed in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Significant binary digits of bfloat16, float16 and float32, which numbers keep when they are cast to a wider type.
_DIGITS = (8, 11)
_SINGLE = 2.0**-23
_LEAST = 1e-4  # relative: enough for single precision, whatever the query does in it
_MANY = 16  # numbers that all lie on a coarse grid by no chance
_ODD = 1 / 8  # share of rounded numbers whose last digit is 1, where a half is due: small whole numbers have none
_FAR = 6  # standard deviations of the rounding of noise along a gradient


@dataclass(frozen=True)
class Rounding:
    """What rounding may do to a query of clipped vectors.

    unit : relative distance of neighbouring numbers of the type (2^-23 for float32, 2^-10 for float16)
    beside : norm of the noise that was added, rounded with the rest, and taken away
    width : coordinates of the output

    The gradient itself is rounded a few times (norm, quotient, product, division): 3 units of its norm. The noise takes
    three more, whose errors are independent of the gradient from coordinate to coordinate: they lengthen it by the
    square of their norm, and along itself by little. In a sum of k vectors each addition rounds all before it.
    """

    unit: float
    beside: float = 0.0
    width: int = 1

    def alone(self, bound: float) -> float:
        """Return by how much one vector may be longer than the bound."""
        noise = 0.5 * self.unit * self.beside
        along = min(3 * noise, _FAR * noise / self.width**0.5)
        return float(_LEAST * bound + 3 * self.unit * bound + along + 0.6 * noise**2 / bound)

    def total(self, size: int, bound: float) -> float:
        """Return how far a sum of so many vectors may be from the vectors' own sum."""
        each = self.unit * (3 * bound + 1.5 * self.beside)
        return _LEAST * size * bound + (size + 1) * each + self.unit * bound * size * (size + 1) / 4

    def between(self, size: int, bound: float) -> float:
        """Return by how much two sums that differ in one vector may be further apart than twice the bound."""
        added = self.unit * bound * size * (size + 1) / 4 + 1.5 * self.unit * self.beside
        return 2 * (_LEAST * bound + 3 * self.unit * bound + added)


def unit_of(values: Floats, errors: Floats) -> float:
    """Return the unit of the coarsest type that all numbers (k,) are of, each up to an error (k,); float32 at best."""
    for digits in _DIGITS:
        mantissas, exponents = np.frexp(values)
        spacing = np.ldexp(1.0, exponents - digits)
        telling = (values != 0) & (errors < spacing / 16)
        nearest = np.ldexp(np.rint(np.ldexp(mantissas, digits)), exponents - digits)
        odd = np.rint(np.ldexp(mantissas, digits)) % 2 == 1
        of_type = (np.abs(values - nearest) <= errors)[telling].all() and odd[telling].sum() >= _ODD * telling.sum()
        if telling.sum() >= _MANY and of_type:
            return 2.0 ** (1 - digits)
    return _SINGLE
