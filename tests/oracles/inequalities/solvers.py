"""Inequalities for z3 and cvc5 in their own words: the domain, where both sides are defined, and the failure."""

from __future__ import annotations

import functools
import operator
from typing import Any

import sympy

from inequalities.item import Item


class Encoder:
    """Walks a formula; what is undefined is ruled out as it is met.

    ``vague`` is set where the solver's word stands for something it does not know, so that a model of
    it is no counterexample.
    """

    def __init__(self) -> None:
        self.vague = False
        self.letters: dict[Any, Any] = {}
        self.roots: dict[Any, Any] = {}
        self.conditions: list[Any] = []

    def state(self, item: Item) -> None:
        """The domain, and the failure of the inequality on it."""
        for letter, (low, high) in item.over.intervals.items():
            self.letters[letter] = real = self.letter(f"v{len(self.letters)}", bool(letter.is_integer))
            self.kinds(letter, real)
            if low.is_finite:
                self.conditions.append(self.at_most(self.term(low), real))
            if high.is_finite:
                self.conditions.append(self.at_most(real, self.term(high)))
        for relation in item.over.where:
            less, more = self.term(relation.lts), self.term(relation.gts)
            strict = isinstance(relation, sympy.Lt | sympy.Gt)
            self.conditions.append(self.below(less, more) if strict else self.at_most(less, more))
        self.conditions.append(
            self.below(self.term(sympy.sympify(item.larger)), self.term(sympy.sympify(item.smaller)))
        )

    def kinds(self, letter: Any, real: Any) -> None:
        """The assumptions of a symbol."""
        zero, one, half = self.number(0, 1), self.number(1, 1), self.whole(real)
        for said, condition in (
            (letter.is_positive, lambda: self.below(zero, real)),
            (letter.is_negative, lambda: self.below(real, zero)),
            (letter.is_nonnegative, lambda: self.at_most(zero, real)),
            (letter.is_even, lambda: self.equal(real, self.times([self.number(2, 1), half]))),
            (letter.is_odd, lambda: self.equal(self.plus([real, one]), self.times([self.number(2, 1), half]))),
            (letter.is_nonzero, lambda: self.differs(real, zero)),
            (letter.is_prime, lambda: self.below(self.number(1, 1), real)),
        ):  # fmt: skip
            if said:
                self.conditions.append(condition())
        self.vague |= bool(letter.is_prime)

    def term(self, e: Any) -> Any:
        """The formula in the solver's words."""
        if e.is_Rational:
            return self.number(int(e.p), int(e.q))
        if e.is_Symbol:
            return self.letters[e]
        if e.is_Add or e.is_Mul:
            return (self.plus if e.is_Add else self.times)([self.term(part) for part in e.args])
        if e.is_Pow or e.func is sympy.exp:
            return self.power(*e.as_base_exp())
        if e in (sympy.E, sympy.pi):
            return self.constant(e)
        arguments = [self.term(part) for part in e.args]
        if e.func in (sympy.Max, sympy.Min):
            order = self.at_most if e.func is sympy.Max else lambda u, v: self.at_most(v, u)
            return functools.reduce(lambda u, v: self.choice(order(u, v), v, u), arguments)
        (u,) = arguments
        if e.func is sympy.Abs:
            minus = self.times([self.number(-1, 1), u])
            return self.choice(self.at_most(self.number(0, 1), u), u, minus)
        if e.func in (sympy.floor, sympy.ceiling):
            if e.func is sympy.floor:
                return self.floor(u)
            return self.times([self.number(-1, 1), self.floor(self.times([self.number(-1, 1), u]))])
        return self.function(e, u)

    def power(self, base: Any, exponent: Any) -> Any:
        if base is sympy.E:
            return self.exponential(self.term(exponent))
        u = self.term(base)
        if exponent.is_Integer and abs(exponent) <= 40:
            product = self.times([u] * abs(int(exponent))) if exponent else self.number(1, 1)
            if exponent > 0:
                return product
            self.conditions.append(self.differs(u, self.number(0, 1)))
            return self.quotient(self.number(1, 1), product)
        if exponent.is_Rational and exponent.q <= 8:
            root = self.root(base, u, int(exponent.q))
            product = self.times([root] * abs(int(exponent.p)))
            if exponent > 0:
                return product
            self.conditions.append(self.differs(root, self.number(0, 1)))
            return self.quotient(self.number(1, 1), product)
        return self.exponential(self.times([self.term(exponent), self.logarithm(base, u)]))

    def root(self, base: Any, u: Any, q: int) -> Any:
        if (base, q) not in self.roots:
            self.roots[base, q] = found = self.letter(f"r{len(self.roots)}", False)
            self.conditions += [self.at_most(self.number(0, 1), found), self.equal(self.times([found] * q), u)]
        return self.roots[base, q]


