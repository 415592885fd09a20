"""Points at which an inequality with sums fails in floating point, the simplest first; the caller checks them."""

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import sympy

from dpcheck.bounds.prover.domain import Domain
from dpcheck.bounds.prover.numeric import numeric

_COUNTS = (0, 1, 2, 3, 4, 6, 9, 19, 49, 99, 299, 999, 2999, 9999)  # above the least value of an upper end
_VALUES = tuple(sympy.Rational(k, 100) for k in (50, 100, 10, 90, 200, 1, 99, 150, 1000, 10_000, 0, -100, 25))
_MOST = 3000  # points
_ADDED, _ADDED_WITHIN = 20_000, 60  # terms of one sum, and of one that has another in it


def refuted(
    difference: Any, domain: Domain, genuine: Callable[[Mapping[Any, Any]], Any]
) -> Mapping[Any, Any] | None:  # fmt: skip
    """Return values at which the inequality fails for certain, the sums added up term by term."""
    nodes = difference.atoms(sympy.Sum, sympy.Product)
    ends = set().union(*(limit.free_symbols for node in nodes for limit in node.limits[0][1:]))
    tested = (genuine(point) for point in failures(difference, domain, ends & domain.intervals.keys()))
    return next((point for point in tested if point is not None), None)


def failures(difference: Any, domain: Domain, counters: set[Any]) -> Iterator[dict[Any, Any]]:
    """Yield exact values of all letters at which floating point finds the difference negative."""
    letters = list(domain.intervals)
    value = _Value(difference, letters)
    columns = [_column(letter, letter in counters, domain) for letter in letters]
    points: Iterator[tuple[Any, ...]] = itertools.product(*columns)
    if np.prod([float(len(column)) for column in columns]) > _MOST:
        rng = np.random.default_rng(0)
        points = iter([tuple(c[rng.integers(len(c))] for c in columns) for _ in range(_MOST)])
    for point in sorted(points, key=lambda p: sum(abs(float(x)) for x in p)):
        try:
            found, size = value([float(x) for x in point])
        except (ArithmeticError, ValueError, TypeError):
            continue
        if np.isfinite(found) and found < -1e-11 * size:
            yield dict(zip(letters, point, strict=True))


def _column(letter: Any, counts: bool, domain: Domain) -> list[Any]:
    """Return values of a letter, from the ends inwards."""
    low, high = domain.limits[letter]
    start = low if low.is_finite else sympy.Integer(0)
    if counts:
        values = [start + k for k in _COUNTS]
    elif letter.is_integer:
        values = [start + k for k in _COUNTS[:9]]
    elif low.is_finite and high.is_finite:
        values = [low, high, *(low + (high - low) * share for share in _VALUES if 0 < share < 1)]
    else:
        values = [low] * low.is_finite + [start + share for share in _VALUES]
    inside = [v for v in dict.fromkeys(values) if low <= v and v <= high and not (v == 0 and letter.is_nonzero)]
    return inside or [start]


class _Value:
    """An expression with sums, as a function in floating point that also says how large its parts are."""

    def __init__(self, expression: Any, letters: list[Any]) -> None:
        self._inner: dict[Any, tuple[Any, ...]] = {}
        named = self._named(expression)
        names = [*letters, *self._inner]
        self._terms = [numeric(names, term) for term in sympy.Add.make_args(named)]
        self._letters = letters

    def _named(self, expression: Any) -> Any:
        """Return it with a letter for each sum or product, the inner ones first."""
        if not expression.has(sympy.Sum, sympy.Product):
            return expression
        if isinstance(expression, sympy.Sum | sympy.Product) and len(expression.limits) == 1:
            t, low, high = expression.limits[0]
            letter = sympy.Dummy("S")
            outer = sorted(expression.free_symbols, key=str)
            within = expression.function.has(sympy.Sum, sympy.Product)
            self._inner[letter] = (
                outer, *(sympy.lambdify(outer, end, "math") for end in (low, high)),
                _Value(expression.function, [t, *outer]) if within
                else numeric([t, *outer], expression.function),
                np.prod if isinstance(expression, sympy.Product) else np.sum,
            )  # fmt: skip
            return letter
        return expression.func(*map(self._named, expression.args))

    def __call__(self, point: list[float]) -> tuple[float, float]:
        at = dict(zip(self._letters, point, strict=True))
        sums = []
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for outer, low, high, term, add in self._inner.values():
                values = [at[letter] for letter in outer]
                first, last = round(low(*values)), round(high(*values))
                if last - first > (_ADDED_WITHIN if isinstance(term, _Value) else _ADDED):
                    raise ValueError("too many terms")
                steps = np.arange(first, last + 1, dtype=float)
                if isinstance(term, _Value):
                    sums.append(float(add([term([step, *values])[0] for step in steps])))
                else:
                    sums.append(float(add(np.broadcast_to(term(steps, *values), steps.shape))))
            parts = [float(term(*point, *sums)) for term in self._terms]
        return sum(parts), sum(map(abs, parts)) + 1e-300
