"""What a theorem is stated in: letters that a reader gives values, and the conditions on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import sympy

from dpcheck.errors import InputError, require, require_count, require_delta, require_positive

Formulas = tuple[tuple[Any, Any], ...]  # (symbol, expression) in order of definition
_RELATIONS = {"<=": float.__le__, "<": float.__lt__, ">=": float.__ge__, ">": float.__gt__}


@dataclass(frozen=True)
class Parameter:
    """A letter whose value the reader supplies.

    Parameters
    ----------
    symbol : Symbol
        The letter; it carries the domain (positive integer, or positive real; ``delta`` lies in (0, 1)).
    meaning : str
        What it stands for.
    default : float, optional
        The value where none is given.
    """

    symbol: Any
    meaning: str
    default: float | None = None

    def exact(self, value: Any) -> Any:
        """Return a value as an exact sympy number.

        Parameters
        ----------
        value : float
            Read as the decimal that was written.

        Returns
        -------
        sympy number
            An Integer or a Rational.

        Raises
        ------
        InputError
            If it lies outside the domain.
        """
        name = str(self.symbol)
        if self.symbol.is_integer:
            require_count(value, name)
            return sympy.Integer(int(value))
        if name == "delta":
            require_delta(value, zero=False)
        else:
            require_positive(value, name)
        return sympy.Rational(repr(float(value)))


@dataclass(frozen=True)
class Assumption:
    """One condition of a theorem.

    Parameters
    ----------
    name : str
        Its key, unique in its theorem: the paper's label (``"A1"``), the letter it restricts (``"epsilon"``) or a word
        (``"start"``).
    sentence : str
        Such as ``"epsilon <= 1"``.
    location : str
        Its place in the paper.
    relation : sympy relation, optional
        The sentence in letters of the theorem, those of its schedule included; None for a condition on the problem or
        the run that numbers cannot test.
    """

    name: str
    sentence: str
    location: str
    relation: Any = None

    def __str__(self) -> str:
        """Return the sentence with its place in the paper."""
        return f"{self.sentence} ({self.location})"

    def holds(self, values: dict[Any, Any]) -> bool:
        """Test the relation at exact values; always true without a relation.

        Both sides are rounded to double precision first, so that ``delta = 1/n**2``, computed by the caller in floating
        point, satisfies ``delta <= 1/n^2``.

        Parameters
        ----------
        values : dict of Symbol to number
            Exact values of its letters.

        Returns
        -------
        bool
            Whether it holds.
        """
        if self.relation is None:
            return True
        left, right = self.relation.args
        return bool(_RELATIONS[self.relation.rel_op](number(left.xreplace(values)), number(right.xreplace(values))))


def number(expression: Any) -> float:
    """Return an exact number, correctly rounded to double precision (to infinity on overflow)."""
    return float(sympy.N(expression, 30))


def letters_of(assumptions: Iterable[Assumption]) -> set[Any]:
    """Return the letters that the assumptions speak of."""
    letters: set[Any] = set()
    for assumption in assumptions:
        if assumption.relation is not None:
            letters |= assumption.relation.free_symbols
    return letters


@dataclass(frozen=True)
class Letters:
    """The parameters of a theorem, the assumptions on them, and the formulas of its schedule and noise."""

    theorem: str
    parameters: tuple[Parameter, ...]
    assumptions: tuple[Assumption, ...]
    formulas: Formulas

    def known(self, method: str, wanted: Iterable[Any], values: dict[str, Any]) -> dict[Any, Any]:
        """Return exact values of every letter ``wanted`` rests on, once the region is seen to hold."""
        tested = letters_of(self.assumptions)
        known = self.resolve(self.accept(method, {*wanted, *tested}, values), tested)
        for assumption in self.assumptions:
            if not assumption.holds(known):
                self._refuse(assumption, known)
        return self.resolve(known, wanted)

    def accept(
        self, method: str, wanted: Iterable[Any], values: dict[str, Any], *, defined: bool = False
    ) -> dict[Any, Any]:
        """Return the given letters as exact numbers; refuse unknown names, then missing ones.

        Letters of the schedule and the noise are known only where ``defined`` ones may be given.
        """
        named = {str(parameter.symbol): parameter for parameter in self.parameters}
        if defined:
            named |= {str(symbol): Parameter(symbol, "") for symbol in dict(self.formulas)}
        for name, value in values.items():
            require(name in named, name, f"be a parameter of {self.theorem} ({', '.join(named)})", value)
        complete = {k: p.default for k, p in named.items() if p.default is not None} | values
        needed = self._reached(wanted, [named[name].symbol for name in values])
        missing = [str(p.symbol) for p in self.parameters if p.symbol in needed and str(p.symbol) not in complete]
        if missing:
            raise InputError(
                f"{', '.join(missing)} must be given to {self.theorem}.{method}, got {', '.join(values) or 'nothing'}"
            )
        return {named[k].symbol: named[k].exact(value) for k, value in complete.items()}

    def _reached(self, wanted: Iterable[Any], given: Collection[Any]) -> set[Any]:
        """Return the ``wanted`` letters and all that they are computed from, where those ``given`` need no formula."""
        definitions = dict(self.formulas)
        letters: set[Any] = set()
        for symbol in wanted:
            formula = None if symbol in given else definitions.get(symbol)
            letters |= {symbol} if formula is None else {symbol} | self._reached(formula.free_symbols, given)
        return letters

    def resolve(self, known: dict[Any, Any], wanted: Iterable[Any]) -> dict[Any, Any]:
        """Add the defined letters that the ``wanted`` ones rest on; no others, which may be beyond computing."""
        known, reached = dict(known), self._reached(wanted, known)
        for symbol, formula in dict(self.formulas).items():
            if symbol in reached and symbol not in known:
                known[symbol] = formula.xreplace(known)
        return known

    def _refuse(self, assumption: Assumption, known: dict[Any, Any]) -> None:
        """Name the letter at fault, the assumption with its place, and the numbers that break it."""
        subject, *others = sorted(assumption.relation.free_symbols, key=lambda s: (str(s) != assumption.name, str(s)))
        shown = {s: str(int(known[s])) if s.is_integer else repr(number(known[s])) for s in known}
        at = ", ".join(f"{s} = {shown[s]}" for s in others)
        got = f"{shown[subject]} at {at}" if at else shown[subject]
        require(False, str(subject), f"satisfy {assumption}", got)
