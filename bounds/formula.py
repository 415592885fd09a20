"""Numbers and expressions as sympy takes them; text is refused, since sympy would execute it."""

from __future__ import annotations

from typing import Any

import sympy

from dpcheck.errors import InputError, one_line, require

_DECIMALS_PER_BIT = 0.30103
_LARGEST_EXPONENT = 4_000  # decimal digits of a floating-point number that are written out
_NOT_REAL = (sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.I)


def formula(value: Any) -> Any:
    """Return ``value`` as a sympy expression: a number, a fraction or an expression.

    Floating-point numbers are taken as the decimals that were written: 0.1 is one tenth, and
    ``Float("1e400")`` is the whole number.

    Raises :class:`~dpcheck.errors.InputError` for anything else, text above all.
    """
    try:
        expression = sympy.sympify(value, strict=True)
    except sympy.SympifyError as error:
        shown = one_line(value)[:80]
        raise InputError(f"a formula must be a number or a sympy expression, got {shown!r}") from error
    require(isinstance(expression, sympy.Basic), "a formula", "be a number or a sympy expression", value)
    floats = expression.atoms(sympy.Float)
    return expression.xreplace({each: _decimal(each) for each in floats}) if floats else expression


def real(value: Any, name: str) -> Any:
    """Return ``value`` as an expression in real numbers and real letters.

    Raises :class:`~dpcheck.errors.InputError` for a relation, for NaN, infinity and the imaginary
    unit, and for a letter that cannot be a real number.
    """
    expression = formula(value)
    require(isinstance(expression, sympy.Expr), name, "be a number or an expression", expression)
    strange = [each for each in _NOT_REAL if expression.has(each)]
    require(not strange, name, f"be made of real numbers, without {', '.join(map(str, strange))}", expression)
    require(
        bool(expression.free_symbols) or expression.is_real is not False, name, "be made of real numbers", expression
    )
    return expression


def _decimal(number: Any) -> Any:
    """Return the shortest decimal that is rounded to this number at its own precision, as a fraction."""
    sign, man, exp, bits = number._mpf_
    fits = abs(exp + bits) * _DECIMALS_PER_BIT < _LARGEST_EXPONENT
    require(fits, "a floating-point number", f"have an exponent below {_LARGEST_EXPONENT}", "one beyond")
    if number._prec <= 53 and sympy.Float(float(number), precision=number._prec) == number:
        return sympy.Rational(repr(float(number)))
    least = max(1, int(number._prec * _DECIMALS_PER_BIT))
    for digits in range(least, least + 4):
        text = str(sympy.Float(number, digits))
        if sympy.Float(text, precision=number._prec) == number:
            return sympy.Rational(text)
    return sympy.Integer(-man if sign else man) * sympy.Integer(2) ** exp
