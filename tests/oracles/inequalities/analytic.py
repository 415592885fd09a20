"""Families with logarithms, exponentials, sines and symbolic exponents."""

from __future__ import annotations

import random
from collections.abc import Iterator

from sympy import Abs, E, Ge, Integer, Le, Rational, cos, cosh, exp, log, oo, pi, sin, sqrt, symbols

from dpcheck.bounds.prover import Domain
from inequalities.algebraic import LINE, ONE, POSITIVE, fraction
from inequalities.item import Theorem

a, b, c, d, p, q, r, s, t = symbols("a b c d p q r s t", positive=True)
x, y = symbols("x y", real=True)
delta, epsilon = symbols("delta epsilon", positive=True)
HALF = Domain({a: (0, oo)})
SMALL = Rational(1, 10**6)


def logarithms(rng: random.Random) -> Iterator[Theorem]:
    u, k = fraction(rng), rng.randint(2, 4)
    yield Theorem(log(a), a / u - 1 + log(u), HALF, "tangent", {a: u})
    yield Theorem(log(1 + a), a, HALF, "tangent at 0", {a: SMALL}, SMALL)
    yield Theorem(a / (1 + a), log(1 + a), HALF, "log of the inverse", {a: SMALL}, SMALL)
    yield Theorem(2 * a / (2 + a), log(1 + a), HALF, "Pade", {a: SMALL}, SMALL)
    yield Theorem(log(a), (a - 1) / sqrt(a), Domain({a: (1, oo)}), "logarithmic and geometric mean", {a: ONE})
    yield Theorem(log(a), k * (a ** Rational(1, k) - 1), HALF, "tangent of the root", {a: ONE})
    yield Theorem(log(a + b), log(a) + b / a, POSITIVE, "tangent", {a: u, b: u * SMALL}, SMALL)
    yield Theorem(log(a) + log(b), 2 * log((a + b) / 2), POSITIVE, "the logarithm is concave", {a: u, b: u})
    yield Theorem(log(a * b), a + b - 2, POSITIVE, "two tangents", {a: ONE, b: ONE})
    yield Theorem(log(1 + a**2), a * log(k) / log(k), HALF, "derivative at most 1", {a: SMALL}, SMALL)


def exponentials(rng: random.Random) -> Iterator[Theorem]:
    u, k = fraction(rng), rng.randint(1, 4)
    line, unit = Domain(LINE), Domain({a: (0, 1)})
    yield Theorem(1 + x, exp(x), line, "tangent", {x: Integer(0)})
    yield Theorem(exp(u) * (1 + x - u), exp(x), line, "tangent", {x: u})
    yield Theorem(exp(-a), 1 / (1 + a), HALF, "tangent of the inverse", {a: SMALL}, SMALL)
    yield Theorem(cosh(x).rewrite(exp), exp(x**2 / 2), line, "series", {x: Integer(0)})
    yield Theorem(exp(a), 1 + a + a**2, unit, "series", {a: SMALL}, SMALL)
    yield Theorem(a**k * exp(-a), Integer(k) ** k * exp(-k), HALF, "largest at k", {a: k * ONE})
    yield Theorem(1 - exp(-u * a), u * a, HALF, "tangent", {a: SMALL}, Rational(1, 10**4))
    yield Theorem(1 + a + a**2 / 2, exp(a), HALF, "series", {a: SMALL}, SMALL)
    yield Theorem(exp(-(x**2)), 1 / (1 + x**2), line, "tangent", {x: Integer(0)})
    yield Theorem(exp(x + y), (exp(2 * x) + exp(2 * y)) / 2, Domain({x: (-oo, oo), y: (-oo, oo)}), "AM-GM",
                  {x: u, y: u})  # fmt: skip
    yield Theorem(k * a, exp(k * a / E), HALF, "largest at 1/e", {a: E / k})


def chords(rng: random.Random) -> Iterator[Theorem]:
    """A convex function lies below its chord."""
    k = Rational(rng.randint(1, 12), rng.randint(1, 4))
    unit, at = Domain({a: (0, 1)}), {a: ONE}
    u, v = fraction(rng, -3, 3), fraction(rng, 4, 6)
    why = "the exponential is convex"
    yield Theorem(exp(a) - 1, a * (E - 1), unit, why, at)
    yield Theorem(exp(k * a) - 1, a * (exp(k) - 1), unit, why, at)
    yield Theorem(a * (1 - exp(-k)), 1 - exp(-k * a), unit, why, at)
    yield Theorem(exp((1 - a) * u + a * v), (1 - a) * exp(u) + a * exp(v), unit, why, at)
    yield Theorem(2**a, 1 + a, unit, "2^a is convex", at)
    yield Theorem(a * log(1 + k), log(1 + k * a), unit, "the logarithm is concave", at)
    yield Theorem(a**3 + a, 2 * a, unit, "a cube is convex", at)
    yield Theorem(exp(epsilon) - 1, epsilon * (exp(k) - 1) / k, Domain({epsilon: (0, k)}), why, {epsilon: k})


