"""Formulas rewritten for proofs by slopes: exponentials as powers, logarithms apart, products spread out."""

from __future__ import annotations

from typing import Any

import sympy


def turned(expression: Any) -> Any:
    """Return the expression with the other sign, term by term."""
    return sympy.Add(*(-term for term in sympy.Add.make_args(expression)))


def spread(function: Any, scale: Any) -> Any:
    """Return the product with every term simplified: exponentials combined, common factors cancelled."""
    if not function.has(sympy.exp):
        parts = sympy.collect(sympy.expand(function), sorted(function.atoms(sympy.log), key=str), evaluate=False)
        return sympy.Add(*(sympy.cancel(factor * scale) * log for log, factor in parts.items()))
    terms = sympy.Add.make_args(sympy.expand(function))
    each = (sympy.expand(term * scale, power_exp=False) for term in terms)
    return sympy.Add(*(sympy.powsimp(term, combine="exp") for term in each))


def exponentials(function: Any, swap: dict[Any, Any]) -> Any:
    """Return the function with a letter for each exponential of a term, whole multiples as powers of it."""

    def power(grown: Any) -> Any:
        product = sympy.S.One
        for term in sympy.Add.make_args(sympy.expand(grown.args[0])):
            factor, rest = term.as_coeff_Mul()
            rest, factor = rest / factor.q, factor.p
            product *= swap.setdefault(sympy.exp(rest), sympy.Dummy(positive=True)) ** factor
        return product

    return function.replace(lambda part: isinstance(part, sympy.exp), power)


def plain(expression: Any, letter: Any, low: Any) -> bool:
    """Say whether it is a sum of products of what is nonnegative at sight."""
    if expression.is_Rational or expression.is_NumberSymbol:
        return bool(expression >= 0)
    if expression == letter:
        return low is not None and bool(sympy.sympify(low, strict=True).is_nonnegative)
    if expression.is_Symbol:
        return bool(expression.is_nonnegative)
    if isinstance(expression, sympy.exp):
        return True
    if expression.is_Pow:
        return bool(expression.exp.is_even) or plain(expression.base, letter, low)
    if expression.is_Add or expression.is_Mul:
        return all(plain(part, letter, low) for part in expression.args)
    return False


def logs_apart(expression: Any) -> Any:
    """Return the expression with logarithms of products and powers taken apart."""

    def apart(argument: Any) -> Any:
        swap: dict[Any, Any] = {}
        grown = exponentials(argument, swap)
        back = {letter: atom for atom, letter in swap.items()}
        whole = sympy.factor(sympy.cancel(sympy.together(grown))).xreplace(back)
        return sympy.expand_log(sympy.log(whole), force=True)

    return expression.replace(lambda part: isinstance(part, sympy.log), lambda part: apart(part.args[0]))
