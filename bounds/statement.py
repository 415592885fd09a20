"""The statements of a paper, with their formulas kept as the expressions that are judged.

A statement is text with places in braces, one for each formula. The formula is printed from the
same sympy expression that a step of the evidence is about, so that a number changed in the one is
changed in the other; :meth:`Statement.loose` names the formulas that no step speaks of.

A registered theorem only describes, and nothing in it is proved by being there. Each of its formulas therefore
belongs to a claim, whose evidence speaks of the same formula: as the claim's proof has it where it is judged there,
and otherwise typed again from the paper. The decorator :func:`carries` names them above the claim, and a theorem
that says something else leaves the claim unresolved.
"""

from __future__ import annotations

import re
import string
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import sympy

from dpcheck.arguments import checked
from dpcheck.bounds.asymptotics import Region
from dpcheck.bounds.evidence import Domain, Related
from dpcheck.bounds.formula import plain
from dpcheck.bounds.terms import exact
from dpcheck.errors import InputError, one_line, require

if TYPE_CHECKING:
    from dpcheck.bounds.theorem import Theorem

_RELATIONS = re.compile(r"(?:For @(?:(?:,|,? and) @)*: )?@(?:(?:,|,? and) @)*\.?")  # @ stands for a formula
_SETTINGS = ("samples", "seed", "bound")  # of a search


@dataclass(frozen=True)
class Statement:
    """A statement in words with formulas, which are the expressions that its evidence is about.

    Parameters
    ----------
    template : str
        Words, with a name in braces where a formula stands.
    formulas : mapping of str to sympy expression
        A formula for each name.

    Raises
    ------
    InputError
        Unless places and names are the same.
    """

    template: str
    formulas: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Refuse a formula without a place, a place without a formula, and one that would cut its formula short."""
        try:
            parsed = [*string.Formatter().parse(self.template)]
        except ValueError as error:
            raise InputError(f"the places of a statement must be names in braces, got: {one_line(error)}") from error
        parts = [(name, spec or conversion) for _, name, spec, conversion in parsed]
        bare = not any(cut for _, cut in parts)
        require(bare, "the places of a statement", "be names alone, so that formulas are printed whole", self.template)
        places = {name for name, _ in parts if name is not None}
        require(places == set(self.formulas), "the places of a statement", "name its formulas", sorted(places))
        object.__setattr__(self, "formulas", {name: exact(value) for name, value in self.formulas.items()})

    def __str__(self) -> str:
        """Return the statement as plain text."""
        return self._text

    @cached_property
    def _text(self) -> str:
        return self.template.format(**{name: plain(value) for name, value in self.formulas.items()})

    def latex(self) -> str:
        """Return the statement with its formulas in LaTeX, between dollar signs."""
        shown = {name: f"${sympy.latex(value, order='none')}$" for name, value in self.formulas.items()}
        return self.template.format(**shown)

    def loose(self, steps: Iterable[Any]) -> tuple[str, ...]:
        """Return the formulas that occur in none of some steps; all of them if each is but a condition there.

        Parameters
        ----------
        steps : iterable of Step
            The evidence.

        Returns
        -------
        tuple of str
            The formulas, as text.
        """
        steps = list(steps)
        judged = [expression for step in steps for expression in spoken_of(step)]
        conditions = [condition for step in steps for condition in conditions_of(step)]
        formulas = [(plain(value), value) for value in self.formulas.values()]
        shown = [_occurs(wanted, judged) for _, wanted in formulas]
        if not any(shown):
            return tuple(text for text, _ in formulas)
        return tuple(
            text
            for (text, wanted), occurs in zip(formulas, shown, strict=True)
            if not occurs and not assumed(wanted, conditions)
        )

    def is_stated_by(self, step: Any) -> bool:
        """Say whether this is relations alone, of which the step is one, on no less than the step's domain.

        If the step is false, so is this; words beside the relations may say anything, "it is false that" for example.

        Parameters
        ----------
        step : Step
            A piece of evidence.

        Returns
        -------
        bool
            Whether the step states the statement.
        """
        places = [name for _, name, _, _ in string.Formatter().parse(self.template) if name is not None]
        shape = self.template.format(**dict.fromkeys(places, "@"))
        if not _RELATIONS.fullmatch(shape):
            return False
        given = shape.partition(":")[0].count("@") if ":" in shape else 0
        wanted = [self.formulas[name] for name in places[given:]]
        judged = [one for one in spoken_of(step) if hasattr(one, "rel_op")]
        whole = any(is_relation(one, judged) for one in wanted if hasattr(one, "rel_op"))
        return whole and not self.loose([step])


@checked
def stated(template: str, **formulas: Any) -> Statement:
    """Make the statement ``template`` with a formula for each of its places.

    Parameters
    ----------
    template : str
        Words, with a name in braces where a formula stands.
    **formulas : sympy expression, relation or number
        The formula for each place. It must occur in a step of the claim's evidence: as a side, as a part of a side, as
        a relation, as a condition of the domain or as a value. Otherwise the claim is unresolved.

    Returns
    -------
    Statement
        Its ``str`` is the text, with every formula printed.

    Examples
    --------
    >>> from sympy import log, symbols
    >>> n = symbols("n", integer=True, positive=True)
    >>> str(stated("The risk is at most {bound}.", bound=3 * log(n) / n))
    'The risk is at most 3 log(n)/n.'
    """
    return Statement(template, formulas)


def spoken_of(step: Any) -> Iterator[Any]:
    """Yield every expression and relation that a step is about: its fields, with its printed constant put in.

    Not among them: its domain, see :func:`conditions_of`, and the settings of a search.
    """
    if isinstance(step, Related):
        yield from (*step.sides(), step.relation())
    named = [getattr(step, field.name) for field in fields(step) if field.name not in _SETTINGS]
    yield from _expressions([value for value in named if not isinstance(value, Domain | Region)])


def conditions_of(step: Any) -> Iterator[Any]:
    """Yield what a step assumes: the ends of intervals and the relations of its domain or region."""
    values = [getattr(step, field.name) for field in fields(step)]
    yield from _expressions([value for value in values if isinstance(value, Domain | Region)])


def _expressions(value: Any) -> Iterator[Any]:
    if isinstance(value, sympy.Basic):
        yield value
    elif isinstance(value, Fraction | int) and not isinstance(value, bool):
        yield exact(value)
    elif isinstance(value, Mapping):
        yield from _expressions([*value.keys(), *value.values()])
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _expressions(part)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _ends(getattr(value, "intervals", {}))
        yield from _expressions([getattr(value, field.name) for field in fields(value)])


def _ends(intervals: Mapping[Any, tuple[Any, Any]]) -> Iterator[Any]:
    """Yield the finite ends of a domain's intervals as relations, so that a statement can name its range."""
    for letter, (low, high) in intervals.items():
        if low.is_finite:
            yield sympy.Ge(letter, low, evaluate=False)
        if high.is_finite:
            yield sympy.Le(letter, high, evaluate=False)


