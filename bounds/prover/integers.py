"""What follows from a polynomial of integers being positive."""

from __future__ import annotations

import functools
from typing import Any

import sympy


def least_positive(polynomial: Any) -> Any:
    """Return the least positive number among those that the polynomial can be; ``None`` if not all its letters are
    integers.

    At integers it is its constant term plus a multiple of the greatest common divisor of the other
    coefficients; an even letter is taken as 2 j, an odd one as 2 j + 1.
    """
    letters = sorted(polynomial.free_symbols, key=str)
    if not letters or not all(each.is_integer for each in letters) or not polynomial.is_polynomial(*letters):
        return None
    parity = {each: 2 * sympy.Dummy() + (1 if each.is_odd else 0) for each in letters if each.is_even or each.is_odd}
    terms = sympy.Poly(polynomial.xreplace(parity)).terms()
    if not all(coefficient.is_Rational for _, coefficient in terms):
        return None
    constant = sum((c for powers, c in terms if not any(powers)), sympy.S.Zero)
    others = [c for powers, c in terms if any(powers)]
    if not others:
        return None
    step = abs(functools.reduce(sympy.gcd, others))
    return constant % step or step
