"""The proof anyone can repeat: shift every letter to its bound and expand.

With n = 2 + t, epsilon = 1/(1 + t), ... and every t >= 0, a difference whose numerator and
denominator have only nonnegative coefficients is nonnegative. The check is one expansion.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sympy

from dpcheck.bounds.formula import formula
from dpcheck.bounds.prover.forms import Form

_MOST_TERMS = 4000  # beyond this an expansion takes longer than a solver
_POWERS = 3  # of (1 + sum of t) that the numerator is multiplied by, after Polya


@dataclass(frozen=True)
class Certificate:
    """``difference``, after ``shifts``, is ``numerator/denominator`` with nonnegative coefficients.

    ``multiplier`` is the positive polynomial the numerator and denominator were multiplied by.
    """

    difference: Any
    shifts: tuple[tuple[Any, Any], ...]
    numerator: Any
    denominator: Any
    multiplier: Any

    def holds(self) -> bool:
        """Expand again: the quotient is the shifted difference, and no coefficient is negative."""
        shifted = self.difference.subs(dict(self.shifts), simultaneous=True)
        above, below = sympy.fraction(sympy.together(shifted))
        cross = sympy.expand(above * self.denominator * self.multiplier - self.numerator * below)
        same = cross == 0 or sympy.Poly(cross, *(cross.free_symbols or [sympy.Dummy()])).is_zero
        return same and all(_nonnegative(part) for part in (self.numerator, self.denominator, self.multiplier))

    def to_dict(self) -> dict[str, Any]:
        """Every polynomial as its coefficients, so that another program can expand it again."""
        return {
            "shifts": {str(letter): _quotient(value) for letter, value in self.shifts},
            "difference": _quotient(self.difference),
            "numerator": _terms(self.numerator),
            "denominator": _terms(self.denominator),
            "multiplier": _terms(self.multiplier),
        }

    def __str__(self) -> str:
        """The shifts and the expansion in plain text."""
        shifts = ", ".join(f"{letter} = {value}" for letter, value in self.shifts)
        where = f"with {shifts}, every t >= 0: " if shifts else ""
        by = f", after multiplying by {self.multiplier}," if self.multiplier != 1 else ""
        return f"{where}the difference{by} is ({self.numerator})/({self.denominator}); no coefficient is negative"


def find(form: Form) -> Certificate | None:
    """A certificate for the form, or ``None``."""
    new = {letter: sympy.Symbol(f"t_{letter}", nonnegative=True) for letter in form.intervals}
    for shifts in _shifts(form, new):
        shifted = form.difference.subs(shifts, simultaneous=True)
        quotient = sympy.fraction(sympy.together(shifted))
        letters = sorted(quotient[0].free_symbols | quotient[1].free_symbols, key=str)
        if not set(letters) <= set(new.values()):
            continue
        if not letters:
            if shifted >= 0:
                return Certificate(form.difference, tuple(shifts.items()), shifted, sympy.Integer(1), sympy.Integer(1))
            continue
        ring = sympy.ring(letters, sympy.QQ)[0]
        found = _nonnegative_multiple(ring, *(ring.from_expr(part) for part in quotient))
        if found is not None:
            polynomials = (polynomial.as_expr() for polynomial in found)
            return Certificate(form.difference, tuple(shifts.items()), *polynomials)
    return None


def _nonnegative_multiple(ring: Any, numerator: Any, denominator: Any) -> tuple[Any, Any, Any] | None:
    """Numerator times a multiplier, denominator and multiplier, without negative coefficients."""
    common = numerator.gcd(denominator)
    numerator, denominator, multiplier = numerator.quo(common), denominator.quo(common), ring.one
    if any(coefficient < 0 for coefficient in denominator.coeffs()):
        numerator, denominator = -numerator, -denominator
    if any(coefficient < 0 for coefficient in denominator.coeffs()) or _negative_somewhere(ring, numerator):
        return None
    step = sum(ring.gens, ring.one)
    for _ in range(_POWERS + 1):
        if all(coefficient >= 0 for coefficient in numerator.coeffs()):
            return numerator, denominator, multiplier
        if len(numerator) * (len(ring.gens) + 1) > _MOST_TERMS:
            return None
        numerator, multiplier = numerator * step, multiplier * step
    return None


def _negative_somewhere(ring: Any, polynomial: Any) -> bool:
    """A quick look at a few points: where it is negative there is no certificate."""
    scales = [sympy.QQ(0), sympy.QQ(1, 100), sympy.QQ(1), sympy.QQ(100)]
    count = len(ring.gens)
    points = [[scales[(3 * i + k * (i + 1)) % 4] for i in range(count)] for k in range(12)]
    points += [[scale] * count for scale in scales]
    return any(polynomial.evaluate(list(zip(ring.gens, point, strict=True))) < 0 for point in points)


def _shifts(form: Form, new: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
    """Ways to write the letters: by their intervals, and with facts of the kind ``s >= expression``."""
    plain = {letter: _shift(low, high, new[letter]) for letter, (low, high) in form.intervals.items()}
    plain = {letter: value for letter, value in plain.items() if value is not None}
    used = form.difference.free_symbols
    yield {letter: value for letter, value in plain.items() if letter in used}
    solved = [_solve(fact, new) for fact in form.facts]
    options = [pair for pairs in solved for pair in pairs]
    for size in (1, 2, 3):
        for chosen in itertools.combinations(options, size):
            letters = [letter for letter, _ in chosen]
            if len(set(letters)) < size:
                continue
            shifts = dict(plain)
            ordered = _in_order(dict(chosen))
            if ordered is None:
                continue
            for letter, value in ordered:
                shifts[letter] = value.subs({k: v for k, v in shifts.items() if k != letter}, simultaneous=True)
            yield {letter: value for letter, value in shifts.items() if letter in used}


def _in_order(chosen: dict[Any, Any]) -> list[tuple[Any, Any]] | None:
    """Definitions sorted so that each uses only earlier ones; ``None`` if they run in a circle."""
    done: list[tuple[Any, Any]] = []
    left = dict(chosen)
    while left:
        ready = [letter for letter, value in left.items() if not (value.free_symbols & left.keys())]
        if not ready:
            return None
        done += [(letter, left.pop(letter)) for letter in ready]
    return done


def _shift(low: Any, high: Any, t: Any) -> Any:
    if low.is_finite and high.is_finite:
        return low if low == high else (low + high * t) / (1 + t) if low != 0 else high / (1 + t)
    if low.is_finite:
        return low + t
    return high - t if high.is_finite else None


def _solve(fact: Any, new: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """From ``fact >= 0``, linear in a positive letter s: ``s = bound + t`` or ``s = bound/(1 + t)``."""
    found = []
    fact = sympy.fraction(sympy.together(fact))[0] if _positive_denominator(fact) else fact
    for letter in sorted(fact.free_symbols, key=str):
        polynomial = fact.as_poly(letter) if fact.is_polynomial(letter) else None
        if polynomial is None or polynomial.degree() != 1:
            continue
        slope, rest = polynomial.all_coeffs()
        bound = sympy.cancel(-rest / slope)
        if slope.is_positive:
            found.append((letter, bound + new[letter]))
        elif slope.is_negative and letter.is_positive:
            found.append((letter, bound / (1 + new[letter])))
    return found


def _positive_denominator(fact: Any) -> bool:
    return bool(sympy.fraction(sympy.together(fact))[1].is_positive)


def _terms(polynomial: Any) -> list[tuple[str, dict[str, int]]]:
    """Each term as its coefficient, a fraction, and the powers of its letters."""
    letters = sorted(polynomial.free_symbols, key=str)
    if not letters:
        return [(str(polynomial), {})]
    terms = sympy.Poly(polynomial, *letters).terms()
    return [(str(c), {str(x): int(p) for x, p in zip(letters, powers, strict=True) if p}) for powers, c in terms]


def _quotient(expression: Any) -> list[list[tuple[str, dict[str, int]]]]:
    """Numerator and denominator."""
    return [_terms(part) for part in sympy.fraction(sympy.together(formula(expression)))]


def _nonnegative(expression: Any) -> bool:
    """Whether the expanded expression has no negative coefficient, in letters that are at least zero."""
    expression = sympy.expand(expression)
    letters = expression.free_symbols
    if not letters:
        return bool(expression > 0 if expression.is_number and expression != 0 else expression == 0)
    if not expression.is_polynomial(*letters):
        return False
    return all(bool(coefficient >= 0) for coefficient in sympy.Poly(expression, *letters).coeffs())
