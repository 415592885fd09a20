"""What is known of an inequality that is open: where it is closest, and what weaker statements are proved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import sympy

from dpcheck.bounds.prover import limit, search
from dpcheck.bounds.prover.domain import Domain
from dpcheck.bounds.prover.inequality import Inequality
from dpcheck.bounds.terms import evaluated
from dpcheck.errors import InputError

_FACTORS = (sympy.Integer(2), sympy.Rational(11, 10), sympy.Rational(101, 100))  # on the larger side, one after another
_SLOT = 0.25  # of the time that is left, for one attempt


def partly(step: Inequality) -> str:
    """Return sentences on an inequality that was neither proved nor refuted, as many as the time allows."""
    said = [_closest(step)] if step.over.intervals else []
    if step.sign == "<" and _proved(replace(step, sign="<=")):
        said.append("With <= in place of < it is proved.")
    if step.sign != "=":
        factor = None
        for candidate in _FACTORS:
            if not _proved(replace(step, larger=candidate * step.larger, sign="<=")):
                break
            factor = candidate
        if factor is not None:
            said.append(f"With {factor} times the larger side it is proved.")
    smaller = next((over for over in _parts(step.over) if _proved(replace(step, over=over))), None)
    if smaller is not None:
        said.append(f"It is proved for {smaller}.")
    return " ".join(filter(None, said))


def _proved(step: Inequality) -> bool:
    try:
        with limit.limit(limit.left() * _SLOT if limit.left() < float("inf") else 10.0):
            return step.holds()
    except (limit.OutOfTime, ArithmeticError, ValueError):
        return False


def _closest(step: Inequality) -> str:
    """Return where the sides are closest in proportion to their size, by a search in floating point."""
    try:
        with limit.limit(limit.left() * _SLOT):
            smaller, larger = map(evaluated, step.sides())
            gap = (larger - smaller) / (1 + abs(larger) + abs(smaller))
            for _, point in search.Landscape(gap, step.over).lowest(1):
                at = dict(zip(step.over.intervals, point, strict=True))
                values = [sympy.N(side.xreplace(at), 8) for side in (smaller, larger)]
                where = ", ".join(f"{letter} = {sympy.N(value, 6)}" for letter, value in at.items())
                return f"The sides are closest near {where}: {values[0]} and {values[1]}."
    except (limit.OutOfTime, ArithmeticError, ValueError, TypeError, InputError):
        pass
    return ""


def _parts(over: Domain) -> Iterator[Domain]:
    """Yield smaller domains: one letter within, or beyond, a round number."""
    for letter, (low, high) in over.limits.items():
        if low.is_finite and high.is_finite:
            cuts = [(low + high) / 2]
        else:
            start = low if low.is_finite else high if high.is_finite else sympy.Integer(0)
            cuts = [start + step if low.is_finite or not high.is_finite else start - step for step in (1, 10, 1000)]
        for cut in cuts:
            for ends in ((low, cut), (cut, high)):
                if ends != (low, high) and bool(ends[0] <= ends[1]):
                    yield Domain({**over.intervals, letter: ends}, over.where)
