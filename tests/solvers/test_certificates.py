"""Certificates: each stands on its own, is replayed by a second route, and is refused when forged."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import sympy
from polynomials import replay
from sympy import Ge, Le, Rational, exp, log, oo, sqrt, symbols

from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.prover.certificate import Certificate, Rule

a, b, c = symbols("a b c", positive=True)
x, y = symbols("x y", real=True)
n, m = symbols("n m", integer=True, positive=True)


def proof(smaller: Any, larger: Any, over: Domain) -> Certificate:
    """The one certificate of an inequality."""
    outcome = Inequality("", smaller, larger, over).outcome()
    assert outcome.methods == ("certificate",)
    return outcome.certificates[0]


COUNT = proof(2 * n, n**2, Domain({n: (2, oo)}))
HIGH = proof(x, -1 - x - y, Domain({x: (-oo, -2), y: (-oo, 3)}))
SHARE = proof(a, 1 + a * x, Domain({a: (Rational(1, 3), 1), x: (0, 2)}))
RATIO = proof(m / n, 1, Domain({n: (1, oo), m: (1, oo)}, (Le(m, n),)))
PRODUCT = proof(a**2, 1, Domain({a: (0, oo), b: (1, oo)}, (Le(a * b, 1),)))
ABOVE = proof(x, y, Domain({x: (0, oo), y: (-oo, oo)}, (Ge(y, 2 * x),)))
LOGARITHM = proof(1, log(n) ** 2, Domain({n: (3, oo)}))
ROOT = proof(sqrt(a + b), 1 + sqrt(a) + sqrt(a + b), Domain({a: (0, oo), b: (0, oo)}))
NUMBER = proof(sqrt(2) * a, Rational(3, 2) * a, Domain({a: (0, oo)}))
EXPONENTIAL = proof(-exp(x), a, Domain({x: (-oo, oo), a: (0, oo)}))
FREE = proof(x + c**2, y, Domain({x: (-oo, oo), y: (-oo, oo), c: (0, oo)}, (Ge(y, x + 2 * c**2),)))
LOW_ROOT = proof(0, sqrt(x + y) + 1, Domain({x: (0, oo), y: (0, oo)}))
GENUINE = {
    "free": FREE,
    "count": COUNT, "high": HIGH, "share": SHARE, "ratio": RATIO, "product": PRODUCT, "above": ABOVE,
    "logarithm": LOGARITHM, "root": ROOT, "number": NUMBER, "exponential": EXPONENTIAL,
}  # fmt: skip


@pytest.mark.parametrize("name", GENUINE)
def test_genuine_certificates_hold_by_both_routes(name: str) -> None:
    assert GENUINE[name].holds()
    replay(json.loads(json.dumps(GENUINE[name].to_dict())))


def test_a_shift_that_another_one_uses_is_kept() -> None:
    assert {str(letter) for letter, _ in PRODUCT.shifts} == {"a", "b"}
    assert not PRODUCT.difference.has(*(letter for letter in PRODUCT.domain.intervals if str(letter) == "b"))


def letter(of: Certificate, name: str) -> Any:
    return next(each for each, _ in of.meanings if str(each).startswith(name))


def t(of: Certificate, name: str) -> Any:
    return next(rule.parameter for rule in of.rules if str(rule.letter).startswith(name))


def shifted(of: Certificate, name: str, value: Any, **rule: Any) -> Certificate:
    """Another shift of a letter, with the numerator and denominator that follow from it."""
    moved = tuple((each, value if str(each).startswith(name) else old) for each, old in of.shifts)
    rules = tuple(replace(each, **rule) if str(each.letter).startswith(name) else each for each in of.rules)
    above, below = sympy.fraction(sympy.together(of.difference.subs(dict(moved), simultaneous=True)))
    return replace(of, shifts=moved, rules=rules, numerator=sympy.expand(above), denominator=sympy.expand(below),
                   multiplier=sympy.Integer(1))  # fmt: skip


def meaning(of: Certificate, name: str, means: Any) -> Certificate:
    return replace(
        of, meanings=tuple((each, means if str(each).startswith(name) else old) for each, old in of.meanings)
    )


def interval(of: Certificate, name: str, low: Any, high: Any) -> Certificate:
    ends = (sympy.sympify(low), sympy.sympify(high))
    return replace(
        of, intervals=tuple((each, ends if str(each).startswith(name) else old) for each, old in of.intervals)
    )


def renamed(of: Certificate, old: Any, new: Any) -> Certificate:
    """The certificate with one letter replaced by another throughout, except in the claim."""
    swap = {old: new}
    return replace(
        of,
        difference=of.difference.xreplace(swap),
        shifts=tuple((swap.get(each, each), value) for each, value in of.shifts),
        meanings=tuple((swap.get(each, each), means) for each, means in of.meanings),
        intervals=tuple((swap.get(each, each), ends) for each, ends in of.intervals),
        facts=tuple(fact.xreplace(swap) for fact in of.facts),
        rules=tuple(replace(rule, letter=swap.get(rule.letter, rule.letter)) for rule in of.rules),
        scale=of.scale.xreplace(swap),
    )


ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
LOOSE = sympy.Symbol("loose", nonnegative=True)
SIGNED = sympy.Symbol("signed", real=True)
N, M = letter(COUNT, "n"), letter(RATIO, "m")
T = t(COUNT, "n")
CLAIM_N = next(iter(COUNT.domain.intervals))
FALSE = {
    "numerator and denominator 0": replace(COUNT, numerator=ZERO, denominator=ZERO),
    "denominator 0": replace(COUNT, denominator=ZERO),
    "multiplier 0": replace(COUNT, multiplier=ZERO),
    "numerator and multiplier 0": replace(COUNT, numerator=ZERO, multiplier=ZERO),
    "a zero that has to be expanded": replace(COUNT, numerator=ZERO, multiplier=(T + 1) ** 2 - T**2 - 2 * T - 1),
    "numerator 0": replace(COUNT, numerator=ZERO),
    "numerator and denominator negative": replace(COUNT, numerator=-COUNT.numerator, denominator=-COUNT.denominator),
    "numerator and multiplier negative": replace(COUNT, numerator=-COUNT.numerator, multiplier=-COUNT.multiplier),
    "denominator and multiplier negative": replace(COUNT, denominator=-ONE, multiplier=-ONE),
    "another numerator": replace(COUNT, numerator=COUNT.numerator + 1),
    "another denominator": replace(COUNT, denominator=2 * COUNT.denominator),
    "a numerator that is no polynomial": replace(
        COUNT, numerator=COUNT.numerator * sqrt(T + 1), denominator=sqrt(T + 1)
    ),
    "an irrational coefficient": replace(
        COUNT, numerator=sympy.expand(COUNT.numerator * sqrt(2)), denominator=sqrt(2)
    ),
    "a polynomial in letters that may be negative": replace(
        COUNT, numerator=sympy.expand(COUNT.numerator * SIGNED), denominator=SIGNED
    ),
    "a polynomial in a letter that nothing defines": replace(
        COUNT, numerator=sympy.expand(COUNT.numerator * LOOSE), denominator=LOOSE
    ),
    "a shift from beyond the bound": shifted(COUNT, "n", 5 + T),
    "a shift with steps of two": shifted(COUNT, "n", 2 + 2 * T),
    "a shift by a quotient": shifted(COUNT, "n", 2 + 1 / (1 + T)),
    "a shift to one point": shifted(COUNT, "n", sympy.Integer(2), kind="point", parameter=None),
    "a shift from the wrong side": shifted(COUNT, "n", 2 - T, kind="high"),
    "a shift by an unknown rule": shifted(COUNT, "n", 2 + T, kind="because"),
    "a shift that was dropped": replace(COUNT, shifts=(), rules=()),
    "a rule that was dropped": replace(COUNT, rules=()),
    "a shift that others need dropped": replace(
        PRODUCT, shifts=tuple(each for each in PRODUCT.shifts if str(each[0]) != "b"),
        rules=tuple(each for each in PRODUCT.rules if str(each.letter) != "b"),
    ),
    "a shift given twice": replace(COUNT, shifts=COUNT.shifts * 2, rules=COUNT.rules * 2),
    "a parameter that may be negative": shifted(COUNT, "n", 2 + SIGNED, parameter=SIGNED),
    "a parameter that is a letter": shifted(COUNT, "n", 2 + N, parameter=N),
    "one parameter for two letters": shifted(RATIO, "n", 1 + t(RATIO, "m"), parameter=t(RATIO, "m"), kind="low"),
    "an upper end that is lower": shifted(HIGH, "x", -3 - t(HIGH, "x")),
    "an interval cut short": shifted(SHARE, "a", (ONE / 2 + t(SHARE, "a")) / (1 + t(SHARE, "a"))),
    "an interval cut short at the top": shifted(SHARE, "x", 1 / (1 + t(SHARE, "x"))),
    "an interval that curves": shifted(SHARE, "x", 2 / (1 + t(SHARE, "x") ** 2)),
    "a letter that means nothing": replace(COUNT, meanings=(), intervals=()),
    "a letter that means another": meaning(RATIO, "m", letter(RATIO, "n")),
    "a number that is another": meaning(NUMBER, "number", sqrt(3)),
    "a number in another interval": interval(NUMBER, "number", Rational(7, 5), Rational(141, 100)),
    "a letter in a smaller interval": interval(shifted(COUNT, "n", 5 + T), "n", 5, oo),
    "a logarithm in a smaller interval": interval(LOGARITHM, "log", 2, oo),
    "a logarithm of something else": meaning(LOGARITHM, "log", log(CLAIM_N + 1)),
    "a root called positive that may be 0": renamed(
        LOW_ROOT, letter(LOW_ROOT, "root"), sympy.Symbol("root", positive=True)
    ),
    "a letter called whole that is not": renamed(NUMBER, letter(NUMBER, "number"), sympy.Symbol("k", integer=True)),
    "two letters of one name": renamed(RATIO, M, sympy.Symbol("n", positive=True)),
    "a letter of the domain that means another number": renamed(
        NUMBER, letter(NUMBER, "number"), next(iter(NUMBER.domain.intervals))
    ),
    "another claim": replace(COUNT, claimed=CLAIM_N**2 - 3 * CLAIM_N),
    "the opposite claim": replace(COUNT, claimed=-COUNT.claimed),
    "a claim about a letter without an interval": replace(COUNT, claimed=COUNT.claimed + LOOSE - LOOSE + SIGNED),
    "a wider domain": replace(COUNT, domain=Domain({CLAIM_N: (1, oo)})),
    "a domain without its relation": replace(RATIO, domain=Domain(RATIO.domain.intervals)),
    "a domain with another relation": replace(
        RATIO, domain=Domain(RATIO.domain.intervals, (Le(M, 2 * letter(RATIO, "n")),))
    ),
    "a fact the domain does not state": replace(RATIO, facts=(RATIO.facts[0] - 1,)),
    "a fact too many": replace(RATIO, facts=(*RATIO.facts, M - 5)),
    "a fact read the other way": replace(
        RATIO, rules=tuple(replace(rule, kind={"above": "below", "below": "above"}.get(rule.kind, rule.kind))
                           for rule in RATIO.rules)
    ),
    "a fact of no number": replace(
        RATIO,
        rules=tuple(replace(rule, fact=None) if rule.kind in ("above", "below") else rule for rule in RATIO.rules),
    ),
    "a fact of a number too large": replace(
        RATIO,
        rules=tuple(replace(rule, fact=7) if rule.kind in ("above", "below") else rule for rule in RATIO.rules),
    ),
    "a bound by letters that come later": replace(RATIO, rules=RATIO.rules[::-1], shifts=RATIO.shifts[::-1]),
    "a bound from below that is moved up": shifted(ABOVE, "y", dict(ABOVE.shifts)[letter(ABOVE, "y")] + 1),
    "a free letter that has a value": shifted(FREE, "x", sympy.Integer(5)),
    "a free letter in place of a bounded one": shifted(COUNT, "n", N, kind="free", parameter=None),
    "a negative scale": replace(COUNT, scale=-ONE, difference=-COUNT.difference, numerator=-COUNT.numerator),
    "a scale of 0": replace(COUNT, scale=ZERO, difference=ZERO, numerator=ZERO),
    "a scale of unknown sign": replace(COUNT, scale=N - 2, difference=sympy.expand(COUNT.difference * (N - 2)),
                                       numerator=sympy.expand(COUNT.numerator * T)),
    "a difference divided by 0": replace(COUNT, difference=sympy.zoo),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_a_forged_certificate_does_not_hold(name: str) -> None:
    assert not FALSE[name].holds()


def test_a_circle_of_bounds_is_refused() -> None:
    """u >= v and v >= u say that u = v, not that u = v + t and v = u + t reach it."""
    over = Domain({x: (0, oo), y: (0, oo)}, (Ge(x, y), Ge(y, x)))
    genuine = proof(y, 1 + x, over)
    u, v = letter(genuine, "x"), letter(genuine, "y")
    p, q = sympy.symbols("p q", nonnegative=True)
    rules = (Rule(u, "above", p, 0), Rule(v, "above", q, 1))
    assert not replace(genuine, rules=rules, shifts=((u, v + p), (v, u + q))).holds()
    assert not replace(genuine, rules=rules, shifts=((u, p + q), (v, q))).holds()


def test_a_letter_below_a_bound_must_not_be_negative() -> None:
    """s <= 1 is not s = 1/(1 + t) where s may be negative."""
    over = Domain({x: (-oo, oo), a: (0, oo)}, (Le(x, 1),))
    s = x
    stated = Certificate(
        difference=s + 1, shifts=((s, 1 / (1 + LOOSE)),), numerator=LOOSE + 2, denominator=LOOSE + 1, multiplier=ONE,
        claimed=s + 1, domain=over, meanings=((s, s), (a, a)), intervals=((s, (-oo, oo)), (a, (ZERO, oo))),
        facts=(1 - s,), rules=(Rule(s, "below", LOOSE, 0),),
    )  # fmt: skip
    assert not stated.holds()
    positive = replace(stated, domain=Domain({x: (0, oo), a: (0, oo)}, (Le(x, 1),)))
    assert not positive.holds()  # the letter itself does not say that it is not negative
