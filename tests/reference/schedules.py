"""Numbers of a configured algorithm beside those of a theorem."""

from __future__ import annotations

import importlib
import importlib.util
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
from dpcheck.errors import InputError

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
    promised = theorem.schedule(**given) if theorem.schedule_formulas else {}
    if theorem.noise_formulas:
        promised |= theorem.noise(**given)
    for letter, pair in found.items():
        name, number = pair if isinstance(pair, tuple) else (letter, pair)
        has = theorem.bound(constant=1.0, **given) if letter == "order" else promised[letter]
        yield Number(name, float(number), theorem.id, float(has), given)


def differences(name: str, variant: str) -> list[str]:
    """Return how the numbers of a variant differ from its theorems', a sentence each; nothing where none is bound."""
    binding = bindings()[name, variant]
    if isinstance(binding, Unbound):
        return []
    try:
        return [str(number) for number in binding.numbers() if not number.same]
    except (InputError, ArithmeticError) as error:
        return [f"the schedule has no number to compare: {error}"]


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


def bindings() -> dict[tuple[str, str], Binding | Unbound]:
    """Return for each algorithm and variant what of it a theorem gives."""
    named = (f"reference.schedules_{paper}" for paper in PAPERS)  # of papers without algorithms there are none
    modules = (importlib.import_module(name) for name in named if importlib.util.find_spec(name))
    return {key: binding for module in modules for key, binding in module.BINDINGS.items()}
