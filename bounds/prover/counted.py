"""Inequalities of an integer letter: its first values one by one, all others as if it were a real number."""

from __future__ import annotations

from typing import Any

import sympy

from dpcheck.bounds.prover import ball, letters, slopes
from dpcheck.bounds.prover.domain import Domain

_FIRST = (1, 2, 4, 8, 16, 64)  # how many values are looked at one by one


def proves(difference: Any, domain: Domain) -> bool:
    """Say whether the difference is shown to be nonnegative wherever it is defined on the domain."""
    for letter, (low, high) in domain.intervals.items():
        if letter.is_integer and low.is_finite and difference.has(letter):
            for count in _FIRST:
                start = low + count
                if high.is_finite and start > high:
                    break
                if slopes.proves(difference, Domain({**domain.intervals, letter: (start, high)}, domain.where)):
                    return all(_holds_at(difference, domain, letter, low + k) for k in range(count))
    return False


def _holds_at(difference: Any, domain: Domain, letter: Any, value: Any) -> bool:
    """Say whether it is shown with this value of the letter, if the letter may have it."""
    if not letters.allows(letter, value):
        return True
    at = difference.xreplace({letter: value})
    if at.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
        return False
    rest = {each: ends for each, ends in domain.intervals.items() if each != letter}
    where = tuple(relation.xreplace({letter: value}) for relation in domain.where)
    if any(relation == sympy.false for relation in where):
        return True
    return slopes.proves(at, Domain(rest, where)) if rest else ball.sign(at, {}) in (0, 1)
