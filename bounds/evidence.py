"""The kinds of evidence a verdict may rest on, each of which checks itself again when asked.

Everything is exact: sympy expressions in positive letters, rational numbers, finite enumeration.
A :class:`Cited` fact is the one kind that is not recomputed; it names where the fact is from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import sympy


class Step(Protocol):
    """One piece of evidence: what it says in words, its formula, and whether it holds."""

    @property
    def says(self) -> str:
        """What the step shows, in words."""

    def formula(self) -> str:
        """The step as text that can be evaluated again elsewhere."""

    def holds(self) -> bool:
        """Recompute the step."""


@dataclass(frozen=True)
class Cited:
    """A textbook fact, used and not recomputed."""

    says: str
    source: str

    def formula(self) -> str:
        """Where the fact is from."""
        return self.source

    def holds(self) -> bool:
        """Always true: nothing is recomputed."""
        return True


@dataclass(frozen=True)
class Identity:
    """Two expressions are equal wherever both are defined."""

    says: str
    left: Any
    right: Any

    def formula(self) -> str:
        """The equation."""
        return f"{self.left} = {self.right}"

    def holds(self) -> bool:
        """The difference cancels to zero symbolically."""
        difference = sympy.cancel(sympy.together(sympy.expand(self.left - self.right)))
        return bool(difference == 0 or sympy.simplify(difference) == 0)


@dataclass(frozen=True)
class AtMost:
    """``smaller <= larger`` for every positive value of the letters.

    The certificate is the simplest there is: over a common denominator the difference is a sum of
    products of positive letters with nonnegative coefficients. A letter that is at least one is
    written as ``1 + k`` with ``k`` positive, one that is at most one as ``1/(1 + k)``; the end
    point ``k = 0`` follows since both sides are continuous.
    """

    says: str
    smaller: Any
    larger: Any

    def formula(self) -> str:
        """The inequality."""
        return f"{self.smaller} <= {self.larger}"

    def holds(self) -> bool:
        """Every coefficient of the difference is nonnegative."""
        above, below = sympy.fraction(sympy.together(self.larger - self.smaller))
        return _nonnegative(above) and _nonnegative(below) and bool(below != 0)


@dataclass(frozen=True)
class Below:
    """One exact number is strictly below another."""

    says: str
    smaller: Any
    larger: Any

    def formula(self) -> str:
        """The inequality."""
        return f"{self.smaller} < {self.larger}"

    def holds(self) -> bool:
        """The difference is positive; sympy raises its precision until the sign is settled."""
        return bool((sympy.sympify(self.larger) - sympy.sympify(self.smaller)).is_positive)


@dataclass(frozen=True)
class Counterexample:
    """Exact values of the letters at which a claimed relation is false."""

    says: str
    claimed: Any
    values: tuple[tuple[Any, Any], ...]

    def formula(self) -> str:
        """The relation, the values, and what the two sides become."""
        at = ", ".join(f"{symbol} = {value}" for symbol, value in self.values)
        left, right = (side.subs(self.values) for side in self.claimed.args)
        return f"not {_relation(self.claimed)} at {at}: the sides are {left} and {right}"

    def holds(self) -> bool:
        """The relation at these values evaluates to false."""
        return bool(self.claimed.subs(self.values) == sympy.false)


@dataclass(frozen=True)
class Enumerated:
    """A finite enumeration, in rational arithmetic, gives this value."""

    says: str
    function: Callable[..., Fraction]
    arguments: tuple[int | Fraction, ...]
    value: Fraction

    def formula(self) -> str:
        """The call and its value."""
        call = ", ".join(str(argument) for argument in self.arguments)
        return f"{self.function.__module__}.{self.function.__name__}({call}) = {self.value}"

    def holds(self) -> bool:
        """Enumerate again."""
        return self.function(*self.arguments) == self.value


def _nonnegative(expression: Any) -> bool:
    """Whether every coefficient is nonnegative, terms in the same powers taken together."""
    sums: dict[Any, Any] = {}
    for term in sympy.Add.make_args(sympy.expand(expression)):
        coefficient, powers = term.as_independent(*expression.free_symbols, as_Add=False)
        sums[powers] = sums.get(powers, 0) + coefficient
    return all(value == 0 or (powers.is_positive and value.is_nonnegative) for powers, value in sums.items())


def _relation(claimed: Any) -> str:
    sign = "=" if claimed.rel_op == "==" else claimed.rel_op
    return f"{claimed.lhs} {sign} {claimed.rhs}"
