"""Methods of the prover on fresh lines: true ones are proved, none with a wrong constant is; and each by itself."""

from __future__ import annotations

import random

import mpmath
import pytest
import sympy
import tables
from fresh_lines import LINES
from slices import first
from sympy import Integer, oo, sqrt

from dpcheck.bounds import crossing, lines
from dpcheck.bounds.prover import lowest, series, simpler

OPEN = {  # true ones that no route proves yet
    "log(x) <= x**p/(p*exp(1)) for x > 0, p > 0", "(1 - exp(-t))**k <= exp(-k*exp(-t)) for t > 0, k >= 1",
    "(1 + exp(-t)/n)**n <= exp(exp(-t)) for t >= 0, n >= 1",
}  # fmt: skip
X = sympy.Symbol("v0", positive=True)
UNIT = {X: (Integer(0), Integer(1))}


def verdict(line: str) -> str:
    _, (step,) = crossing.claim((lines.claims(line) or [None])[0])
    return step.outcome().verdict


def test_each_method_has_ten_lines_that_are_in_no_table():
    told = set(tables.read("lemmas").statement)
    assert all(len(pairs) >= 10 for pairs in LINES.values())
    assert not told & {line for pairs in LINES.values() for pair in pairs for line in pair}


@pytest.mark.parametrize("line", first(2, [
    "x - y <= x*log(x/y) for x > 0, y > 0", "x**3/6 <= exp(x)*(x - 2) + x + 2 for x >= 0",
    "exp(4*a*b)*erfc(a + b) <= erfc(a - b) for real a, b >= 0",
    "sum(binomial(n, k), k = 0..n) = 2**n for integer n >= 0", "binomial(n, 3) <= n**3/6 for integer n >= 3",
    "x*y <= exp(x) + y*log(y) - y for real x, y > 0",
]))  # fmt: skip
def test_a_true_line_is_proved(line: str):
    assert line in {true for pairs in LINES.values() for true, _ in pairs}
    assert verdict(line) == "proved"


@pytest.mark.thorough
@pytest.mark.parametrize(("true", "false"), [pair for pairs in LINES.values() for pair in pairs])
def test_true_lines_are_proved_and_no_false_one_is(true: str, false: str):
    assert verdict(true) == ("unresolved" if true in OPEN else "proved")
    assert verdict(false) != "proved"


@pytest.mark.parametrize("line", [
    "x*y < exp(x) + y*log(y) - y for real x, y > 0",  # equal where x = log(y)
    "x - y < x*log(x/y) for x > 0, y > 0",
    "sinh(x) < x*cosh(x) for x >= 0",
    "sum(binomial(n, k), k = 0..n) < 2**n for integer n >= 0",
    "erfc(a + b)*exp(4*a*b) < erfc(a - b) for real a, b >= 0",
])  # fmt: skip
def test_a_strict_sign_is_not_proved_where_the_sides_meet(line: str):
    assert verdict(line) != "proved"


def test_a_factorial_below_zero_is_not_decided():
    assert verdict("0 <= n! for integer n >= -2") == "unresolved"
    assert verdict("0 <= binomial(n, k) for integer n >= 1, integer k >= -2") == "unresolved"


def test_no_root_is_taken_of_what_is_negative():
    for power in (2, 4):
        root = sqrt((X - 2) ** power)
        assert not lowest.vanishes(root - (-1) ** power * (X - 2) * abs(X - 2) ** (power // 2 - 1), UNIT)
    box = {X: (Integer(0), oo)}
    assert lowest.vanishes(X**3 * 8**X - 2 ** (3 * X) * X**3, box)
    assert not lowest.vanishes(X**3 * 8**X - 2 ** (3 * X + 1) * X**3, box)


def test_places_have_a_slope_that_is_zero():
    b, p = sympy.symbols("v1 v2", positive=True)
    box = {X: (Integer(0), oo), b: (Integer(0), oo), p: (Integer(1), oo)}
    (place,) = lowest.places(X ** (p - 1) - b, X, box)
    assert sympy.simplify(place - b ** (1 / (p - 1))) == 0
    assert not list(lowest.places(X ** (p - 1) + b, X, box))


def test_a_power_series_that_is_trusted_is_nowhere_negative():
    rng = random.Random(0)
    x = sympy.Symbol("x", positive=True)
    trusted = 0
    for _ in range(300):
        f = sum(rng.randint(-3, 5) * x ** rng.randint(0, 3) * sympy.exp(rng.randint(-2, 3) * x) for _ in range(3))
        f = sympy.sympify(f)
        if f.has(x) and series.nonnegative(f, x):
            trusted += 1
            value = sympy.lambdify(x, f, "mpmath")
            with mpmath.workdps(40):
                assert all(value(mpmath.mpf(2) ** k) >= 0 for k in range(-30, 6))
    assert trusted > 30


def test_tangents_lie_below():
    rng = random.Random(1)
    y = sympy.Symbol("v1", positive=True)
    box = {X: (Integer(0), oo), y: (Integer(0), oo)}
    f = X * sympy.log(X) - X * sympy.log(y) - y * sympy.log(1 + X) + y
    (below,) = simpler.tangents(f, box)
    gap = sympy.lambdify([X, y], f - below, "mpmath")
    with mpmath.workdps(40):
        drawn = [[mpmath.mpf(10) ** rng.uniform(-6, 6) for _ in range(2)] for _ in range(200)]
        assert all(gap(*at) >= -(mpmath.mpf(10) ** -25) for at in drawn)
