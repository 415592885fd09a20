"""Domains as they are written: letters and relations, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from dpcheck.bounds.prover.domain import Domain, below, bound_of, range_of
from dpcheck.errors import require


def over(*parts: Any) -> Domain:
    """Return the domain of letters and relations, in their order.

    Parameters
    ----------
    *parts : Symbol, relation, Domain, or tuple of these
        A letter takes every value that its symbol allows: a positive one lies in (0, oo), a positive integer in 1, 2,
        .... A relation between a letter and a number is an end of the letter's interval, which a strict one leaves out;
        any other relation is one of ``where``, and its letters are named before it. A domain stands for its intervals
        and relations.

    Returns
    -------
    Domain
        The domain.

    Raises
    ------
    InputError
        For a relation that is true of every value, such as ``n >= 1`` of a positive integer (name the letter instead),
        and for what :class:`Domain` refuses.

    Examples
    --------
    >>> from sympy import symbols
    >>> n, m = symbols("n m", integer=True, positive=True)
    >>> epsilon = symbols("epsilon", positive=True)
    >>> str(over(n >= 2, m, epsilon < 1, m <= n))
    'n >= 2, m >= 1, 0 < epsilon < 1, m <= n'
    """
    intervals: dict[Any, tuple[Any, Any]] = {}
    where: list[Any] = []
    for part in _flat(parts):
        if isinstance(part, Domain):
            intervals |= part.intervals
            where += [*part.where, *[sympy.false] * part.empty]
            continue
        if part is sympy.false:
            where.append(part)
            continue
        plain = isinstance(part, sympy.Symbol | sympy.core.relational.Relational)
        require(plain, "a part of a domain", "be a letter, or a relation that leaves something open", part)
        bound = None if part.is_Symbol else bound_of(part)
        if bound is None and not part.is_Symbol:
            where.append(part)
            continue
        letter, end, lower = bound or (part, None, False)
        low, high = intervals.get(letter) or range_of(letter)
        if end is not None:
            if isinstance(part, sympy.Lt | sympy.Gt) and end.is_finite:
                where.append(part)
            low, high = (end if below(low, end) else low, high) if lower else (low, end if below(end, high) else high)
        intervals[letter] = (low, high)
    return Domain(intervals, tuple(where))


def _flat(parts: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the parts, those of a tuple among them one by one."""
    for part in parts:
        yield from _flat(part) if isinstance(part, tuple) else (part,)
