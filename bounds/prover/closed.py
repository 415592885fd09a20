"""Functions F with F(t) - F(t - 1) = g(t), which close a sum, and functions whose slope is g, which bound it."""

from typing import Any

import sympy
from sympy.concrete.gosper import gosper_term

_LARGE = 30  # operations of a summand for which integrals and hypergeometric terms are looked for


def telescoped(g: Any, t: Any) -> Any:
    """Return an F in ``t`` for which F(t) - F(t - 1) should be g, or ``None``; it still has to be checked."""
    if not g.has(t):
        return g * t
    if g.is_polynomial(t):
        # the sum from 1 to t, as a polynomial
        letter = sympy.Dummy(integer=True, positive=True)
        return sympy.expand(sympy.summation(g, (t, 1, letter))).xreplace({letter: t})
    geometric = _geometric(g, t)
    if geometric is not None:
        return geometric
    if g.count_ops() > _LARGE or not g.is_rational_function(t):
        return None
    plain = sympy.Dummy(integer=True)
    try:
        term = gosper_term(sympy.together(g.xreplace({t: plain})), plain)
    except (NotImplementedError, ValueError, TypeError, sympy.PolynomialError):
        return None
    if term is None:
        return None
    # h(t + 1) - h(t) = g(t) with h = term g
    return sympy.factor((term * g.xreplace({t: plain})).xreplace({plain: t + 1}))


def _geometric(g: Any, t: Any) -> Any:
    """Return F for a polynomial of low degree times r**t."""
    powers = [part for part in sympy.Mul.make_args(sympy.powsimp(g)) if part.has(t) and part.is_Pow]
    base, rest = sympy.S.One, g
    for power in powers:
        exponent = sympy.expand(power.exp)
        slope = exponent.coeff(t, 1)
        if power.base.has(t) or (not slope.has(t) and sympy.expand(exponent - slope * t).has(t)):
            continue
        if exponent.has(t):
            base *= power.base**slope
            rest = rest / power
    rest = sympy.powsimp(sympy.expand(rest))
    if base == 1 or not rest.is_polynomial(t):
        return None
    degree = sympy.degree(rest, t) if rest.has(t) else 0
    if degree == 0 and len(powers) == 1:  # in a form that has a value where the base is 0
        (power,) = powers
        slope = sympy.expand(power.exp).coeff(t, 1)
        ahead = sympy.expand(power.exp + slope)
        if slope.is_negative:
            return rest * power / (1 - power.base**-slope)
        return rest * power.base**ahead / (power.base**slope - 1)
    if degree > 2:
        return None
    unknown = sympy.symbols(f"c:{degree + 1}", cls=sympy.Dummy)
    guess = sum(c * t**k for k, c in enumerate(unknown))
    equation = sympy.Poly(sympy.expand(base * (guess - rest) - guess.xreplace({t: t - 1})), t)
    solved = sympy.solve(equation.coeffs(), unknown, dict=True)
    if not solved or len(solved[0]) < len(unknown):
        return None
    factor = sympy.Mul(*(power for power in powers if not power.base.has(t) and power.exp.has(t)))
    return factor * sympy.factor(guess.xreplace(solved[0]))


def integral(g: Any, x: Any) -> Any:
    """Return a function of ``x`` whose slope should be g, or ``None``; it still has to be checked."""
    factor, rest = g.as_independent(x, as_Add=False)
    if rest == 1:
        return g * x
    base, power = rest.as_base_exp()
    if base is not sympy.E and not power.has(x):
        line = sympy.expand(base)
        slope = line.coeff(x, 1)
        if not sympy.expand(line - slope * x).has(x):
            if power == -1:
                return factor * sympy.log(base) / slope
            return factor * base ** (power + 1) / (slope * (power + 1))
    if g.count_ops() > _LARGE:
        return None
    from sympy.integrals.manualintegrate import manualintegrate  # its many rules take a while to load

    try:
        found = manualintegrate(g, x)
    except (NotImplementedError, ValueError, TypeError, RecursionError):
        return None
    return None if found.has(sympy.Integral, sympy.Piecewise) else found
