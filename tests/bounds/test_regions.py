"""Every assumption of every theorem: inside all of them, just outside each one alone, and where it stands.

A theorem, assumption or letter that is added is tested without a change here, but for the table of conditions.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sympy

from dpcheck.bounds import registry
from dpcheck.bounds.theorem import Assumption, Theorem
from dpcheck.errors import InputError

Values = dict[str, float]

TYPICAL = {"n": 10_000, "d": 50, "epsilon": 0.5, "delta": 1e-9, "T": 100, "m": 200, "t": 1, "k": 1, "e": 1e-3,
           "mu": 0.5, "mu_x": 0.5, "rho": 0.5, "kappa": 2.0, "delta_1": 0.1, "delta_2": 0.1, "theta": 0.1,
           "c_1": 49.0, "c_4": 49.0, "c": 0.9, "eta": 0.1, "eta_w": 0.1, "l": 2,
           "gamma": 0.1}  # fmt: skip
SIGNS = {"<=": 1, "<": 1, ">=": -1, ">": -1}
FACTORS = [2.0**power for power in (0.1, 0.5, 1, 2, 4, 6, 8, 12, 16, 24, 30)]

# Those that some theorem's parameters never break alone, and what may break with them.
TOGETHER = {"phases": {"k"}, "error": {"period", "T_2"}}

THEOREMS = {thm.id: thm for thm in registry.theorems()}
TESTED = [(id, a.name) for id, thm in THEOREMS.items() for a in thm.assumptions if a.relation is not None]

# What the papers' statements and proofs ask for: conditions that no numbers test, then those that they do.
ASSUMPTIONS = {
    "bok2024.alternating_step": "eta s | mu",
    "bok2024.cocoercive_step": "F | mu eta",
    "bok2024.cyclic": "map apart projection noise | c l",
    "bok2024.diameter": "map apart projection noise domain | c",
    "bok2024.extragradient_step": "s | mu eta small",
    "bok2024.full_batch": "map apart projection noise | c",
    "bok2024.gradient_step": "| mu eta",
    "bok2024.linear_extragradient_step": "F s | mu eta",
    "bok2024.proportional_steps": "eta norm | mu",
    "bok2024.regularised_saddle_step": "F | eta",
    "bok2024.saddle_step": "| mu",
    "bok2024.unequal_noise": "norm | mu",
    "dong2022.advantage": "orders |",
    "dong2022.group": "orders |",
    "dong2022.guess": "orders prior |",
    "koskela2024.negative_binomial": "independent secret | gamma tail",
    "koskela2024.poisson": "independent secret none |",
    "xu2026.theorem_1": "A1 A2 A3 A4 start F_0 escape | epsilon delta_1 delta_2 error period q increments B_2 S_2",
    "xu2026.theorem_2": "A1 A2 A3 A4 A5 records y_0 escape noise | epsilon delta_1 delta_2 mu error S_2",
    "xu2026.theorem_3": "A1 A2 A3 A4 start F_0 escape | epsilon delta_1 delta_2 error period q increments B_2 S_2",
    "yang2022.theorem_1": "A1 sampling | epsilon delta n m",
    "yang2022.theorem_1_existential": "A1 sampling | epsilon log(1/delta)",
    "yang2022.theorem_2a": "A1 A3 convex-concave bounded start records sampling | epsilon delta n m",
    "yang2022.theorem_2b": "A1 convex-concave bounded start records sampling | epsilon delta n m",
    "yang2022.theorem_3": "A1 A2 A3 PL-SC W V saddle sampling late_start | kappa mu",
    "yang2022.theorem_4": "A1 A3 A4 PL-SC W saddle records e | rho",
    "yang2022.theorem_5": "A1 A2 A3 A4 PL-SC W V saddle sampling late_start records m | kappa mu epsilon delta n",
    "zhang2022.corollary_b_6": "f bounded records solver released | mu_y phases k epsilon delta",
    "zhang2022.table_2_accelerated_svrg": "f solver regulariser | n",
    "zhang2022.table_2_catalyst": "f solver | n",
    "zhang2022.table_2_extragradient": "f solver | n",
    "zhang2022.table_2_jin": "f solver regulariser | n",
    "zhang2022.table_2_svrg": "f solver regulariser | n",
    "zhang2022.theorem_3_3": "f interior released records solver | mu epsilon delta",
    "zhang2022.theorem_3_4": "f bounded records solver released | phases k epsilon delta",
    "zhang2022.theorem_4_3": "f interior released records solver | mu_x mu_y epsilon delta",
    "zhang2022.theorem_4_5": "f bounded records solver released | phases k epsilon delta",
    "zhang2025.theorem_1": "sampling clipping | epsilon delta n m most",
    "zhang2025.theorem_1_existential": "sampling clipping | epsilon most log(1/delta)",
    "zhang2025.theorem_2": "A1 A2 A3 A4 smooth below thresholds sampling clipping | mu error epsilon n log(1/delta)",
    "zhang2025.theorem_3": "hard | epsilon delta least",
    "zhang2025.theorem_4": "hard | epsilon delta least",
    "zhang2025.theorem_5": "A1 beta sampling clipping steps | epsilon delta m most",
    "zhang2025.theorem_5_existential": "A1 beta sampling clipping steps | most epsilon",
    "zhang2025.theorem_6": "A1 A2 A3 A4 smooth below every thresholds beta sampling clipping steps "
    "| mu error epsilon delta m most theta T_2",
}


def inside(thm: Theorem) -> Values:
    """A point that breaks no assumption: the usual number for each letter, 1 where it has none."""
    return {str(p.symbol): TYPICAL.get(str(p.symbol), 1 if p.symbol.is_integer else 1.0) for p in thm.parameters}


@dataclasses.dataclass(frozen=True)
class Floats:
    """The assumptions in plain floats, for the search alone: what it finds is judged by the theorem itself."""

    parameters: frozenset[str]
    whole: frozenset[str]
    definitions: dict[str, Callable[[Values], float]]
    sides: dict[str, tuple[str, Callable[[Values], float], Callable[[Values], float]]]

    @classmethod
    @functools.cache
    def of(cls, id: str) -> Floats:
        thm = THEOREMS[id]

        def plain(expression: Any) -> Callable[[Values], float]:
            symbols = sorted(expression.free_symbols, key=str)
            formula, names = sympy.lambdify(symbols, expression, "math", dummify=True), [str(each) for each in symbols]
            return lambda values: formula(*(values[name] for name in names))

        symbols = [p.symbol for p in thm.parameters] + [symbol for symbol, _ in thm.schedule_formulas]
        return cls(
            frozenset(str(p.symbol) for p in thm.parameters),
            frozenset(str(symbol) for symbol in symbols if symbol.is_integer),
            {str(symbol): plain(formula) for symbol, formula in thm.schedule_formulas},
            {
                a.name: (a.relation.rel_op, plain(a.relation.args[0]), plain(a.relation.args[1]))
                for a in thm.assumptions
                if a.relation is not None
            },
        )

    def whole_point(self, values: Values) -> Values:
        """With every letter of the schedule that the values leave open."""
        values = dict(values)
        for name, formula in self.definitions.items():
            if name not in values:
                values[name] = formula(values)
        return values

    def broken(self, values: Values) -> set[str] | None:
        """What these values break; None where there are no such numbers."""
        if not 0 < values.get("delta", 0.5) < 1:
            return None
        try:
            values = self.whole_point(values)
            return {
                name
                for name, (sign, left, right) in self.sides.items()
                if SIGNS[sign] * (left(values) - right(values)) > 1e-12 * abs(right(values))  # not by rounding alone
            }
        except (ArithmeticError, ValueError):
            return None


def letters(thm: Theorem, assumption: Assumption) -> list[str]:
    """The letters that may break it: its own and those which its own are computed from, parameters first."""
    defined = {symbol: formula.free_symbols for symbol, formula in thm.schedule_formulas}
    found: set[Any] = set()
    wanted = set(assumption.relation.free_symbols)
    while wanted - found:
        found |= wanted
        wanted = set().union(*(defined.get(symbol, set()) for symbol in found))
    return sorted(map(str, found), key=lambda name: (name in map(str, defined), name))


def moves(floats: Floats, start: Values, name: str) -> Iterator[Values]:
    """``start`` with one letter larger or smaller, by more and more."""
    value = floats.whole_point(start)[name]
    for factor in FACTORS:
        for moved in (value * factor, value / factor):
            yield start | {name: max(1, round(moved)) if name in floats.whole else moved}


def alone(name: str, found: set[str]) -> bool:
    """Whether that assumption is broken and no other, but for those that cannot but break with it."""
    return name in found and found <= {name} | TOGETHER.get(name, set())


def closer(floats: Floats, name: str, good: float, bad: Values, letter: str) -> Values:
    """The point next to the boundary, by halving, that still breaks that assumption alone."""
    low, high = good, bad[letter]
    for _ in range(40):
        middle = (low + high) // 2 if letter in floats.whole else (low + high) / 2
        found = floats.broken(bad | {letter: middle})
        if middle in (low, high) or found is None or not (alone(name, found) or not found):
            break
        low, high = (low, middle) if found else (middle, high)
    return bad | {letter: high}


def paths(floats: Floats, named: list[str]) -> Iterator[tuple[str, ...]]:
    """Which letters to move: one of the assumption's own, after any other one; parameters before the schedule's."""
    every = [*sorted(floats.parameters), *floats.definitions]
    own, pairs = [(last,) for last in named], [(first, last) for last in named for first in every if first != last]
    for given in (True, False):
        yield from (path for path in (*own, *pairs) if floats.parameters.issuperset(path) is given)


def outside(thm: Theorem, name: str) -> Values:
    """A point just outside that assumption and inside all others, by parameters alone where there is one."""
    floats, start = Floats.of(thm.id), inside(thm)
    for path in paths(floats, letters(thm, thm.assumption(name))):
        for point in [start] if len(path) == 1 else moves(floats, start, path[0]):
            for bad in moves(floats, point, path[-1]) if floats.broken(point) is not None else ():
                found = floats.broken(bad)
                if found is not None and alone(name, found):
                    return closer(floats, name, floats.whole_point(point)[path[-1]], bad, path[-1])
    raise AssertionError(f"no numbers break {name} of {thm.id} alone")


def asked(thm: Theorem, values: Values) -> Iterator[tuple[str, Values]]:
    """Every method that takes numbers, with its arguments."""
    if thm.schedule_formulas:
        yield "schedule", values
    if thm.noise_formulas:
        yield "noise", values
    if thm.rate is not None or thm.bound_formula is not None:
        yield "bound", values | ({} if thm.bound_formula is not None else {"constant": 1.0})


@pytest.mark.parametrize("id", THEOREMS)
def test_a_point_inside_all_is_accepted(id: str) -> None:
    thm = THEOREMS[id]
    values = inside(thm)
    assert thm.violated(**values) == ()
    methods = list(asked(thm, values))
    assert methods
    for method, arguments in methods:
        found = getattr(thm, method)(**arguments)
        assert all(
            value > 0 and math.isfinite(value) for value in (found.values() if isinstance(found, dict) else [found])
        )


@pytest.mark.thorough
@pytest.mark.parametrize(("id", "name"), TESTED)
def test_a_point_outside_one_is_refused_by_its_name(id: str, name: str) -> None:
    """By every method; what only a schedule of one's own can break, by ``violated``."""
    thm = THEOREMS[id]
    values = outside(thm, name)
    assert alone(name, {assumption.name for assumption in thm.violated(**values)}), values
    if values.keys() <= {str(parameter.symbol) for parameter in thm.parameters}:
        for method, arguments in asked(thm, values):
            with pytest.raises(InputError) as caught:
                getattr(thm, method)(**arguments)
            assert f"must satisfy {thm.violated(**values)[0]}, got " in str(caught.value)


def test_no_assumption_is_forgotten() -> None:
    """The lists as read from the papers, theorem by theorem."""
    for id, thm in THEOREMS.items():
        conditions, tested = (part.split() for part in ASSUMPTIONS[id].split("|"))
        assert [a.name.replace(" ", "_") for a in thm.conditions] == conditions, id
        assert [name for each, name in TESTED if each == id] == tested, id
    assert ASSUMPTIONS.keys() == THEOREMS.keys()
    assert len(THEOREMS) == 45
