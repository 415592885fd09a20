"""Formulas as terms of Coq's real numbers, read off the tree as it stands: nothing is evaluated.

Roots become ``sqrt``, other fractional and symbolic powers ``Rpower`` (whose base must be positive),
logarithms ``ln``, maxima ``Rmax``. Coq gives every term a value, 1/0 and ln(-1) too; where a term has
none in ordinary mathematics, :meth:`Writer.conditions` says so as hypotheses.
"""

import functools
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import sympy

from dpcheck.bounds.prover import ball

_SUM, _PRODUCT, _UNARY, _POWER, _APPLICATION, _ATOM = range(6)  # how tightly a term holds together

_KEYWORDS = """
as at cofix else end exists fix for forall fun if in let match mod return then using where with Prop Set Type
"""
_TERMS = """
R IZR Rmax Rmin Rabs Rpower ln exp sqrt sin cos tan PI erf erfc gaussian_curve integer Int_part Derive nat Z
sum_of product_of whole_power
"""
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

    @property
    def letters(self) -> dict[Any, str]:
        """The term of each letter."""
        return self._letters

    def __call__(self, expression: Any) -> str:
        """Return the term, fit to stand on either side of a relation.

        Raises :class:`UntranslatedError` for what it does not know.
        """
        return self._write(expression)[0]

    def argument(self, expression: Any) -> str:
        """Return the term, fit to be the argument of a function."""
        return self._at(expression, _ATOM)

    def conditions(self, *expressions: Any, nonnegative: Collection[Any] = ()) -> list[str]:
        """Return what must hold for every part of the expressions to have a value, where that is not plain.

        ``nonnegative`` are letters that are at least zero on the whole domain, of which exponents are made.
        """
        hypotheses: dict[str, None] = {}
        for expression in expressions:
            for node in _ranges(expression):
                hypotheses |= dict.fromkeys(self._within(node, nonnegative))
            for part, need in _needs(expression, nonnegative):
                if not part.free_symbols:
                    if ball.sign(part, {}) != 1:
                        raise UntranslatedError(f"{part} must be positive")
                elif not (_positive(part) or (need == "0 <= " and _nonnegative(part))):
                    term = self._at(part, _SUM)
                    hypotheses[f"{term} <> 0" if need == "<> 0" else f"{need}{term}"] = None
        return list(hypotheses)

    def _within(self, node: Any, nonnegative: Collection[Any]) -> Iterator[str]:
        """Yield what a sum or product needs: ends in order, and terms that have values between them."""
        body, letter, low, high = ranged(node)
        if not _nonnegative(sympy.expand(_known(high - low + 1, nonnegative))):
            yield f"{self(low)} - 1 <= {self(high)}"
        bound = names([*self._letters, letter])[letter]
        inner = Writer({**self._letters, letter: bound})
        inside = f"integer {bound} -> {self(low)} <= {bound} -> {bound} <= {self(high)}"
        known = [*nonnegative, letter] if letter.is_positive else nonnegative
        for need in inner.conditions(body, nonnegative=known):
            yield f"(forall {bound} : R, {inside} -> {need})" if re.search(rf"\b{bound}\b", need) else need

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
        if isinstance(expression, sympy.Sum | sympy.Product):
            return self._over_range(expression), _APPLICATION
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

    def _over_range(self, expression: Any) -> str:
        """Return the sum or product of a function over the whole numbers from one end to the other."""
        body, letter, low, high = ranged(expression)
        bound = names([*self._letters, letter])[letter]
        inner = Writer({**self._letters, letter: bound})
        word = "sum_of" if isinstance(expression, sympy.Sum) else "product_of"
        return f"{word} (fun {bound} : R => {inner(body)}) {self._at(low, _ATOM)} {self._at(high, _ATOM)}"

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
        if _whole(base, power):
            return f"whole_power {self._at(base, _ATOM)} {self._at(power, _ATOM)}", _APPLICATION
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


def ranged(expression: Any) -> tuple[Any, Any, Any, Any]:
    """Return the term of a sum or product, its letter and its ends; the letter is positive where the lower end is.

    Raises :class:`UntranslatedError` for another sum than one over whole numbers between whole ends.
    """
    body, (letter, low, high), *others = expression.args
    if others or not (letter.is_integer and low.is_integer and high.is_integer):
        raise UntranslatedError("a sum goes over whole numbers, between two whole ends")
    plain = sympy.Symbol(letter.name, integer=True, **({"positive": True} if low.is_positive else {}))
    if plain in body.free_symbols - {letter}:
        raise UntranslatedError(f"the letter {letter} of a sum is that of something else in it")
    return body.xreplace({letter: plain}), plain, low, high


def _ranges(expression: Any) -> Iterator[Any]:
    """Yield the sums and products that stand in no other."""
    if isinstance(expression, sympy.Sum | sympy.Product):
        yield expression
    else:
        for part in expression.args:
            yield from _ranges(part)


def _whole(base: Any, power: Any) -> bool:
    """Say whether a power has a whole exponent and a base that may be zero or negative."""
    return bool(power.is_integer and not power.is_Integer and not _positive(base))


def _known(expression: Any, nonnegative: Collection[Any]) -> Any:
    return expression.xreplace({x: sympy.Symbol(x.name, integer=x.is_integer, nonnegative=True) for x in nonnegative})


def _needs(expression: Any, nonnegative: Collection[Any] = ()) -> Iterator[tuple[Any, str]]:
    """Yield each part of a formula that must not be zero, or must be (at least) zero or positive.

    What stands in a sum or product is left to it.
    """
    if isinstance(expression, sympy.Subs):
        values = dict(zip(expression.variables, expression.point, strict=True))
        yield from ((part.xreplace(values), need) for part, need in _needs(expression.expr))
        for value in expression.point:
            yield from _needs(value)
        return
    walk = sympy.preorder_traversal(expression)
    for part in walk:
        if isinstance(part, sympy.Subs | sympy.Derivative) and part is not expression:
            raise UntranslatedError("substitutions and derivatives stand outermost only")
        if isinstance(part, sympy.Sum | sympy.Product):
            if part.args[1][1].has(sympy.Sum, sympy.Product) or part.args[1][2].has(sympy.Sum, sympy.Product):
                raise UntranslatedError("the end of a sum holds no sum")
            for end in part.args[1][1:]:
                yield from _needs(end, nonnegative)
            walk.skip()
            continue
        if part.is_Pow and part.base is not sympy.E:
            if part.exp.is_Integer:
                if part.exp < 0:
                    yield part.base, "<> 0"
            elif part.exp.is_Rational and part.exp.q == 2 and part.exp > 0:
                yield part.base, "0 <= "
            elif _whole(part.base, part.exp):
                if not _nonnegative(_known(part.exp, nonnegative)):
                    yield part.base, "<> 0"
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
