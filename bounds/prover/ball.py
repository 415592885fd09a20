"""True values of formulas, enclosed: midpoint and radius arithmetic on sympy expressions.

``compile`` turns an expression into a function from balls (``flint.arb``) to a ball that contains
every value the expression takes on them. Nothing is rounded the wrong way, so a sign that is read
off a ball is the sign of the real number.
"""

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flint
import sympy

from dpcheck.errors import InputError

Ball = Any  # flint.arb
Compiled = Callable[[Sequence[Ball]], Ball]

_LARGEST_POWER = 2_000_000  # bits of a power of rational numbers that are written out
_MOST_TERMS = 12_000  # of a sum that is added up
_HIGHEST_ROOT = 10_000  # of a rational number; sympy looks for exact roots, which takes long beyond
_LONGEST, _LARGEST_ROOT = 100, 100  # operations in a number, and degree of a root in it, that sympy cancels
_PRECISIONS = (64, 256, 1024, 4096)  # bits; a sign still open after the last is left open


class UndefinedError(ArithmeticError):
    """The expression has no real value somewhere on the balls, or none that can be enclosed."""


def exact(number: Any) -> Ball:
    """Return a ball around a number without letters, such as ``log(5/2)``, at the present precision."""
    return compile(number, ())(())


def sign(expression: Any, values: Mapping[Any, Any]) -> int | None:
    """Return -1, 0 or 1 at exact ``values``, or ``None`` if no precision settles it or it is undefined."""
    loose = expression.free_symbols - values.keys()
    if loose:
        raise InputError(f"values must cover every letter, got none for {', '.join(sorted(map(str, loose)))}")
    try:
        return _sign(value(expression, values))
    except UndefinedError:
        return None


def value(expression: Any, values: Mapping[Any, Any]) -> Any:
    """Return the exact real number that the expression is at exact ``values``.

    Every part must be a real number: ``1/(1 + 1/x)`` has no value at 0, nor has a root or a
    logarithm of a negative number, whatever is done with it later.

    Raises :class:`UndefinedError` where it has no value, or none that is sure to be real.
    """
    if expression.is_Symbol:
        return values[expression]
    if not expression.args:
        return _real(expression)
    if isinstance(expression, sympy.Sum | sympy.Product):
        return _added_up(expression, values)
    parts = [value(part, values) for part in expression.args]
    if expression.is_Pow or expression.func is sympy.exp:
        require_power(*(parts if expression.is_Pow else (sympy.E, parts[0])))
    elif expression.func is sympy.log and _sign(parts[0]) != 1:
        raise UndefinedError("logarithm of a number that is not known to be positive")
    return _real(expression.func(*parts))


def _added_up(expression: Any, values: Mapping[Any, Any]) -> Any:
    """Return the value of a sum or product with a single letter, term by term; none is 0, or 1."""
    if len(expression.limits) != 1 or len(expression.limits[0]) != 3:
        raise UndefinedError("a sum over several letters")
    letter, *ends = expression.limits[0]
    low, high = (value(end, values) for end in ends)
    if not (low.is_Integer and high.is_Integer and -1 <= high - low < _MOST_TERMS) or letter in values:
        raise UndefinedError("a sum that runs backwards, or over too many terms")
    terms = (value(expression.function, {**values, letter: low + k}) for k in range(int(high - low) + 1))
    return _real((sympy.Add if isinstance(expression, sympy.Sum) else sympy.Mul)(*terms))


def partial(side: Any, values: Mapping[Any, Any]) -> Any:
    """Return an expression with some letters put in, whose parts all have to be real numbers, as in :func:`value`."""
    if not side.free_symbols - values.keys() and not any(value.free_symbols for value in values.values()):
        return value(side, values)
    if not side.args or not side.free_symbols:
        return values.get(side, side)
    rebuilt = side.func(*(partial(part, values) for part in side.args))
    if rebuilt.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I) or rebuilt.is_real is False:
        raise UndefinedError("not a real number")
    return rebuilt


def require_power(base: Any, exponent: Any) -> None:
    """Require that the power is a real number, and one that can be written down."""
    if base.is_Rational and exponent.is_Rational:
        size = max(abs(int(base.p)), int(base.q)).bit_length() * abs(int(exponent.p))
        if size > _LARGEST_POWER and base not in (0, 1, -1):
            raise UndefinedError("a power too large to be written down")
        if exponent.q > _HIGHEST_ROOT and base not in (0, 1):
            raise UndefinedError("a root of too high a degree to be taken apart")
    if exponent.is_Integer and exponent >= 0:
        return
    at = _sign(base)
    if at == 1 or (at == -1 and exponent.is_Integer) or (at == 0 and _sign(exponent) == 1):
        return
    raise UndefinedError("a power that is not known to be real")


