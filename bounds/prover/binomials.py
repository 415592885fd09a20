"""Sums over k of binomial(n, k) x^k y^(n - k) times a polynomial in k, by the binomial theorem.

The sum of k (k - 1) ... (k - r + 1) binomial(n, k) x^k y^(n - k) from 0 to n is n (n - 1) ... (n - r + 1) x^r
(x + y)^(n - r): x^r times the r-th derivative of (x + y)^n. A binomial coefficient is typed as the product of
(n + 1 - j)/j for j from 1 to k. As everywhere here, 0^0 is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy
from sympy.functions.combinatorial.numbers import stirling

from dpcheck.bounds.prover import known
from dpcheck.bounds.prover.domain import Domain

_DEGREE = 4  # of the polynomial


@dataclass(frozen=True)
class _Summand:
    """``factor * binomial(n, k) * x^k * y^(n - k)`` times a polynomial in k, by its coefficients from the constant."""

    n: Any
    x: Any
    y: Any
    factor: Any
    coefficients: tuple[Any, ...]


def total(node: Any, domain: Domain) -> tuple[Any, tuple[Any, ...]] | None:
    """Return what a sum of binomial terms is without a sum, with the identity that shows it; ``None`` for others."""
    if not isinstance(node, sympy.Sum) or len(node.limits) != 1:
        return None
    k, low, high = node.limits[0]
    if not (low.is_Integer and 0 <= low <= _DEGREE):
        return None
    found = _summand(node.function, k, high, domain)
    # every k below the first one is at most n, and so is 0
    if found is None or not known.nonnegative(found.n - max(low - 1, 0), domain):
        return None
    value = sympy.S.Zero
    for m, c in enumerate(found.coefficients):
        for r in range(m + 1):
            moment = _moment(found, r, domain)
            if moment is None:
                return None
            value += c * stirling(m, r) * moment
    for before in range(int(low)):
        weight = sum(c * sympy.Integer(before) ** m for m, c in enumerate(found.coefficients))
        chosen = _falling(found.n, before) / sympy.factorial(before)
        value -= weight * chosen * found.x**before * found.y ** (found.n - before)
    value = found.factor * value
    return (value, (_theorem(len(found.coefficients) - 1),)) if known.defined(value, domain) else None


def _summand(function: Any, k: Any, high: Any, domain: Domain) -> _Summand | None:
    """Return the parts of a summand."""
    n, x, y, factor, rest = None, sympy.S.One, sympy.S.One, sympy.S.One, sympy.S.One
    for part in sympy.Mul.make_args(function):
        base, exponent = part.as_base_exp()
        if isinstance(part, sympy.Product) and n is None:
            n = _top(part, k)
            if n is None or sympy.expand(n - high) != 0:
                return None
        elif exponent.has(k) and not base.has(k):
            exponent = sympy.expand(exponent)
            slope = exponent.coeff(k, 1)
            start = sympy.expand(exponent - slope * k)
            sure = base is sympy.E or known.positive(base, domain)
            if slope.has(k) or start.has(k) or not (sure or slope.is_Integer):
                return None
            if start == 0:
                x *= base**slope
            elif sympy.expand(start + slope * high) == 0:
                y *= base**-slope
            elif sure:
                x, factor = x * base**slope, factor * base**start
            else:
                return None
        else:
            rest *= part
    if n is None or not rest.is_polynomial(k) or not all(known.defined(one, domain) for one in (x, y, factor)):
        return None
    coefficients = tuple(reversed(sympy.Poly(rest, k).all_coeffs()))
    fit = len(coefficients) <= _DEGREE + 1 and not any(c.has(sympy.Sum, sympy.Product) for c in coefficients)
    return _Summand(n, x, y, factor, coefficients) if fit else None


def _top(product: Any, k: Any) -> Any:
    """Return the n for which the product is binomial(n, k); ``None`` for another product."""
    (j, low, high), *more = product.limits
    if more or low != 1 or high != k:
        return None
    n = sympy.cancel(product.function * j + j - 1)
    return None if n.has(j, k) else n


def _falling(n: Any, r: int) -> Any:
    return sympy.Mul(*(n - i for i in range(r)))


def _moment(found: _Summand, r: int, domain: Domain) -> Any:
    """Return the sum of the r-th falling factorial of k; ``None`` where the power of x + y may have no value."""
    base = sympy.expand(found.x + found.y)
    whole = sympy.S.One if base == 1 else base ** (found.n - r)
    sure = base == 1 or known.positive(base, domain) or known.nonnegative(found.n - r, domain)
    return _falling(found.n, r) * found.x**r * whole if sure else None


def _theorem(r: int) -> Any:
    """Return the step that says it: x^r times the r-th derivative of (x + y)^n."""
    from dpcheck.bounds.evidence import Identity  # which knows inequalities as one kind of step among others

    x, y = sympy.symbols("x y", positive=True)
    n = sympy.Symbol("n", integer=True, positive=True)
    closed = _falling(n, r) * x**r * (x + y) ** (n - r)
    if r == 0:
        return Identity("the binomial theorem", closed, (x + y) ** n)
    says = f"the binomial theorem, of which {r} derivative{'s are' if r > 1 else ' is'} taken"
    return Identity(says, x**r * sympy.Derivative((x + y) ** n, (x, r)), closed)
