"""Formulas as terms of Coq's real numbers, read off the tree as it stands: nothing is evaluated.

Roots become ``sqrt``, other fractional and symbolic powers ``Rpower`` (whose base must be positive),
logarithms ``ln``, maxima ``Rmax``. Coq gives every term a value, 1/0 and ln(-1) too; where a term has
none in ordinary mathematics, :meth:`Writer.conditions` says so as hypotheses.
"""

import functools
import itertools
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

import sympy

from dpcheck.bounds.prover import ball

_SUM, _PRODUCT, _UNARY, _POWER, _APPLICATION, _ATOM = range(6)  # how tightly a term holds together

_KEYWORDS = """
as at cofix else end exists fix for forall fun if in let match mod return then using where with Prop Set Type
"""
_TERMS = "R IZR Rmax Rmin Rabs Rpower ln exp sqrt sin cos tan PI erf erfc gaussian_curve integer Int_part Derive nat Z"
_TAKEN = frozenset(_KEYWORDS.split()) | frozenset(_TERMS.split())  # no letter may have these names


class UntranslatedError(ValueError):
    """The formula holds something that has no counterpart in Coq's real numbers here."""


def names(letters: Iterable[Any]) -> dict[Any, str]:
    """Return a name of Coq for each letter: its own where that is one, and no two alike."""
    named: dict[Any, str] = {}
    for letter in letters:
        name = re.sub(r"[^A-Za-z0-9_]", "_", str(letter).replace("'", "_prime"))
        if not name[:1].isalpha():
            name = f"x{name}"
        while name in _TAKEN or name in named.values():
            name += "_"
        named[letter] = name
    return named


class Writer:
    """Writes formulas in given letters."""

    def __init__(self, letters: dict[Any, str]) -> None:
        self._letters = letters

    def __call__(self, expression: Any) -> str:
        """Return the term, fit to stand on either side of a relation.

        Raises :class:`UntranslatedError` for what it does not know.
        """
        return self._write(expression)[0]

    def argument(self, expression: Any) -> str:
        """Return the term, fit to be the argument of a function."""
        return self._at(expression, _ATOM)

    def conditions(self, *expressions: Any) -> list[str]:
        """Return what must hold for every part of the expressions to have a value, where that is not plain."""
        hypotheses: dict[str, None] = {}
        for expression in expressions:
            for part, need in _needs(expression):
                if not part.free_symbols:
                    if ball.sign(part, {}) != 1:
                        raise UntranslatedError(f"{part} must be positive")
                elif not (_positive(part) or (need == "0 <= " and _nonnegative(part))):
                    term = self._at(part, _SUM)
                    hypotheses[f"{term} <> 0" if need == "<> 0" else f"{need}{term}"] = None
        return list(hypotheses)

    def _at(self, expression: Any, tightness: int) -> str:
        """Return the term in brackets unless it holds together at least so tightly."""
        written, held = self._write(expression)
        return written if held >= tightness else f"({written})"

    def _write(self, expression: Any) -> tuple[str, int]:
        if expression.is_Symbol:
            if expression not in self._letters:
                raise UntranslatedError(f"{expression} is bound within a formula")
            return self._letters[expression], _ATOM
        if expression.is_Integer:
            return str(expression), _ATOM if expression >= 0 else _UNARY
        if expression.is_Rational or expression.is_Mul:
            return self._product(expression)
        if expression.is_Add:
            return self._sum(expression)
        if expression.is_Pow and expression.base is not sympy.E:
            return self._power(expression.base, expression.exp)
        if expression is sympy.E:
            return "exp 1", _APPLICATION
        if expression is sympy.pi:
            return "PI", _ATOM
        if isinstance(expression, sympy.exp) or (expression.is_Pow and expression.base is sympy.E):
            return f"exp {self._at(expression.exp, _ATOM)}", _APPLICATION
        if isinstance(expression, sympy.Subs):
            return self._at_values(expression), _APPLICATION
        arguments = [self._at(argument, _ATOM) for argument in expression.args]
        if expression.func in (sympy.Max, sympy.Min):
            name = "Rmax" if expression.func is sympy.Max else "Rmin"
            return functools.reduce(lambda a, b: f"{name} {_bracketed(a)} {b}", sorted(arguments)), _APPLICATION
        if expression.func is sympy.floor:
            return f"IZR (Int_part {arguments[0]})", _APPLICATION
        if expression.func is sympy.ceiling:
            return f"- IZR (Int_part (- {arguments[0]}))", _UNARY
        if expression.func not in _FUNCTIONS:
            raise UntranslatedError(f"{type(expression).__name__} has no counterpart in Coq here")
        return f"{_FUNCTIONS[expression.func]} {arguments[0]}", _APPLICATION

    def _at_values(self, expression: Any) -> str:
        """Return a function of the letters that are replaced, applied to their values."""
        others = {letter: name for letter, name in self._letters.items() if letter not in expression.variables}
        letters = names([*others, *expression.variables])
        if any(letters[letter] != name for letter, name in others.items()):
            raise UntranslatedError("letters of one name are told apart one way only")
        inner = Writer(others | {letter: letters[letter] for letter in expression.variables})
        bound = " ".join(letters[letter] for letter in expression.variables)
        values = " ".join(self._at(value, _ATOM) for value in expression.point)
        return f"(fun {bound} : R => {inner(expression.expr)}) {values}"

    def _sum(self, expression: Any) -> tuple[str, int]:
        signed = [_without_sign(term) for term in expression.args]
        terms = sorted((minus, self._at(term, _PRODUCT)) for term, minus in signed)
        (minus, first), *rest = terms
        written = f"- {first}" if minus else first
        return written + "".join(f" - {term}" if minus else f" + {term}" for minus, term in rest), _SUM

    def _product(self, expression: Any) -> tuple[str, int]:
        expression, minus = _without_sign(expression)
        above, below = _factors(expression)
        numerator = " * ".join(self._factor(pair) for pair in above) or "1"
        written, held = numerator, _PRODUCT if len(above) > 1 else _UNARY
        if below:
            denominator = " * ".join(self._factor(pair) for pair in below)
            written = f"{numerator} / {denominator if len(below) == 1 else f'({denominator})'}"
            held = _PRODUCT
        elif len(above) == 1:
            written, held = self._write_pair(above[0])
        if minus:
            return f"- {written if held >= _UNARY else f'({written})'}", _UNARY
        return written, held

    def _write_pair(self, pair: tuple[Any, Any]) -> tuple[str, int]:
        base, power = pair
        return self._write(base) if power == 1 else self._power(base, power)

    def _factor(self, pair: tuple[Any, Any]) -> str:
        written, held = self._write_pair(pair)
        return written if held >= _POWER else f"({written})"

    def _power(self, base: Any, power: Any) -> tuple[str, int]:
        if power.is_Integer:
            if power < 0:
                below = self._at(base, _UNARY) if power == -1 else self._power(base, -power)[0]
                return f"/ {below}", _UNARY
            return f"{self._at(base, _APPLICATION)} ^ {power}", _POWER
        if power.is_Rational and power.q == 2:
            root = f"sqrt {self._at(base, _ATOM)}"
            if power < 0:
                return f"/ {root}" if power.p == -1 else f"/ {root} ^ {-power.p}", _UNARY
            return (root, _APPLICATION) if power.p == 1 else (f"{root} ^ {power.p}", _POWER)
        if power.is_Rational and power < 0:
            return f"/ {self._power(base, -power)[0]}", _UNARY
        return f"Rpower {self._at(base, _ATOM)} {self._at(power, _ATOM)}", _APPLICATION