def _occurs(wanted: Any, judged: list[Any]) -> bool:
    """Say whether ``wanted`` is one of the expressions or a part of one, up to expanding and cancelling."""
    if any(one == wanted or one.has(wanted) for one in judged):
        return True
    if hasattr(wanted, "rel_op"):
        return is_relation(wanted, judged)
    sides = [
        side for expression in judged for side in (expression.args if hasattr(expression, "rel_op") else (expression,))
    ]
    return any(same(wanted, side) for side in sides if side.free_symbols == wanted.free_symbols)


def is_relation(wanted: Any, judged: list[Any]) -> bool:
    """Say whether a relation is one of those judged: a strict one has to be judged as such."""
    kinds = {"<": "< >", ">": "< >", "<=": "< > <= >=", ">=": "< > <= >="}.get(wanted.rel_op, wanted.rel_op).split()
    return any(
        same(_difference(wanted), _difference(expression))
        for expression in judged
        if getattr(expression, "rel_op", None) in kinds
    )


def assumed(wanted: Any, conditions: list[Any]) -> bool:
    """Say whether a condition is among those of a domain, or implied by one that leaves out less."""
    if not hasattr(wanted, "rel_op"):
        return _occurs(wanted, conditions)
    kinds = {"<": "< > <= >=", ">": "< > <= >=", "<=": "<= >=", ">=": "<= >="}.get(wanted.rel_op, "").split()
    return any(condition == wanted for condition in conditions) or any(
        same(_difference(wanted), _difference(condition))
        for condition in conditions
        if getattr(condition, "rel_op", None) in kinds
    )


def _difference(relation: Any) -> Any:
    return relation.gts - relation.lts if hasattr(relation, "gts") else relation.lhs - relation.rhs


def same(one: Any, other: Any) -> bool:
    """Say whether two expressions are one, up to expanding and cancelling."""
    if not isinstance(one, sympy.Expr) or not isinstance(other, sympy.Expr):
        return False
    return bool(sympy.cancel(sympy.together(sympy.expand((one - other).doit()))) == 0)


Decider = TypeVar("Decider", bound=Callable[..., Any])
_POINTS, _DIGITS = 24, 30
BELOW_1 = ("delta", "delta_1", "delta_2", "theta")  # letters below 1
_SMALL = ("K", "k", "m", "t")  # counts that are small beside n


