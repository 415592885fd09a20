"""Letters and where an inequality is claimed: an interval for each letter and further relations."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy

from dpcheck.bounds.formula import real
from dpcheck.bounds.prover import ball, vectors
from dpcheck.bounds.terms import exact
from dpcheck.errors import InputError, require

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
        require(type(letter) is sympy.Symbol, "a letter", "be a sympy Symbol", letter)
        assumed = ", ".join(f"{key}={letter.assumptions0[key]}" for key in ("commutative", "real", "finite")
                            if letter.assumptions0.get(key) is False)  # fmt: skip
        require(not assumed, f"the letter {letter}", "stand for real numbers", assumed)
        require(letter.name not in seen, "letters", "have different names", f"{letter.name} twice")
        seen.add(letter.name)


def limits(letter: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the ends of the interval, drawn in to what the symbol says: its sign, and whole numbers."""
    given = f"[{low}, {high}]"
    least, most = low, high
    if letter.is_nonnegative and below(low, sympy.Integer(0)):
        least = sympy.Integer(0)
    if letter.is_nonpositive and below(sympy.Integer(0), high):
        most = sympy.Integer(0)
    if letter.is_integer:
        least = _whole(letter, least, 1) if least.is_finite else least
        most = _whole(letter, most, -1) if most.is_finite else most
    empty = below(most, least)
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
    letters: set[Any] = set()
    for power in set().union(*(expression.atoms(sympy.Pow) for expression in expressions)):
        if power.exp.is_Integer or power.base.is_Symbol:
            continue
        factors = set(_factors(power.base))
        if not all(factor.xreplace(dict(new)).is_nonnegative for factor in factors):
            signed = (letter for letter in power.base.free_symbols if letter in new)
            letters |= {letter for letter in signed if not (new[letter].is_positive or new[letter].is_negative)}
    return letters


def _factors(base: Any) -> Iterator[Any]:
    """Yield the factors of a base, and those of all its parts where a part may drop out once a maximum is settled."""
    if base.has(sympy.Max, sympy.Min, sympy.Abs):
        yield from (factor for product in base.atoms(sympy.Mul) for factor in product.args)
    elif base.is_Mul:
        yield from base.args


def _whole(letter: Any, end: Any, step: int) -> Any:
    """Return the nearest whole number from ``end`` on, in the direction of ``step``, that the symbol does not rule
    out.
    """
    first = sympy.ceiling(end) if step > 0 else sympy.floor(end)
    near = (first, first + step, first + 2 * step, first + 3 * step)
    return next((number for number in near if allows(letter, number)), first)


