"""Formulas in real numbers, as their authors wrote them and as plain text."""

from collections.abc import Callable
from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from dpcheck.bounds.terms import exact
from dpcheck.errors import require


def real(value: Any, name: str) -> Any:
    """Return ``value`` as an expression in real numbers and real letters.

    Raises :class:`~dpcheck.errors.InputError` for a relation, for NaN, infinity and the imaginary
    unit, and for a letter that cannot be a real number.
    """
    expression = exact(value, name)
    require(isinstance(expression, sympy.Expr), name, "be a number or an expression", expression)
    require(
        bool(expression.free_symbols) or expression.is_real is not False, name, "be made of real numbers", expression
    )
    return expression


class _Plain(StrPrinter):  # type: ignore[misc]  # sympy carries no types
    """sympy's own text with ``^`` for powers and a space for products; trees stay as they were built."""

    def _print_Mul(self, expr: Any) -> str:
        product = _one_root(expr, self._print)
        text: str = super()._print_Mul(product) if product.is_Mul else self._print(product)
        return text.replace("*", " ")

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        text: str = super()._print_Pow(expr, rational)
        return text.replace("**", "^")

    def _print_Sum(self, expr: Any) -> str:
        return self._over_ranges("sum", expr)

    def _print_Product(self, expr: Any) -> str:
        return self._over_ranges("prod", expr)

    def _over_ranges(self, name: str, expr: Any) -> str:
        ranges = "".join(f", {letter} = {self._print(low)}..{self._print(high)}" for letter, low, high in expr.limits)
        return f"{name}({self._print(expr.function)}{ranges})"

    def _print_Relational(self, expr: Any) -> str:
        sign = {"==": "=", "!=": "!="}.get(expr.rel_op, expr.rel_op)
        return f"{self._print(expr.lhs)} {sign} {self._print(expr.rhs)}"


def _one_root(product: Any, text: Callable[[Any], str]) -> Any:
    """Return the product with its square roots under one sign, above the line and below it.

    Two factors that may be negative stay apart: under one sign they would have a root where each has none.
    """
    if not isinstance(product, sympy.Mul):
        return product
    factors = list(product.args)
    for power in (sympy.Rational(1, 2), sympy.Rational(-1, 2)):
        roots = [factor for factor in factors if factor.is_Pow and factor.exp == power]
        if len(roots) > 1 and sum(not root.base.is_positive for root in roots) <= 1:
            under = text(sympy.Mul(*(root.base for root in roots)))
            factors = [factor for factor in factors if factor not in roots]
            factors.append(sympy.Pow(sympy.Symbol(f"sqrt({under})"), 2 * power))
    return sympy.Mul(*factors, evaluate=False) if len(factors) < len(product.args) else product


def plain(expression: Any) -> str:
    """Return the expression in one line of plain text.

    Example
    -------
    >>> from sympy import log, sqrt, symbols
    >>> n, delta = symbols("n delta", positive=True)
    >>> plain(3 * sqrt(log(1 / delta)) / n**2)
    '3 sqrt(log(1/delta))/n^2'
    """
    return str(_Plain({"order": "none"}).doprint(sympy.sympify(expression, strict=True)))


def written(side: Any) -> Any:
    """Return a side of a relation as its author wrote it: a function is called with sympy's rewriting off.

    ``delta/4 + delta/4`` would otherwise become ``delta/2`` before anyone sees it. Nested products are
    taken apart, which changes how the tree prints and nothing else.
    """
    if not callable(side) or isinstance(side, sympy.Basic):
        return exact(side)
    with sympy.evaluate(False):
        tree = exact(side())
    return _flat(tree)


def _flat(expression: Any) -> Any:
    """Return the tree with products of products, and whole powers of products and powers, taken apart."""
    if not expression.args:
        return expression
    parts = [_flat(part) for part in expression.args]
    if expression.is_Mul:
        return sympy.Mul(*(factor for part in parts for factor in sympy.Mul.make_args(part)), evaluate=False)
    if expression.is_Pow and parts[1].is_Integer:
        factors = [_power(factor, parts[1]) for factor in sympy.Mul.make_args(parts[0])]
        return factors[0] if len(factors) == 1 else sympy.Mul(*factors, evaluate=False)
    if expression.is_Add or expression.is_Pow:
        return expression.func(*parts, evaluate=False)
    return expression.func(*parts)


def _power(base: Any, exponent: Any) -> Any:
    if base.is_Pow and base.exp.is_Integer:
        base, exponent = base.base, base.exp * exponent
    return base if exponent == 1 else sympy.Pow(base, exponent, evaluate=False)
