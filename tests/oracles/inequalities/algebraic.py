"""Families without transcendental functions: polynomials, quotients, roots, maxima, moduli."""

from __future__ import annotations

import random
from collections.abc import Iterator

from sympy import Abs, Ge, Integer, Le, Max, Min, Rational, cbrt, expand, oo, root, sqrt, symbols

from dpcheck.bounds.prover import Domain
from inequalities.item import Theorem

a, b, c, d = symbols("a b c d", positive=True)
x, y, z, w = symbols("x y z w", real=True)
LINE = {x: (-oo, oo)}
PLANE = Domain({x: (-oo, oo), y: (-oo, oo)})
POSITIVE = Domain({a: (0, oo), b: (0, oo)})
ONE = Integer(1)


def fraction(rng: random.Random, low: int = 1, high: int = 9) -> Rational:
    return Rational(rng.randint(low, high), rng.randint(1, 4))


def squares(rng: random.Random) -> Iterator[Theorem]:
    u, v = fraction(rng, -9), fraction(rng, -9)
    first, second = (rng.randint(1, 4) * (x - u) + rng.randint(-4, 4) * (y - v) for _ in range(2))
    p = expand(rng.randint(1, 3) * first**2 + rng.randint(1, 5) * second**2)
    yield Theorem(Integer(0), p, PLANE, "a sum of squares", {x: u, y: v})
    q = expand(rng.randint(1, 3) * (x - u) ** 2 * (x - v) ** 2)
    yield Theorem(Integer(0), q, Domain(LINE), "a square", {x: u})
    r = expand(first**2 * rng.randint(1, 3) + (x - u) ** 4)
    yield Theorem(Integer(0), r, PLANE, "a square and a fourth power", {x: u, y: v})
    yield Theorem(2 * u * x + 2 * v * y, x**2 + y**2 + u**2 + v**2, PLANE, "squares of x - u and y - v", {x: u, y: v})


def means(rng: random.Random) -> Iterator[Theorem]:
    i, j = rng.randint(1, 4), rng.randint(1, 4)
    p = fraction(rng)
    at = {a: p, b: p}
    yield Theorem(a**i * b**j, (i * a ** (i + j) + j * b ** (i + j)) / (i + j), POSITIVE, "weighted AM-GM", at)
    three = Domain({a: (0, oo), b: (0, oo), c: (0, oo)})
    k = rng.randint(1, 3)
    yield Theorem(3 * k * a * b * c, k * (a**3 + b**3 + c**3), three, "AM-GM of three", {a: p, b: p, c: p})
    yield Theorem(a * b + b * c + c * a, a**2 + b**2 + c**2, three, "AM-GM of pairs", {a: p, b: p, c: p})
    yield Theorem(2 * p * a * b, a**2 + p**2 * b**2, POSITIVE, "AM-GM of two", {a: p, b: ONE})
    yield Theorem(3 * a**2 * b**2, a**4 * b**2 + a**2 * b**4 + 1, POSITIVE, "Motzkin: AM-GM of three", {a: ONE, b: ONE})


def shifted(rng: random.Random) -> Iterator[Theorem]:
    low, wide = rng.randint(1, 4), rng.randint(1, 4)
    s, t = a - low, b - wide
    p = sum((rng.randint(0, 4) * s**i * t**j for i in range(3) for j in range(3) if i + j), Integer(0)) + s + t
    over = Domain({a: (low, oo), b: (wide, oo)})
    yield Theorem(Integer(0), expand(p), over, "no negative coefficient after the shift", {a: low * ONE, b: wide * ONE})
    k = rng.randint(2, 5)
    yield Theorem(low ** (k - 1) * a, a**k, Domain({a: (low, oo)}), "a power grows", {a: low * ONE})
    yield Theorem(
        expand(low * b + wide * a), a * b + low * wide, over, "(a - low)(b - wide) >= 0", {a: low * ONE, b: wide * ONE}
    )
    high = low + wide
    yield Theorem(
        Integer(0), expand((a - low) * (high - a)), Domain({a: (low, high)}), "between its roots", {a: high * ONE}
    )