class Names:
    """Hands out names that no letter has yet."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    def fresh(self, stem: str) -> str:
        """Return ``stem``, with as many strokes as it takes to tell it from all others."""
        name = next(name for k in itertools.count() if (name := stem + "_" * k) not in self._taken)
        self._taken.add(name)
        return name


def below(first: Any, second: Any) -> bool:
    """Say whether one end of an interval lies below another, for certain."""
    if first == -sympy.oo or second == sympy.oo:
        return bool(first != second)
    return bool(first.is_finite and second.is_finite and ball.sign(second - first, {}) == 1)


_ORDERS = (sympy.Le, sympy.Ge, sympy.Lt, sympy.Gt)


@dataclass(frozen=True)
class Domain:
    """The set of values an inequality is about: an interval for each letter, and further relations.

    Parameters
    ----------
    intervals : mapping of Symbol to (low, high)
        For each letter its closed interval, exact numbers or ``oo``. What the symbol itself says (positive, integer or
        even) holds too: an end at 0 of a positive letter is open, an integer letter takes integers only. A letter
        without assumptions is a real number.
    where : tuple of relations
        Further relations (``<=``, ``<``, ``>=``, ``>``) between the letters; proofs cover their boundary too. A strict
        one between a letter and an end of its interval leaves that end out, as :func:`over` writes it. One that is
        false of every value leaves nothing, and nothing is proved there.

    Raises
    ------
    InputError
        For an empty interval, an end that is not a number, two letters of one name, a letter that cannot be a real
        number, a relation of another kind, and a letter in ``where`` without an interval.

    Examples
    --------
    >>> from sympy import oo, symbols
    >>> from dpcheck.bounds.prover import Domain
    >>> n, m = symbols("n m", integer=True, positive=True)
    >>> str(Domain({n: (2, oo), m: (1, oo)}, (m <= n,)))
    'n >= 2, m >= 1, m <= n'
    """

    intervals: Mapping[Any, tuple[Any, Any]]
    where: tuple[Any, ...] = ()
    empty: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        require(isinstance(self.intervals, Mapping), "the intervals of a domain", "be a mapping", self.intervals)
        require_distinct(self.intervals)
        intervals = {letter: _ends(letter, ends) for letter, ends in self.intervals.items()}
        object.__setattr__(self, "intervals", intervals)
        vectors.named(intervals)  # refuses inner products of which some are missing
        require(isinstance(self.where, tuple | list), "where", "be a tuple of relations", self.where)
        object.__setattr__(self, "empty", sympy.false in self.where)
        left = [relation for relation in self.where if relation not in (sympy.true, sympy.false)]
        object.__setattr__(self, "where", tuple(map(exact, left)))
        for relation in self.where:
            require(isinstance(relation, _ORDERS), "where", "hold relations <=, <, >=, >", relation)
            real(relation.lhs - relation.rhs, "a relation of where")
            loose = relation.free_symbols - intervals.keys()
            require(not loose, "where", "speak of letters with an interval", ", ".join(sorted(map(str, loose))))
        _ = self.limits  # refuses what the symbols leave empty

    def __hash__(self) -> int:
        """Return the hash, equal for equal domains."""
        return hash((frozenset(self.intervals.items()), self.where))

    @functools.cached_property
    def limits(self) -> dict[Any, tuple[Any, Any]]:
        """The intervals, drawn in to what the symbols say; the next whole number is the end where one is left out."""
        drawn = {letter: limits(letter, *ends) for letter, ends in self.intervals.items()}
        for letter, ends in self.open_ends.items():
            if letter.is_integer:
                low, high = (end + step * (end in ends) for end, step in zip(drawn[letter], (1, -1), strict=True))
                drawn[letter] = limits(letter, low, high)
        return drawn

    @functools.cached_property
    def open_ends(self) -> dict[Any, set[Any]]:
        """The ends of intervals that a strict relation of ``where`` leaves out."""
        left_out: dict[Any, set[Any]] = {}
        for relation in self.where:
            bound = bound_of(relation)
            if bound is not None and isinstance(relation, sympy.Lt | sympy.Gt):
                letter, end, lower = bound
                if end == limits(letter, *self.intervals[letter])[not lower]:
                    left_out.setdefault(letter, set()).add(end)
        return left_out

    def covers(self, *expressions: Any) -> None:
        """Require that every letter has an interval.

        Parameters
        ----------
        *expressions : sympy expression
            Formulas in letters.

        Raises
        ------
        InputError
            If a letter has none.
        """
        loose = set().union(*(expression.free_symbols for expression in expressions)) - self.intervals.keys()
        if not loose:
            return
        twins = sorted(str(letter) for letter in loose if letter.name in {other.name for other in self.intervals})
        if twins:
            other = "the domain has another symbol of this name, with other assumptions"
            raise InputError(f"the domain must give an interval to {', '.join(twins)}, got none: {other}")
        raise InputError(f"the domain must give an interval to {', '.join(sorted(map(str, loose)))}, got none")

    def differences(self) -> Iterator[Any]:
        """Yield each relation of ``where`` as an expression that is at least zero.

        Yields
        ------
        sympy expression
            The larger side less the smaller one.
        """
        for relation in self.where:
            yield relation.gts - relation.lts

    def contains(self, values: Mapping[Any, Any]) -> bool:
        """Say whether exact values of all letters lie in the domain, for certain.

        Parameters
        ----------
        values : mapping of Symbol to number
            An exact value for each letter.

        Returns
        -------
        bool
            False also where it is not known.
        """
        if self.empty:
            return False
        for letter, (low, high) in self.limits.items():
            at = values[letter]
            if not allows(letter, at):
                return False
            if low.is_finite and ball.sign(at - low, {}) not in (0, 1):
                return False
            if high.is_finite and ball.sign(high - at, {}) not in (0, 1):
                return False
        if not vectors.semidefinite(values):
            return False
        for relation in self.where:
            try:
                above, below = (ball.value(side, values) for side in (relation.gts, relation.lts))
            except ball.UndefinedError:
                return False
            allowed = (1,) if isinstance(relation, sympy.Lt | sympy.Gt) else (0, 1)
            if ball.sign(above - below, {}) not in allowed:
                return False
        return True

    def standard(self, *expressions: Any) -> tuple[dict[Any, Any], Domain | None]:
        """Give letters that say about themselves what the domain says, and the domain in them.

        Whatever sympy does with an expression in the new letters, because of a sign it knows, is right on the domain. A
        letter that may be 0 beside a factor of either sign, under a root of ``expressions`` or of ``where``, says no
        more than it did: sympy would take the root of each, and lose a point.

        Parameters
        ----------
        *expressions : sympy expression
            Formulas that will be written in the new letters.

        Returns
        -------
        letters : dict
            From the old letters to the new.
        domain : Domain or None
            The domain in the new letters; None if a relation turns out to be false.
        """
        new = {letter: standard(letter, *ends) for letter, ends in self.limits.items()}
        signed = mixed([*expressions, *(side for relation in self.where for side in relation.args)], new)
        new |= {letter: letter if letter.is_real else sympy.Symbol(letter.name, real=True) for letter in signed}
        where = tuple(relation.xreplace(new) for relation in self.where)
        if self.empty or any(relation == sympy.false for relation in where):
            return new, None
        return new, Domain({new[letter]: ends for letter, ends in self.limits.items()}, where)

    def __str__(self) -> str:
        """Return the domain in one line, with what the symbols say: ``n >= 2, 0 < epsilon <= 1, m <= n``."""
        names = sorted(set[str]().union(*vectors.named(self.limits)))
        parts = [f"vectors {', '.join(names)} of any dimension"] * bool(names)
        for letter, (low, high) in self.limits.items():
            if names and vectors.pair(letter) and (low, high) == range_of(letter):
                continue
            left_out = self.open_ends.get(letter, ())
            above = "<" if (low == 0 and letter.is_positive) or low in left_out else "<="
            below = "<" if (high == 0 and letter.is_negative) or high in left_out else "<="
            left = "" if low == -sympy.oo else f"{low} {above} "
            right = "" if high == sympy.oo else f" {below} {high}"
            unbounded = "" if left or right else "any real " if letter.is_integer is None else "any "
            parts.append(
                f"{letter} >= {low}" if left.endswith("<= ") and not right else f"{unbounded}{left}{letter}{right}"
            )
        for relation in self.where:
            letter, end, _ = bound_of(relation) or (None, None, False)
            if letter is not None and (end in self.open_ends.get(letter, ())):
                continue
            sign = "<" if isinstance(relation, sympy.Lt | sympy.Gt) else "<="
            parts.append(f"{relation.lts} {sign} {relation.gts}")
        return ", ".join([*parts, *["no value at all"] * self.empty])


def bound_of(relation: Any) -> tuple[Any, Any, bool] | None:
    """Return the letter and the number of a relation that is an end of an interval, and whether it is the lower end."""
    if not isinstance(relation, _ORDERS):
        return None
    for letter, end in (relation.args, relation.args[::-1]):
        if letter.is_Symbol and not end.free_symbols:
            return letter, end, letter == relation.gts
    return None


def _ends(letter: Any, ends: Any) -> tuple[Any, Any]:
    """Return the interval as exact numbers."""
    name = f"the interval of {letter}"
    require(isinstance(ends, tuple | list) and len(ends) == 2, name, "be a pair of numbers", ends)
    low, high = (exact(end, name, ends=True) for end in ends)
    for end in (low, high):
        require(isinstance(end, sympy.Expr), name, "have numbers for its ends", end)
        free = ", ".join(sorted(map(str, end.free_symbols)))
        require(not free, name, "have numbers for its ends (a relation between letters belongs in where)", end)
        if end not in (sympy.oo, -sympy.oo):
            real(end, name)
            ball.exact(end)
    empty = low == sympy.oo or high == -sympy.oo
    if low.is_finite and high.is_finite:
        empty = ball.sign(high - low, {}) not in (0, 1)
    require(not empty, name, "not be empty", f"[{low}, {high}]")
    return low, high
