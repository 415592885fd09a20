"""The sign of a formula inside a box, whether it is smooth there, and its one-sided limits, read off its structure.

A box gives each letter an interval with an interior; points on its boundary do not count here.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import sympy

from dpcheck.bounds.prover import ball, polynomials, ranges
from dpcheck.bounds.prover.polynomials import Box

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


def limit_at(f: Any, x: Any, end: Any, inside: Any) -> Any:
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
        return _power_at(_order(base, u), exponent)
    if f.func is sympy.log:
        argument = _order(f.args[0], u)
        if _way(argument) == 0 and argument.coefficient == 1:
            return _order(sympy.cancel(sympy.together(f.args[0] - 1)), u)  # log(1 + h) is h (1 + o(1))
        return _logarithm(argument)
    raise OpenError


def _power_at(base: Order, exponent: Any) -> Order:
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


_DEEP = 3  # how often a sum is split or differentiated for its sign


def ranged(box: Box) -> dict[Any, ranges.Range]:
    """Return the box in balls."""
    return {letter: ranges.ends(*ends) for letter, ends in box.items()}


def sign(g: Any, box: Box, deep: int = _DEEP) -> int | None:
    """Return 2 if ``g > 0`` wherever it is defined inside the box, 1 if ``g >= 0``, and -2, -1, 0 likewise.

    ``None`` says nothing.
    """
    if not g.free_symbols:
        found = ball.sign(g, {})
        return None if found is None else 2 * found
    if g.is_Symbol:
        low, high = box[g]
        return 2 if _at_least(low, 0) else -2 if _at_least(-high, 0) else None
    if g.is_Mul:
        return _product([sign(part, box, deep) for part in g.args])
    if g.is_Pow or g.func is sympy.exp:
        return _power(g, box, deep)
    if g.func is sympy.log:
        return sign(sympy.expand(g.args[0] - 1), box, deep)
    low, high = ranges.enclose(g, ranged(box))
    if low > 0 or high < 0:
        return 2 if low > 0 else -2
    if g.is_Add and deep:
        found = _sum(g, box, deep)
        if found is not None:
            return found
    for way, known in ((1, low >= 0), (-1, high <= 0)):
        if known or (g.is_Add and deep == _DEEP and polynomials.nonnegative(way * g, _used(g, box))):
            return 2 * way if _changes(g, box) else way
    return None


def _used(g: Any, box: Box) -> Box:
    return {letter: ends for letter, ends in box.items() if g.has(letter)}


def _product(parts: list[int | None]) -> int | None:
    found = 2
    for part in parts:
        if part is None:
            return 0 if 0 in parts else None
        found = 0 if 0 in (found, part) else (1 if found * part > 0 else -1) * min(abs(found), abs(part))
    return found


def _power(g: Any, box: Box, deep: int) -> int | None:
    base, exponent = g.as_base_exp()
    if base is sympy.E:
        return 2
    if not exponent.is_Rational:
        inner = sign(base, box, deep)  # a negative base has powers too, of integer exponents
        return inner if inner in (1, 2) else None
    if not exponent.is_Integer:
        # where it is defined the base is at least 0
        return 2 if exponent < 0 or sign(base, box, deep) == 2 else 1
    inner = sign(base, box, deep)
    if exponent.is_even:
        return 2 if exponent < 0 or inner in (2, -2) else 1
    if exponent < 0 and inner is not None:
        return 2 if inner > 0 else -2 if inner < 0 else None
    return inner


def _sum(g: Any, box: Box, deep: int) -> int | None:
    parts = [sign(part, box, deep - 1) for part in g.args]
    if None not in parts:
        known = [part for part in parts if part]
        if all(part > 0 for part in known if part is not None):
            return max((part for part in known if part is not None), default=0)
        if all(part < 0 for part in known if part is not None):
            return min(part for part in known if part is not None)
    factors = sympy.factor(g)
    if factors.is_Mul or factors.is_Pow:
        return sign(factors, box, deep - 1)
    return None


def _changes(g: Any, box: Box) -> bool:
    """Say whether the polynomial ``g`` strictly grows or falls in some letter.

    Then it has no smallest or largest value inside the box, and a bound is not attained there.
    """
    if not g.is_polynomial(*box):
        return False
    return any(sign(g.diff(letter), box, 0) in (2, -2) for letter in box if g.has(letter))


def _at_least(value: Any, bound: int) -> bool:
    return bool(value == sympy.oo) or bool(value.is_finite and ball.sign(value - bound, {}) in (0, 1))


def smooth(f: Any, box: Box) -> bool:
    """Say whether ``f`` is defined and differentiable any number of times at every point inside the box."""
    if not f.free_symbols:
        return ball.sign(f, {}) is not None
    if f.is_Symbol:
        return True
    if not all(smooth(part, box) for part in f.args):
        return False
    if f.is_Add or f.is_Mul or f.func in (sympy.exp, sympy.sin, sympy.cos, sympy.erf, sympy.erfc):
        return True
    if f.func is sympy.log:
        return sign(f.args[0], box) == 2
    if f.is_Pow:
        base, exponent = f.as_base_exp()
        if base is sympy.E or (exponent.is_Integer and exponent >= 0):
            return True
        return sign(base, box) in ((2, -2) if exponent.is_Integer else (2,))
    return False


def continuous(f: Any, box: Box) -> bool:
    """Say whether ``f`` is continuous on the closed box wherever it is defined.

    All functions here are, except a power with letters in its exponent where the base and the
    exponent may both vanish. ``box`` holds letters that say of themselves whether they can be 0.
    """
    powers = [each for each in f.atoms(sympy.Pow) if each.exp.free_symbols and each.base is not sympy.E]
    inner = ranged(box)
    for each in powers:
        base, exponent = ranges.enclose(each.base, inner), ranges.enclose(each.exp, inner)
        if not (each.base.is_positive or base[0] > 0 or (base[0] >= 0 and exponent[0] > 0)):
            return False
    return True


def logs_apart(f: Any, box: Box) -> Any:
    """Return ``f`` with the logarithm of a product written as a sum, where every factor is positive inside the box."""
    apart = {}
    for log in f.atoms(sympy.log):
        argument = sympy.factor(sympy.together(log.args[0]))
        if not (argument.is_Mul or argument.is_Pow):
            continue
        total, negative = sympy.Integer(0), 0
        for factor in sympy.Mul.make_args(argument):
            base, power = factor.as_base_exp()
            way = sign(base, box)
            if way == -2 and power.is_Integer:
                negative += int(power)
            elif way != 2:
                break
            total += power * sympy.log(base if way == 2 else sympy.expand(-base))
        else:
            if negative % 2 == 0:
                apart[log] = total
    return f.xreplace(apart) if apart else f
