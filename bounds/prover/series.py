"""Sums of polynomials times exponentials in one letter, by the coefficients of their power series at 0.

The n-th derivative at 0 of the sum of c x^k exp(a x) is s(n), the sum of c n (n - 1) ... (n - k + 1) a^(n - k). If no
s(n) is negative, the function is nonnegative for all x >= 0. The first s(n) are computed. From N on, the terms with
the largest a outweigh the others: divided by a^n they are a polynomial in n, of which those with the others' sizes are
taken off, each with a factor below 1 to the power n that falls faster than its polynomial grows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

_FIRST = (8, 16, 32, 64, 128, 256)  # how many coefficients are looked at one by one
_MOST = 12  # of the powers of x
Terms = list[tuple[Fraction, int, Fraction]]  # coefficient, power of x, rate of the exponential


def nonnegative(f: Any, x: Any) -> bool:
    """Say whether the function is shown to be at least 0 for all ``x >= 0``."""
    terms = _terms(f, x)
    if not terms or not any(rate for _, _, rate in terms):
        return False
    top = max(rate for _, _, rate in terms)
    if top <= 0 or max(abs(rate) for _, _, rate in terms) > top:
        return False
    for count in _FIRST:
        if any(_derivative(terms, n) < 0 for n in range(count)):
            return False
        if _outweighs(terms, top, count):
            return True
    return False


def _terms(f: Any, x: Any) -> Terms | None:
    """Return the terms, all numbers rational; ``None`` for another function."""
    found: Terms = []
    for term in sympy.Add.make_args(sympy.expand(f)):
        coefficient, power, rate = sympy.S.One, 0, sympy.S.Zero
        for factor in sympy.Mul.make_args(term):
            base, exponent = factor.as_base_exp()
            if base == x and exponent.is_Integer and 0 <= exponent <= _MOST:
                power += int(exponent)
            elif base is sympy.E and exponent.has(x) and sympy.expand(exponent / x).is_Rational:
                rate += sympy.expand(exponent / x)
            elif factor.is_Rational:
                coefficient *= factor
            else:
                return None
        found.append((Fraction(coefficient.p, coefficient.q), power, Fraction(rate.p, rate.q)))
    return found


def _derivative(terms: Terms, n: int) -> Fraction:
    """Return the n-th derivative at 0."""
    total = Fraction(0)
    for coefficient, power, rate in terms:
        if power <= n:
            falling = Fraction(1)
            for i in range(power):
                falling *= n - i
            total += coefficient * falling * rate ** (n - power)
    return total


def _outweighs(terms: Terms, top: Fraction, start: int) -> bool:
    """Say whether no derivative from ``start`` on is negative."""
    n, t = sympy.symbols("n t", nonnegative=True)
    main, others = sympy.S.Zero, dict[Fraction, Any]()
    for coefficient, power, rate in terms:
        if rate == 0:  # a polynomial, which has no derivatives from there on
            if power >= start:
                return False
            continue
        size = sympy.Rational(coefficient.numerator, coefficient.denominator)
        falling = sympy.ff(n, power).expand(func=True) if power else sympy.S.One
        part = size * falling / sympy.Rational(rate.numerator, rate.denominator) ** power
        if rate == top:
            main += part
        else:
            ratio = abs(rate) / top
            others[ratio] = others.get(ratio, sympy.S.Zero) + _absolute(part, n)
    main -= others.pop(Fraction(1), sympy.S.Zero)  # of the rate -top
    if any(c < 0 for c in sympy.Poly(main.xreplace({n: start + t}), t).all_coeffs()):
        return False
    least = sympy.expand(main.xreplace({n: sympy.Integer(start)}))
    for ratio, polynomial in others.items():
        degree = sympy.degree(polynomial, n) if polynomial.has(n) else 0
        if ratio * Fraction(start + 1, start) ** int(degree) > 1:
            return False
        least -= polynomial.xreplace({n: sympy.Integer(start)}) * sympy.Rational(
            ratio.numerator, ratio.denominator
        ) ** start  # fmt: skip
    return bool(least >= 0)


def _absolute(polynomial: Any, n: Any) -> Any:
    """Return the polynomial with the absolute values of its coefficients."""
    coefficients = reversed(sympy.Poly(polynomial, n).all_coeffs())
    return sympy.Add(*(abs(c) * n**k for k, c in enumerate(coefficients)))