def log_powers(rng: random.Random) -> Iterator[Theorem]:
    k, u = rng.randint(1, 4), fraction(rng)
    above = Domain({a: (1, oo)})
    yield Theorem(log(a) ** 2, a, above, "log^2 a <= 4 a/e^2", {a: E**2}, E**2 - 4)
    yield Theorem(log(a) ** k, (k / E) ** k * a, above, "largest at e^k", {a: E**k})
    yield Theorem(log(a) ** 2, (a - 1) ** 2 / a, HALF, "logarithmic and geometric mean", {a: ONE})
    yield Theorem(log(a), a**u / (u * E), HALF, "largest at e^(1/u)", {a: E ** (1 / u)})
    yield Theorem(a * log(a) ** 2, 4 / E**2, Domain({a: (0, 1)}), "largest at e^-2", {a: E**-2})
    yield Theorem(u * log(1 / a) / u, k / (E * a ** Rational(1, k)), HALF, "largest at e^-k", {a: E**-k})
    yield Theorem(log(1 + a) ** 2, a**2, HALF, "squares of log(1 + a) <= a", {a: SMALL}, SMALL)


def log_ratios(rng: random.Random) -> Iterator[Theorem]:
    """log(a)/a and its kin are monotone."""
    n = symbols("n", integer=True, positive=True)
    u = fraction(rng)
    counts = Domain({n: (1, oo)})
    yield Theorem(log(a) / a, 1 / E, HALF, "largest at e", {a: E})
    yield Theorem(log(b) / b, log(a) / a, Domain({a: (3, oo), b: (3, oo)}, (Ge(b, a),)), "falls beyond e",
                  {a: u + 2, b: u + 2})  # fmt: skip
    yield Theorem(log(n + 1) / n, log(2), counts, "falls, so 1 is largest", {n: ONE})
    yield Theorem(log(n) / n, log(3) / 3, counts, "falls beyond 3, and 3 is largest", {n: Integer(3)})
    yield Theorem(log(n + 2) / (n + 1), log(n + 1) / n, counts, "log(1 + x)/x falls", {n: Integer(10) ** 8}, SMALL)
    yield Theorem(log(1 + b) / b, log(1 + a) / a, Domain({a: (0, oo), b: (0, oo)}, (Ge(b, a),)),
                  "log(1 + x)/x falls", {a: u, b: u})  # fmt: skip
    yield Theorem(log(u + 1) / u, log(1 + a) / a, Domain({a: (0, u)}), "log(1 + x)/x falls", {a: u})
    yield Theorem(log(n) / sqrt(n), 2 / E, counts, "largest at e^2, beside 7", {n: Integer(7)}, Rational(1, 2000))
    yield Theorem(Integer(0), log(a) / (a - 1), Domain({a: (2, oo)}), "both positive", {a: Integer(10) ** 6},
                  Rational(1, 10**4))  # fmt: skip


def entropies(rng: random.Random) -> Iterator[Theorem]:
    """x log x is convex."""
    u, k = fraction(rng), rng.randint(1, 4)
    unit = Domain({p: (0, 1)})
    middle = (a + b) / 2
    yield Theorem(middle * log(middle), (a * log(a) + b * log(b)) / 2, POSITIVE, "x log x is convex", {a: u, b: u})
    yield Theorem(a - 1, a * log(a), HALF, "tangent of x log x", {a: ONE})
    yield Theorem(u * log(u) + (1 + log(u)) * (a - u), a * log(a), HALF, "tangent of x log x", {a: u})
    yield Theorem(-1 / E, a * log(a), HALF, "smallest at 1/e", {a: 1 / E})
    yield Theorem(-p * log(p) - (1 - p) * log(1 - p), log(2), unit, "entropy of a coin", {p: Rational(1, 2)})
    yield Theorem(a * log(1 / a), k / E * a ** (1 - Rational(1, k)), HALF, "k root of a", {a: E**-k})
    yield Theorem(4 * p * (1 - p) * log(2), -p * log(p) - (1 - p) * log(1 - p), unit, "entropy above its parabola",
                  {p: Rational(1, 2)})  # fmt: skip
    yield Theorem(a * log(a), a * (a - 1), HALF, "tangent of the logarithm", {a: ONE})


