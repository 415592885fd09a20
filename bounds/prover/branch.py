"""Ball arithmetic on boxes: for inequalities in few letters with finite intervals.

A box on which the enclosed difference is positive is done; where a partial derivative has one sign,
only the face with the lower values is kept; what is left is halved. Every box done is a proof.
"""

from __future__ import annotations

from typing import Any

import flint
import sympy

from dpcheck.bounds.prover import ball
from dpcheck.bounds.prover.domain import Domain
from dpcheck.errors import InputError

_BOXES = 20_000
_BITS = 96


def proves(difference: Any, domain: Domain) -> bool:
    """Say whether the difference is shown to be nonnegative on the whole domain."""
    letters = list(domain.intervals)
    ends = list(domain.intervals.values())
    if not all(low.is_finite and high.is_finite for low, high in ends) or len(letters) > 4:
        return False
    saved = flint.ctx.prec
    try:
        flint.ctx.prec = _BITS
        box = [(ball.exact(low).lower(), ball.exact(high).upper()) for low, high in ends]
        return _cover(difference, letters, box, domain)
    finally:
        flint.ctx.prec = saved


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
        if any(_enclosed(fact, balls, "below") for fact in facts) or _enclosed(value, balls, "above"):
            continue
        if not facts:
            pairs = zip(slopes, current, strict=True)
            current = [ends if slope is None else slope.face(balls, ends) for slope, ends in pairs]
            balls = [low.union(high) for low, high in current]
            if _enclosed(value, balls, "above"):
                continue
        widths = [_width(low, high) for low, high in current]
        widest = max(range(len(widths)), key=lambda i: widths[i])
        if widths[widest] < 1e-9:
            return False
        low, high = current[widest]
        middle = ((low + high) / 2).mid()
        for half in ((low, middle), (middle, high)):
            queue.append([half if i == widest else ends for i, ends in enumerate(current)])
    return False


def _enclosed(function: ball.Compiled, balls: list[Any], side: str) -> bool:
    try:
        found = function(balls)
    except ball.UndefinedError:
        return False
    return bool(found >= 0 if side == "above" else found < 0)


def _slope(difference: Any, letter: Any, letters: list[Any]) -> _Slope | None:
    """Return the slope in one letter, or ``None`` where there is none or it is made of unknown functions."""
    if not _smooth(difference):
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
        grows = self._enclose(self._second, balls)
        at_low, at_high = ([*balls[: self._index], end, *balls[self._index + 1 :]] for end in ends)
        least, most = (at_low, at_high) if grows >= 0 else (at_high, at_low) if grows <= 0 else (balls, balls)
        if self._enclose(self._first, least) >= 0:
            return low, low
        return (high, high) if self._enclose(self._first, most) <= 0 else ends

    @staticmethod
    def _enclose(function: ball.Compiled, balls: list[Any]) -> Any:
        try:
            return function(balls)
        except ball.UndefinedError:
            return flint.arb("nan")


def _width(low: Any, high: Any) -> float:
    return float((high - low) / (1 + abs(low.mid())))


def _smooth(expression: Any) -> bool:
    return not expression.has(sympy.Max, sympy.Min, sympy.Abs, sympy.ceiling, sympy.floor)
