"""The proof anyone can repeat: shift every letter to its bound and expand.

With n = 2 + t, epsilon = 1/(1 + t), ... and every t >= 0, a difference whose numerator and
denominator have only nonnegative coefficients is nonnegative. The check is one expansion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from dpcheck.bounds.formula import formula
from dpcheck.bounds.prover import coverage, meaning
from dpcheck.bounds.prover.coverage import Rule
from dpcheck.bounds.prover.domain import Domain


@dataclass(frozen=True)
class Certificate:
    """A proof that ``claimed`` is nonnegative at each point of ``domain`` at which it is defined.

    Parameters
    ----------
    difference : expression
        ``claimed`` times ``scale``, which is positive, with roots, logarithms and numbers named.
    shifts : tuple of (letter, expression)
        Each letter in parameters that are at least zero, as ``rules`` allow.
    numerator, denominator, multiplier : polynomial
        ``difference`` after ``shifts`` is ``numerator/(denominator multiplier)``; no coefficient is
        negative. The multiplier is what was multiplied by to get there.
    claimed, domain : expression, Domain
        What is proved, in the letters of the domain.
    meanings : tuple of (letter, expression)
        What each letter of ``difference`` and ``facts`` stands for, in the letters of the domain.
    intervals : tuple of (letter, (low, high))
        Rational intervals in which those letters lie.
    facts : tuple of expression
        The relations of the domain, in the letters of ``difference``, as what is at least zero.
    rules : tuple of Rule
        Why the shifts reach every point.
    scale : expression
        A quotient of positive polynomials.
    """

    difference: Any
    shifts: tuple[tuple[Any, Any], ...]
    numerator: Any
    denominator: Any
    multiplier: Any
    claimed: Any
    domain: Domain
    meanings: tuple[tuple[Any, Any], ...] = ()
    intervals: tuple[tuple[Any, tuple[Any, Any]], ...] = ()
    facts: tuple[Any, ...] = ()
    rules: tuple[Rule, ...] = ()
    scale: Any = sympy.S.One

    def holds(self) -> bool:
        """Check all of it again, by exact arithmetic: meanings, coverage, expansion and signs."""
        return self._states() and self._covers() and self._expands()

    def _states(self) -> bool:
        """Say whether the difference and the facts are those of the claim and its domain."""
        meanings, intervals = dict(self.meanings), dict(self.intervals)
        used = set().union(self.difference.free_symbols, self.scale.free_symbols, *(f.free_symbols for f in self.facts))
        if used - meanings.keys() or meanings.keys() != intervals.keys() or len(meanings) != len(self.meanings):
            return False
        loose = set().union(self.claimed.free_symbols, *(each.free_symbols for each in meanings.values()))
        if loose - self.domain.intervals.keys() or len({letter.name for letter in meanings}) < len(meanings):
            return False
        domain_letters = {letter.name: letter for letter in self.domain.intervals}
        if any(domain_letters.get(letter.name, letter) != meanings[letter] for letter in meanings
               if letter.name in domain_letters):  # fmt: skip
            return False
        speaking = (self.claimed, *self.domain.differences())
        if not all(meaning.fits(each, meanings[each], intervals[each], self.domain, speaking) for each in meanings):
            return False
        relations = list(self.domain.differences())
        if len(relations) != len(self.facts) or not _positive_quotient(self.scale):
            return False
        pairs = [(self.claimed * self.scale.xreplace(meanings), self.difference)]
        pairs += zip(relations, self.facts, strict=True)
        return all(meaning.same(whole, named.xreplace(meanings)) for whole, named in pairs)

    def _covers(self) -> bool:
        """Say whether the shifts reach every point, and leave no letter of the difference unshifted."""
        shifts = dict(self.shifts)
        if len(shifts) != len(self.shifts) or self.difference.free_symbols - shifts.keys():
            return False
        free = {rule.letter for rule in self.rules if rule.kind == "free"}
        if set().union(*(value.free_symbols for value in shifts.values())) - self._parameters() - free:
            return False
        return coverage.covers(self.rules, shifts, dict(self.intervals), self.facts)

    def _expands(self) -> bool:
        """Say whether the quotient is the shifted difference, and no coefficient is negative."""
        parts = (self.numerator, self.denominator, self.multiplier)
        if set().union(*(part.free_symbols for part in parts)) - self._parameters():
            return False
        if not all(_nonnegative(part) for part in parts) or any(sympy.expand(part) == 0 for part in parts[1:]):
            return False
        shifted = self.difference.subs(dict(self.shifts), simultaneous=True)
        above, below = sympy.fraction(sympy.together(shifted))
        if below.has(sympy.zoo, sympy.nan) or above.has(sympy.zoo, sympy.nan) or sympy.expand(below) == 0:
            return False
        cross = sympy.expand(above * self.denominator * self.multiplier - self.numerator * below)
        return bool(cross == 0 or sympy.Poly(cross, *(cross.free_symbols or [sympy.Dummy()])).is_zero)

    def _parameters(self) -> set[Any]:
        return {rule.parameter for rule in self.rules if rule.kind not in ("free", "point")}

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as text and coefficients, so that another program can check it without this one.

        A polynomial is a list of (coefficient, powers), a quotient a pair of polynomials.
        """
        return {
            "claimed": f"{self.claimed} >= 0",
            "domain": {
                "letters": {
                    str(letter): {
                        "low": str(low), "high": str(high), "integer": bool(letter.is_integer),
                        "open": bool((low == 0 and letter.is_positive) or (high == 0 and letter.is_negative)),
                    }
                    for letter, (low, high) in self.domain.intervals.items()
                },
                "where": [f"{fact} {'>' if isinstance(relation, sympy.Lt | sympy.Gt) else '>='} 0"
                          for fact, relation in zip(self.domain.differences(), self.domain.where, strict=True)],
            },
            "letters": {
                str(letter): {
                    "means": str(means), "low": str(dict(self.intervals)[letter][0]),
                    "high": str(dict(self.intervals)[letter][1]), "positive": bool(letter.is_positive),
                }
                for letter, means in self.meanings
            },
            "facts": [_quotient(fact) for fact in self.facts],
            "rules": [
                {"letter": str(rule.letter), "kind": rule.kind, "parameter": str(rule.parameter or ""),
                 "fact": rule.fact}
                for rule in self.rules
            ],
            "shifts": {str(letter): _quotient(value) for letter, value in self.shifts},
            "scale": _quotient(self.scale),
            "difference": _quotient(self.difference),
            "numerator": _terms(self.numerator),
            "denominator": _terms(self.denominator),
            "multiplier": _terms(self.multiplier),
        }  # fmt: skip

    def __str__(self) -> str:
        """Return the shifts and the expansion in plain text."""
        shifts = ", ".join(f"{letter} = {value}" for letter, value in self.shifts if letter != value)
        shown = dict(self.shifts)
        names = ", ".join(f"{letter} for {means}" for letter, means in self.meanings
                          if letter != means and letter in shown)  # fmt: skip
        where = f"with {shifts}, every t >= 0: " if shifts else ""
        where = f"{names}; {where}" if names else where
        by = f", after multiplying by {self.multiplier}," if self.multiplier != 1 else ""
        return f"{where}the difference{by} is ({self.numerator})/({self.denominator}); no coefficient is negative"


