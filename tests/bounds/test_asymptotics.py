"""Orders: multipliers that multiply out, paths that escape, and never both."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sympy import Ge, Le, Max, Rational, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, dominate, escape, s
from dpcheck.errors import InputError

n, d = symbols("n d", integer=True, positive=True)
epsilon, ell, a, b = symbols("epsilon ell a b", positive=True)
UTILITY = Region(Le(epsilon, 1), Ge(ell, 1), Le(sqrt(d * ell), n * epsilon))
RATE = 1 / sqrt(n) + sqrt(d * ell) / (n * epsilon)

DOMINATED = [
    (1 / n + d * ell / (n * epsilon) ** 2, RATE, UTILITY),
    ((d * ell) ** Rational(1, 4) / (sqrt(n * epsilon) * n ** Rational(1, 4)), RATE, UTILITY),
    (5 * RATE + 7 / n, RATE, UTILITY),
    (Max(1 / n, 1 / sqrt(n)), RATE, UTILITY),
    (a * b, a**2 + b**2, Region()),
    (a, sympy.Integer(1), Region(Le(a, 100))),
]
EXCEEDING = [
    (d * ell**2 / (n * epsilon) ** 2, RATE, UTILITY),
    (sqrt(ell) / n ** Rational(1, 3), RATE, UTILITY),
    (1 / sqrt(n), 1 / n + sqrt(d * ell) / (n * epsilon), UTILITY),
    (a * b, a + b, Region()),
    (a, sympy.Integer(1), Region(Ge(a, 1))),
]


@pytest.mark.parametrize(("terms", "rate", "region"), DOMINATED, ids=str)
def test_dominated(terms: Any, rate: Any, region: Region) -> None:
    step = Dominated("", terms, rate, region)
    assert step.holds()
    assert step.formula() and step.latex()
    with pytest.raises(InputError, match="path must exist"):
        Exceeds("", terms, rate, region).holds()


@pytest.mark.parametrize(("terms", "rate", "region"), EXCEEDING, ids=str)
def test_exceeding(terms: Any, rate: Any, region: Region) -> None:
    assert not Dominated("", terms, rate, region).holds()
    step = Exceeds("", terms, rate, region)
    assert step.holds()
    assert step.formula() and step.latex()
    assert "> constant" in step.where()


def test_the_constant_is_explicit() -> None:
    found = dominate(a, (sympy.Integer(1),), Region(Le(a, 100)))
    assert found is not None
    assert (found.constant, found.multipliers) == (100, (Fraction(1),))
    found = dominate(6 * a * b, (2 * a**2, b**2 / 2), Region())
    assert found is not None
    assert (found.constant, found.weights) == (6, (Fraction(1, 2), Fraction(1, 2)))


def test_the_powers_of_a_logarithm_are_least() -> None:
    step = Dominated("", d * ell**3 / (n * epsilon) ** 2, RATE, UTILITY, up_to=(ell,))
    assert step.holds()
    assert step.extra() == {ell: Fraction(2)}
    assert not Dominated("", d * ell**3 / (n * epsilon) ** 2, RATE, UTILITY).holds()


def test_a_path_with_logarithms() -> None:
    region = Region(Ge(a, 1))
    assert Exceeds("", log(a), sympy.Integer(1), region, {a: s}).holds()
    assert not Exceeds("", log(a), a ** Rational(1, 100), region, {a: s}).holds()


def test_a_path_outside_the_region_shows_nothing() -> None:
    assert not Exceeds("", a, sympy.Integer(1), Region(Le(a, 1)), {a: s}).holds()
    assert not Exceeds("", a, sympy.Integer(1), Region(Ge(b, 2)), {a: s}).holds()  # b stays 1
    assert not Exceeds("", 1 / n, sympy.Integer(1), Region(), {n: 1 / s}).holds()  # n is at least one


exponents = st.fractions(-2, 2, max_denominator=4)
monomials = st.tuples(exponents, exponents)


def monomial(powers: tuple[Fraction, Fraction]) -> Any:
    p, q = (Rational(each.numerator, each.denominator) for each in powers)
    return a**p * b**q


@pytest.mark.thorough
@settings(deadline=None, max_examples=60)
@given(monomials, st.lists(monomials, min_size=1, max_size=3), st.lists(monomials, max_size=2))
def test_exactly_one_of_the_two_is_found(
    term: tuple[Fraction, Fraction],
    rate: list[tuple[Fraction, Fraction]],
    rows: list[tuple[Fraction, Fraction]],
) -> None:
    assume(all(any(row) for row in rows))
    region = Region(*(Le(monomial(row), 1) for row in rows))
    parts = tuple(monomial(each) for each in rate)
    proof, path = dominate(monomial(term), parts, region), escape(monomial(term), parts, region)
    assert (proof is None) != (path is None)
    if proof is not None:
        # by numbers: points of the region, found by rejection
        for i in range(-6, 7):
            for j in range(-6, 7):
                at = {a: 2.0**i, b: 2.0**j}
                if all(float(monomial(row).subs(at)) <= 1 for row in rows):
                    largest = max(float(each.subs(at)) for each in parts)
                    assert float(monomial(term).subs(at)) <= float(proof.constant) * largest * (1 + 1e-9)


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="rational powers of positive letters, got the factor"):
        Region(Le(a + b, 1))
    with pytest.raises(InputError, match="coefficient of a monomial must be positive, got -1"):
        Dominated("", -a, b, Region()).holds()