class Z3(Encoder):
    """z3, which decides polynomials and knows no transcendental function."""

    def decide(self, item: Item) -> str:
        import z3

        self.z3 = z3
        self.state(item)
        solver = z3.Solver()
        solver.add(*self.conditions)
        found = solver.check()
        if found == z3.unsat:
            return "proved: z3"
        return "refuted: z3" if found == z3.sat and not self.vague else "unknown"

    def letter(self, name: str, integer: bool) -> Any:
        return self.z3.ToReal(self.z3.Int(name)) if integer else self.z3.Real(name)

    def whole(self, real: Any) -> Any:
        return self.z3.ToReal(self.z3.FreshInt())

    def number(self, p: int, q: int) -> Any:
        return self.z3.Q(p, q)

    def plus(self, parts: list[Any]) -> Any:
        return functools.reduce(operator.add, parts)

    def times(self, parts: list[Any]) -> Any:
        return functools.reduce(operator.mul, parts)

    def quotient(self, u: Any, v: Any) -> Any:
        return u / v

    def at_most(self, u: Any, v: Any) -> Any:
        return u <= v

    def below(self, u: Any, v: Any) -> Any:
        return u < v

    def equal(self, u: Any, v: Any) -> Any:
        return u == v

    def differs(self, u: Any, v: Any) -> Any:
        return u != v

    def choice(self, condition: Any, u: Any, v: Any) -> Any:
        return self.z3.If(condition, u, v)

    def floor(self, u: Any) -> Any:
        return self.z3.ToReal(self.z3.ToInt(u))

    def constant(self, e: Any) -> Any:
        self.vague = True
        found = self.z3.Real(f"constant_{e}")
        for low, high in ((sympy.floor(e * 10**20), sympy.ceiling(e * 10**20)),):
            self.conditions += [found > self.z3.Q(int(low), 10**20), found < self.z3.Q(int(high), 10**20)]
        return found

    def exponential(self, u: Any) -> Any:
        self.vague = True
        found = self.z3.Function("exp", self.z3.RealSort(), self.z3.RealSort())(u)
        self.conditions.append(found > 0)
        return found

    def logarithm(self, base: Any, u: Any) -> Any:
        self.vague = True
        self.conditions.append(u > 0)
        return self.z3.Function("log", self.z3.RealSort(), self.z3.RealSort())(u)

    def function(self, e: Any, u: Any) -> Any:
        if e.func is sympy.log:
            return self.logarithm(e.args[0], u)
        self.vague = True
        found = self.z3.Function(e.func.__name__, self.z3.RealSort(), self.z3.RealSort())(u)
        self.conditions += [found >= -1, found <= 1]
        return found


class Cvc5(Encoder):
    """cvc5, with its transcendental functions; a logarithm is what the exponential takes to its argument."""

    def decide(self, item: Item) -> str:
        import cvc5

        self.kind = cvc5.Kind
        self.terms = cvc5.TermManager()
        solver = cvc5.Solver(self.terms)
        solver.setLogic("QF_NIRAT")
        self.logs: dict[Any, Any] = {}
        self.state(item)
        for condition in self.conditions:
            solver.assertFormula(condition)
        found = solver.checkSat()
        if found.isUnsat():
            return "proved: cvc5"
        return "refuted: cvc5" if found.isSat() and not self.vague else "unknown"

    def letter(self, name: str, integer: bool) -> Any:
        if integer:
            return self._make("TO_REAL", self.terms.mkConst(self.terms.getIntegerSort(), name))
        return self.terms.mkConst(self.terms.getRealSort(), name)

    def whole(self, real: Any) -> Any:
        return self._make("TO_REAL", self.terms.mkConst(self.terms.getIntegerSort(), "half"))

    def number(self, p: int, q: int) -> Any:
        return self.terms.mkReal(p, q)

    def _make(self, kind: str, *parts: Any) -> Any:
        return self.terms.mkTerm(getattr(self.kind, kind), *parts)

    def plus(self, parts: list[Any]) -> Any:
        return self._make("ADD", *parts) if len(parts) > 1 else parts[0]

    def times(self, parts: list[Any]) -> Any:
        return self._make("MULT", *parts) if len(parts) > 1 else parts[0]

    def quotient(self, u: Any, v: Any) -> Any:
        return self._make("DIVISION", u, v)

    def at_most(self, u: Any, v: Any) -> Any:
        return self._make("LEQ", u, v)

    def below(self, u: Any, v: Any) -> Any:
        return self._make("LT", u, v)

    def equal(self, u: Any, v: Any) -> Any:
        return self._make("EQUAL", u, v)

    def differs(self, u: Any, v: Any) -> Any:
        return self._make("DISTINCT", u, v)

    def choice(self, condition: Any, u: Any, v: Any) -> Any:
        return self._make("ITE", condition, u, v)

    def floor(self, u: Any) -> Any:
        return self._make("TO_REAL", self._make("TO_INTEGER", u))

    def constant(self, e: Any) -> Any:
        return self.terms.mkPi() if e is sympy.pi else self.exponential(self.number(1, 1))

    def exponential(self, u: Any) -> Any:
        return self._make("EXPONENTIAL", u)

    def logarithm(self, base: Any, u: Any) -> Any:
        if base not in self.logs:
            self.logs[base] = found = self.letter(f"l{len(self.logs)}", False)
            self.conditions += [self.below(self.number(0, 1), u), self.equal(self.exponential(found), u)]
        return self.logs[base]

    def function(self, e: Any, u: Any) -> Any:
        if e.func is sympy.log:
            return self.logarithm(e.args[0], u)
        return self._make("SINE" if e.func is sympy.sin else "COSINE", u)
