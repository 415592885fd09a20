"""Numbers and expressions as sympy takes them; text is refused, since sympy would execute it."""

from __future__ import annotations

from typing import Any

import sympy

from dpcheck.errors import InputError, one_line


def formula(value: Any) -> Any:
    """``value`` as a sympy expression: a number, a fraction or an expression.

    Floating-point numbers are taken as the decimals that were written: 0.1 is one tenth.

    Raises :class:`~dpcheck.errors.InputError` for anything else, text above all.
    """
    try:
        expression = sympy.sympify(value, strict=True)
    except sympy.SympifyError as error:
        shown = one_line(value)[:80]
        raise InputError(f"a formula must be a number or a sympy expression, got {shown!r}") from error
    floats = expression.atoms(sympy.Float)
    return expression.xreplace({each: sympy.Rational(repr(float(each))) for each in floats}) if floats else expression