def _real(number: Any) -> Any:
    if number.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I) or number.is_real is False:
        raise UndefinedError("not a real number")
    return number


def _sign(number: Any) -> int | None:
    """Return the sign of an exact number without letters."""
    if number.is_Rational:
        return int(sympy.sign(number))
    try:
        for precision in _PRECISIONS:
            with flint.ctx.workprec(precision):
                ball = exact(number)
            if ball > 0:
                return 1
            if ball < 0:
                return -1
    except UndefinedError:
        return None
    return 0 if _is_short(number) and sympy.simplify(number) == 0 else None


def _is_short(number: Any) -> bool:
    """Say whether sympy can be asked to cancel a number: it would take minutes over high roots and long formulas."""
    roots = (power.exp.q for power in number.atoms(sympy.Pow) if power.exp.is_Rational)
    return bool(number.count_ops() <= _LONGEST and max(roots, default=1) <= _LARGEST_ROOT)


def compile(expression: Any, letters: Sequence[Any]) -> Compiled:
    """Return the expression as a function of balls for ``letters``, in their order.

    Raises :class:`~dpcheck.errors.InputError` for a function it does not know.
    """
    if expression.is_Symbol:
        index = list(letters).index(expression)
        return lambda balls: balls[index]
    if expression.is_Rational:
        fraction = flint.fmpq(int(expression.p), int(expression.q))
        return lambda balls: flint.arb(fraction)
    if expression in _CONSTANTS:
        constant = _CONSTANTS[expression]
        return lambda balls: constant()
    if not expression.is_Pow and expression.func not in _FUNCTIONS:
        raise InputError(f"a formula must be made of {', '.join(_KNOWN)}, got {expression.func.__name__}")
    parts = [compile(part, letters) for part in expression.args]
    if expression.is_Pow:
        return _power(expression, parts[0], parts[1])
    function = _FUNCTIONS[expression.func]
    return lambda balls: function([part(balls) for part in parts])


def _power(expression: Any, base: Compiled, exponent: Compiled) -> Compiled:
    power = expression.exp
    if power.is_Integer:
        whole = int(power)
        return lambda balls: _whole(base(balls), whole)
    if power.is_Rational and power.q == 2:
        twice = int(power.p)
        return lambda balls: _whole(_root(base(balls)), twice)
    if expression.base is sympy.E:
        return lambda balls: exponent(balls).exp()
    return lambda balls: (_log(base(balls)) * exponent(balls)).exp()


def _whole(base: Ball, power: int) -> Ball:
    if power < 0 and base.contains(0):
        raise UndefinedError("division by zero")
    return base**power


def _root(ball: Ball) -> Ball:
    if ball < 0:
        raise UndefinedError("root of a negative number")
    return ball.nonnegative_part().sqrt()


def _log(ball: Ball) -> Ball:
    if not ball > 0:
        raise UndefinedError("logarithm of a number that may not be positive")
    return ball.log()


def _ceiling(ball: Ball) -> Ball:
    rounded = ball.ceil()
    if not rounded.is_exact():
        raise UndefinedError("ceiling of a number that may be whole")
    return rounded


_CONSTANTS: dict[Any, Callable[[], Ball]] = {
    sympy.E: lambda: flint.arb(1).exp(),
    sympy.pi: flint.arb.pi,
}
_FUNCTIONS: dict[Any, Callable[[list[Ball]], Ball]] = {
    sympy.Add: lambda balls: functools.reduce(operator.add, balls),
    sympy.Mul: lambda balls: functools.reduce(operator.mul, balls),
    sympy.Max: lambda balls: functools.reduce(lambda a, b: a.max(b), balls),
    sympy.Min: lambda balls: functools.reduce(lambda a, b: a.min(b), balls),
    sympy.log: lambda balls: _log(balls[0]),
    sympy.exp: lambda balls: balls[0].exp(),
    sympy.Abs: lambda balls: abs(balls[0]),
    sympy.ceiling: lambda balls: _ceiling(balls[0]),
    sympy.floor: lambda balls: -_ceiling(-balls[0]),
    sympy.erf: lambda balls: balls[0].erf(),
    sympy.erfc: lambda balls: balls[0].erfc(),
    sympy.cos: lambda balls: balls[0].cos(),
    sympy.sin: lambda balls: balls[0].sin(),
}
_KNOWN = ("+", "*", "powers", *sorted(function.__name__ for function in _FUNCTIONS if function.__name__[0].islower()))
