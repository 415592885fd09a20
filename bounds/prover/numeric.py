"""Formulas as functions of floating-point arrays, which point the way and prove nothing."""

from collections.abc import Sequence
from typing import Any

import sympy
from sympy.printing.numpy import SciPyPrinter

_PLAIN = {"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True, "user_functions": {}}


def numeric(letters: Sequence[Any], expression: Any) -> Any:
    """Return the function of the letters.

    The printer loads the few names that it writes; sympy's own choice loads all of NumPy and of scipy.special.
    """
    written = all(hasattr(SciPyPrinter, f"_print_{type(part).__name__}") for part in expression.atoms(sympy.Function))
    if not written:
        return sympy.lambdify(letters, expression, modules=["scipy", "numpy"])
    return sympy.lambdify(letters, expression, modules=[{}], printer=SciPyPrinter(_PLAIN))
