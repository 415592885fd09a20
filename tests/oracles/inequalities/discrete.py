"""Families of integers, roundings, special letters, branches of the logarithm and plain numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator

import sympy
from sympy import Abs, E, Ge, Integer, Le, Rational, ceiling, exp, floor, log, oo, pi, sqrt, symbols

from dpcheck.bounds.prover import Domain
from inequalities.algebraic import LINE, ONE, PLANE, fraction
from inequalities.item import Theorem

a, b = symbols("a b", positive=True)
x, y = symbols("x y", real=True)
n, m = symbols("n m", integer=True, positive=True)
i, j = symbols("i j", integer=True)


def integers(rng: random.Random) -> Iterator[Theorem]:
    k, g = rng.randint(1, 6), rng.randint(1, 6)
    counts, all_ = Domain({n: (1, oo)}), Domain({i: (-oo, oo)})
    both = Domain({n: (1, oo), m: (1, oo)})
    yield Theorem(ONE, (2 * n - 2 * k - 1) ** 2, counts, "an odd number's square", {n: k * ONE})
    yield Theorem(Integer(0), (n - k) * (n - k - 1), counts, "consecutive integers", {n: k * ONE})
    yield Theorem(Integer(0), (n - m) * (n - m - 1), both, "consecutive integers", {n: k * ONE, m: k * ONE})
    yield Theorem(i, i**2, all_, "integers", {i: ONE})
    yield Theorem(n**2, 2**n, Domain({n: (4, oo)}), "doubling", {n: Integer(4)})
    yield Theorem(n + m, n * m + 1, both, "(n - 1)(m - 1) >= 0", {n: ONE, m: k * ONE})
    yield Theorem((2 * g + 1) * n, n**2 + g * (g + 1), counts, "consecutive integers", {n: g * ONE})
    yield Theorem(n + 1, 2**n, counts, "Bernoulli", {n: ONE})
    yield Theorem(k * ONE, (i * g) ** 2 + k, all_, "a square", {i: Integer(0)})
    yield Theorem(ONE, (3 * i - 1) ** 2, all_, "not a multiple of three", {i: Integer(0)})


def roundings(rng: random.Random) -> Iterator[Theorem]:
    u, k = fraction(rng), rng.randint(2, 6)
    line, half = Domain(LINE), Domain({a: (0, oo)})
    both = Domain({n: (1, oo), m: (1, oo)})
    near = k + Rational(1, 10**6)
    yield Theorem(ceiling(x), x + 1, line, "by definition", {x: near}, Rational(1, 10**5))
    yield Theorem(x - 1, floor(x), line, "by definition", {x: k - Rational(1, 10**6)}, Rational(1, 10**5))
    yield Theorem(n / m, ceiling(n / m), both, "by definition", {n: k * ONE, m: ONE})
    yield Theorem(ceiling(n / m), (n + m - 1) / m, both, "the last full step", {n: Integer(k + 1), m: Integer(k)})
    yield Theorem(floor(x) + floor(y), floor(x + y), PLANE, "superadditive", {x: u, y: k * ONE})
    yield Theorem(ceiling(x + y), ceiling(x) + ceiling(y), PLANE, "subadditive", {x: u, y: k * ONE})
    yield Theorem(u * ceiling(a) ** 2, u * (a + 1) ** 2, half, "by definition", {a: near}, Rational(1, 100))
    yield Theorem(floor(a) ** 2, a**2, half, "by definition", {a: k * ONE})
    yield Theorem(ceiling(x) - floor(x), ONE, line, "neighbours", {x: u + Rational(1, 7)})
    yield Theorem(1 / (1 + ceiling(a)), 1 / (1 + a), half, "by definition", {a: k * ONE})
    yield Theorem(ceiling(x / k) * k, x + k, line, "the next multiple", {x: k * near}, Rational(1, 10**4))


def kinds(rng: random.Random) -> Iterator[Theorem]:
    """Letters that are even, odd, prime, negative, nonzero, or at least zero."""
    k = rng.randint(1, 4)
    even = sympy.Symbol("n", even=True, positive=True)
    odd = sympy.Symbol("n", odd=True)
    low = sympy.Symbol("x", negative=True)
    flat = sympy.Symbol("x", nonnegative=True)
    some = sympy.Symbol("n", integer=True, nonzero=True)
    prime = sympy.Symbol("p", prime=True)
    yield Theorem(
        2 * k * even, k * even**2, Domain({even: (1, oo)}), "an even number is at least 2", {even: Integer(2)}
    )
    yield Theorem(k * ONE, k * odd**2, Domain({odd: (-oo, oo)}), "an odd number is not 0", {odd: -ONE})
    yield Theorem(
        k * low, -k * low, Domain({low: (-oo, oo)}), "negative", {low: -Rational(1, 10**6)}, Rational(1, 10**4)
    )
    yield Theorem(2 * k * flat, flat**2 + k**2, Domain({flat: (-oo, oo)}), "AM-GM", {flat: k * ONE})
    yield Theorem(-flat, k * flat, Domain({flat: (-oo, oo)}), "at least zero", {flat: Integer(0)})
    yield Theorem(k * ONE, k * some**2, Domain({some: (-oo, oo)}), "a whole number other than 0", {some: -ONE})
    yield Theorem(2 * k * prime, k * prime**2, Domain({prime: (-oo, oo)}), "a prime is at least 2", {prime: Integer(2)})
    yield Theorem(2 * low - k, low**2, Domain({low: (-oo, -k)}), "negative", {low: -k * ONE}, Integer(3 * k + k * k))
    yield Theorem(
        Integer(0), (even - 2 * k) * (even - 2 * k - 2), Domain({even: (1, oo)}), "consecutive even numbers",
        {even: Integer(2 * k)},
    )  # fmt: skip
    yield Theorem(exp(k * low), ONE, Domain({low: (-oo, oo)}), "negative", {low: -Rational(1, 10**6)},
                  Rational(1, 10**4))  # fmt: skip


def branches(rng: random.Random) -> Iterator[Theorem]:
    """Where log(x^2) is not 2 log x, and the root of a square is a modulus."""
    u, k = fraction(rng), rng.randint(1, 4)
    line = Domain(LINE)
    yield Theorem(log(x**2), x**2 / u - 1 + log(u), line, "tangent", {x: -sqrt(u)})
    yield Theorem(x, sqrt(x**2), line, "a modulus", {x: u})
    yield Theorem(k * log(x**2), 2 * k * (Abs(x) - 1), line, "tangent", {x: -ONE})
    yield Theorem(log(Abs(x)), Abs(x) / u - 1 + log(u), line, "tangent", {x: -u})
    yield Theorem(sqrt((x - u) ** 2), Abs(x) + u, line, "triangle", {x: -k * ONE})
    yield Theorem(sqrt(x**2) * u, u * (1 + x**2) / 2, line, "AM-GM", {x: -ONE})
    yield Theorem(log(1 + x**2), x**2, line, "tangent", {x: Integer(0)})
    yield Theorem(log((x - k) ** 2), (x - k) ** 2 - 1, line, "tangent", {x: k - ONE})
    yield Theorem(x * sqrt(x**2), x**2, line, "one of two signs", {x: u})


def numbers(rng: random.Random) -> Iterator[Theorem]:
    """No letters at all."""
    nowhere = Domain({})
    digits = rng.randint(3, 40)
    for value, name in ((pi, "pi"), (E, "e"), (log(2), "log 2"), (sqrt(rng.choice((2, 3, 5, 7))), "a root"),
                        (exp(pi), "e^pi"), (log(7) / log(5), "a quotient of logarithms")):  # fmt: skip
        scale = Integer(10) ** digits
        below = Rational(int(sympy.floor(sympy.N(value * scale, digits + 30))), scale)
        yield Theorem(below, value, nowhere, f"{digits} digits of {name}", {}, 1 / scale)
        yield Theorem(value, below + 1 / scale, nowhere, f"{digits} digits of {name}", {}, 1 / scale)
    yield Theorem(sqrt(2) + sqrt(3), sqrt(5 + 2 * sqrt(6)), nowhere, "both sides are equal", {})
    yield Theorem(2 * log(3), log(9), nowhere, "both sides are equal", {})


def ordered(rng: random.Random) -> Iterator[Theorem]:
    """Relations between integers."""
    k = rng.randint(1, 5)
    both = {n: (1, oo), m: (1, oo)}
    yield Theorem(m + 1, n + 1, Domain(both, (Le(m, n),)), "m <= n", {n: k * ONE, m: k * ONE})
    yield Theorem(m + 1, n, Domain(both, (sympy.Lt(m, n),)), "integers m < n", {n: k + ONE, m: k * ONE})
    yield Theorem(m * (n - m), n**2 / 4, Domain(both, (Le(m, n),)), "AM-GM", {n: Integer(2 * k), m: k * ONE})
    yield Theorem(n - m, n * m - m**2, Domain(both, (Le(m, n),)), "m >= 1", {n: k + ONE, m: ONE})
    yield Theorem(1 / n, 1 / (m + 1), Domain(both, (sympy.Lt(m, n),)), "integers m < n", {n: k + ONE, m: k * ONE})
    yield Theorem((n + m) / (2 * n), ONE, Domain(both, (Le(m, n),)), "m <= n", {n: k * ONE, m: k * ONE})
    yield Theorem(sqrt(m * n), n, Domain(both, (Le(m, n),)), "m <= n", {n: k * ONE, m: k * ONE})
    yield Theorem(
        log(m) / log(n), ONE, Domain({n: (2, oo), m: (1, oo)}, (Ge(n, m),)), "m <= n", {n: k + ONE, m: k + ONE}
    )
    yield Theorem(n, m**2, Domain(both, (Le(n, 3 * m - 2),)), "(m - 1)(m - 2) >= 0", {n: ONE, m: ONE})
