"""A point of a domain at which expressions are defined, so that a proof about them is about something."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import sympy

from dpcheck.bounds.prover import ball, search
from dpcheck.bounds.prover.domain import Domain

_TRIED = 200  # points of the search


@functools.lru_cache(maxsize=4096)
def find(domain: Domain, expressions: tuple[Any, ...]) -> Mapping[Any, Any] | None:
    """Return a point, exact, that lies in the domain for certain and at which all are defined; ``None`` if none is
    found.
    """
    for point in _candidates(domain, expressions):
        if domain.contains(point) and all(defined(each, point) for each in expressions):
            return point
    return None


def defined(expression: Any, point: Mapping[Any, Any]) -> bool:
    """Say whether every part of the expression is for certain a real number at an exact point."""
    try:
        return bool(ball.exact(ball.value(expression, point)).is_finite())
    except ball.UndefinedError:
        return False


def _candidates(domain: Domain, expressions: tuple[Any, ...]) -> Iterator[dict[Any, Any]]:
    """Yield simple points first, then those a search in floating point finds inside."""
    columns = [_simple(letter, *ends) for letter, ends in domain.limits.items()]
    letters = list(domain.limits)
    for k in range(max(map(len, columns), default=1)):
        yield dict(zip(letters, (column[min(k, len(column) - 1)] for column in columns), strict=True))
    if letters:
        landscape = search.Landscape(sum(expressions, sympy.Integer(0)), domain)
        for point in itertools.islice(landscape.inside(_TRIED), 4 * _TRIED):
            yield dict(zip(letters, point, strict=True))


def _simple(letter: Any, low: Any, high: Any) -> list[Any]:
    """Return a few values between the ends, from the middle outwards."""
    inside = [sympy.Integer(k) for k in (1, 2, 3, 10, 100, 0, -1, -10)]
    if low.is_finite and high.is_finite:
        inside += [low + (high - low) * share for share in (sympy.Rational(1, 2), sympy.Rational(1, 10))] + [low, high]
    elif low.is_finite:
        inside += [low + 1, low + 10, low]
    elif high.is_finite:
        inside += [high - 1, high - 10, high]
    return [value for value in inside if (low <= value) == True and (value <= high) == True] or [low]  # noqa: E712
