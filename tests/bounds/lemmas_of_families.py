"""Lemmas with sums, products, tails and vectors, each with variants in which one constant is wrong."""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Product, Rational, Sum, erfc, exp, log, oo, pi, sqrt, symbols

from dpcheck.bounds.prover import Domain, over
from dpcheck.bounds.prover.vectors import gram, inner, norm

T, t = symbols("T t", integer=True, positive=True)
s = symbols("s", integer=True)
a, c, e, q, x, p, eta, L, mu, lam = symbols("a c e q x p eta L mu lam", positive=True)
y = symbols("y", real=True)
u, v, g, w = symbols("u v g w")
N = Domain({T: (1, oo)})
NC = Domain({T: (1, oo), c: (0, 1)})
HALF = Domain({T: (1, oo), c: (0, Rational(1, 2))})


def total(term: Any, letter: Any = t, low: Any = 1, high: Any = T) -> Any:
    return Sum(term, (letter, low, high))


def square(vector: Any, *vectors: Any) -> Any:
    return inner(vector, vector, vectors)


UV, UG = gram(u, v), gram(u, g)
STEP = square(u - eta * g, u, g)
COCO = inner(u, g, (u, g)) >= square(g, u, g) / L
STRONG = inner(u, g, (u, g)) >= mu * L / (mu + L) * square(u, u, g) + square(g, u, g) / (mu + L)
TAIL, DENSITY = erfc(x / sqrt(2)) / 2, exp(-(x**2) / 2) / sqrt(2 * pi)

