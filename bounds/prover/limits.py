"""One-sided limits of formulas, by the order of growth of their terms.

Each term of a sum is written as ``coefficient * e^(c x) x^a log(x)^b * (1 + o(1))``. Terms of the
largest order decide the limit if they do not cancel; where they do, nothing is said.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import sympy

from dpcheck.bounds.prover import ball

_LARGEST_POWER = 12  # of the argument of a logarithm, for polynomials that stay small


class OpenError(ArithmeticError):
    """The limit is not known by these rules."""


@dataclass(frozen=True)
class Order:
    """``coefficient * e^(rate x) x^power log(x)^logs``, as x grows without bound; coefficient 0 for the constant 0."""

    coefficient: Any
    rate: Any
    power: Any
    logs: Any

    @property
    def growth(self) -> tuple[Any, Any, Any]:
        """What orders are compared by."""
        return self.rate, self.power, self.logs


def at(f: Any, x: Any, end: Any, inside: Any) -> Any:
    """Return the limit of ``f`` as ``x`` tends to ``end`` from the side of ``inside``; it may be infinite.

    Raises :class:`OpenError` if it is not found.
    """
    u = sympy.Symbol("u", positive=True)
    if end in (sympy.oo, -sympy.oo):
        g = f.xreplace({x: u if end == sympy.oo else -u})
    else:
        way = 1 if inside == sympy.oo else -1 if inside == -sympy.oo else _sign(inside - end)
        if way == 0:
            raise OpenError
        g = f.xreplace({x: end + way / u})
    return _limit(_gathered(sympy.expand_log(g)), u)


def _gathered(f: Any) -> Any:
    """Return logarithms with factors that are rational multiples of one another as one, so that their growth can
    cancel.
    """
    groups: dict[Any, list[tuple[Any, Any]]] = {}
    rest = []
    for term in sympy.Add.make_args(sympy.expand(f)):
        logs = [part for part in sympy.Mul.make_args(term) if part.func is sympy.log]
        if len(logs) != 1:
            rest.append(term)
            continue
        number, other = (term / logs[0]).as_coeff_Mul()
        groups.setdefault(other, []).append((number, logs[0].args[0]))
    for other, pairs in groups.items():
        common = functools.reduce(sympy.gcd, [number for number, _ in pairs])
        powers = [number / common for number, _ in pairs]
        if not all(power.is_Integer and abs(power) <= _LARGEST_POWER for power in powers):
            rest += [number * other * sympy.log(argument) for number, argument in pairs]
            continue
        product = sympy.Mul(*(argument**power for power, (_, argument) in zip(powers, pairs, strict=True)))
        if product.is_rational_function():
            product = sympy.cancel(sympy.together(product))
        rest.append(common * other * sympy.log(product))
    return sympy.Add(*rest)


def _limit(f: Any, u: Any) -> Any:
    total = _dominant([_order(term, u) for term in sympy.Add.make_args(f) if not _vanishes(term, u)])
    if total is None:
        raise OpenError
    return _value(total)


def _vanishes(term: Any, u: Any) -> bool:
    """Say whether the term is a multiple of the logarithm of what tends to 1."""
    factor, tail = term.as_coeff_Mul()
    if tail.func is not sympy.log or not factor.is_finite:
        return False
    argument = _order(tail.args[0], u)
    return _way(argument) == 0 and argument.coefficient == 1


def _value(order: Order) -> Any:
    if order.coefficient == 0:
        return sympy.Integer(0)
    way = _way(order)
    if way == 0:
        return order.coefficient
    return sympy.Integer(0) if way < 0 else sympy.oo * _sign(order.coefficient)


def _way(order: Order) -> int:
    """Return 1 if it grows without bound, -1 if it vanishes, 0 if it is constant."""
    return next((_sign(each) for each in order.growth if each != 0), 0)


def _sign(number: Any) -> int:
    found = ball.sign(number, {})
    if found is None:
        raise OpenError
    return found


def _dominant(orders: list[Order]) -> Order | None:
    """Return the sum's leading term; ``None`` if the largest terms cancel."""
    best: list[Order] = []
    for order in orders:
        if order.coefficient == 0:
            continue
        rank = _compared(order, best[0]) if best else 1
        best = [order] if rank > 0 else [*best, order] if rank == 0 else best
    if not best:
        return Order(sympy.Integer(0), sympy.Integer(0), sympy.Integer(0), sympy.Integer(0))
    total = sum(order.coefficient for order in best)
    if _sign(total) == 0:
        # constants that cancel leave what vanishes; growth that cancels leaves the unknown
        if _way(best[0]) <= 0:
            return Order(sympy.Integer(0), sympy.Integer(0), sympy.Integer(0), sympy.Integer(0))
        return None
    return Order(total, *best[0].growth)


def _compared(left: Order, right: Order) -> int:
    return next((_sign(a - b) for a, b in zip(left.growth, right.growth, strict=True) if a != b), 0)


def _order(f: Any, u: Any) -> Order:
    """Return the leading order of a formula as u grows."""
    zero = sympy.Integer(0)
    if not f.has(u):
        if f.free_symbols:
            raise OpenError
        return Order(f, zero, zero, zero)
    if f == u:
        return Order(sympy.Integer(1), zero, sympy.Integer(1), zero)
    if f.is_Mul:
        parts = [_order(part, u) for part in f.args]
        return Order(
            sympy.Mul(*(p.coefficient for p in parts)),
            sum(p.rate for p in parts), sum(p.power for p in parts), sum(p.logs for p in parts),
        )  # fmt: skip
    if f.is_Add:
        found = _dominant([_order(part, u) for part in f.args])
        if found is None or found.coefficient == 0:
            raise OpenError
        return found
    base, exponent = f.as_base_exp()
    if base is sympy.E:
        return _exponential(exponent, u)
    if f.is_Pow:
        return _power(_order(base, u), exponent)
    if f.func is sympy.log:
        argument = _order(f.args[0], u)
        if _way(argument) == 0 and argument.coefficient == 1:
            return _order(sympy.cancel(sympy.together(f.args[0] - 1)), u)  # log(1 + h) is h (1 + o(1))
        return _logarithm(argument)
    raise OpenError


def _power(base: Order, exponent: Any) -> Order:
    if exponent.free_symbols or base.coefficient == 0:
        raise OpenError
    if not exponent.is_Integer and _sign(base.coefficient) != 1:
        raise OpenError
    return Order(base.coefficient**exponent, *(each * exponent for each in base.growth))


def _logarithm(argument: Order) -> Order:
    zero = sympy.Integer(0)
    if argument.coefficient == 0 or _sign(argument.coefficient) != 1:
        raise OpenError
    if argument.rate != 0:
        return Order(argument.rate, zero, sympy.Integer(1), zero)
    if argument.power != 0:
        return Order(argument.power, zero, zero, sympy.Integer(1))
    if argument.logs != 0:
        raise OpenError  # log log
    return Order(sympy.log(argument.coefficient), zero, zero, zero)


def _exponential(exponent: Any, u: Any) -> Order:
    """Return the order of exp of an exponent that is linear up to what vanishes; any other is bounded or not known."""
    zero = sympy.Integer(0)
    linear = sympy.expand(exponent)
    rate = linear.coeff(u, 1)
    rest = sympy.expand(linear - rate * u)
    if rate.free_symbols or (rest.has(u) and _way(_order(rest, u)) > 0):
        raise OpenError
    return Order(sympy.exp(_limit(rest, u)), rate, zero, zero)
