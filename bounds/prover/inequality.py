"""An inequality as a piece of evidence, and how much room there is in its constant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from dpcheck.bounds.formula import formula
from dpcheck.bounds.prover import search
from dpcheck.bounds.prover.decide import Outcome, decide
from dpcheck.bounds.prover.domain import Domain
from dpcheck.errors import require

_FACTOR = sympy.Symbol("factor", positive=True)  # the constant of an inequality that names none
_SLACK = sympy.Rational(1, 1000)  # how far above the critical value a proof is tried
MUTATION = sympy.Rational(995, 1000)  # of the critical value: there the claim must be false


@dataclass(frozen=True)
class Tightness:
    """The room in a proved constant.

    ``critical`` is where the inequality turns false, found numerically: ``point`` refutes it half a
    per cent beyond, and if ``certain`` it is proved a tenth of a per cent before. ``printed`` is the
    paper's constant. ``critical`` is ``None`` if the inequality survives any constant, so that the
    constant says nothing, or if no point refutes it beyond (``point`` tells which).
    """

    printed: Any
    critical: float | None
    point: Mapping[Any, Any] | None
    certain: bool

    @property
    def vacuous(self) -> bool:
        """Whether any constant would do."""
        return self.critical is None

    def to_dict(self) -> dict[str, Any]:
        """Plain text and numbers, fit for JSON."""
        point = {str(letter): str(value) for letter, value in (self.point or {}).items()}
        return {
            "printed": float(self.printed), "critical": self.critical, "certain": self.certain, "point": point
        }  # fmt: skip


@dataclass(frozen=True)
class Inequality:
    """``smaller <= larger`` on all of ``over``.

    ``constant`` is a letter of the inequality with its printed value, such as ``(c, 33)``.

    Raises :class:`~dpcheck.errors.InputError` if a letter has no interval.
    """

    says: str
    smaller: Any
    larger: Any
    over: Domain
    constant: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse an inequality about letters that are nowhere."""
        object.__setattr__(self, "smaller", formula(self.smaller))
        object.__setattr__(self, "larger", formula(self.larger))
        if self.constant is not None:
            object.__setattr__(self, "constant", (self.constant[0], formula(self.constant[1])))
        self.over.covers(self._difference())

    def formula(self) -> str:
        """The inequality, where it is claimed, and what shows it."""
        smaller, larger = self.sides()
        outcome = self.outcome()
        shown = "; ".join(str(each) for each in outcome.certificates) or outcome.method
        if outcome.point is not None:
            shown = "fails at " + ", ".join(f"{letter} = {value}" for letter, value in outcome.point.items())
        return f"{smaller} <= {larger} for {self.over}: {outcome.verdict} by {outcome.method}: {shown}"

    def latex(self) -> str:
        """The inequality."""
        smaller, larger = (sympy.latex(side) for side in self.sides())
        return rf"{smaller} \leq {larger}"

    def details(self) -> dict[str, Any]:
        """How it was shown, its certificates as coefficients, and how tight its constant is."""
        outcome = self.outcome()
        found: dict[str, Any] = {
            "methods": list(outcome.methods),
            "certificates": [each.to_dict() for each in outcome.certificates],
        }
        if outcome.verdict == "proved" and self._general().has(self._letter()):
            name = str(self.constant[0]) if self.constant else ""
            found["tightness"] = {"constant": name, **self.tightness().to_dict()}
        return found

    def holds(self) -> bool:
        """Whether it is proved."""
        return self.outcome().verdict == "proved"

    def outcome(self) -> Outcome:
        """Decide it with the printed constant."""
        return decide(self._difference(), self.over)

    def at(self, value: Any) -> Outcome:
        """Decide it with another constant."""
        return decide(self._general().xreplace({self._letter(): formula(value)}), self.over)

    def fails_beyond(self, critical: float, point: Mapping[Any, Any]) -> bool:
        """Whether the inequality half a per cent beyond ``critical`` fails at ``point``.

        Evaluated by sympy in multiple precision: a second route beside the prover's balls.
        """
        printed = self.constant[1] if self.constant else sympy.Integer(1)
        beyond = self._beyond(critical, self._grows(self._general(), self._letter(), printed))
        value = self._general().xreplace({self._letter(): beyond, **point})
        return bool(sympy.N(value, 50) < 0)

    def tightness(self) -> Tightness:
        """Where the constant stops working."""
        general, letter = self._general(), self._letter()
        printed = self.constant[1] if self.constant else sympy.Integer(1)
        require(general.has(letter), str(letter), "occur in the inequality", general)
        grows = self._grows(general, letter, printed)
        linear = sympy.Poly(general, letter) if general.is_polynomial(letter) else None
        if linear is not None and linear.degree() == 1:
            slope, rest = linear.all_coeffs()
            # slope * c + rest >= 0: c >= -rest/slope where the slope is positive, c <= there where negative
            edge = -rest / slope
            lowest = search.Landscape(-edge if grows else edge, self.over).lowest(count=2)
            values = [-height if grows else height for height, _ in lowest]
            critical = values[0] if values else None
        else:
            critical = self._bisect(printed, grows)
        if critical is None or critical <= 0:
            return Tightness(printed, None, None, False)
        beyond = self._beyond(critical, grows)
        before = sympy.Rational(f"{critical:.9e}") * (1 + _SLACK if grows else 1 - _SLACK)
        refuted = self.at(beyond)
        if refuted.verdict != "refuted":
            return Tightness(printed, None, None, False)
        return Tightness(printed, critical, refuted.point, self.at(before).verdict == "proved")

    @staticmethod
    def _beyond(critical: float, grows: bool) -> Any:
        return sympy.Rational(f"{critical:.9e}") * (MUTATION if grows else 1 / MUTATION)

    def _bisect(self, printed: Any, grows: bool) -> float | None:
        """Between constants that a search refutes and those it does not, to one part in a thousand."""
        good, bad = printed, printed
        for _ in range(40):
            bad = bad / 2 if grows else bad * 2
            if self._found(bad):
                break
        else:
            return None
        while abs(good / bad - 1) > _SLACK:
            middle = sympy.Rational(repr(float(sympy.sqrt(good * bad))))
            good, bad = (good, middle) if self._found(middle) else (middle, bad)
        return float(bad)

    def _found(self, value: Any) -> bool:
        difference = self._general().xreplace({self._letter(): value})
        lowest = search.Landscape(difference, self.over).lowest(count=1)
        return bool(lowest) and lowest[0][0] < 0

    def _grows(self, general: Any, letter: Any, printed: Any) -> bool:
        """Whether a larger constant makes the inequality easier."""
        slope = general.diff(letter).xreplace({letter: printed})
        lowest = search.Landscape(slope, self.over).lowest(count=1)
        return not lowest or lowest[0][0] >= 0

    def _letter(self) -> Any:
        return self.constant[0] if self.constant else _FACTOR

    def _general(self) -> Any:
        return self.larger - self.smaller if self.constant else _FACTOR * self.larger - self.smaller

    def _difference(self) -> Any:
        return self._printed(self.larger - self.smaller)

    def sides(self) -> tuple[Any, Any]:
        """Both sides with the printed constant."""
        return self._printed(self.smaller), self._printed(self.larger)

    def _printed(self, expression: Any) -> Any:
        return expression.xreplace({self.constant[0]: self.constant[1]}) if self.constant else expression