_FUNCTIONS = {
    sympy.log: "ln", sympy.Abs: "Rabs", sympy.sin: "sin", sympy.cos: "cos", sympy.tan: "tan",
    sympy.erf: "erf", sympy.erfc: "erfc",
}  # fmt: skip


def _bracketed(term: str) -> str:
    return f"({term})" if " " in term and not term.startswith("(") else term


def _without_sign(expression: Any) -> tuple[Any, bool]:
    """Return the expression without a leading minus sign, and whether it had one."""
    if expression.is_Rational and expression < 0:
        return -expression, True
    if expression.is_Mul and expression.args[0].is_Rational and expression.args[0] < 0:
        first, *rest = expression.args
        kept = ([-first] if first != -1 else []) + rest
        return (kept[0] if len(kept) == 1 else sympy.Mul(*kept, evaluate=False)), True
    return expression, False


def _factors(expression: Any) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
    """Return bases with positive powers above and below the line."""
    above: list[tuple[Any, Any]] = []
    below: list[tuple[Any, Any]] = []
    for factor in expression.args if expression.is_Mul else (expression,):
        if factor.is_Rational and not factor.is_Integer:
            if factor.p != 1:
                above.append((sympy.Integer(factor.p), sympy.Integer(1)))
            below.append((sympy.Integer(factor.q), sympy.Integer(1)))
        elif factor.is_Pow and factor.base is not sympy.E and factor.exp.is_Rational and factor.exp < 0:
            below.append((factor.base, -factor.exp))
        elif factor.is_Pow and factor.base is not sympy.E and factor.exp.is_Rational:
            above.append((factor.base, factor.exp))
        else:
            above.append((factor, sympy.Integer(1)))
    return above, below