# name: smaller, larger, domain, false variants of (smaller, larger)
Case = tuple[Any, Any, Domain, tuple[tuple[Any, Any], ...]]
SUMS: dict[str, Case] = {
    "roots": (total(1 / sqrt(t)), 2 * sqrt(T), N, (
        (total(1 / sqrt(t)), Rational(19, 10) * sqrt(T)), (total(1 / sqrt(t)), 2 * sqrt(T) - Rational(11, 10)),
        (total(1 / sqrt(t)), 2 * sqrt(T - 1)))),
    "roots from below": (2 * sqrt(T + 1) - 2, total(1 / sqrt(t)), N, (
        (2 * sqrt(T + 1) - Rational(18, 10), total(1 / sqrt(t))), (2 * sqrt(T) - 1, total(1 / sqrt(t))))),
    "harmonic": (total(1 / t), 1 + log(T), N, (
        (total(1 / t), Rational(99, 100) + log(T)), (total(1 / t), log(T + 1)),
        (total(1 / t, low=2), log(T) - Rational(1, 5)))),
    "harmonic from below": (log(T + 1), total(1 / t), N, (
        (log(T + 2), total(1 / t)), (log(T) + Rational(3, 5), total(1 / t)))),
    "squares": (total(t**-2), Rational(5, 3), N, (
        (total(t**-2), Rational(16, 10)), (total(t**-2), 2 - Rational(3, 2) / T))),
    "three halves": (total(t ** Rational(-3, 2)), 3, N, ((total(t ** Rational(-3, 2)), Rational(24, 10)),)),
    "powers": (total(t**-p), p / (p - 1), Domain({T: (1, oo), p: (1, oo)}, (p > 1,)), (
        (total(t**-p), 1 / (p - 1)), (total(t**-p), p / (2 * (p - 1))))),
    "mean of roots": (total(1 / sqrt(t)) / T, 2 / sqrt(T), N, ((total(1 / sqrt(t)) / T, 2 / T),)),
    "geometric": (total((1 - c) ** s, s, 0, T - 1), 1 / c, NC, (
        (total((1 - c) ** s, s, 0, T), 1 / c - 1), (total((1 - c) ** s, s, 0, T - 1), Rational(9, 10) / c),
        (total((1 - c) ** s, s, 0, T - 1), T - 1))),
    "geometric, backwards": (total((1 - c) ** (T - t)), 1 / c, NC, (
        (total((1 - c) ** (T - t)), 1 / c - 1), (total((1 - c) ** (T - t)), T * (1 - c)))),
    "with weights": (total(t * c**t), c / (1 - c) ** 2, HALF, (
        (total(t * c**t), c / (1 - c)), (total(t * c**t), c))),
    "exponentials": (total(exp(-c * t)), 1 / c, Domain({T: (1, oo), c: (0, oo)}), (
        (total(exp(-c * t), low=0, letter=s).xreplace({t: s}), 1 / c), (total(exp(-c * t)), 1 / (2 * c)))),
    "whole numbers": (total(t), T * (T + 1) / 2, N, (
        (total(t), T**2 / 2), (total(t), T * (T + 1) / 2 - Rational(1, 100)))),
    "telescope": (total(1 / (t * (t + 1))), 1, N, ((total(1 / (t * (t + 1))), Rational(99, 100)),)),
    "logarithms": (T * log(T) - T, total(log(t)), N, ((T * log(T) - T + Rational(3, 2) + log(T), total(log(t))),)),
    "a step size": (eta * total(1 / sqrt(t)) + x / eta, x / eta + 2 * eta * sqrt(T),
                    Domain({T: (1, oo), x: (0, oo), eta: (0, oo)}), (
        (eta * total(1 / sqrt(t)) + x / eta, x / eta + eta * sqrt(T)),)),
    "log over t": (total(log(t) / t), log(T) ** 2 / 2 + Rational(1, 2), N, (
        (total(log(t) / t), log(T) ** 2 / 2 - Rational(1, 5)),)),
    "cubes": (total(t**3), T**4, N, ((total(t**3), T**4 / 4), (total(t**3), T**3))),
    "squares, a product": (Product(1 - 1 / t**2, (t, 2, T)), (T + 1) / (2 * T), N, (
        (Product(1 - 1 / t**2, (t, 2, T)), Rational(1, 2)),)),
    "shrinking": (Product(1 - c, (t, 1, T)), exp(-c * T), NC, (
        (Product(1 - c, (t, 1, T)), exp(-2 * c * T)), (Product(1 - c, (t, 1, T)), exp(-c * T) / 2))),
    "growing": (Product(1 + 1 / t**2, (t, 1, T)), 4, N, ((Product(1 + 1 / t**2, (t, 1, T)), 3),)),
}  # fmt: skip
CURVES: dict[str, Case] = {
    "tail": (TAIL, exp(-(x**2) / 2) / 2, Domain({x: (0, oo)}), (
        (TAIL, exp(-(x**2) / 2) * Rational(49, 100)), (TAIL, exp(-(x**2)) / 2))),
    "Mills": (TAIL, DENSITY / x, Domain({x: (0, oo)}), (
        (TAIL, DENSITY / (x + 1)), (TAIL, Rational(9, 10) * DENSITY / x))),
    "Mills from below": (x / (1 + x**2) * DENSITY, TAIL, Domain({x: (0, oo)}), (
        (DENSITY / x, TAIL), (x / (Rational(1, 2) + x**2) * DENSITY, TAIL))),
    "moments of sampling": (log(1 - q + q * exp(e)), q * e + q * e**2, Domain({q: (0, 1), e: (0, 1)}), (
        (log(1 - q + q * exp(e)), q * e + q * e**2 / 3), (log(1 - q + q * exp(e)), q * e))),
    "Hoeffding": (log(1 - q + q * exp(e)), q * e + e**2 / 8, Domain({q: (0, 1), e: (0, oo)}), (
        (log(1 - q + q * exp(e)), q * e + e**2 / 9), (log(1 - q + q * exp(e)), q * e + q * e**2 / 8))),
    "cosh": ((exp(y) + exp(-y)) / 2, exp(y**2 / 2), Domain({y: (-oo, oo)}), (((exp(y) + exp(-y)) / 2, exp(y**2 / 3)),)),
    "powers of 1 - x": ((1 - a) ** T, exp(-a * T), Domain({a: (0, 1), T: (1, oo)}), (
        ((1 - a) ** T, exp(-a * T - a / 100 - Rational(1, 1000))), (1 - a * T + a, (1 - a) ** T))),
}  # fmt: skip
VECTORS: dict[str, Case] = {
    "Cauchy": (inner(u, v, (u, v)), norm(u, (u, v)) * norm(v, (u, v)), over(*UV), (
        (inner(u, v, (u, v)), Rational(99, 100) * norm(u, (u, v)) * norm(v, (u, v))),)),
    "triangle": (norm(u + v, (u, v)), norm(u, (u, v)) + norm(v, (u, v)), over(*UV), (
        (norm(u + v, (u, v)), norm(u, (u, v)) + norm(v, (u, v)) / 2),
        (norm(u - v, (u, v)), norm(u, (u, v)) - norm(v, (u, v))))),
    "Young": (2 * inner(u, v, (u, v)), lam * square(u, u, v) + square(v, u, v) / lam, over(*UV, lam), (
        (2 * inner(u, v, (u, v)), lam * square(u, u, v) + square(v, u, v) / (2 * lam)),)),
    "three": (square(u + v + w, u, v, w), 3 * sum(square(z, u, v, w) for z in (u, v, w)), over(*gram(u, v, w)), (
        (square(u + v + w, u, v, w), Rational(29, 10) * sum(square(z, u, v, w) for z in (u, v, w))),)),
    "cocoercive step": (STEP, square(u, u, g), over(*UG, eta, L, COCO, eta <= 2 / L), (
        (STEP, square(u, u, g) * (1 - eta * L / 10)), (STEP, square(u, u, g) - eta**2 * square(g, u, g)))),
    "contraction": (STEP, (1 - 2 * eta * mu * L / (mu + L)) * square(u, u, g),
                    over(*UG, eta, L, mu, STRONG, eta * (L + mu) <= 2), (
        (STEP, (1 - 2 * eta * mu) * square(u, u, g)), (STEP, (1 - 3 * eta * mu * L / (mu + L)) * square(u, u, g)))),
    "Lipschitz": (STEP, (1 - 2 * eta * mu + eta**2 * L**2) * square(u, u, g),
                  over(*UG, eta, L, mu, inner(u, g, (u, g)) >= mu * square(u, u, g),
                       square(g, u, g) <= L**2 * square(u, u, g)), (
        (STEP, (1 - 2 * eta * mu + eta**2 * L**2 / 2) * square(u, u, g)),
        (STEP, (1 - 3 * eta * mu + eta**2 * L**2) * square(u, u, g)))),
    "convex": (square(a * u + (1 - a) * v, u, v), a * square(u, u, v) + (1 - a) * square(v, u, v), over(*UV, a <= 1), (
        (square(a * u + (1 - a) * v, u, v), a**2 * square(u, u, v) + (1 - a) * square(v, u, v)),)),
    "parallelogram": (square(u + v, u, v) + square(u - v, u, v), 2 * square(u, u, v) + 2 * square(v, u, v), over(*UV), (
        (square(u + v, u, v) + square(u - v, u, v), 2 * square(u, u, v) + square(v, u, v)),)),
}  # fmt: skip
# false, and near to a lemma of which a condition is left out, or whose sum runs otherwise than it seems
STRAY: dict[str, tuple[Any, Any, Domain]] = {
    "backwards": (total(t, low=5), T * (T + 1) / 2 - 10, N),
    "backwards, from below": (T * (T + 1) / 2 - 10, total(t, low=5), N),
    "a factor below 0": (Product(1 - c, (t, 1, T)), exp(-c * T), Domain({T: (1, oo), c: (0, 5)})),
    "a weight of both signs": (y * total(1 / t), y * (1 + log(T)), Domain({T: (1, oo), y: (-1, 1)})),
    "no gain in the first step": (total(1 / t), log(T) + Rational(1, 2), N),
    "late failure": (total(1 / t), 6, N),
    "late failure of a root": (total(1 / sqrt(t)), 20 + sqrt(T), N),
    "a pole of the closed form": (total(c**s, s, 0, T), 1 / (1 - c), Domain({T: (1, oo), c: (0, 2)})),
    "a pole of the closed form, from below": (1 / (1 - c), total(c**s, s, 0, T), Domain({T: (1, oo), c: (0, 2)})),
    "beyond the search, from below": (2 * T / 10**6 - 1, total(1 / (t + 10**6)), N),
    "beyond the search, from above": (total(t / (t + 10**6)), 100 + T / 10**6, N),
    "no empty sum": (1, total(1, low=1, high=T - 1), N),
    "an empty product": (Product(Rational(1, 2), (t, 1, T - 1)), Rational(1, 2), N),
    "alternating": (total((-1) ** s, s, 0, T), Rational(1, 2), N),
    "a summand that grows": (total(sqrt(t)), Rational(2, 3) * T ** Rational(3, 2), N),
    "no condition on the step": (STEP, square(u, u, g), over(*UG, eta, L, COCO)),
    "no condition on the gradient": (STEP, square(u, u, g), over(*UG, eta, L, eta <= 1 / L)),
    "a condition the other way": (STEP, square(u, u, g), over(
        *UG, eta, L, inner(u, g, (u, g)) <= square(g, u, g) / L, eta <= 1 / L)),
    "a negative inner product": (0, inner(u, v, (u, v)), over(*UV)),
    "no vectors of such products": (inner(u, v, (u, v)) ** 2, square(u, u, v) * square(v, u, v) / 2, over(*UV)),
    "a matrix that is not definite": (0, square(u, u, v) + 3 * inner(u, v, (u, v)) + square(v, u, v), over(*UV)),
    "an obtuse angle": (square(u + v, u, v), square(u, u, v) + square(v, u, v), over(*UV)),
}  # fmt: skip
ALL = {**SUMS, **CURVES, **VECTORS}
FALSE: dict[str, tuple[Any, Any, Domain]] = {
    f"{name}, {k}": (*map(sympy.sympify, sides), domain)
    for name, (_, _, domain, wrong) in ALL.items() for k, sides in enumerate(wrong, start=1)
} | STRAY  # fmt: skip
