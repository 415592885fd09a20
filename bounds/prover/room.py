"""The room in the constant of an inequality: where it stops working, and how sure that is."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import sympy

from dpcheck.bounds.prover import ball, search
from dpcheck.bounds.prover.decide import Outcome, decide, settle
from dpcheck.bounds.prover.domain import Domain

_SLACK = sympy.Rational(1, 1000)  # how far above the critical value a proof is tried
MUTATION = sympy.Rational(995, 1000)  # of the critical value: there the claim must be false
_WIDEST = 96.0  # decades that are searched at most
_DOUBLINGS = 9  # of the exponent of two by which a constant is changed at most

Status = Literal["critical", "at least", "at most", "any", "none", "fixed", "unknown"]
_SAYS = {
    "any": "any positive constant would do",
    "none": "no positive constant would do",
    "fixed": "no constant can be varied, since the larger side is 0",
    "unknown": "the search found no critical constant",
}


@dataclass(frozen=True)
class Tightness:
    """The room in a constant.

    ``printed`` is the paper's constant. ``status`` tells what is known of the ``critical`` one, at
    which the inequality turns false:

    - ``"critical"``: found numerically; ``point`` refutes the inequality half a per cent beyond, and
      if ``certain`` it is proved a tenth of a per cent before;
    - ``"at least"``, ``"at most"``: likewise, but it was still moving at the edge of the search;
    - ``"any"``: it is shown that any positive constant would do, so that it says nothing;
    - ``"none"``: it is shown that no positive constant would do, at ``point``;
    - ``"fixed"``: there is no constant to vary, the larger side being 0;
    - ``"unknown"``: the search found none, which shows nothing.
    """

    printed: Any
    critical: float | None
    point: Mapping[Any, Any] | None
    certain: bool
    status: Status

    @property
    def says(self) -> str:
        """How tight the constant is, in words."""
        if self.critical is None:
            return _SAYS[self.status]
        word = "" if self.status == "critical" else f"{self.status} "
        sure = "" if self.certain else " (by search)"
        return f"critical {word}{self.critical:.4g} of {_float(self.printed):g}{sure}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain text and numbers, fit for JSON."""
        point = {str(letter): str(value) for letter, value in (self.point or {}).items()}
        return {
            "printed": _float(self.printed), "critical": self.critical, "certain": self.certain, "point": point,
            "status": self.status, "says": self.says,
        }  # fmt: skip


