"""From formulas to polynomials: maxima split, roots and logarithms named.

An inequality ``smaller <= larger`` becomes one or more cases, each a rational function of letters
that must be nonnegative. A logarithm, exponential or root of a sum becomes a letter of its own,
tied to its argument by a :class:`Tie`; a number such as log(5/2) becomes a letter in a narrow
rational interval. Proofs that forget ties are proofs all the same, since they hold for more values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import flint
import sympy

from dpcheck.bounds.prover import ball
from dpcheck.bounds.prover.domain import Domain

_NARROW = 96  # bits of the rational interval around a number


@dataclass(frozen=True)
class Tie:
    """``letter`` stands for ``kind`` (log, exp) of ``argument``, which is in the form's letters."""

    letter: Any
    kind: str
    argument: Any


@dataclass
class Form:
    """``difference >= 0`` is to be shown for letters in ``intervals`` with all ``facts >= 0``.

    ``back`` gives each original letter in terms of the form's letters.
    """

    difference: Any
    intervals: dict[Any, tuple[Any, Any]]
    facts: list[Any] = field(default_factory=list)
    equations: list[Any] = field(default_factory=list)
    ties: list[Tie] = field(default_factory=list)
    back: dict[Any, Any] = field(default_factory=dict)


def cases(difference: Any, domain: Domain) -> Iterator[tuple[Any, Domain]]:
    """Split maxima and minima: pairs of a difference without them and the domain where it counts."""
    choices = sorted(difference.atoms(sympy.Max, sympy.Min), key=lambda each: (each.count_ops(), str(each)))
    if not choices:
        choices = sorted(
            set().union(*(r.atoms(sympy.Max, sympy.Min) for r in domain.where)) if domain.where else (), key=str
        )
    if not choices:
        yield difference, domain
        return
    chosen = choices[0]
    for winner in chosen.args:
        others = [each for each in chosen.args if each is not winner]
        relations = [sympy.Ge(winner, o) if chosen.func is sympy.Max else sympy.Le(winner, o) for o in others]
        where = [relation.xreplace({chosen: winner}) for relation in domain.where]
        where += [relation for relation in relations if relation is not sympy.true]
        if sympy.false in where:
            continue
        kept = tuple(relation for relation in where if relation is not sympy.true)
        yield from cases(difference.xreplace({chosen: winner}), Domain(domain.intervals, kept))


def form(difference: Any, domain: Domain) -> Form:
    """The case as a rational function with everything else named."""
    return _Namer(domain).form(difference)


