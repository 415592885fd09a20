"""Quotients of polynomials over boxes, exact; and formulas at points of a box, which prove nothing."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Mapping
from typing import Any

import mpmath
import numpy as np
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


_COUNTS = {1: 401, 2: 25, 3: 9, 4: 5}  # points a letter, by the number of letters
_DECADES = 9.0
_DOUBT = 1e-6  # a sum this much smaller than its terms is evaluated again, in
_DIGITS = 60  # ... digits,
_AGAIN = 100  # ... at so many points
_SMALL = 1e-9  # and so is what is this small
_EDGE = 1e-10  # of an end: as near as points come to it


class Samples:
    """Points inside a box, on a grid that is finer towards its ends."""

    def __init__(self, f: Any, box: Box) -> None:
        self.letters = list(box)
        decades = max(_DECADES, *(abs(math.log10(abs(c))) + 4 for c in f.atoms(sympy.Rational) if c != 0), 0.0)
        axes = [_axis(*ends, _COUNTS.get(len(box), 3), min(decades, 150.0)) for ends in box.values()]
        self.points = [axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")]

    def values(self, f: Any) -> Any:
        """Return the values of ``f``, NaN where it is undefined; a value that rounding could have made is looked at
        again.
        """
        terms = sympy.Add.make_args(f)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = self._evaluate(f)
            size = sum((abs(self._evaluate(part)) for part in terms), np.float64(0.0)) if len(terms) > 1 else abs(found)
            doubtful = np.flatnonzero(~(abs(found) > _DOUBT * np.maximum(size, _SMALL)))
        if len(doubtful):
            found = found.copy()
            found[doubtful] = np.nan
            for index in doubtful[:: max(1, len(doubtful) // _AGAIN)]:
                found[index] = self._precisely(f, index)
        return found

    def _evaluate(self, f: Any) -> Any:
        found = _function(f, tuple(self.letters))(*self.points)
        found = np.broadcast_to(np.asarray(found), self.points[0].shape)
        if np.iscomplexobj(found):
            found = np.where(found.imag == 0, found.real, np.nan)
        found = found.astype(float)
        return np.where(np.isfinite(found), found, np.nan)

    def _precisely(self, f: Any, index: int) -> float:
        """Return the sign of the value in many digits; 0 for what vanishes even so."""
        with mpmath.workdps(_DIGITS):
            try:
                found = _exact_function(f, tuple(self.letters))(
                    *(mpmath.mpf(float(axis[index])) for axis in self.points)
                )
            except (ArithmeticError, ValueError, TypeError):
                return math.nan
            if not isinstance(found, mpmath.mpf) or not mpmath.isfinite(found):
                return math.nan
            return (
                0.0
                if abs(found) < mpmath.mpf(10) ** (6 - _DIGITS)
                else float(mpmath.sign(found)) * max(float(abs(found)), 1e-300)
            )


def way(values: Any) -> int | None:
    """Return 1 if all values are at least 0, -1 if at most, ``None`` if they change sign or there are none."""
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    if (known >= 0).all():
        return 1
    return -1 if (known <= 0).all() else None


@functools.lru_cache(maxsize=20_000)
def _function(f: Any, letters: tuple[Any, ...]) -> Any:
    large = {each: sympy.Float(each, 17) for each in f.atoms(sympy.Rational) if max(abs(each.p), each.q) > 2**50}
    return sympy.lambdify(letters, f.xreplace(large), modules=["scipy", "numpy"])


@functools.lru_cache(maxsize=20_000)
def _exact_function(f: Any, letters: tuple[Any, ...]) -> Any:
    return sympy.lambdify(letters, f, modules="mpmath")


def _axis(low: Any, high: Any, count: int, decades: float) -> Any:
    """Return points strictly between the ends, and further from them than rounding reaches."""
    start, stop = float(low), float(high)
    t = np.linspace(-1.0, 1.0, count + 2)[1:-1]
    if np.isfinite(start) and np.isfinite(stop):
        # a third evenly, the rest crowding the ends
        bent = np.sign(t) * (1 - 10 ** (-6.0 * abs(t))) if count > 9 else t
        both = np.union1d(t[::3], bent) if count > 30 else bent
        points = start + (stop - start) * (1 + both) / 2
    elif np.isfinite(start) or np.isfinite(stop):
        end = start if np.isfinite(start) else stop
        steps = max(1.0, abs(end)) * 10 ** (decades * t * (1 if count > 9 else 0.5))
        points = start + steps if np.isfinite(start) else stop - steps[::-1]
    else:
        half = 10 ** np.linspace(-decades / 3, decades, count // 2)
        points = np.concatenate([-half[::-1], half])
        near = [_EDGE * abs(end) if np.isfinite(end) else 0.0 for end in (start, stop)]
    near = [_EDGE * abs(end) if np.isfinite(end) else 0.0 for end in (start, stop)]
    return points[(points - start > near[0]) & (stop - points > near[1])]
