"""The letters of a theorem with numbers in them: which are given, which follow, and where the theorem says nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from dpcheck.bounds.assumption import Assumption, Formulas, Parameter, number
from dpcheck.errors import InputError, require


@dataclass(frozen=True)
class Letters:
    """The parameters of a theorem, the assumptions on them, and the formulas of its schedule and noise."""

    theorem: str
    parameters: tuple[Parameter, ...]
    assumptions: tuple[Assumption, ...]
    formulas: Formulas

    def known(self, method: str, wanted: Iterable[Any], values: dict[str, Any]) -> dict[Any, Any]:
        """Return exact values of every letter ``wanted`` rests on, once the region is seen to hold."""
        given = self.accept(method, {*wanted, *self.tested()}, values)
        known = self.resolve(given, self.tested())
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
        needed = self._reached(wanted, {named[name].symbol for name in values})
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

    def tested(self) -> set[Any]:
        """Return the letters that the assumptions speak of."""
        relations = [a.relation for a in self.assumptions if a.relation is not None]
        return set().union(*(relation.free_symbols for relation in relations))

    def _refuse(self, assumption: Assumption, known: dict[Any, Any]) -> None:
        """Name the letter at fault, the assumption with its place, and the numbers that break it."""
        subject, *others = sorted(assumption.relation.free_symbols, key=lambda s: (str(s) != assumption.name, str(s)))
        shown = {s: str(int(known[s])) if s.is_integer else repr(number(known[s])) for s in known}
        at = ", ".join(f"{s} = {shown[s]}" for s in others)
        got = f"{shown[subject]} at {at}" if at else shown[subject]
        require(False, str(subject), f"satisfy {assumption}", got)
