"""Enclosures over boxes that may be infinite: the values a formula takes, between two bounds, box by box.

A bound is an exact ``flint.arb``, plus or minus infinity included; every operation rounds outward.
Infinite ends are never attained, so that 0 times infinity is 0. What is enclosed are the values at
points where the formula is defined: the logarithm of [0, 1] is [-oo, 0].
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import flint
import sympy

from dpcheck.bounds.prover import ball
from dpcheck.bounds.prover.domain import Domain
from dpcheck.errors import InputError

Range = tuple[Any, Any]  # flint.arb, flint.arb
Ranged = Callable[[list[Range]], Range]

BITS = 128  # of the ends of a range
_INF = flint.arb("inf")
_ZERO, _ONE = flint.arb(0), flint.arb(1)
_LINE: Range = (-_INF, _INF)


def ends(low: Any, high: Any) -> Range:
    """Return the range between exact ends."""
    with flint.ctx.workprec(BITS):
        return (
            ball.exact(low).lower() if low.is_finite else -_INF,
            ball.exact(high).upper() if high.is_finite else _INF,
        )


def enclose(expression: Any, box: Mapping[Any, Range]) -> Range:
    """Return all values of the expression on the box; the whole line where nothing better is known."""
    with flint.ctx.workprec(BITS):
        return compile(expression, tuple(box))(list(box.values()))


@functools.lru_cache(maxsize=20_000)
def compile(expression: Any, letters: tuple[Any, ...]) -> Ranged:
    """Return the expression as a function of ranges for ``letters``, in their order."""
    if expression.is_Symbol:
        index = letters.index(expression)
        return lambda box: box[index]
    if not expression.free_symbols:
        try:
            constant = ends(expression, expression)
        except (ArithmeticError, InputError):
            constant = _LINE
        return lambda box: constant
    if expression.is_Pow:
        return _power(expression, letters)
    parts = [compile(part, letters) for part in expression.args]
    if expression.is_Add:
        return lambda box: functools.reduce(_add, [part(box) for part in parts])
    if expression.is_Mul:
        return lambda box: functools.reduce(_times, [part(box) for part in parts])
    function = _FUNCTIONS.get(expression.func)
    if function is None:
        return lambda box: _LINE
    return lambda box: function(*[part(box) for part in parts])


def _power(expression: Any, letters: tuple[Any, ...]) -> Ranged:
    base, exponent = compile(expression.base, letters), expression.exp
    if exponent.is_Integer:
        return lambda box: _whole(base(box), int(exponent))
    if exponent.is_Rational:
        return lambda box: _fractional(base(box), exponent)
    upper = compile(exponent, letters)
    if expression.base is sympy.E:
        return lambda box: _exp(upper(box))
    return lambda box: _raise(base(box), upper(box))


def _add(u: Range, v: Range) -> Range:
    return _low(u[0] + v[0]), _high(u[1] + v[1])


def _times(u: Range, v: Range) -> Range:
    products = [_product(a, b) for a in u for b in v]
    return functools.reduce(_least, map(_low, products)), functools.reduce(_most, map(_high, products))


def _product(a: Any, b: Any) -> Any:
    return _ZERO if a == 0 or b == 0 else a * b


def _whole(u: Range, power: int) -> Range:
    if power < 0:
        return _whole(_inverse(u), -power)
    if power % 2 == 1 or u[0] >= 0:
        return _low(u[0] ** power), _high(u[1] ** power)
    if u[1] <= 0:
        return _low(u[1] ** power), _high(u[0] ** power)
    return _ZERO, _most(_high(u[0] ** power), _high(u[1] ** power))


def _inverse(u: Range) -> Range:
    if u[0] >= 0:
        return _reciprocal(u[1], _low), _reciprocal(u[0], _high)
    if u[1] <= 0:
        low, high = _inverse((-u[1], -u[0]))
        return -high, -low
    return _LINE


def _reciprocal(a: Any, rounded: Any) -> Any:
    if a == 0:
        return _INF
    return _ZERO if not a.is_finite() else rounded(_ONE / a)


def _fractional(u: Range, power: Any) -> Range:
    """Return the range of a fractional power, for which only bases of at least 0 count."""
    if power < 0:
        return _inverse(_fractional(u, -power))
    if u[1] < 0:
        return _LINE
    exact = flint.fmpq(int(power.p), int(power.q))
    low, high = (_raised(_most(end, _ZERO), exact) for end in u)
    return _most(_low(low), _ZERO), _high(high)


def _raised(a: Any, power: Any) -> Any:
    if a == 0 or not a.is_finite():
        return a
    if power.q == 2:
        return a.sqrt() ** int(power.p)
    return (a.log() * flint.arb(power)).exp()


def _raise(base: Range, power: Range) -> Range:
    # a negative base has powers too, of integer exponents
    return _exp(_times(power, _log(base))) if base[0] >= 0 and base[1] > 0 else _LINE


def _exp(u: Range) -> Range:
    low, high = (end.exp() if end.is_finite() else (_INF if end > 0 else _ZERO) for end in u)
    return _most(_low(low), _ZERO), _high(high)


def _log(u: Range) -> Range:
    if u[1] <= 0:
        return _LINE
    return (
        _low(u[0].log()) if u[0] > 0 and u[0].is_finite() else -_INF,
        _high(u[1].log()) if u[1].is_finite() else _INF,
    )


def _wave(function: str) -> Callable[[Range], Range]:
    def wave(u: Range) -> Range:
        if not (u[0].is_finite() and u[1].is_finite()):
            return -_ONE, _ONE
        image = getattr(u[0].union(u[1]), function)()
        return _most(_low(image), -_ONE), _least(_high(image), _ONE)

    return wave


def _abs(u: Range) -> Range:
    if u[0] >= 0:
        return u
    return (-u[1], -u[0]) if u[1] <= 0 else (_ZERO, _most(-u[0], u[1]))


def _erf(u: Range) -> Range:
    low, high = (end.erf() if end.is_finite() else (_ONE if end > 0 else -_ONE) for end in u)
    return _most(_low(low), -_ONE), _least(_high(high), _ONE)


def _erfc(u: Range) -> Range:
    low, high = (end.erfc() if end.is_finite() else (_ZERO if end > 0 else _ONE + _ONE) for end in u)
    return _most(_low(high), _ZERO), _least(_high(low), _ONE + _ONE)


def _low(a: Any) -> Any:
    """Return the lower end of a ball, which may be infinite, or minus infinity if nothing is known."""
    return a.lower() if a.is_finite() else _INF if a == _INF else -_INF


def _high(a: Any) -> Any:
    return a.upper() if a.is_finite() else -_INF if a == -_INF else _INF


def _least(a: Any, b: Any) -> Any:
    return a if a <= b else b


def _most(a: Any, b: Any) -> Any:
    return a if a >= b else b


_FUNCTIONS: dict[Any, Callable[..., Range]] = {
    sympy.log: _log,
    sympy.exp: _exp,
    sympy.sin: _wave("sin"),
    sympy.cos: _wave("cos"),
    sympy.Abs: _abs,
    sympy.erf: _erf,
    sympy.erfc: _erfc,
    sympy.Max: lambda *parts: tuple(functools.reduce(_most, side) for side in zip(*parts, strict=True)),
    sympy.Min: lambda *parts: tuple(functools.reduce(_least, side) for side in zip(*parts, strict=True)),
}


def halved(box: list[Range]) -> list[list[Range]]:
    """Return the box in two, cut where its longest side, on a scale that is even for large and small, is halfway."""
    index = max(range(len(box)), key=lambda i: _length(box[i]))
    low, high = box[index]
    middle = _middle(low, high)
    return [[half if i == index else side for i, side in enumerate(box)] for half in ((low, middle), (middle, high))]


def _length(side: Range) -> float:
    low, high = (_bent(end) for end in side)
    return high - low


def _bent(a: Any) -> float:
    """Return the number bent into -1 to 1; a ninth of the way for each factor of ten beyond 1."""
    if not a.is_finite():
        return 1.0 if a > 0 else -1.0
    value = float(a)
    if abs(value) > 1e300:
        return math.copysign(1.0, value)
    return math.asinh(value) / (1 + abs(math.asinh(value)))


def _middle(low: Any, high: Any) -> Any:
    """Return an exact number between the ends."""
    if low.is_finite() and high.is_finite():
        if low > 0 and high > 4 * low:
            return (low * high).sqrt().mid()
        if high < 0 and low < 4 * high:
            return -(low * high).sqrt().mid()
        return ((low + high) / 2).mid()
    if low.is_finite():
        return low + 1 if low < 1 else 4 * low
    if high.is_finite():
        return high - 1 if high > -1 else 4 * high
    return _ZERO


_BOXES = 20_000
_BRANCH_BITS = 96


def proves(difference: Any, domain: Domain) -> bool:
    """Say whether the difference is shown to be nonnegative on the whole domain."""
    letters = list(domain.intervals)
    ends = list(domain.intervals.values())
    if not all(low.is_finite and high.is_finite for low, high in ends) or len(letters) > 4:
        return False
    with flint.ctx.workprec(_BRANCH_BITS):
        box = [(ball.exact(low).lower(), ball.exact(high).upper()) for low, high in ends]
        return _cover(difference, letters, box, domain)


def _cover(difference: Any, letters: list[Any], box: list[tuple[Any, Any]], domain: Domain) -> bool:
    value = ball.compile(difference, letters)
    slopes = [_slope(difference, letter, letters) for letter in letters]
    facts = [ball.compile(fact, letters) for fact in domain.differences()]
    queue = [box]
    for _ in range(_BOXES):
        if not queue:
            return True
        current = queue.pop()
        balls = [low.union(high) for low, high in current]
        if any(_enclose(fact, balls) < 0 for fact in facts) or _enclose(value, balls) >= 0:
            continue
        if not facts:
            pairs = zip(slopes, current, strict=True)
            current = [ends if slope is None else slope.face(balls, ends) for slope, ends in pairs]
            balls = [low.union(high) for low, high in current]
            if _enclose(value, balls) >= 0:
                continue
        widths = [float((high - low) / (1 + abs(low.mid()))) for low, high in current]
        widest = max(range(len(widths)), key=lambda i: widths[i])
        if widths[widest] < 1e-9:
            return False
        low, high = current[widest]
        middle = ((low + high) / 2).mid()
        for half in ((low, middle), (middle, high)):
            queue.append([half if i == widest else ends for i, ends in enumerate(current)])
    return False


def _enclose(function: ball.Compiled, balls: list[Any]) -> Any:
    """Return the values of a function, or a ball that is in no order to any number where it may be undefined."""
    try:
        return function(balls)
    except ball.UndefinedError:
        return flint.arb("nan")


def _slope(difference: Any, letter: Any, letters: list[Any]) -> _Slope | None:
    """Return the slope in one letter, or ``None`` where there is none or it is made of unknown functions."""
    if difference.has(sympy.Max, sympy.Min, sympy.Abs, sympy.ceiling, sympy.floor):
        return None
    try:
        return _Slope(difference, letter, letters)
    except InputError:
        return None


class _Slope:
    """The derivative in one letter, and its derivative, to tell the end at which a function is least."""

    def __init__(self, difference: Any, letter: Any, letters: list[Any]) -> None:
        first = difference.diff(letter)
        self._index = letters.index(letter)
        self._first = ball.compile(first, letters)
        self._second = ball.compile(first.diff(letter), letters)

    def face(self, balls: list[Any], ends: tuple[Any, Any]) -> tuple[Any, Any]:
        """Return the end with the lower values if the function is monotone on the box, or both ends.

        A slope that grows is nonnegative if it is so at the low end, and nonpositive if it is so at
        the high end; the other way round for one that falls.
        """
        low, high = ends
        grows = _enclose(self._second, balls)
        at_low, at_high = ([*balls[: self._index], end, *balls[self._index + 1 :]] for end in ends)
        least, most = (at_low, at_high) if grows >= 0 else (at_high, at_low) if grows <= 0 else (balls, balls)
        if _enclose(self._first, least) >= 0:
            return low, low
        return (high, high) if _enclose(self._first, most) <= 0 else ends
