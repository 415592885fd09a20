"""A published theorem as an object: parameters, assumptions, schedule, noise, bound, rate.

A :class:`Theorem` only describes: every formula is a sympy expression in the letters of
``dpcheck.bounds.symbols``. Its methods put numbers in, and refuse numbers for which the theorem
says nothing. Numbers are substituted exactly, as the decimals that were written (0.1 is one
tenth), so that a minibatch ``ceil(n sqrt(epsilon/(4T)))`` is never one too large by rounding.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy

from dpcheck.bounds.assumption import Assumption as Assumption
from dpcheck.bounds.assumption import Parameter as Parameter
from dpcheck.bounds.assumption import number
from dpcheck.bounds.symbols import delta, epsilon, n
from dpcheck.errors import InputError, require, require_positive
from dpcheck.shown import Shown

Formulas = tuple[tuple[Any, Any], ...]  # (symbol, expression) in order of definition


BUDGET = (
    Parameter(n, "records in the dataset"),
    Parameter(epsilon, "privacy loss, natural log"),
    Parameter(delta, "probability of a larger loss"),
)
_UNLIMITED = sympy.Integer(10) ** 30  # an epsilon at which privacy costs nothing


@dataclass(frozen=True, kw_only=True)
class Theorem(Shown):
    """What a paper promises, at any sizes within its region.

    The methods take the parameters by name. They raise :class:`~dpcheck.errors.InputError` for a missing or unknown
    name, a value outside its domain, and a value outside the stated region.

    Parameters
    ----------
    id : str
        ``"<paper>.<name>"``.
    title : str
        What it is about.
    paper : str, optional
        The paper; by default the part of ``id`` before the dot.
    location : str
        The place there.
    quantity, quantity_latex : str
        What ``bound_formula`` bounds, in words and in the paper's notation.
    parameters : tuple of Parameter
        The letters whose values the reader supplies.
    assumptions : tuple of Assumption
        Every condition that the statement makes, and every one that its proof needs besides, each with its place.
    schedule_formulas, noise_formulas : tuple of (letter, expression)
        Letters in order of definition, each from parameters and earlier ones; the bound may use all of them.
    bound_formula : sympy expression, optional
        The right-hand side of the guarantee; None where the paper states an order only, or no utility.
    regimes : tuple of (name, expression)
        The named terms whose maximum is the rate.

    Examples
    --------
    >>> from sympy import Le, sqrt
    >>> from dpcheck.bounds.symbols import epsilon, n
    >>> from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
    >>> small = Theorem(
    ...     id="doe2026.theorem_1", title="An imagined bound", location="Theorem 1",
    ...     quantity="excess risk", quantity_latex="R", bound_formula=2 / (n * epsilon),
    ...     parameters=(Parameter(n, "records"), Parameter(epsilon, "privacy loss")),
    ...     assumptions=(Assumption("epsilon", "epsilon <= 1", "Theorem 1", Le(epsilon, 1)),),
    ... )
    >>> small.bound(n=100, epsilon=0.5)
    0.04
    """

    id: str
    title: str
    paper: str = ""
    location: str
    quantity: str
    quantity_latex: str
    parameters: tuple[Parameter, ...]
    assumptions: tuple[Assumption, ...]
    schedule_formulas: Formulas = ()
    noise_formulas: Formulas = ()
    bound_formula: Any = None
    regimes: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "paper", self.paper or self.id.partition(".")[0])
        names = [assumption.name for assumption in self.assumptions]
        twice = sorted({name for name in names if names.count(name) > 1})
        require(not twice, f"names of the assumptions of {self.id}", "be unique", ", ".join(twice))

    def bound(self, *, constant: float | None = None, **values: float) -> float:
        """Return the right-hand side of the guarantee (the left-hand side of a lower bound).

        Parameters
        ----------
        constant : float, optional
            Where the paper states an order and no number, the constant > 0 that its O(.) leaves unnamed: the bound is
            ``constant`` times :attr:`rate`. There is no default. Everywhere else the paper names its constants and
            ``constant`` is refused.
        **values : float
            The parameters by name.

        Returns
        -------
        float
            The bound.

        Raises
        ------
        InputError
            For values outside the region, and for a theorem that states no bound.
        """
        if self.bound_formula is None and self.rate is None:
            raise InputError(f"{self.id} states no bound on a utility; it promises {self.quantity}")
        if self.bound_formula is not None:
            require(constant is None, "constant", f"be left out, since {self.id} names its constants", constant)
            formula = self.bound_formula
        elif constant is None:
            raise InputError(f"constant must be given, since {self.id} states an order only, got nothing")
        else:
            require_positive(constant, "constant")
            formula = sympy.Rational(repr(float(constant))) * self.rate
        known = self._known("bound", formula.free_symbols, values)
        if any(power.exp.free_symbols for power in formula.atoms(sympy.Pow)):  # exact, they have thousands of digits
            return float(formula.evalf(30, subs=known))
        return number(formula.xreplace(known))

    def terms(self, **values: float) -> dict[str, float]:
        """Split the bound into what privacy adds and what is left without it.

        Parameters
        ----------
        **values : float
            The parameters by name.

        Returns
        -------
        dict of str to float
            ``"statistical"``, the bound with its constants as epsilon goes to infinity, and ``"privacy"``, what it is
            more than that. A theorem that states an order only has the terms of :attr:`rate`, by their names.
        """
        if self.bound_formula is None:
            known = self._known("terms", set().union(*(term.free_symbols for _, term in self.regimes)), values)
            return {name: number(term.xreplace(known)) for name, term in self.regimes}
        whole = self.bound(**values)
        free = self.bound_formula.free_symbols
        given = self._accept("terms", free, values)
        unlimited = {letter: _UNLIMITED if str(letter) == "epsilon" else value for letter, value in given.items()}
        statistical = number(self.bound_formula.xreplace(self._resolve(unlimited, free)))
        return {"statistical": statistical, "privacy": whole - statistical}

    def schedule(self, **values: float) -> dict[str, float]:
        """Return the algorithm's settings.

        Parameters
        ----------
        **values : float
            The parameters by name.

        Returns
        -------
        dict of str to float
            Settings by name, such as ``{"T": 10000, "m": 50, "eta": 0.001}``.
        """
        return self._defined("schedule", self.schedule_formulas, values)

    def noise(self, **values: float) -> dict[str, float]:
        """Return the standard deviations of the noise in each coordinate.

        Parameters
        ----------
        **values : float
            The parameters by name.

        Returns
        -------
        dict of str to float
            Standard deviations by name.
        """
        return self._defined("noise", self.noise_formulas, values)

    @property
    def rate(self) -> Any:
        """The order of the guarantee, the maximum over the regimes; ``None`` if it states none."""
        return sympy.Max(*(term for _, term in self.regimes)) if self.regimes else None

    def rate_exponents(self) -> dict[str, dict[str, float]]:
        """Return the power of each parameter in the rate, regime by regime.

        Returns
        -------
        dict of str to dict
            For each regime the powers by name. A parameter that enters otherwise than as a power, such as delta inside
            a logarithm, is left out.
        """
        exponents: dict[str, dict[str, float]] = {}
        for regime, term in self.regimes:
            powers = {str(s): sympy.simplify(s * term.diff(s) / term) for s in term.free_symbols}
            exponents[regime] = {s: float(p) for s, p in sorted(powers.items()) if p.is_number and p}
        return exponents

    @property
    def region(self) -> tuple[str, ...]:
        """The assumptions, one readable sentence each, with their place in the paper."""
        return tuple(str(assumption) for assumption in self.assumptions)

    @property
    def conditions(self) -> tuple[Assumption, ...]:
        """The assumptions on the problem or the run that numbers cannot test."""
        return tuple(assumption for assumption in self.assumptions if assumption.relation is None)

    def assumption(self, name: str) -> Assumption:
        """Find an assumption by its name.

        Parameters
        ----------
        name : str
            Such as ``"A1"`` or ``"epsilon"``.

        Returns
        -------
        Assumption
            The assumption.
        """
        named = {assumption.name: assumption for assumption in self.assumptions}
        require(name in named, "assumption", f"be one of {self.id} ({', '.join(named)})", name)
        return named[name]

    def violated(self, *assumptions: Assumption, **values: float) -> tuple[Assumption, ...]:
        """Return the assumptions that fail at some values.

        Parameters
        ----------
        *assumptions : Assumption
            Those that are judged, all of the theorem by default; letters of the others need no values.
        **values : float
            The parameters by name, and letters that the schedule and the noise define, each in place of its formula:
            ``violated(n=100, ..., T=7)`` judges a run of 7 iterations.

        Returns
        -------
        tuple of Assumption
            Empty inside the region.
        """
        judged = assumptions or self.assumptions
        tested = letters_of(judged)
        known = self._resolve(self._accept("violated", tested, values, defined=True), tested)
        return tuple(assumption for assumption in judged if not assumption.holds(known))

    def _sentence(self) -> str:
        verb = "promises" if self.bound_formula is None else "bounds"
        return f"{self.id}: {self.title} ({self.paper}, {self.location}) {verb} {self.quantity}"

    def _facts(self) -> dict[str, Any]:
        formulas = {str(symbol): str(formula) for symbol, formula in (*self.schedule_formulas, *self.noise_formulas)}
        stated = {"bound": self.bound_formula, "rate": self.rate}
        assumptions = {f"assumption {number}": str(assumption) for number, assumption in enumerate(self.assumptions, 1)}
        return {**{name: str(value) for name, value in stated.items() if value is not None}, **formulas, **assumptions}

    def to_latex(self) -> str:
        """Return the guarantee as lines of LaTeX, each between dollar signs."""
        lines = []
        if self.bound_formula is not None:
            lines.append(rf"{self.quantity_latex} \leq {sympy.latex(self.bound_formula)}")
        if self.regimes:
            lines.append(rf"{self.quantity_latex} = O\left({sympy.latex(self.rate)}\right)")
        for symbol, formula in (*self.schedule_formulas, *self.noise_formulas):
            lines.append(f"{sympy.latex(symbol)} = {sympy.latex(formula)}")
        lines += [sympy.latex(a.relation) for a in self.assumptions if a.relation is not None]
        return "\n".join(f"${line}$" for line in lines)

    @cached_property
    def _formulas(self) -> dict[Any, Any]:
        """The formulas of the schedule and the noise, by letter."""
        return dict((*self.schedule_formulas, *self.noise_formulas))

    def _defined(self, method: str, formulas: Formulas, values: dict[str, Any]) -> dict[str, float]:
        if not formulas:
            raise InputError(f"{self.id} states no {method}")
        known = self._known(method, {symbol for symbol, _ in formulas}, values)
        return {
            str(symbol): int(known[symbol]) if symbol.is_integer else number(known[symbol]) for symbol, _ in formulas
        }

    def _known(self, method: str, wanted: Iterable[Any], values: dict[str, Any]) -> dict[Any, Any]:
        """Return exact values of every letter ``wanted`` rests on, once the region is seen to hold."""
        tested = letters_of(self.assumptions)
        known = self._resolve(self._accept(method, {*wanted, *tested}, values), tested)
        for assumption in self.assumptions:
            if not assumption.holds(known):
                self._refuse(assumption, known)
        return self._resolve(known, wanted)

    def _accept(
        self, method: str, wanted: Iterable[Any], values: dict[str, Any], *, defined: bool = False
    ) -> dict[Any, Any]:
        """Return the given letters as exact numbers; refuse unknown names, then missing ones.

        Letters of the schedule and the noise are known only where ``defined`` ones may be given.
        """
        named = {str(parameter.symbol): parameter for parameter in self.parameters}
        if defined:
            named |= {str(symbol): Parameter(symbol, "") for symbol in self._formulas}
        for name, value in values.items():
            require(name in named, name, f"be a parameter of {self.id} ({', '.join(named)})", value)
        complete = {k: p.default for k, p in named.items() if p.default is not None} | values
        needed = self._reached(wanted, [named[name].symbol for name in values])
        missing = [str(p.symbol) for p in self.parameters if p.symbol in needed and str(p.symbol) not in complete]
        if missing:
            raise InputError(
                f"{', '.join(missing)} must be given to {self.id}.{method}, got {', '.join(values) or 'nothing'}"
            )
        return {named[k].symbol: named[k].exact(value) for k, value in complete.items()}

    def _reached(self, wanted: Iterable[Any], given: Collection[Any]) -> set[Any]:
        """Return the ``wanted`` letters and all that they are computed from, where those ``given`` need no formula."""
        letters: set[Any] = set()
        for symbol in wanted:
            formula = None if symbol in given else self._formulas.get(symbol)
            letters |= {symbol} if formula is None else {symbol} | self._reached(formula.free_symbols, given)
        return letters

    def _resolve(self, known: dict[Any, Any], wanted: Iterable[Any]) -> dict[Any, Any]:
        """Add the defined letters that the ``wanted`` ones rest on; no others, which may be beyond computing."""
        known, reached = dict(known), self._reached(wanted, known)
        for symbol, formula in self._formulas.items():
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


def letters_of(assumptions: Iterable[Assumption]) -> set[Any]:
    """Return the letters that the assumptions speak of."""
    return set().union(*(one.relation.free_symbols for one in assumptions if one.relation is not None))