def divergences(rng: random.Random) -> Iterator[Theorem]:
    """Gibbs' inequality and the log sum inequality."""
    u = Rational(rng.randint(1, 9), 10)
    unit = Domain({p: (0, 1), q: (0, 1)})
    one = Domain({p: (0, 1)})
    four = Domain(dict.fromkeys((a, b, c, d), (0, oo)))
    kl = p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))
    to = p * log(p / u) + (1 - p) * log((1 - p) / (1 - u))
    yield Theorem(Integer(0), kl, unit, "Gibbs", {p: u, q: u})
    yield Theorem(Integer(0), to, one, "Gibbs", {p: u})
    yield Theorem(2 * (p - u) ** 2, to, one, "Pinsker", {p: u})
    yield Theorem(2 * (p - q) ** 2, kl, unit, "Pinsker", {p: u, q: u})
    yield Theorem(
        (a + b) * log((a + b) / (c + d)), a * log(a / c) + b * log(b / d), four, "log sum", {a: u, b: u, c: u, d: u}
    )
    yield Theorem(a - b, a * log(a / b), POSITIVE, "Gibbs with masses", {a: u, b: u})
    yield Theorem(kl, (p - q) ** 2 / (q * (1 - q)), unit, "chi squared above", {p: u, q: u})
    yield Theorem(Integer(0), (a - b) * log(a / b), POSITIVE, "both of one sign", {a: u, b: u})


def log_quotients(rng: random.Random) -> Iterator[Theorem]:
    u, k = fraction(rng), rng.randint(1, 4)
    at = {a: u, s: u}
    over = Domain({a: (0, oo), s: (0, oo)})
    near = {a: ONE, s: SMALL}
    yield Theorem(1 - s / a, log(a / s), over, "tangent of the inverse", at)
    yield Theorem(log(a / s), a / s - 1, over, "tangent", at)
    yield Theorem(log((a + s) / a), s / a, over, "tangent", near, SMALL)
    yield Theorem(s / (a + s), log(1 + s / a), over, "tangent of the inverse", near, SMALL)
    yield Theorem(log(a / s), (a - s) / sqrt(a * s), Domain(over.intervals, (Ge(a, s),)), "logarithmic mean", at)
    yield Theorem(2 * (a - s) / (a + s), log(a / s), Domain(over.intervals, (Ge(a, s),)), "logarithmic mean", at)
    yield Theorem(k * log(a / s), (a / s) ** k - 1, over, "tangent at the power", at)
    yield Theorem(a * log(s / a), s - a, over, "tangent", at)


def exponents(rng: random.Random) -> Iterator[Theorem]:
    """Bernoulli with a symbolic exponent, and weighted means."""
    n = symbols("n", integer=True, positive=True)
    u, k = fraction(rng), rng.randint(2, 6)
    half, weight = Rational(1, 2), {t: (0, 1)}
    yield Theorem(1 + r * a, (1 + a) ** r, Domain({a: (0, oo), r: (1, oo)}), "Bernoulli", {a: u, r: ONE})
    yield Theorem((1 + a) ** t, 1 + t * a, Domain({a: (0, oo), **weight}), "Bernoulli", {a: u, t: ONE})
    yield Theorem(1 + n * a, (1 + a) ** n, Domain({a: (0, oo), n: (1, oo)}), "Bernoulli", {a: u, n: ONE})
    yield Theorem((1 - p) ** r, exp(-r * p), Domain({p: (0, half), r: (0, 9)}), "tangent", {p: SMALL, r: ONE}, SMALL)
    yield Theorem(a**t, 1 + t * (a - 1), Domain({a: (0, oo), **weight}), "the power is concave", {a: ONE, t: half})
    yield Theorem(a**t * b ** (1 - t), t * a + (1 - t) * b, Domain({a: (0, oo), b: (0, oo), **weight}),
                  "weighted AM-GM", {a: u, b: u, t: half})  # fmt: skip
    yield Theorem((1 + a / n) ** n, exp(a), Domain({a: (0, 9), n: (1, oo)}), "tangent", {a: SMALL, n: ONE}, SMALL)
    yield Theorem(k**t, 1 + (k - 1) * t, Domain(weight), "chord", {t: ONE})
    yield Theorem(1 - r * p, (1 - p) ** r, Domain({p: (0, half), r: (1, oo)}), "Bernoulli", {p: half, r: ONE})


