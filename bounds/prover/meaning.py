"""What a letter stands for, checked: its sign, its interval, and that names can be put back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from dpcheck.bounds.prover import ball
from dpcheck.bounds.prover.domain import Domain


def fits(letter: Any, meaning: Any, ends: tuple[Any, Any], domain: Domain, speaking: Sequence[Any]) -> bool:
    """Say whether the letter's assumptions and its interval hold for what it means, on the domain.

    ``speaking`` are the expressions that have to be real: a root in them is of a number that is
    not negative.
    """
    try:
        true = _ends(meaning, domain, speaking)
    except ball.UndefinedError:
        return False
    if true is None or not _at_most(ends[0], true[0]) or not _at_most(true[1], ends[1]):
        return False
    if letter.is_integer and not (meaning.is_Symbol and meaning.is_integer):
        return False
    above = _sign(true[0])
    if letter.is_positive:
        return above == 1 or bool(meaning.is_positive)
    if letter.is_nonnegative:
        return above in (0, 1)
    below = _sign(true[1])
    if letter.is_negative:
        return below == -1 or bool(meaning.is_negative)
    return below in (-1, 0) if letter.is_nonpositive else True


def same(first: Any, second: Any) -> bool:
    """Say whether two expressions are equal wherever both are defined."""
    difference = sympy.expand_log(first - second)
    if difference == 0:
        return True
    numerator, _ = sympy.fraction(sympy.together(difference))
    return bool(sympy.expand(sympy.expand_log(sympy.expand(numerator))) == 0)


def _ends(meaning: Any, domain: Domain, speaking: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return an interval that holds every real value of the meaning, or ``None`` if it is not one of the kinds."""
    if not meaning.free_symbols:
        at = ball.value(meaning, {})
        return at, at
    if meaning.is_Symbol:
        return domain.intervals.get(meaning)
    if meaning.is_Pow and meaning.exp.is_Rational and not meaning.exp.is_Integer:
        if not _occurs(meaning, speaking):
            return None
        inner = domain.intervals.get(meaning.base)
        if inner is None or meaning.exp < 0:
            return sympy.Integer(0), sympy.oo
        low, high = (end if not end.is_finite else max(end, sympy.Integer(0)) ** meaning.exp for end in inner)
        return (low if low.is_finite else sympy.Integer(0)), high
    least = sympy.Integer(0) if meaning.is_nonnegative else -sympy.oo
    if meaning.func is sympy.log:
        inner = _ends(meaning.args[0], domain, speaking)
        if inner is not None:
            low = sympy.log(inner[0]) if _sign(inner[0]) == 1 and inner[0].is_finite else least
            return low, sympy.log(inner[1]) if inner[1].is_finite and _sign(inner[1]) == 1 else sympy.oo
    return least, sympy.oo


def _occurs(root: Any, speaking: Sequence[Any]) -> bool:
    """Say whether a fractional power of the base has to be real, or the base cannot be negative."""
    if root.base.is_nonnegative:
        return True
    powers = set().union(*(each.atoms(sympy.Pow) for each in speaking))
    return any(each.base == root.base and each.exp.is_Rational and not each.exp.is_Integer for each in powers)


def _sign(end: Any) -> int | None:
    if not end.is_finite:
        return 1 if end == sympy.oo else -1
    return ball.sign(end, {})


def _at_most(first: Any, second: Any) -> bool:
    if first == -sympy.oo or second == sympy.oo:
        return True
    return bool(first.is_finite and second.is_finite and ball.sign(second - first, {}) in (0, 1))
