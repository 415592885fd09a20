"""What ties a registered theorem to the claims that are decided: formula by formula, the two say the same.

A theorem of the catalogue only describes, and nothing in it is proved by being there. Each of its formulas therefore
belongs to a claim, whose evidence speaks of the same formula: as the claim's proof has it where it is judged there,
and otherwise typed again from the paper. A theorem that says something else leaves the claim unresolved.
The decorator :func:`carries` names them above the claim.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import sympy

from dpcheck.bounds.formula import formula as expression
from dpcheck.errors import require

if TYPE_CHECKING:
    from dpcheck.bounds.theorem import Theorem

Decider = TypeVar("Decider", bound=Callable[..., Any])
_POINTS, _DIGITS = 24, 30
_SHARES = ("delta", "delta_1", "delta_2", "theta")  # letters below 1
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

    @property
    def says(self) -> str:
        """What is compared."""
        return f"{self.field} of {self.theorem}, as registered, is what this claim is about"

    def formula(self) -> str:
        """Return the theorem's formula and the claim's."""
        where = ", ".join(f"{letter} = {value}" for letter, value in self.where)
        return f"{self.registered()} = {self.stated}" + (f" with {where}" if where else "")

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
        registered, stated = self.registered(), expression(self.stated).xreplace(dict(self.where))
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
    theorem: str, formulas: Mapping[str, Any], where: Mapping[Any, Any] | None = None
) -> Callable[[Decider], Decider]:  # fmt: skip
    """Say below ``@claim(...)`` that the claim is about formulas of a registered theorem.

    Parameters
    ----------
    theorem : str
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
    steps = tuple(Carried(theorem, field, formula, tuple((where or {}).items())) for field, formula in formulas.items())

    def marked(function: Decider) -> Decider:
        function.__dict__["carries"] = (*steps, *carried_by(function))
        return function

    return marked


def carried_by(function: Callable[..., Any]) -> tuple[Carried, ...]:
    """Return the formulas that :func:`carries` named above a function."""
    steps: tuple[Carried, ...] = getattr(function, "carries", ())
    return steps


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
    if name in _SHARES:
        return sympy.Rational(1, 2 + drawn % 10 ** (1 + drawn % 7))
    return sympy.Rational(1 + drawn % 997, 1 + (drawn >> 12) % 97) * sympy.Integer(10) ** (drawn % 5 - 3)
