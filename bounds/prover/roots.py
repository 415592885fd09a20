"""Roots of odd degree, which are complex numbers at negative arguments and mistaken for real ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpcheck.bounds.prover import ball
from dpcheck.bounds.prover.domain import Domain
from dpcheck.errors import require


def require_real(expressions: Sequence[Any], domain: Domain) -> None:
    """Raise :class:`~dpcheck.errors.InputError` for a root of odd degree of a letter that may be negative.

    A square root is left out where its argument is negative, as everybody expects. Of ``x**(1/3)``
    many expect the real root instead, which sympy's is not.
    """
    for power in sorted(set().union(*(each.find(_odd) for each in expressions)), key=str):
        low = domain.limits[power.base][0]
        nonnegative = low.is_finite and ball.sign(low, {}) in (0, 1)
        require(nonnegative, f"{power.base} in {power}", "be nonnegative (the power is complex elsewhere)", low)


def _odd(expression: Any) -> bool:
    return bool(
        expression.is_Pow and expression.base.is_Symbol and expression.exp.is_Rational and expression.exp.q % 2 == 1
        and expression.exp.q > 1
    )  # fmt: skip