def rational(rng: random.Random) -> Iterator[Theorem]:
    p, k = fraction(rng), rng.randint(1, 5)
    yield Theorem(k * x / (x**2 + p**2), k / (2 * p), Domain(LINE), "AM-GM", {x: p})
    yield Theorem(4 / (a + b), 1 / a + 1 / b, POSITIVE, "harmonic and arithmetic mean", {a: p, b: p})
    three = Domain({a: (0, oo), b: (0, oo), c: (0, oo)})
    nesbitt = a / (b + c) + b / (a + c) + c / (a + b)
    yield Theorem(Rational(3, 2), nesbitt, three, "Nesbitt", {a: p, b: p, c: p})
    yield Theorem((a + b) ** 2 / (k + 1), a**2 + b**2 / k, POSITIVE, "Cauchy in Engel's form", {a: p, b: k * p})
    yield Theorem(Integer(2), a / b + b / a, POSITIVE, "AM-GM", {a: p, b: p})
    yield Theorem(
        1 / (1 + a) ** k,
        1 / (1 + k * a),
        Domain({a: (0, oo)}),
        "Bernoulli",
        {a: Integer(0) + Rational(1, 10**6)},
        Rational(1, 10**4),
    )
    yield Theorem(
        p * a / (a + p), p, Domain({a: (0, oo)}), "a fraction of p", {a: Integer(10) ** 9}, Rational(1, 10**4)
    )  # fmt: skip


def roots(rng: random.Random) -> Iterator[Theorem]:
    p, k = fraction(rng), rng.randint(2, 4)
    yield Theorem(2 * sqrt(a * b), a + b, POSITIVE, "AM-GM", {a: p, b: p})
    yield Theorem(2 * sqrt(p * a), a + p, Domain({a: (0, oo)}), "AM-GM", {a: p})
    yield Theorem(sqrt(a**2 + b**2), a + b, POSITIVE, "norms", {a: Rational(1, 10**6), b: p}, Rational(1, 10**5))
    yield Theorem(a + b, sqrt(2) * sqrt(a**2 + b**2), POSITIVE, "Cauchy", {a: p, b: p})
    yield Theorem(sqrt(1 + a), 1 + a / 2, Domain({a: (0, oo)}), "tangent", {a: Rational(1, 10**6)}, Rational(1, 10**5))
    yield Theorem(
        root(1 + a, k), 1 + a / k, Domain({a: (0, oo)}), "Bernoulli", {a: Rational(1, 10**6)}, Rational(1, 10**5)
    )
    yield Theorem(3 * cbrt(a * b), a + b + 1, POSITIVE, "AM-GM", {a: ONE, b: ONE})
    yield Theorem(
        1 / sqrt(a + 1), 2 * sqrt(a + 1) - 2 * sqrt(a), Domain({a: (0, oo)}), "the square root is concave",
        {a: Integer(10) ** 8}, Rational(1, 10**6),
    )  # fmt: skip
    yield Theorem(sqrt(a + b), sqrt(a) + sqrt(b), POSITIVE, "subadditive", {a: Rational(1, 10**8), b: p},
                  Rational(1, 10**3))  # fmt: skip


def extremes(rng: random.Random) -> Iterator[Theorem]:
    p, i, j = fraction(rng), rng.randint(1, 5), rng.randint(1, 5)
    at = {a: p, b: p}
    yield Theorem((i * a + j * b) / (i + j), Max(a, b), POSITIVE, "a mean is at most the maximum", at)
    yield Theorem(Min(a, b), sqrt(a * b), POSITIVE, "a mean is at least the minimum", at)
    yield Theorem(Min(a, b), 2 * a * b / (a + b), POSITIVE, "a mean is at least the minimum", at)
    yield Theorem(i * Max(a, b) * Min(a, b), i * a * b, POSITIVE, "one is each", at)
    yield Theorem(Max(x, y) ** 2, x**2 + y**2, PLANE, "one of the squares", {x: p, y: Integer(0)})
    yield Theorem(1 / Max(a, b), 1 / a, POSITIVE, "the maximum is at least a", at)
    yield Theorem(Max(x + y, 0), Max(x, 0) + Max(y, 0), PLANE, "the positive part is subadditive", {x: p, y: p})
    yield Theorem(Min(i * a, j), i * a, Domain({a: (0, oo)}), "one of the two", {a: Rational(1, 10)})
    yield Theorem(Max(x, y) + Min(x, y), x + y, PLANE, "one is each", {x: p, y: -p})


