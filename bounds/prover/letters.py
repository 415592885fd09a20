"""Letters: what a symbol says about its values, and names that no other letter has."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sympy

from dpcheck.bounds.prover import ball
from dpcheck.errors import require

_SIGNS = {
    "positive": (1,), "negative": (-1,), "zero": (0,), "nonnegative": (0, 1), "nonpositive": (-1, 0),
    "nonzero": (-1, 1),
}  # fmt: skip
_KINDS = (
    "integer", "even", "odd", "prime", "composite", "noninteger", "rational", "irrational", "algebraic",
    "transcendental",
)  # fmt: skip


def require_distinct(symbols: Iterable[Any]) -> None:
    """Require that every letter is a symbol that can be a real number, and that no two have one name."""
    seen: set[str] = set()
    for letter in symbols:
        require(isinstance(letter, sympy.Symbol), "a letter", "be a sympy Symbol", letter)
        assumed = ", ".join(f"{key}={letter.assumptions0[key]}" for key in ("commutative", "real", "finite")
                            if letter.assumptions0.get(key) is False)  # fmt: skip
        require(not assumed, f"the letter {letter}", "stand for real numbers", assumed)
        require(letter.name not in seen, "letters", "have different names", f"{letter.name} twice")
        seen.add(letter.name)


def limits(letter: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the ends of the interval, drawn in to what the symbol says: its sign, and whole numbers."""
    given = f"[{low}, {high}]"
    least, most = low, high
    if letter.is_nonnegative and _below(low, sympy.Integer(0)):
        least = sympy.Integer(0)
    if letter.is_nonpositive and _below(sympy.Integer(0), high):
        most = sympy.Integer(0)
    if letter.is_integer:
        least = _whole(letter, least, 1) if least.is_finite else least
        most = _whole(letter, most, -1) if most.is_finite else most
    empty = _below(most, least)
    empty = empty or (letter.is_positive and most == 0) or (letter.is_negative and least == 0)
    require(not empty, f"the interval of {letter}", f"not be empty, with {letter} as the symbol says", given)
    return least, most


def range_of(letter: Any) -> tuple[Any, Any]:
    """Return the least closed interval that holds every value that the symbol allows."""
    low = sympy.Integer(0) if letter.is_nonnegative else -sympy.oo
    high = sympy.Integer(0) if letter.is_nonpositive else sympy.oo
    return limits(letter, low, high)


def allows(letter: Any, value: Any) -> bool:
    """Say whether an exact value is for certain one that the symbol's assumptions allow."""
    for key, expected in letter.assumptions0.items():
        if key in _SIGNS:
            sign = ball.sign(value, {})
            if sign is None or (sign in _SIGNS[key]) is not expected:
                return False
        if key in _KINDS and getattr(value, f"is_{key}") is not expected:
            return False
    return bool(value.is_real)


def standard(letter: Any, low: Any, high: Any) -> Any:
    """Return a symbol of the same name and assumptions that says its sign on the interval too."""
    above = ball.sign(low, {}) if low.is_finite else -1
    below = ball.sign(high, {}) if high.is_finite else 1
    facts = {
        "positive": letter.is_positive or above == 1,
        "negative": letter.is_negative or below == -1,
        "nonnegative": above in (0, 1),
        "nonpositive": below in (-1, 0),
    }
    signs = {key: True for key, known in facts.items() if known}
    return sympy.Symbol(letter.name, **{**letter.assumptions0, "real": True, **signs})


def mixed(expressions: Iterable[Any], new: Mapping[Any, Any]) -> set[Any]:
    """Return the letters that may be 0 and occur, under a root, in a product with a factor that may be negative.

    ``sqrt(x*y)`` is 0 at x = 0 whatever y is; ``sqrt(x)*sqrt(y)``, to which it is rewritten for a
    letter x known to be nonnegative, is not real there for y < 0.
    """
    found: set[Any] = set()
    for power in set().union(*(each.atoms(sympy.Pow) for each in expressions)):
        if power.exp.is_Integer or power.base.is_Symbol:
            continue
        factors = set(_factors(power.base))
        if not all(factor.xreplace(dict(new)).is_nonnegative for factor in factors):
            signed = (letter for letter in power.base.free_symbols if letter in new)
            found |= {letter for letter in signed if not (new[letter].is_positive or new[letter].is_negative)}
    return found


def _factors(base: Any) -> Iterator[Any]:
    """Yield the factors of a base, and those of all its parts where a part may drop out once a maximum is settled."""
    if base.has(sympy.Max, sympy.Min, sympy.Abs):
        yield from (factor for each in base.atoms(sympy.Mul) for factor in each.args)
    elif base.is_Mul:
        yield from base.args


def _whole(letter: Any, end: Any, step: int) -> Any:
    """Return the nearest whole number from ``end`` on, in the direction of ``step``, that the symbol does not rule
    out.
    """
    first = sympy.ceiling(end) if step > 0 else sympy.floor(end)
    near = (first, first + step, first + 2 * step, first + 3 * step)
    return next((each for each in near if allows(letter, each)), first)


class Names:
    """Hands out names that no letter has yet."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    def fresh(self, stem: str) -> str:
        """Return ``stem``, with as many strokes as it takes to tell it from all others."""
        name = next(name for k in itertools.count() if (name := stem + "_" * k) not in self._taken)
        self._taken.add(name)
        return name


def _below(first: Any, second: Any) -> bool:
    """Say whether one end of an interval lies below another, for certain."""
    if first == -sympy.oo or second == sympy.oo:
        return bool(first != second)
    return bool(first.is_finite and second.is_finite and ball.sign(second - first, {}) == 1)