def sines(rng: random.Random) -> Iterator[Theorem]:
    u, k = fraction(rng), rng.randint(1, 4)
    line, quarter = Domain(LINE), Domain({a: (0, pi / 2)})
    zero = {x: Integer(0)}
    yield Theorem(sin(a), a, HALF, "tangent", {a: SMALL}, SMALL)
    yield Theorem(1 - x**2 / 2, cos(x), line, "sin x <= x", zero)
    yield Theorem(2 * a / pi, sin(a), quarter, "Jordan", {a: pi / 2})
    yield Theorem(Abs(sin(x)), Abs(x), line, "tangent", zero)
    yield Theorem(sin(x) ** 2, x**2, line, "tangent", zero)
    yield Theorem(a - a**3 / 6, sin(a), HALF, "series", {a: SMALL}, SMALL)
    yield Theorem(k * cos(u * x), Integer(k), line, "a cosine", zero)
    yield Theorem(3 * sin(x) + 4 * cos(x), Integer(5), line, "Cauchy", {x: Rational(64350, 100000)}, Rational(1, 10**5))
    yield Theorem(sin(k * a), k * a, HALF, "tangent", {a: SMALL}, 5 * SMALL)
    yield Theorem(cos(a), 1 - 4 * a**2 / pi**2, quarter, "cosine below its parabola", {a: pi / 2})


def far(rng: random.Random) -> Iterator[Theorem]:
    """What fails, if at all, where numbers are large."""
    k = rng.randint(13, 40)
    n = symbols("n", integer=True, positive=True)
    big = Integer(10) ** k
    yield Theorem(a * 2, a**2 / big + big, HALF, "AM-GM", {a: big})
    yield Theorem(log(a), a / big - 1 + k * log(10), HALF, "tangent", {a: big})
    yield Theorem(2 * sqrt(a), a / sqrt(big) + sqrt(big), HALF, "AM-GM", {a: big})
    yield Theorem(2 * n * big, n**2 + big**2, Domain({n: (1, oo)}), "AM-GM", {n: big})
    yield Theorem(log(1 + x**2), k + x**2 / 10**k + 3 * k, Domain(LINE), "log(1 + u) <= u/m + log m", {x: big},
                  10**k + 4 * k - 2 * k * log(10))  # fmt: skip
    yield Theorem(1 / (1 + a), ONE, HALF, "a fraction of one", {a: 1 / big}, 2 / big)
    yield Theorem(a / (a + big), ONE, HALF, "a fraction of one", {a: big**3}, 2 / big)
    yield Theorem(2 * a * b, a**2 / big + big * b**2, POSITIVE, "AM-GM", {a: big, b: ONE})


def schedules(rng: random.Random) -> Iterator[Theorem]:
    """What proofs of privacy and of rates are made of."""
    n, m = symbols("n m", integer=True, positive=True)
    k = rng.randint(1, 5)
    one = Domain({epsilon: (0, 1)})
    small = Domain({delta: (0, Rational(1, 2))})
    yield Theorem(exp(epsilon) - 1, (E - 1) * epsilon, one, "chord", {epsilon: ONE})
    yield Theorem((exp(epsilon) - 1) / (exp(epsilon) + 1), epsilon / 2, Domain({epsilon: (0, oo)}), "tanh u <= u",
                  {epsilon: SMALL}, SMALL)  # fmt: skip
    yield Theorem(delta * log(1 / delta), 1 / E, small, "largest at 1/e", {delta: 1 / E})
    yield Theorem(log(2) * k, k * log(1 / delta), small, "1/delta >= 2", {delta: Rational(1, 2)})
    yield Theorem(sqrt(2 * log(Rational(5, 4) / delta)), 2 * sqrt(log(Rational(5, 4) / delta)), small,
                  "the root of two", {delta: Rational(1, 2)},
                  (2 - sqrt(2)) * sqrt(log(Rational(5, 2))))  # fmt: skip
    yield Theorem(1 / sqrt(n + 1), 2 * sqrt(n + 1) - 2 * sqrt(n), Domain({n: (1, oo)}), "the root is concave",
                  {n: Integer(10) ** 8}, SMALL)  # fmt: skip
    yield Theorem((1 - 1 / (k * n * ONE)) ** n, exp(-Rational(1, k)), Domain({n: (2, oo)}), "tangent",
                  {n: Integer(1000)}, Rational(1, 1000))  # fmt: skip
    yield Theorem(m / n, ONE, Domain({n: (1, oo), m: (1, oo)}, (Le(m, n),)), "m <= n", {n: ONE, m: ONE})
    yield Theorem(epsilon**2 / 2, epsilon * (exp(epsilon) - 1) / 2, one, "tangent", {epsilon: SMALL}, SMALL)
