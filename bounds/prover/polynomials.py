"""Quotients of polynomials over boxes: exact, by counting roots or by coefficients without sign."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

Box = Mapping[Any, tuple[Any, Any]]  # letter -> exact ends, low < high

_MOST_TERMS = 400


def nonnegative(f: Any, box: Box) -> bool:
    """Say whether a polynomial is shown to be at least 0 inside the box."""
    letters = list(box)
    if not f.is_polynomial(*letters):
        return False
    rational = all(end.is_Rational or not end.is_finite for ends in box.values() for end in ends)
    if not rational:
        return False
    polynomial = sympy.Poly(f, *letters)
    if not all(c.is_Rational for c in polynomial.coeffs()):
        return False
    if len(letters) == 1:
        return _without_sign_change(polynomial, *box[letters[0]])
    return _without_negative_coefficient(polynomial, box)


def _without_sign_change(polynomial: Any, low: Any, high: Any) -> bool:
    """Say whether there is no root of odd multiplicity strictly between the ends, and a value that is not negative
    there.

    Sturm's theorem, by sympy's exact count of real roots.
    """
    for factor, multiplicity in polynomial.sqf_list()[1]:
        if multiplicity % 2 == 0:
            continue
        inf, sup = (end if end.is_finite else None for end in (low, high))
        roots = factor.count_roots(inf, sup)
        roots -= sum(1 for end in (inf, sup) if end is not None and factor(end) == 0)
        if roots:
            return False
    # between the ends there is no sign change, so that any point that is no root tells
    for k in range(1, polynomial.degree() + 3):
        value = polynomial(_between(low, high, k))
        if value != 0:
            return bool(value > 0)
    return False


def _between(low: Any, high: Any, k: int) -> Any:
    if low.is_finite and high.is_finite:
        return low + (high - low) / (k + 1)
    if low.is_finite:
        return low + k
    return high - k if high.is_finite else sympy.Integer(k)


def _without_negative_coefficient(polynomial: Any, box: Box) -> bool:
    """Say whether no coefficient is negative once every letter is written as its bound and a part t >= 0."""
    f, positive = polynomial.as_expr(), {}
    for letter, (low, high) in box.items():
        t = sympy.Dummy(positive=True)
        if low.is_finite and high.is_finite:
            positive[letter] = (low + high * t) / (1 + t)
        elif low.is_finite:
            positive[letter] = low + t
        elif high.is_finite:
            positive[letter] = high - t
        else:
            return False
    if len(polynomial.terms()) > _MOST_TERMS:
        return False
    numerator, denominator = sympy.fraction(sympy.together(f.xreplace(positive)))
    letters = sorted(numerator.free_symbols | denominator.free_symbols, key=lambda s: s.dummy_index)
    if not letters:
        return bool(numerator / denominator >= 0)
    return all(all(c >= 0 for c in sympy.Poly(part, *letters).coeffs()) for part in (numerator, denominator))