@dataclass(frozen=True)
class Carried:
    """A formula of a registered theorem is the one that a claim is about.

    Parameters
    ----------
    theorem : str
        Its id, such as ``"zhang2022.theorem_4_5"``.
    field : str
        ``"bound"``, ``"rate"`` with the name of a regime (``"rate privacy"``), or a letter of the schedule or noise.
    stated : sympy expression
        The formula, as the claim has it.
    where : tuple of (letter, expression)
        What the claim's own letters stand for.
    """

    theorem: str
    field: str
    stated: Any
    where: tuple[tuple[Any, Any], ...] = ()
    TRUST: ClassVar[str] = "compared"

    @property
    def says(self) -> str:
        """A sentence on the two formulas that are compared."""
        return f"{self.field} of {self.theorem}, as registered, is what this claim is about"

    def formula(self) -> str:
        """Return the theorem's formula and, where it is written in another way, the claim's."""
        where = ", ".join(f"{letter} = {value}" for letter, value in self.where)
        sides = dict.fromkeys((str(self.registered()), str(self.stated)))
        return " = ".join(sides) + (f" with {where}" if where else "")

    def latex(self) -> str:
        """Return the claim's formula."""
        field = self.field.replace("_", r"\_")
        return rf"\mathtt{{{field}}} = {sympy.latex(self.stated)}"

    def registered(self) -> Any:
        """Return the theorem's formula, as the catalogue has it now."""
        from dpcheck.bounds import registry  # which collects the claims, and so imports this

        registered = formulas(registry.theorem(self.theorem))
        require(self.field in registered, "field", f"be one of {self.theorem} ({', '.join(registered)})", self.field)
        return registered[self.field]

    def holds(self) -> bool:
        """Say whether the two are one expression, or agree to 25 digits at two dozen exact points.

        Points at which one of them is no number do not count.
        """
        return self.fault() == ""

    def fault(self) -> str:
        """Return where and by what factor the two differ; nothing where they agree."""
        registered, stated = self.registered(), exact(self.stated).xreplace(dict(self.where))
        if registered == stated:
            return ""
        seen = 0
        for point in _points(registered.free_symbols | stated.free_symbols):
            one, other = (sympy.N(side.xreplace(point), _DIGITS) for side in (registered, stated))
            if not (one.is_real and other.is_real and one.is_finite and other.is_finite):
                continue
            seen += 1
            if abs(one - other) > abs(other) * sympy.Rational(1, 10**25):
                factor = f"{float(one / other):.4g} times what this claim states" if other else "not 0, as here"
                at = ", ".join(f"{letter} = {value}" for letter, value in point.items())
                return f"{self.field} of {self.theorem} is {factor}, at {at}"
        return "" if seen >= _POINTS // 4 else f"{self.field} of {self.theorem} has numbers at too few points"


def formulas(theorem: Theorem) -> dict[str, Any]:
    """Return every formula of a theorem by its field: the letters of schedule and noise, the bound, the regimes."""
    registered = {str(letter): formula for letter, formula in (*theorem.schedule_formulas, *theorem.noise_formulas)}
    if theorem.bound_formula is not None:
        registered["bound"] = theorem.bound_formula
    return registered | {f"rate {name}": term for name, term in theorem.regimes}


def carries(
    theorem: str | tuple[str, ...], formulas: Mapping[str, Any], where: Mapping[Any, Any] | None = None
) -> Callable[[Decider], Decider]:  # fmt: skip
    """Say below ``@claim(...)`` that the claim is about formulas of a registered theorem, or of several.

    Parameters
    ----------
    theorem : str or tuple of str
        Its id, such as ``"zhang2022.theorem_4_5"``.
    formulas : mapping of str to sympy expression
        The formulas as the claim has them, by field: ``"bound"``, ``"rate privacy"``, a letter of the schedule.
    where : mapping of letter to expression, optional
        What the claim's own letters stand for.

    Returns
    -------
    callable
        A decorator of the function that decides the claim.
    """
    steps = tuple(
        Carried(id, field, formula, tuple((where or {}).items()))
        for id in ((theorem,) if isinstance(theorem, str) else theorem)
        for field, formula in formulas.items()
    )

    def marked(function: Decider) -> Decider:
        function.__dict__["carries"] = (*steps, *getattr(function, "carries", ()))
        return function

    return marked


def _points(letters: set[Any]) -> Iterator[dict[Any, Any]]:
    """Yield exact values, the same each time, of sizes that let either side of a maximum win."""
    for number in range(_POINTS):
        yield {letter: _value(letter, number) for letter in sorted(letters, key=str)}


def _value(letter: Any, number: int) -> Any:
    name = str(letter)
    drawn = zlib.crc32(f"{name} {number}".encode())
    if letter.is_integer:
        scale = 6 if name in _SMALL else 10 ** (2 + 5 * number % 11) if name == "n" else 10 ** (1 + number % 3)
        return sympy.Integer(2 + drawn % scale)
    if name == "epsilon":
        return sympy.Rational(20, 20 + drawn % 400)
    if name in BELOW_1:
        return sympy.Rational(1, 2 + drawn % 10 ** (1 + drawn % 7))
    return sympy.Rational(1 + drawn % 997, 1 + (drawn >> 12) % 97) * sympy.Integer(10) ** (drawn % 5 - 3)