class _Namer:
    """Gives letters to roots, logarithms, exponentials and numbers, each once."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.intervals: dict[Any, tuple[Any, Any]] = {}
        self.equations: list[Any] = []
        self.ties: list[Tie] = []
        self.names: dict[Any, Any] = {}
        self.count = itertools.count(1)

    def form(self, difference: Any) -> Form:
        expressions = [difference, *self.domain.differences()]
        expressions = [sympy.expand_log(each) for each in expressions]
        roots = self._roots(expressions)
        back = {s: roots.get(s, s) for s in self.domain.intervals}
        for letter, (low, high) in self.domain.intervals.items():
            root = roots.get(letter, letter)
            base = root.free_symbols.pop() if root is not letter else letter
            power = root.exp if root is not letter and root.is_Pow else 1
            self.intervals[base] = tuple(_root(end, int(power)) for end in (low, high))
        named = [self._name(sympy.expand_log(each.xreplace(roots))) for each in expressions]
        for letter, (low, high) in list(self.intervals.items()):
            self.intervals[letter] = (_rational(low, up=False), _rational(high, up=True))
        return Form(_stripped(named[0]), self.intervals, named[1:], self.equations, self.ties, back)

    def _roots(self, expressions: list[Any]) -> dict[Any, Any]:
        """``s -> r**q`` for every letter s that occurs to a power with denominator q."""
        degrees: dict[Any, int] = {}
        for power in set().union(*(each.atoms(sympy.Pow) for each in expressions)):
            if power.exp.is_Rational and power.exp.q > 1 and power.base.is_Symbol:
                degrees[power.base] = math.lcm(degrees.get(power.base, 1), int(power.exp.q))
        return {s: sympy.Symbol(f"root{q}_{s}", positive=True) ** q for s, q in degrees.items()}

    def _name(self, expression: Any) -> Any:
        """The expression with everything that is not rational replaced by letters."""
        if expression.is_Rational or expression.is_Symbol:
            return expression
        if not expression.free_symbols:
            return self._number(expression)
        if expression.is_Pow and expression.exp.is_Integer:
            return self._name(expression.base) ** expression.exp
        if expression.func in (sympy.Add, sympy.Mul):
            numbers = [part for part in expression.args if not part.free_symbols]
            others = [self._name(part) for part in expression.args if part.free_symbols]
            if numbers:
                others.append(self._name(expression.func(*numbers)))
            return expression.func(*others)
        if expression in self.names:
            return self.names[expression]
        if expression.is_Pow and expression.exp.is_Rational:
            return self._compound_root(expression)
        if expression.func in (sympy.log, sympy.exp):
            return self._tied(expression)
        return self._free(expression)

    def _number(self, expression: Any) -> Any:
        if expression.is_Add or expression.is_Mul:
            return expression.func(*(self._name(part) for part in expression.args))
        if expression.is_Pow and expression.exp.is_Integer:
            return self._name(expression.base) ** expression.exp
        if expression not in self.names:
            letter = self.names[expression] = self._letter("number", expression)
            self.intervals[letter] = (expression, expression)
            if expression.is_Pow and expression.exp.is_Rational and expression.base.is_Rational:
                q, p = int(expression.exp.q), int(expression.exp.p)
                self.equations.append(letter**q - expression.base**p)
        return self.names[expression]

    def _compound_root(self, expression: Any) -> Any:
        q, base = int(expression.exp.q), self._name(expression.base)
        key = sympy.Pow(expression.base, sympy.Rational(1, q))
        if key not in self.names:
            letter = self.names[key] = self._letter("root", key)
            self.intervals[letter] = (sympy.Integer(0), sympy.oo)
            self.equations.append(letter**q - base)
        return self.names[key] ** expression.exp.p

    def _tied(self, expression: Any) -> Any:
        inner = expression.args[0]
        if expression.func is sympy.log and inner.is_Pow and inner.exp.is_Rational:
            return inner.exp * self._name(sympy.log(inner.base))
        letter = self.names[expression] = self._letter(expression.func.__name__, expression)
        low, high = (-sympy.oo, sympy.oo) if expression.func is sympy.log else (sympy.Integer(0), sympy.oo)
        ends = self.intervals.get(inner)
        if ends and expression.func is sympy.log:
            low = sympy.log(ends[0]) if ends[0] > 0 else low
            high = sympy.log(ends[1]) if ends[1].is_finite else high
        self.intervals[letter] = (low, high)
        self.ties.append(Tie(letter, expression.func.__name__, self._name(inner)))
        return letter

    def _free(self, expression: Any) -> Any:
        """Anything else is a letter of which nothing is known."""
        letter = self.names[expression] = self._letter("free", expression)
        self.intervals[letter] = (-sympy.oo, sympy.oo)
        return letter

    def _letter(self, kind: str, expression: Any) -> Any:
        positive = expression.is_positive or None
        return sympy.Symbol(f"{kind}{next(self.count)}", real=True, positive=positive)


def _stripped(difference: Any) -> Any:
    """The difference times its denominator, if that is positive, and without a common positive monomial."""
    numerator, denominator = sympy.fraction(sympy.together(difference))
    if not denominator.is_positive:
        return difference
    letters = sorted((letter for letter in numerator.free_symbols if letter.is_positive), key=str)
    expanded = sympy.expand(numerator)
    if not letters or not expanded.is_polynomial(*letters):
        return expanded
    _, rest = sympy.Poly(expanded, *letters).terms_gcd()
    return rest.as_expr()


def _root(end: Any, degree: int) -> Any:
    return end if degree == 1 or not end.is_finite else sympy.root(end, degree)


def _rational(end: Any, up: bool) -> Any:
    """``end``, or the rational just outside it."""
    if end.is_Rational or not end.is_finite:
        return end
    saved = flint.ctx.prec
    try:
        flint.ctx.prec = _NARROW
        enclosed = ball.exact(end)
        edge = enclosed.upper() if up else enclosed.lower()
        man, exp = edge.mid().man_exp()
        return sympy.Integer(int(man)) * sympy.Integer(2) ** int(exp)
    finally:
        flint.ctx.prec = saved