def _needs(expression: Any) -> Iterator[tuple[Any, str]]:
    """Yield each part of a formula that must not be zero, or must be (at least) zero or positive."""
    if isinstance(expression, sympy.Subs):
        values = dict(zip(expression.variables, expression.point, strict=True))
        yield from ((part.xreplace(values), need) for part, need in _needs(expression.expr))
        for value in expression.point:
            yield from _needs(value)
        return
    for part in sympy.preorder_traversal(expression):
        if isinstance(part, sympy.Subs | sympy.Derivative) and part is not expression:
            raise UntranslatedError("substitutions and derivatives stand outermost only")
        if part.is_Pow and part.base is not sympy.E:
            if part.exp.is_Integer:
                if part.exp < 0:
                    yield part.base, "<> 0"
            elif part.exp.is_Rational and part.exp.q == 2 and part.exp > 0:
                yield part.base, "0 <= "
            else:
                yield part.base, "0 < "
        elif part.func is sympy.log:
            yield part.args[0], "0 < "
        elif part.func is sympy.tan:
            yield sympy.cos(part.args[0]), "<> 0"


def _positive(expression: Any) -> bool:
    """Say whether it is plainly positive: made of positive letters and numbers without a difference."""
    if expression.is_Rational:
        return bool(expression > 0)
    if expression.is_Symbol:
        return bool(expression.is_positive)
    if expression.is_Add:
        return any(_positive(part) for part in expression.args) and all(_nonnegative(part) for part in expression.args)
    if expression.is_Mul:
        return all(_positive(part) for part in expression.args)
    if expression.is_Pow:
        return _positive(expression.base)
    if expression.func in (sympy.Max, sympy.Min):
        return (any if expression.func is sympy.Max else all)(_positive(part) for part in expression.args)
    return expression.func is sympy.exp or expression in (sympy.pi, sympy.E)


def _nonnegative(expression: Any) -> bool:
    if _positive(expression) or expression == 0 or (expression.is_Symbol and expression.is_nonnegative):
        return True
    if expression.is_Add or expression.is_Mul:
        return all(_nonnegative(part) for part in expression.args)
    return bool(expression.is_Pow and (_nonnegative(expression.base) or expression.exp.is_even))


_MOST_COLUMNS = 20_000


