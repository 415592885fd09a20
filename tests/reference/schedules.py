"""Numbers of a configured algorithm beside those of a theorem."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms import promises
from dpcheck.algorithms.problem import Array, Defaults, ball
from dpcheck.bounds.registry import PAPERS
from dpcheck.bounds.theorem import Theorem
from dpcheck.checks.games import gradient
from dpcheck.checks.place import place_of_schedule
from dpcheck.errors import InputError
from dpcheck.report.findings import Finding
from dpcheck.solvers import algorithm

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


# A problem that only declares its constants: a schedule is made from them, and nothing is run.


@dataclass(frozen=True, eq=False)
class Declared(Defaults):
    """size : n;  dim_w, dim_v, radius_w, radius_v : of balls;  the rest : the constants of every record."""

    size: int
    dim_w: int = 1
    dim_v: int = 1
    lipschitz_w: float = 1.0
    lipschitz_v: float = 1.0
    smoothness: float = 1.0
    convexity: float = 0.0
    concavity: float = 0.0
    hessian_lipschitz: float = 1.0
    radius_w: float = 1.0
    radius_v: float = 1.0
    name: str = "declared"

    params: ClassVar[Array] = np.zeros(2)
    gradient: ClassVar[Callable[..., Any]] = staticmethod(gradient)

    @property
    def records(self) -> Array:
        """n rows that take no memory."""
        return np.broadcast_to(np.zeros(1), (self.size, 1))

    @property
    def domain_w(self) -> Array:
        """A ball."""
        return ball(self.dim_w, self.radius_w)

    @property
    def domain_v(self) -> Array:
        """A ball, or nothing."""
        return ball(self.dim_v, self.radius_v) if self.dim_v else np.empty((0, 4))


# Schedules against theorems: each number that an algorithm sets is the registered theorem's, at several settings.
#
# One file a paper says which number of an algorithm is which letter of a theorem. A repaired variant is compared as far
# as a theorem describes it; what no theorem gives is named.


def schedules(name: str) -> Iterator[Finding]:
    """Yield a finding for each variant: whether its numbers are those of its theorems."""
    chosen = algorithm(name)
    found = bindings()
    for variant in chosen.variants:
        yield compared(name, variant, found.get((name, variant)), place_of_schedule(chosen, variant))


def bindings() -> dict[tuple[str, str], Binding]:
    """Return for each algorithm and variant what of it a theorem gives."""
    modules = (importlib.import_module(f"reference.schedules_{paper}") for paper in PAPERS)
    return {key: binding for module in modules for key, binding in module.BINDINGS.items()}