def _positive_quotient(expression: Any) -> bool:
    parts = sympy.fraction(sympy.together(expression))
    return all(coverage.surely_positive(part) or bool(part.is_positive) for part in parts)


def _terms(polynomial: Any) -> list[tuple[str, dict[str, int]]]:
    """Return each term as its coefficient, a fraction, and the powers of its letters."""
    letters = sorted(polynomial.free_symbols, key=str)
    if not letters:
        return [(str(polynomial), {})]
    terms = sympy.Poly(polynomial, *letters).terms()
    return [(str(c), {str(x): int(p) for x, p in zip(letters, powers, strict=True) if p}) for powers, c in terms]


def _quotient(expression: Any) -> list[list[tuple[str, dict[str, int]]]]:
    """Return the numerator and the denominator."""
    return [_terms(part) for part in sympy.fraction(sympy.together(formula(expression)))]


def _nonnegative(expression: Any) -> bool:
    """Say whether the expanded expression has no negative coefficient, in letters that are at least zero."""
    expression = sympy.expand(expression)
    letters = expression.free_symbols
    if not letters:
        return bool(expression.is_Rational and expression >= 0)
    if not expression.is_polynomial(*letters) or not all(letter.is_nonnegative for letter in letters):
        return False
    return all(bool(c.is_Rational and c >= 0) for c in sympy.Poly(expression, *letters).coeffs())
