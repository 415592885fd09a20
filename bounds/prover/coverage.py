"""Letters written with parameters t >= 0, and the check that every point of a domain is reached.

A rule says how a letter is written, and why no value of it is lost:

- ``free``: it is left as it is, any real number, and has to cancel in the difference;
- ``point``: it has one value;
- ``low``: ``a + t``, where it is at least a; ``high``: ``a - t``, where it is at most a;
- ``between``: ``(a + b t)/(1 + t)``, where it lies between a and b; b is reached as t grows;
- ``above``: ``bound + t``, by a fact that is linear in it with a positive slope;
- ``below``: ``bound/(1 + t)``, where it is nonnegative and a fact is linear in it with a negative slope.

A bound is a quotient of polynomials in letters whose rules come before. Points that are only
approached (t without end) are enough: a difference is continuous wherever all its parts are defined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sympy

from dpcheck.bounds.prover import ball

Kind = Literal["free", "point", "low", "high", "between", "above", "below"]


@dataclass(frozen=True)
class Rule:
    """How ``letter`` is written with its own parameter; ``fact`` is the number of the fact that allows it."""

    letter: Any
    kind: Kind
    parameter: Any = None
    fact: int | None = None


def plain(letter: Any, low: Any, high: Any, t: Any) -> tuple[Rule, Any]:
    """Return the rule that an interval gives, with what the letter becomes."""
    if low.is_finite and high.is_finite:
        if low == high:
            return Rule(letter, "point"), low
        return Rule(letter, "between", t), (low + high * t) / (1 + t) if low != 0 else high / (1 + t)
    if low.is_finite:
        return Rule(letter, "low", t), low + t
    return (Rule(letter, "high", t), high - t) if high.is_finite else (Rule(letter, "free"), letter)


def by_fact(fact: Any, letter: Any) -> tuple[Kind, Any] | None:
    """Return what ``fact >= 0`` says of a letter in which it is linear: ``above`` or ``below``, and the bound."""
    numerator, denominator = sympy.fraction(sympy.together(fact))
    if not surely_positive(denominator) or not numerator.is_polynomial(letter):
        return None
    polynomial = sympy.Poly(numerator, letter)
    if polynomial.degree() != 1:
        return None
    slope, rest = polynomial.all_coeffs()
    bound = sympy.cancel(-rest / slope)
    if surely_positive(slope):
        return "above", bound
    return ("below", bound) if letter.is_nonnegative and surely_positive(-slope) else None


def surely_positive(expression: Any) -> bool:
    """Say whether it is a polynomial of terms that are not negative, with a term of positive letters alone."""
    letters = sorted(expression.free_symbols, key=str)
    if not letters:
        return bool(expression.is_Rational and expression > 0)
    if not expression.is_polynomial(*letters):
        return False
    positive = False
    for powers, coefficient in sympy.Poly(expression, *letters).terms():
        factors = [(letter, power) for letter, power in zip(letters, powers, strict=True) if power]
        if not (coefficient.is_Rational and coefficient >= 0):
            return False
        if not all(letter.is_nonnegative or power % 2 == 0 for letter, power in factors):
            return False
        positive |= bool(coefficient > 0) and all(letter.is_positive for letter, _ in factors)
    return positive


def covers(
    rules: Sequence[Rule], shifts: Mapping[Any, Any], intervals: Mapping[Any, tuple[Any, Any]], facts: Sequence[Any]
) -> bool:
    """Say whether the shifts reach every point with all letters in ``intervals`` and all ``facts >= 0``."""
    parameters = [rule.parameter for rule in rules if rule.kind not in ("free", "point")]
    done: dict[Any, Any] = {}
    if len(set(parameters)) < len(parameters) or any(each in intervals for each in parameters):
        return False
    if not all(isinstance(each, sympy.Symbol) and each.is_nonnegative for each in parameters):
        return False
    if {rule.letter for rule in rules} != shifts.keys() or len(rules) != len(shifts) or shifts.keys() - intervals:
        return False
    for rule in rules:
        if not _justified(rule, shifts[rule.letter], intervals[rule.letter], facts, done):
            return False
        done[rule.letter] = shifts[rule.letter]
    return True


def _justified(rule: Rule, value: Any, ends: tuple[Any, Any], facts: Sequence[Any], done: Mapping[Any, Any]) -> bool:
    low, high = ends
    t = rule.parameter
    if rule.kind in ("above", "below"):
        if rule.fact is None or not 0 <= rule.fact < len(facts):
            return False
        known = by_fact(facts[rule.fact], rule.letter)
        if known is None or known[0] != rule.kind or known[1].free_symbols - done.keys():
            return False
        bound = known[1].xreplace(dict(done))
        return _same(value, bound + t if rule.kind == "above" else bound / (1 + t))
    if rule.kind == "free":
        return bool(value == rule.letter)
    if rule.kind == "point":
        return bool(value == low == high)
    if rule.kind == "between":
        if not (low.is_finite and high.is_finite and value.free_symbols == {t}):
            return False
        first = value.subs(t, 0)
        last = 2 * value.subs(t, 1) - first
        inside = any(_at_most(a, low) and _at_most(high, b) for a, b in ((first, last), (last, first)))
        return inside and _same(value, (first + last * t) / (1 + t))
    edge = value - t if rule.kind == "low" else value + t
    if edge.free_symbols:
        return False
    return _at_most(edge, low) if rule.kind == "low" else _at_most(high, edge)


def _same(first: Any, second: Any) -> bool:
    return bool(sympy.cancel(sympy.together(first - second)) == 0)


def _at_most(first: Any, second: Any) -> bool:
    return bool(second.is_finite and first.is_finite and ball.sign(second - first, {}) in (0, 1))
