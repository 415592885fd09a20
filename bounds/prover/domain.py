"""Where an inequality is claimed: an interval for each letter and further relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from dpcheck.bounds.formula import formula
from dpcheck.bounds.prover import ball
from dpcheck.errors import InputError, require

_ORDERS = (sympy.Le, sympy.Ge, sympy.Lt, sympy.Gt)


@dataclass(frozen=True)
class Domain:
    """The set of values an inequality is about.

    ``intervals`` gives each letter its closed interval, exact numbers or ``oo``; an end at 0 of a
    positive letter is open, and integer letters take integers only, as the symbols themselves say.
    ``where`` are further relations (``<=``, ``<``, ``>=``, ``>``); proofs cover their boundary too.

    Raises :class:`~dpcheck.errors.InputError` for an empty interval, for a relation of another
    kind, and for a letter in ``where`` without an interval.
    """

    intervals: Mapping[Any, tuple[Any, Any]]
    where: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        exact = {letter: (formula(low), formula(high)) for letter, (low, high) in self.intervals.items()}
        object.__setattr__(self, "intervals", exact)
        for letter, (low, high) in exact.items():
            require(bool(low <= high), f"the interval of {letter}", "not be empty", f"[{low}, {high}]")
        require(sympy.false not in self.where, "where", "leave something", "a false relation")
        object.__setattr__(self, "where", tuple(formula(each) for each in self.where if each is not sympy.true))
        for relation in self.where:
            require(isinstance(relation, _ORDERS), "where", "hold relations <=, <, >=, >", relation)
            loose = relation.free_symbols - exact.keys()
            require(not loose, "where", "speak of letters with an interval", ", ".join(map(str, loose)))

    def __hash__(self) -> int:
        """Equal domains have equal hashes."""
        return hash((tuple(self.intervals.items()), self.where))

    def covers(self, *expressions: Any) -> None:
        """Raise :class:`~dpcheck.errors.InputError` unless every letter has an interval."""
        loose = set().union(*(expression.free_symbols for expression in expressions)) - self.intervals.keys()
        if loose:
            raise InputError(f"the domain must give an interval to {', '.join(sorted(map(str, loose)))}, got none")

    def differences(self) -> Iterator[Any]:
        """Each relation of ``where`` as an expression that is at least zero."""
        for relation in self.where:
            yield relation.gts - relation.lts

    def contains(self, values: Mapping[Any, Any]) -> bool:
        """Whether exact ``values`` of all letters lie in the domain, for certain."""
        for letter, (low, high) in self.intervals.items():
            value = values[letter]
            if letter.is_integer and not value.is_Integer:
                return False
            if letter.is_positive and ball.sign(value, {}) != 1:
                return False
            if low.is_finite and ball.sign(value - low, {}) not in (0, 1):
                return False
            if high.is_finite and ball.sign(high - value, {}) not in (0, 1):
                return False
        signs = [ball.sign(difference, values) for difference in self.differences()]
        strict = [isinstance(relation, sympy.Lt | sympy.Gt) for relation in self.where]
        return all(sign == 1 or (sign == 0 and not open) for sign, open in zip(signs, strict, strict=True))

    def __str__(self) -> str:
        """The domain in one line: ``n >= 2, 0 < epsilon <= 1, m <= n``."""
        parts = []
        for letter, (low, high) in self.intervals.items():
            left = "" if low == -sympy.oo else f"{low} {'<' if low == 0 and letter.is_positive else '<='} "
            right = "" if high == sympy.oo else f" <= {high}"
            parts.append(f"{letter} >= {low}" if left.endswith("<= ") and not right else f"{left}{letter}{right}")
        return ", ".join([*parts, *(f"{relation.lts} <= {relation.gts}" for relation in self.where)])
