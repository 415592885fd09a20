"""A polynomial as a nonnegative combination of products of facts, found by a linear program and solved exactly."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import sympy

from dpcheck.bounds.asymptotics import solved
from dpcheck.bounds.coq.expression import Writer

_MOST_COLUMNS = 20_000


class Space:
    """Products of letters, of facts and of squares, in which a polynomial is to be written."""

    def __init__(self, letters: list[Any], lows: dict[Any, Any], facts: list[tuple[str, Any]], write: Writer) -> None:
        self._letters, self._lows, self._write = letters, lows, write
        self._free = [not lows[x].is_finite for x in letters]
        self._ring = sympy.ring(letters, sympy.QQ)[0]
        self._shifts = {x: low + x for x, low in lows.items() if low.is_finite and low != 0}
        self._facts = [(name, self._shifted(fact)) for name, fact in facts]

    def _shifted(self, expression: Any) -> Any:
        polynomial = sympy.Poly(expression.xreplace(self._shifts), *self._letters, domain=sympy.QQ)
        return self._ring(dict(polynomial.rep.to_dict()))

    def combination(self, numerator: Any, wide: bool, multiplied: bool) -> tuple[str, str] | None:
        """Return the numerator times a positive multiplier as a nonnegative combination of products, and the
        multiplier.
        """
        goal, multiplier = self._shifted(numerator), "1"
        if multiplied:
            positive = [i for i, free in enumerate(self._free) if not free]
            goal *= sum((self._ring.gens[i] for i in positive), self._ring.one)
            multiplier = "(" + " + ".join(["1", *(self._letter(i) for i in positive)]) + ")"
        if all(c >= 0 for c in goal.coeffs()) and not any(self._free):
            return self._sum([(c, self._product((), m)) for m, c in goal.terms()]), multiplier
        columns = [*self._columns(goal, wide), *self._squares(goal)]
        parts = _solve(goal, columns)
        return None if parts is None else (self._sum(parts), multiplier)

    def _sum(self, parts: list[tuple[Any, str]]) -> str:
        factors = ((self._write(sympy.Rational(int(c.numerator), int(c.denominator))), name) for c, name in parts)
        return " + ".join(name if c == "1" else f"{c} * {name}" for c, name in factors) or "0"

    def _columns(self, goal: Any, wide: bool) -> Iterator[tuple[str, dict[Any, Any]]]:
        count = 0
        most = [max((m[i] for m in goal.monoms()), default=0) for i in range(len(self._letters))]
        if wide:
            reaches = [[max(m[i] for m in fact.monoms()) for i in range(len(most))] for _, fact in self._facts if fact]
            most = [max(powers) for powers in zip(most, *reaches, strict=True)]
        for size in range(4):
            for chosen in itertools.combinations_with_replacement(self._facts, size):
                product = math.prod((fact for _, fact in chosen), start=self._ring.one)
                if not product:
                    continue
                reach = [max(m[i] for m in product.monoms()) for i in range(len(most))]
                steps = [
                    range(0, m - r + 1, 2 if odd else 1) for r, m, odd in zip(reach, most, self._free, strict=True)
                ]
                count += math.prod(len(step) for step in steps)
                if count > _MOST_COLUMNS:
                    return
                for powers in itertools.product(*steps):
                    name = self._product(tuple(name for name, _ in chosen), powers)
                    yield name, {tuple(map(sum, zip(m, powers, strict=True))): c for m, c in product.terms()}

    def _squares(self, goal: Any) -> Iterator[tuple[str, dict[Any, Any]]]:
        """Yield squares of differences of monomials, for each term between two positive ones."""
        positive = {m: c for m, c in goal.terms() if c > 0}
        for m, c in goal.terms():
            for low, a in positive.items():
                high = tuple(2 * k - j for k, j in zip(m, low, strict=True))
                if high not in positive or low >= high:
                    continue
                shared = tuple(min(j, k) for j, k in zip(low, high, strict=True))
                u, v = ([(j - s) for j, s in zip(side, shared, strict=True)] for side in (low, high))
                if any(k % 2 for k in (*u, *v)) or any(f and s % 2 for f, s in zip(self._free, shared, strict=True)):
                    continue
                first, second = (self._product((), tuple(k // 2 for k in side)) for side in (u, v))
                for ratio in {sympy.QQ(1), abs(c) / (2 * a), 2 * positive[high] / abs(c)}:
                    r = ratio if c > 0 else -ratio
                    written = self._write(sympy.Rational(int(r.numerator), int(r.denominator)))
                    name = f"{self._product((), shared)} * ({first} + ({written}) * {second}) ^ 2"
                    yield name, {low: sympy.QQ(1), m: 2 * r, high: r * r}

    def _letter(self, index: int) -> str:
        letter = self._letters[index]
        low = self._lows[letter]
        return self._write(letter) if low == 0 or not low.is_finite else f"({self._write(letter - low)})"

    def _product(self, chosen: tuple[str, ...], powers: Any) -> str:
        parts = [self._letter(i) if k == 1 else f"{self._letter(i)} ^ {k}" for i, k in enumerate(powers) if k]
        return " * ".join([*chosen, *parts]) or "1"


def _solve(goal: Any, columns: list[tuple[str, dict[Any, Any]]]) -> list[tuple[Any, str]] | None:
    """Return nonnegative factors of columns that add up to the goal: picked in floating point, solved exactly."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    if not columns:
        return None
    rows = {m: i for i, m in enumerate(sorted({m for _, terms in columns for m in terms} | set(goal.monoms())))}
    entries = [(rows[m], j, float(c)) for j, (_, terms) in enumerate(columns) for m, c in terms.items()]
    at, j, values = zip(*entries, strict=True)
    matrix = coo_matrix((values, (at, j)), shape=(len(rows), len(columns))).tocsr()
    right = np.zeros(len(rows))
    for m, c in goal.terms():
        right[rows[m]] = float(c)
    size = np.abs(right).max() or 1.0
    costs = [1.0 + 0.01 * len(name) for name, _ in columns]
    program = linprog(costs, A_eq=matrix, b_eq=right / size, bounds=(0, None), method="highs-ds")
    if program.status != 0:
        return None
    support = [int(k) for k in np.flatnonzero(program.x > 1e-11)]
    columns = [columns[k] for k in support]
    known = dict(goal.terms())
    exact = [[terms.get(m, sympy.QQ(0)) for _, terms in columns] for m in rows]
    guesses = [float(program.x[k] * size) for k in support]
    factors = solved(exact, [known.get(m, sympy.QQ(0)) for m in rows], guesses, 1000) or []
    return [(sympy.QQ(int(v.p), int(v.q)), name) for v, (name, _) in zip(factors, columns, strict=False) if v] or None