@dataclass(frozen=True)
class _Critical:
    """A critical constant of a search, its point, and whether it stays when the search goes further out."""

    critical: float
    point: tuple[Any, ...]
    settled: bool


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class Varied:
    """``smaller <= larger`` on ``over`` with ``letter`` for the constant, ``printed`` by the paper."""

    smaller: Any
    larger: Any
    over: Domain
    letter: Any
    printed: Any

    @property
    def general(self) -> Any:
        """The difference, which is to be at least zero."""
        return self.larger - self.smaller

    def at(self, value: Any) -> Outcome:
        """Decide it with this constant."""
        smaller, larger = (side.xreplace({self.letter: value}) for side in (self.smaller, self.larger))
        return settle(smaller, larger, self.over)

    def grows(self) -> bool:
        """Say whether a larger constant makes the inequality easier."""
        slope = self.general.diff(self.letter).xreplace({self.letter: self.printed})
        lowest = self._lowest(slope, 1)
        return not lowest or lowest[0][0] >= 0

    def beyond(self, critical: float, grows: bool) -> Any:
        """Return the constant half a per cent on the wrong side of ``critical``."""
        return sympy.Rational(f"{critical:.9e}") * (MUTATION if grows else 1 / MUTATION)

    def tightness(self) -> Tightness:
        """Return where the constant stops working, and how sure that is."""
        if not self.general.has(self.letter):
            return Tightness(self.printed, None, None, False, "fixed")
        extreme = self._always_or_never()
        if extreme is not None:
            return extreme
        grows = self.grows()
        for edge in self._candidates(grows):
            point = self._refuting(edge, grows)
            if point is not None:
                near = 1 + _SLACK if grows else 1 - _SLACK
                before = self.at(sympy.Rational(f"{edge.critical:.9e}") * near).verdict
                moving: Status = "at least" if grows else "at most"
                status: Status = "critical" if before == "proved" or (edge.settled and before != "refuted") else moving
                return Tightness(self.printed, edge.critical, point, before == "proved", status)
        return Tightness(self.printed, None, None, False, "unknown")

    def _refuting(self, edge: _Critical, grows: bool) -> Mapping[Any, Any] | None:
        """Return where the inequality fails half a per cent beyond: near the point of the search, or wherever."""
        beyond = self.beyond(edge.critical, grows)
        sides = [side.xreplace({self.letter: beyond}) for side in (self.smaller, self.larger)]
        for candidate in search.roundings(edge.point) if edge.point else ():
            point = dict(zip(self.over.intervals, candidate, strict=True))
            fails = self.over.contains(point) and ball.sign(sides[1] - sides[0], point) == -1
            if fails and all(search.defined(side, point) for side in sides):
                return point
        return self.at(beyond).point

    def _parts(self) -> tuple[Any, Any] | None:
        """Return ``slope`` and ``rest`` where the difference is ``slope constant + rest``."""
        if not self.general.is_polynomial(self.letter):
            return None
        polynomial = sympy.Poly(self.general, self.letter)
        return tuple(polynomial.all_coeffs()) if polynomial.degree() == 1 else None

    def _always_or_never(self) -> Tightness | None:
        """Return what is shown for all positive constants at once."""
        parts = self._parts()
        if parts is None:
            return None
        slope, rest = parts
        lowest = self._lowest(rest, 1)
        if lowest and lowest[0][0] >= 0 and all(decide(part, self.over).verdict == "proved" for part in parts):
            return Tightness(self.printed, None, None, False, "any")
        point: Mapping[Any, Any] | None = {}
        if self.over.intervals:
            sides = tuple(side.xreplace({self.letter: self.printed}) for side in (self.smaller, self.larger))
            point = decide(sides[1] - sides[0], self.over, sides=sides).point
        if point is not None:
            signs = ball.sign(slope, point), ball.sign(rest, point)
            if signs in ((0, -1), (-1, -1), (-1, 0)):
                return Tightness(self.printed, None, point, False, "none")
        return None

    def _candidates(self, grows: bool) -> list[_Critical]:
        """Return critical constants by search: of the widest first, then of the narrowest."""
        edges: list[_Critical] = []
        reach = search.REACH
        while reach <= _WIDEST:
            new = self._search(grows, reach)
            if new is None or not math.isfinite(new.critical) or new.critical <= 0:
                break
            if edges:  # the edge of a narrower search stands, even if the wider one misses it
                new = (max if grows else min)(new, edges[-1], key=lambda edge: edge.critical)
                new = replace(new, settled=abs(new.critical - edges[-1].critical) <= float(_SLACK) * edges[-1].critical)
            edges.append(new)
            if new.settled:
                break
            reach *= 2
        return [edges[-1], edges[0]][: len(edges)] if edges else []

    def _search(self, grows: bool, reach: float) -> _Critical | None:
        """Return the critical constant within ``reach`` decades."""
        parts = self._parts()
        if parts is None:
            critical = self._bisect(grows, reach)
            return None if critical is None else _Critical(critical, (), True)
        slope, rest = parts
        bound = -rest / slope
        if not self.over.intervals:
            return _Critical(float(bound), (), True)
        landscape = search.Landscape(-bound if grows else bound, self.over, reach)
        edges = []
        for _, point in landscape.lowest(count=2):
            # floating point only points the way: near 0, log(1 + p)/p is noise in it
            exact = sympy.N(bound.xreplace(dict(zip(landscape.letters, point, strict=True))), 20)
            if exact.is_Float:
                edges.append(_Critical(float(exact), point, not landscape.at_edge(point)))
        return (max if grows else min)(edges, key=lambda edge: edge.critical, default=None)

    def _bisect(self, grows: bool, reach: float) -> float | None:
        """Find the edge between constants that a search refutes and those that it does not, to one part in a
        thousand.
        """
        easier = sympy.Integer(2) if grows else sympy.Rational(1, 2)
        fails = self._fails(self.printed, reach)
        step = easier if fails else 1 / easier
        good = bad = self.printed
        for k in range(_DOUBLINGS):
            moved = self.printed * step ** (2**k)
            if self._fails(moved, reach) != fails:
                good, bad = (moved, bad) if fails else (good, moved)
                break
            good, bad = (good, moved) if fails else (moved, bad)
        else:
            return None
        while abs(good / bad - 1) > _SLACK:
            middle = sympy.Rational(repr(float(sympy.sqrt(good * bad))))
            good, bad = (good, middle) if self._fails(middle, reach) else (middle, bad)
        return float(bad)

    def _fails(self, value: Any, reach: float) -> bool:
        lowest = self._lowest(self.general.xreplace({self.letter: value}), 1, reach)
        return bool(lowest) and lowest[0][0] < 0

    def _lowest(self, quantity: Any, count: int, reach: float = search.REACH) -> Any:
        if not self.over.intervals:
            return [(float(quantity), ())]
        return search.Landscape(quantity, self.over, reach).lowest(count)
