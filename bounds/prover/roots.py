"""Roots of odd degree, which are complex numbers at negative arguments and mistaken for real ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpcheck.bounds.prover import ball, search
from dpcheck.bounds.prover.domain import Domain
from dpcheck.errors import require


def require_real(expressions: Sequence[Any], domain: Domain) -> None:
    """Raise :class:`~dpcheck.errors.InputError` for a root of odd degree of what is negative somewhere.

    A square root is left out where its argument is negative, as everybody expects. Of ``x**(1/3)``
    many expect the real root instead, which sympy's is not.
    """
    powers = set().union(*(each.find(_is_odd) for each in expressions))
    for power in sorted(powers, key=str):
        at = _negative(power.base, domain)
        require(at is None, f"{power.base} in {power}", "be nonnegative, since the power is complex elsewhere", at)


def _negative(base: Any, domain: Domain) -> str | None:
    """Return where the base is negative, in words, if that is found."""
    if base.is_nonnegative or not base.free_symbols:
        return None
    if base.is_Symbol:
        low = domain.limits[base][0]
        return None if low.is_finite and ball.sign(low, {}) in (0, 1) else f"values from {low}"
    for height, point in search.Landscape(base, domain).lowest(count=2):
        at = dict(zip(domain.limits, point, strict=True))
        if height < 0 and domain.contains(at) and ball.sign(base, at) == -1:
            return "a negative one at " + ", ".join(f"{letter} = {value}" for letter, value in at.items())
    return None


def _is_odd(expression: Any) -> bool:
    power = expression.exp if expression.is_Pow else None
    return power is not None and bool(power.is_Rational and power.q > 1 and power.q % 2 == 1)
