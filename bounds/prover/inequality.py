"""An inequality as a piece of evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import sympy

from dpcheck.bounds.formula import real
from dpcheck.bounds.kind import Method
from dpcheck.bounds.prover import domain
from dpcheck.bounds.prover.domain import Domain
from dpcheck.errors import require

if TYPE_CHECKING:  # who reads a theorem beside which an inequality is stated needs no prover
    from dpcheck.bounds.prover.decide import Outcome
    from dpcheck.bounds.prover.room import Tightness, Varied

_RELATIONS = {"<=": (sympy.Le, r"\leq"), "<": (sympy.Lt, "<"), "=": (sympy.Eq, "=")}


class Related:
    """A step that relates two sides by a sign."""

    sign: Any

    def sides(self) -> tuple[Any, Any]:
        """Return the sides, the smaller one first."""
        raise NotImplementedError

    def relation(self) -> Any:
        """Return what it states as a relation of sympy, not evaluated."""
        return _RELATIONS[self.sign][0](*self.sides(), evaluate=False)

    def formula(self) -> str:
        """Return what it states as text."""
        left, right = self.sides()
        return f"{left} {self.sign} {right}"

    def latex(self) -> str:
        """Return what it states in LaTeX, without dollar signs."""
        left, right = map(sympy.latex, self.sides())
        return f"{left} {_RELATIONS[self.sign][1]} {right}"


_FACTOR = sympy.Symbol("factor", positive=True)  # the constant of an inequality that names none


@dataclass(frozen=True)
class Inequality(Related):
    """An inequality ``<=``, ``<`` or an equation, at every point of a domain at which both sides are defined.

    A side is defined where all its parts, as sympy holds them, are real numbers: ``sqrt(x)`` from 0 on, ``log(x)``
    above 0, ``1/x`` elsewhere than 0. (What sympy cancels while the formula is written, as in ``x/x``, is gone before
    it gets here.) Nothing is proved about a domain in which no such point was found.

    Parameters
    ----------
    says : str
        A sentence that says what it shows.
    smaller, larger : sympy expression
        The sides, in the letters of ``over`` and the constant.
    over : Domain
        Where it is claimed.
    constant : (Symbol, number), optional
        A letter of the inequality with its printed value, such as ``(c, 33)``.
    sign : {"<=", "<", "="}
        How the sides are related.

    Raises
    ------
    InputError
        For another sign, if a letter has no interval, two letters have one name, or a side holds NaN, infinity, the
        imaginary unit or a relation.

    Examples
    --------
    >>> from sympy import log, oo, sqrt, symbols
    >>> from dpcheck.bounds.prover import Domain, Inequality
    >>> x = symbols("x", positive=True)
    >>> Inequality("a logarithm is below a root", log(x), sqrt(x), Domain({x: (1, oo)})).holds()
    True
    """

    says: str
    smaller: Any
    larger: Any
    over: Domain
    constant: tuple[Any, Any] | None = None
    sign: str = "<="
    METHOD: ClassVar[Method] = Method.PROVER

    def __post_init__(self) -> None:
        """Refuse an inequality about letters that are nowhere."""
        require(isinstance(self.says, str), "says", "be text", self.says)
        require(self.sign in _RELATIONS, "sign", f"be one of {', '.join(_RELATIONS)}", self.sign)
        require(isinstance(self.over, Domain), "over", "be a Domain", self.over)
        object.__setattr__(self, "smaller", real(self.smaller, "the smaller side"))
        object.__setattr__(self, "larger", real(self.larger, "the larger side"))
        if self.constant is not None:
            pair = isinstance(self.constant, tuple) and len(self.constant) == 2
            require(pair, "constant", "be a letter and its value", self.constant)
            domain.require_distinct([*self.over.intervals, self.constant[0]])
            value = real(self.constant[1], "the printed constant")
            require(not value.free_symbols, "the printed constant", "be a number", value)
            fits = value == 0 or domain.allows(self.constant[0], value)
            require(fits, "the printed constant", f"be a value that the letter {self.constant[0]} allows", value)
            object.__setattr__(self, "constant", (self.constant[0], value))
        for side in (self.smaller, self.larger):
            self.over.covers(real(self._printed(side), "a side"))

    def formula(self) -> str:
        """Return the inequality, where it is claimed, and what shows it."""
        outcome = self.outcome()
        shown = outcome.idea or "; ".join(map(str, outcome.certificates)) or outcome.note or outcome.sentence
        if outcome.point is not None:  # an inequality without letters fails as it stands
            at = ", ".join(f"{letter} = {value}" for letter, value in outcome.point.items())
            shown = f"fails at {at or 'these numbers'}"
        return f"{super().formula()} for {self.over}: {outcome.verdict} by {outcome.method}: {shown}"

    def details(self) -> dict[str, Any]:
        """Return how it was shown, and what another program can check again.

        ``pieces`` are the plain steps to which it was reduced, by the ``idea``;
        ``queries`` are the problems whose negation a solver found to have no solution, as text for ``z3 -in``;
        ``witness`` is a point of the domain at which both sides are defined.
        """
        outcome = self.outcome()
        return {
            "statement": super().formula(),
            "domain": str(self.over),
            "methods": list(outcome.methods),
            "certificates": [certificate.to_dict() for certificate in outcome.certificates],
            "queries": list(outcome.queries),
            "idea": outcome.sentence,
            "pieces": [f"{step.says}: {_shown(step)}" for step in outcome.pieces],
            "witness": {str(letter): str(value) for letter, value in (outcome.witness or {}).items()},
        }

    def room(self) -> dict[str, Any] | None:
        """Return how tight the constant of a proved inequality is; ``None`` where it has none."""
        varied = self._varied()
        if self.sign == "=" or self.outcome().verdict != "proved" or not varied.general.has(varied.letter):
            return None
        return {"constant": str(self.constant[0]) if self.constant else "", **self.tightness().to_dict()}

    def holds(self) -> bool:
        """Say whether it is proved."""
        return self.outcome().verdict == "proved"

    def outcome(self) -> Outcome:
        """Decide it with the printed constant."""
        from dpcheck.bounds.prover.decide import settle

        return settle(*self.sides(), self.over, self.sign)

    def at(self, value: Any) -> Outcome:
        """Decide it with another constant.

        Parameters
        ----------
        value : number
            In place of the printed constant.

        Returns
        -------
        Outcome
            The verdict and how it was reached.
        """
        return self._varied().at(real(value, "the constant"))

    def tightness(self) -> Tightness:
        """Find where the constant stops working; never an error, whatever the sides are."""
        from dpcheck.bounds.prover.room import Tightness

        varied = self._varied()
        try:
            if varied.general.has(sympy.Sum, sympy.Product):
                return Tightness(varied.printed, None, None, False, "unknown")
            return varied.tightness()
        except (ArithmeticError, TypeError, ValueError):  # numbers beyond floating point, sums of many terms
            return Tightness(varied.printed, None, None, False, "unknown")

    def sides(self) -> tuple[Any, Any]:
        """Return both sides with the printed constant."""
        return self._printed(self.smaller), self._printed(self.larger)

    def _varied(self) -> Varied:
        from dpcheck.bounds.prover.room import Varied

        if self.constant:
            return Varied(self.smaller, self.larger, self.over, *self.constant)
        return Varied(self.smaller, _FACTOR * self.larger, self.over, _FACTOR, sympy.Integer(1))

    def _printed(self, expression: Any) -> Any:
        return expression.xreplace({self.constant[0]: self.constant[1]}) if self.constant else expression


def _shown(step: Any) -> str:
    """Return a piece in one line."""
    if isinstance(step, Inequality):
        return f"{step.smaller} <= {step.larger} for {step.over}"
    text: str = step.formula()
    return text