class Space:
    """Products of letters, of facts and of squares, in which a polynomial is to be written."""

    def __init__(self, letters: list[Any], lows: dict[Any, Any], facts: list[tuple[str, Any]], write: Writer) -> None:
        self._letters, self._lows, self._write = letters, lows, write
        self._free = [not lows[x].is_finite for x in letters]
        self._ring = sympy.ring(letters, sympy.QQ)[0]
        self._shifts = {x: low + x for x, low in lows.items() if low.is_finite and low != 0}
        self._facts = [(name, self._shifted(fact)) for name, fact in facts]

    def _shifted(self, expression: Any) -> Any:
        polynomial = sympy.Poly(expression.xreplace(self._shifts), *self._letters, domain=sympy.QQ)
        return self._ring(dict(polynomial.rep.to_dict()))

    def combination(self, numerator: Any, wide: bool, multiplied: bool) -> tuple[str, str] | None:
        """Return the numerator times a positive multiplier as a nonnegative combination of products, and the
        multiplier.
        """
        goal, multiplier = self._shifted(numerator), "1"
        if multiplied:
            positive = [i for i, free in enumerate(self._free) if not free]
            goal *= sum((self._ring.gens[i] for i in positive), self._ring.one)
            multiplier = "(" + " + ".join(["1", *(self._letter(i) for i in positive)]) + ")"
        if all(c >= 0 for c in goal.coeffs()) and not any(self._free):
            return self._sum([(c, self._product((), m)) for m, c in goal.terms()]), multiplier
        columns = [*self._columns(goal, wide), *self._squares(goal)]
        parts = _solve(goal, columns)
        return None if parts is None else (self._sum(parts), multiplier)

    def _sum(self, parts: list[tuple[Any, str]]) -> str:
        factors = ((self._write(sympy.Rational(int(c.numerator), int(c.denominator))), name) for c, name in parts)
        return " + ".join(name if c == "1" else f"{c} * {name}" for c, name in factors) or "0"

    def _columns(self, goal: Any, wide: bool) -> Iterator[tuple[str, dict[Any, Any]]]:
        count = 0
        most = [max((m[i] for m in goal.monoms()), default=0) for i in range(len(self._letters))]
        if wide:
            reaches = [[max(m[i] for m in fact.monoms()) for i in range(len(most))] for _, fact in self._facts if fact]
            most = [max(powers) for powers in zip(most, *reaches, strict=True)]
        for size in range(4):
            for chosen in itertools.combinations_with_replacement(self._facts, size):
                product = math.prod((fact for _, fact in chosen), start=self._ring.one)
                if not product:
                    continue
                reach = [max(m[i] for m in product.monoms()) for i in range(len(most))]
                steps = [
                    range(0, m - r + 1, 2 if odd else 1) for r, m, odd in zip(reach, most, self._free, strict=True)
                ]
                count += math.prod(len(step) for step in steps)
                if count > _MOST_COLUMNS:
                    return
                for powers in itertools.product(*steps):
                    name = self._product(tuple(name for name, _ in chosen), powers)
                    yield name, {tuple(map(sum, zip(m, powers, strict=True))): c for m, c in product.terms()}

    def _squares(self, goal: Any) -> Iterator[tuple[str, dict[Any, Any]]]:
        """Yield squares of differences of monomials, for each term between two positive ones."""
        positive = {m: c for m, c in goal.terms() if c > 0}
        for m, c in goal.terms():
            for low, a in positive.items():
                high = tuple(2 * k - j for k, j in zip(m, low, strict=True))
                if high not in positive or low >= high:
                    continue
                shared = tuple(min(j, k) for j, k in zip(low, high, strict=True))
                u, v = ([(j - s) for j, s in zip(side, shared, strict=True)] for side in (low, high))
                if any(k % 2 for k in (*u, *v)) or any(f and s % 2 for f, s in zip(self._free, shared, strict=True)):
                    continue
                first, second = (self._product((), tuple(k // 2 for k in side)) for side in (u, v))
                for ratio in {sympy.QQ(1), abs(c) / (2 * a), 2 * positive[high] / abs(c)}:
                    r = ratio if c > 0 else -ratio
                    written = self._write(sympy.Rational(int(r.numerator), int(r.denominator)))
                    name = f"{self._product((), shared)} * ({first} + ({written}) * {second}) ^ 2"
                    yield name, {low: sympy.QQ(1), m: 2 * r, high: r * r}

    def _letter(self, index: int) -> str:
        letter = self._letters[index]
        low = self._lows[letter]
        return self._write(letter) if low == 0 or not low.is_finite else f"({self._write(letter - low)})"

    def _product(self, chosen: tuple[str, ...], powers: Any) -> str:
        parts = [self._letter(i) if k == 1 else f"{self._letter(i)} ^ {k}" for i, k in enumerate(powers) if k]
        return " * ".join([*chosen, *parts]) or "1"


def _solve(goal: Any, columns: list[tuple[str, dict[Any, Any]]]) -> list[tuple[Any, str]] | None:
    """Return nonnegative factors of columns that add up to the goal: picked in floating point, solved exactly."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    if not columns:
        return None
    rows = {m: i for i, m in enumerate(sorted({m for _, terms in columns for m in terms} | set(goal.monoms())))}
    entries = [(rows[m], j, float(c)) for j, (_, terms) in enumerate(columns) for m, c in terms.items()]
    at, j, values = zip(*entries, strict=True)
    matrix = coo_matrix((values, (at, j)), shape=(len(rows), len(columns))).tocsr()
    right = np.zeros(len(rows))
    for m, c in goal.terms():
        right[rows[m]] = float(c)
    size = np.abs(right).max() or 1.0
    costs = [1.0 + 0.01 * len(name) for name, _ in columns]
    program = linprog(costs, A_eq=matrix, b_eq=right / size, bounds=(0, None), method="highs-ds")
    if program.status != 0:
        return None
    support = [int(k) for k in np.flatnonzero(program.x > 1e-11)]
    return _exact(goal, [columns[k] for k in support], [float(program.x[k] * size) for k in support])


def _exact(goal: Any, columns: list[tuple[str, dict[Any, Any]]], guesses: list[float]) -> list[tuple[Any, str]] | None:
    letters = sympy.symbols(f"x:{len(columns)}")
    monomials = sorted({m for _, terms in columns for m in terms} | set(goal.monoms()))
    known = dict(goal.terms())
    matrix = sympy.Matrix([[terms.get(m, sympy.QQ(0)) for _, terms in columns] for m in monomials])
    target = sympy.Matrix([known.get(m, sympy.QQ(0)) for m in monomials])
    solved = list(sympy.linsolve((matrix, target), *letters)) if columns else []
    if not solved:
        return None
    free = {x: sympy.Rational(guess).limit_denominator(1000) for x, guess in zip(letters, guesses, strict=True)}
    values = [value.subs(free) for value in solved[0]]
    if any(value < 0 for value in values):
        return None
    return [(sympy.QQ(int(v.p), int(v.q)), name) for v, (name, _) in zip(values, columns, strict=True) if v != 0]
