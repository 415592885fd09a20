"""From theorems to items: the theorem, the theorem with slack, and the theorem broken at its tight point."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Rational

from dpcheck.bounds.prover import Domain

SEED = 15
EACH = 20  # true items a family, and as many false ones
_SLACKS = (0, 0, 0, Rational(1, 1000), Rational(1, 10))
_MARGINS = (Rational(1, 5), Rational(1, 50), Rational(1, 1000))


@dataclass(frozen=True)
class Theorem:
    """``smaller <= larger`` on ``over``, for the reason ``why``.

    ``at`` is an exact point of the domain where the two sides differ by at most ``room``; what is taken
    away beyond ``room`` makes the inequality false there.
    """

    smaller: Any
    larger: Any
    over: Domain
    why: str
    at: Mapping[Any, Any]
    room: Any = 0


@dataclass(frozen=True)
class Item:
    """An inequality with its truth and the reason: a theorem's name, or the witness of a failure."""

    family: str
    name: str
    smaller: Any
    larger: Any
    over: Domain
    truth: bool
    why: str
    witness: Mapping[Any, Any] | None


Family = Callable[[random.Random], Iterator[Theorem]]


def collection(families: Mapping[str, Family], each: int = EACH) -> tuple[Item, ...]:
    """``each`` true and ``each`` false items a family, the same on every call."""
    found: list[Item] = []
    for name, family in families.items():
        rng = random.Random(f"{SEED} {name}")
        theorems: list[Theorem] = []
        while len(theorems) < each:
            theorems += family(rng)
        theorems = rng.sample(theorems, each) if len(theorems) > each else theorems
        for index, theorem in enumerate(theorems):
            found.append(_true(theorem, f"{name} {index} true", name, rng))
            found.append(_false(theorem, f"{name} {index} false", name, rng))
    return tuple(found)


def _true(theorem: Theorem, label: str, family: str, rng: random.Random) -> Item:
    slack = rng.choice(_SLACKS)
    smaller, larger = _arranged(theorem.smaller, theorem.larger + slack, rng)
    why = theorem.why if slack == 0 else f"{theorem.why}, with {slack} to spare"
    return Item(family, label, smaller, larger, theorem.over, True, why, None)


def _false(theorem: Theorem, label: str, family: str, rng: random.Random) -> Item:
    margin = rng.choice(_MARGINS)
    at = theorem.larger.xreplace(dict(theorem.at)) if hasattr(theorem.larger, "xreplace") else theorem.larger
    size = sympy.N(at, 30) if at.is_number else sympy.Integer(0)
    scaled = theorem.room == 0 and size > Rational(1, 100) and rng.random() < 0.5
    larger = theorem.larger * (1 - margin) if scaled else theorem.larger - theorem.room - margin
    smaller, larger = _arranged(theorem.smaller, larger, rng)
    point = ", ".join(f"{letter} = {value}" for letter, value in theorem.at.items()) or "these numbers"
    return Item(family, label, smaller, larger, theorem.over, False, f"fails at {point}", dict(theorem.at))


def _arranged(smaller: Any, larger: Any, rng: random.Random) -> tuple[Any, Any]:
    """As it stands, or with everything on one side."""
    kind = rng.randrange(4)
    if kind == 0:
        return sympy.Integer(0), larger - smaller
    if kind == 1:
        return smaller - larger, sympy.Integer(0)
    return sympy.sympify(smaller), sympy.sympify(larger)
