"""Numbers of a configured algorithm beside those of a theorem."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dpcheck.algorithms import promises
from dpcheck.bounds.theorem import Theorem
from dpcheck.errors import InputError
from dpcheck.report.findings import Finding

TOLERANCE = 1e-9  # relative: one number comes from exact arithmetic, the other from floating point


@dataclass(frozen=True)
class Number:
    """One number at one setting: what the algorithm has, and what the theorem has."""

    name: str
    found: float
    theorem: str
    promised: float
    at: Mapping[str, float]

    @property
    def same(self) -> bool:
        """Whether the two agree."""
        return math.isclose(self.found, self.promised, rel_tol=TOLERANCE)

    def __str__(self) -> str:
        """Return what differs, from which theorem, where, and by what factor."""
        at = ", ".join(f"{letter} = {value:g}" for letter, value in self.at.items())
        factor = f"a factor {self.found / self.promised:.4g}" if self.promised else "where it is to be 0"
        return f"{self.name} is {self.found:.6g} where {self.theorem} has {self.promised:.6g} at {at} ({factor})"


@dataclass(frozen=True)
class Binding:
    """What of a variant theorems give.

    numbers : () -> every comparison, at all settings
    unbound : the numbers that no theorem gives, in words; nothing where all are compared
    """

    numbers: Callable[[], Iterator[Number]]
    unbound: str = ""


@dataclass(frozen=True)
class Unbound:
    """A variant of which no theorem of the catalogue gives a number, and why."""

    why: str


def numbers(
    promising: str | Theorem, values: Mapping[str, float], **found: tuple[str, float] | float
) -> Iterator[Number]:
    """Compare numbers with a theorem, by its id or itself, at ``values``, of which it takes what it has letters for.

    found : letter=number of the algorithm, or letter=(name there, number);  "order" is the rate with the constant 1
    """
    theorem = promises.catalogued(promising) if isinstance(promising, str) else promising
    known = {str(parameter.symbol) for parameter in theorem.parameters}
    given = {letter: value for letter, value in values.items() if letter in known}
    promised = _promised(theorem, given)
    for letter, pair in found.items():
        name, number = pair if isinstance(pair, tuple) else (letter, pair)
        has = theorem.bound(constant=1.0, **given) if letter == "order" else promised[letter]
        yield Number(name, float(number), theorem.id, float(has), given)


def _promised(theorem: Theorem, given: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    if theorem.schedule_formulas:
        found |= theorem.schedule(**given)
    if theorem.noise_formulas:
        found |= theorem.noise(**given)
    return found


def compared(name: str, variant: str, binding: Binding | Unbound | None, place: str) -> Finding:
    """Return the finding of one variant: violated where a number differs, inconclusive where there is none to
    compare.
    """
    found: list[Number] = []
    evidence: dict[str, Any] = {}
    if isinstance(binding, Binding):
        try:
            found = list(binding.numbers())
        except (InputError, ArithmeticError) as error:
            verdict, reason = "violated", f"the schedule has no number to compare: {error}"
        else:
            verdict, reason = _judged(found, binding.unbound)
    else:
        verdict = "inconclusive"
        reason = binding.why if binding else "No theorem of the catalogue is bound to this algorithm's numbers."
    if found:
        evidence = {
            "theorems": sorted({each.theorem for each in found}),
            "settings": len({tuple(each.at.items()) for each in found}),
            "numbers": sorted({each.name for each in found}),
            "differ": [str(each) for each in found if not each.same],
        }
    words = variant.replace("_", " ")
    return Finding(
        f"{name}.{variant}.schedule", "schedule", f"{name}, {words}: the schedule against its theorems", verdict,
        reason, evidence=evidence, place=place,
    )  # fmt: skip


def _judged(found: list[Number], unbound: str) -> tuple[str, str]:
    """Return for each number that differs the setting where it does so most."""
    worst: dict[str, Number] = {}
    for each in found:
        if not each.same:
            before = worst.get(each.name)
            if before is None or _distance(each) > _distance(before):
                worst[each.name] = each
    if worst:
        return "violated", "; ".join(map(str, worst.values()))
    theorems = ", ".join(dict.fromkeys(each.theorem for each in found))
    settings = len({tuple(each.at.items()) for each in found})
    names = ", ".join(dict.fromkeys(each.name for each in found))
    left = f" No theorem gives {unbound}." if unbound else ""
    return "consistent", f"{names} are those of {theorems} at {settings} settings.{left}"


def _distance(number: Number) -> float:
    """Return how far apart the two are, in orders."""
    if number.found <= 0 or number.promised <= 0 or not math.isfinite(number.found):
        return math.inf
    return abs(math.log(number.found / number.promised))
