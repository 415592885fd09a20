"""Monomials in positive letters, and the regions that relations between them cut out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy

from dpcheck.bounds.formula import formula
from dpcheck.errors import InputError, require

_MARGIN = 1e-6  # by which the logarithms of a strict relation's sides differ


@dataclass(frozen=True)
class Monomial:
    """``coefficient * prod letter**power`` with rational powers."""

    coefficient: Any
    powers: Mapping[Any, Fraction]


@dataclass(frozen=True, init=False)
class Region:
    """All positive values of the letters at which the relations hold, each between monomials.

    Letters that are integers are at least one without a word.
    """

    relations: tuple[Any, ...]

    def __init__(self, *relations: Any) -> None:
        """Raise :class:`~dpcheck.errors.InputError` for a relation that is not between monomials."""
        require(sympy.false not in relations, "the relations", "leave something", "a false one")
        kept = tuple(relation for relation in relations if relation is not sympy.true)
        object.__setattr__(self, "relations", kept)
        for relation in kept:
            as_monomial(relation.lts / relation.gts)

    def rows(self, *expressions: Any) -> list[Monomial]:
        """Return each relation as a monomial that is at most one, for what these expressions speak of too."""
        sides = [relation.lts / relation.gts for relation in self.relations]
        letters = set().union(*(formula(each).free_symbols for each in (*sides, *expressions)))
        whole = sorted((letter for letter in letters if letter.is_integer), key=str)
        return [as_monomial(each) for each in (*sides, *(1 / letter for letter in whole))]

    def empty(self, *expressions: Any) -> bool:
        """Say whether a linear program finds no logarithms of the letters at which the relations hold.

        A strict relation has to hold by a margin.
        """
        import numpy as np
        from scipy.optimize import linprog

        rows = self.rows(*expressions)
        letters = sorted(letters_of(*rows), key=str)
        if not letters:
            return any(row.coefficient > 1 for row in rows)
        strict = [isinstance(each, sympy.Lt | sympy.Gt) for each in self.relations]
        margins = [*strict, *[False] * (len(rows) - len(strict))]
        matrix = [
            [*(float(row.powers.get(letter, 0)) for letter in letters), float(margin)]
            for row, margin in zip(rows, margins, strict=True)
        ]
        right = [-float(sympy.log(row.coefficient)) for row in rows]
        costs = np.array([0.0] * len(letters) + [-1.0])
        ends = [(None, None)] * len(letters) + [(0, 1)]
        found = linprog(costs, A_ub=np.array(matrix), b_ub=np.array(right), bounds=ends, method="highs-ds")
        return bool(found.status != 0 or (any(strict) and found.x[-1] < _MARGIN))

    def __str__(self) -> str:
        """Return the relations in one line."""
        return ", ".join(f"{relation.lts} <= {relation.gts}" for relation in self.relations) or "all positive values"


def terms_of(expression: Any) -> tuple[Any, ...]:
    """Return the terms of a sum, or of a maximum."""
    expression = formula(expression)
    if expression.func is sympy.Max:
        return tuple(part for each in expression.args for part in terms_of(each))
    return tuple(sympy.Add.make_args(sympy.expand(expression)))


def as_monomial(expression: Any) -> Monomial:
    """Return the coefficient and the powers; refuse what is not a monomial."""
    expression = sympy.powsimp(sympy.powdenest(formula(expression), force=True), force=True)
    coefficient = sympy.Integer(1)
    powers: dict[Any, Fraction] = {}
    for factor in sympy.Mul.make_args(sympy.expand_power_base(expression, force=True)):
        base, power = factor.as_base_exp()
        if not factor.free_symbols:
            coefficient *= factor
        elif base.is_Symbol and base.is_positive and power.is_Rational:
            powers[base] = powers.get(base, Fraction(0)) + Fraction(int(power.p), int(power.q))
        else:
            raise InputError(f"an order must be made of rational powers of positive letters, got the factor {factor}")
    require(bool(coefficient.is_positive), "the coefficient of a monomial", "be positive", coefficient)
    return Monomial(coefficient, powers)


def letters_of(*monomials: Monomial) -> set[Any]:
    """Return the letters that occur in any of them."""
    return set().union(*(monomial.powers.keys() for monomial in monomials))


def rational(value: Fraction) -> Any:
    """Return a fraction as a sympy number."""
    return sympy.Rational(value.numerator, value.denominator)