def moduli(rng: random.Random) -> Iterator[Theorem]:
    p, q = fraction(rng), fraction(rng)
    line = Domain(LINE)
    yield Theorem(2 * p * Abs(x), x**2 + p**2, line, "AM-GM", {x: -p})
    yield Theorem(Abs(x), sqrt(x**2 + p), line, "a root grows", {x: Integer(10) ** 6}, Rational(1, 10**4))
    yield Theorem(p + q, Abs(x - p) + Abs(x + q), line, "triangle", {x: p})
    yield Theorem(Abs(x * y), (x**2 + y**2) / 2, PLANE, "AM-GM", {x: p, y: -p})
    yield Theorem(-Abs(x - p), q * (x - p) ** 2, line, "opposite signs", {x: p})
    yield Theorem(Abs(x) / (1 + Abs(x)), ONE, line, "a fraction of one", {x: -(Integer(10) ** 9)}, Rational(1, 10**5))
    yield Theorem(x, Abs(x), line, "by definition", {x: p})
    yield Theorem(p * Abs(x) ** 3, p * x**4 + p, line, "one of the two is larger", {x: -ONE}, p)
    yield Theorem(Abs(x + y) ** 2, 2 * x**2 + 2 * y**2, PLANE, "Cauchy", {x: p, y: p})


def triangles(rng: random.Random) -> Iterator[Theorem]:
    p, q = fraction(rng), fraction(rng)
    space = Domain({x: (-oo, oo), y: (-oo, oo), z: (-oo, oo)})
    four = Domain({x: (-oo, oo), y: (-oo, oo), z: (-oo, oo), w: (-oo, oo)})
    yield Theorem(Abs(x + y), Abs(x) + Abs(y), PLANE, "triangle", {x: p, y: q})
    yield Theorem(Abs(x - z), Abs(x - y) + Abs(y - z), space, "triangle", {x: p, y: p, z: -q})
    yield Theorem(Abs(Abs(x) - Abs(y)), Abs(x - y), PLANE, "reverse triangle", {x: p, y: q})
    yield Theorem(Abs(x + y + z), Abs(x) + Abs(y) + Abs(z), space, "triangle", {x: p, y: q, z: p})
    yield Theorem(
        sqrt((x + z) ** 2 + (y + w) ** 2), sqrt(x**2 + y**2) + sqrt(z**2 + w**2), four, "Minkowski",
        {x: 3 * p, y: 4 * p, z: 3 * q, w: 4 * q},
    )  # fmt: skip
    yield Theorem(sqrt((x + p) ** 2 + q**2), Abs(x + p) + q, Domain(LINE), "norms", {x: -p})
    yield Theorem(sqrt((x + p) ** 2 + y**2), sqrt(x**2 + y**2) + p, PLANE, "Minkowski", {x: q, y: Integer(0)})
    yield Theorem(Max(Abs(x), Abs(y)), sqrt(x**2 + y**2), PLANE, "norms", {x: p, y: Integer(0)})
    yield Theorem(x * z + y * w, sqrt(x**2 + y**2) * sqrt(z**2 + w**2), four, "Cauchy",
                  {x: 3 * p, y: 4 * p, z: 3 * q, w: 4 * q})  # fmt: skip


def related(rng: random.Random) -> Iterator[Theorem]:
    """With further relations between the letters."""
    p, k = fraction(rng), rng.randint(1, 5)
    over = {a: (0, oo), b: (0, oo)}
    yield Theorem(a / b, ONE, Domain(over, (Le(a, b),)), "a <= b", {a: p, b: p})
    yield Theorem(4 * a * b, p**2, Domain(over, (Le(a + b, p),)), "AM-GM", {a: p / 2, b: p / 2})
    yield Theorem(2 * sqrt(p), a + b, Domain(over, (Ge(a * b, p),)), "AM-GM", {a: sqrt(p), b: sqrt(p)}, Integer(0))
    yield Theorem(p * b**k, p * a**k, Domain(over, (Ge(a, b),)), "powers grow", {a: p, b: p})
    yield Theorem(x * y, p / 2, Domain(PLANE.intervals, (Le(x**2 + y**2, p),)), "AM-GM",
                  {x: sqrt(p / 2), y: sqrt(p / 2)})  # fmt: skip
    yield Theorem(a**2, Integer(k), Domain({a: (0, oo), b: (1, oo)}, (Le(a**2 * b, k),)), "b >= 1",
                  {a: sqrt(k * ONE), b: ONE})  # fmt: skip
    yield Theorem(sqrt(a), sqrt(b), Domain(over, (Le(a, b),)), "the root grows", {a: p, b: p})
    yield Theorem(
        x + y, sqrt(2 * p), Domain(PLANE.intervals, (Le(x**2 + y**2, p),)), "Cauchy", {x: sqrt(p / 2), y: sqrt(p / 2)}
    )
    yield Theorem(1 / (a + k * b), 1 / (p * (k + 1)), Domain(over, (Ge(a, p), Ge(b, a))), "each at least p",
                  {a: p, b: p})  # fmt: skip
