"""The sign of a formula inside a box, and its one-sided limits, read off its structure.

A box gives each letter an interval with an interior; points on its boundary do not count here.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from dpcheck.bounds.prover import ball, certificate, ranges

Box = Mapping[Any, tuple[Any, Any]]  # letter -> exact ends, low < high

_LARGEST_POWER = 12  # of the argument of a logarithm, for polynomials that stay small


class OpenError(ArithmeticError):
    """The limit is not known by these rules."""


_ZERO, _ONE = sympy.Integer(0), sympy.Integer(1)


@dataclass(frozen=True)
class Order:
    """``coefficient * e^(rate x) x^power log(x)^logs``, as x grows without bound; coefficient 0 for the constant 0."""

    coefficient: Any
    rate: Any = _ZERO
    power: Any = _ZERO
    logs: Any = _ZERO

    @property
    def growth(self) -> tuple[Any, Any, Any]:
        """The exponents by which orders are compared."""
        return self.rate, self.power, self.logs


def limit_at(f: Any, x: Any, end: Any, inside: Any) -> Any:
    """Return the limit of ``f`` as ``x`` tends to ``end`` from the side of ``inside``; it may be infinite.

    Raises :class:`OpenError` if it is not found.
    """
    u = sympy.Symbol("u", positive=True)
    if end in (sympy.oo, -sympy.oo):
        g = f.xreplace({x: u if end == sympy.oo else -u})
    else:
        way = 1 if inside == sympy.oo else -1 if inside == -sympy.oo else _known_sign(inside - end)
        if way == 0:
            raise OpenError
        g = f.xreplace({x: end + way / u})
    left = [term for term in sympy.Add.make_args(g) if not (term.has(sympy.exp, sympy.erfc) and _dies(term, u))]
    return _limit(_gathered(sympy.expand_log(sympy.Add(*left))), u)


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
    way = _way(total) if total.coefficient != 0 else -1
    if way == 0:
        return total.coefficient
    return _ZERO if way < 0 else sympy.oo * _known_sign(total.coefficient)


def _vanishes(term: Any, u: Any) -> bool:
    """Say whether the term is a multiple of the logarithm of what tends to 1, or falls faster than any exponential."""
    factor, tail = term.as_coeff_Mul()
    if term.has(sympy.exp, sympy.erfc) and _dies(term, u):
        return True
    if tail.func is not sympy.log or not factor.is_finite:
        return False
    argument = _order(tail.args[0], u)
    return _way(argument) == 0 and argument.coefficient == 1


def _dies(term: Any, u: Any) -> bool:
    """Say whether the term has a factor exp(-c u^p), p > 1, beside powers and exponentials; erfc(g) <= exp(-g^2)."""
    exponent, others = sympy.Integer(0), []
    try:
        for factor in sympy.Mul.make_args(term):
            base, power = factor.as_base_exp()
            if base is sympy.E:
                exponent += power
            elif base.func is sympy.erfc and power.is_Integer and power > 0:
                inner = _order(base.args[0], u)
                if _way(inner) <= 0 or _known_sign(inner.coefficient) != 1:
                    return False
                exponent -= power * base.args[0] ** 2
            else:
                others.append(factor)
        falls = _order(sympy.expand(exponent), u)
        _order(sympy.Mul(*others), u)  # it grows no faster than an exponential
    except OpenError:
        return False
    return falls.rate == 0 and _known_sign(falls.power - 1) == 1 and _known_sign(falls.coefficient) == -1


def _way(order: Order) -> int:
    """Return 1 if it grows without bound, -1 if it vanishes, 0 if it is constant."""
    return next((_known_sign(exponent) for exponent in order.growth if exponent != 0), 0)


def _known_sign(number: Any) -> int:
    known = ball.sign(number, {})
    if known is None:
        raise OpenError
    return known


def _dominant(orders: list[Order]) -> Order | None:
    """Return the sum's leading term; ``None`` if the largest terms cancel."""
    best: list[Order] = []
    for order in orders:
        if order.coefficient == 0:
            continue
        steps = (a - b for a, b in zip(order.growth, best[0].growth, strict=True)) if best else ()
        rank = next((_known_sign(step) for step in steps if step != 0), 0 if best else 1)
        best = [order] if rank > 0 else [*best, order] if rank == 0 else best
    if not best:
        return Order(_ZERO)
    total = sum(order.coefficient for order in best)
    if _known_sign(total) == 0:
        # constants that cancel leave what vanishes; growth that cancels leaves the unknown
        if _way(best[0]) <= 0:
            return Order(_ZERO)
        return None
    return Order(total, *best[0].growth)


def _order(f: Any, u: Any) -> Order:
    """Return the leading order of a formula as u grows."""
    if not f.has(u):
        if f.free_symbols:
            raise OpenError
        return Order(f)
    if f == u:
        return Order(_ONE, power=_ONE)
    if f.is_Mul:
        parts = [_order(part, u) for part in f.args]
        return Order(
            sympy.Mul(*(p.coefficient for p in parts)),
            sum(p.rate for p in parts), sum(p.power for p in parts), sum(p.logs for p in parts),
        )  # fmt: skip
    if f.is_Add:
        leading = _dominant([_order(part, u) for part in f.args])
        if leading is None or leading.coefficient == 0:
            raise OpenError
        return leading
    base, exponent = f.as_base_exp()
    if base is sympy.E:
        return _exponential(exponent, u)
    if f.is_Pow:
        order = _order(base, u)
        if exponent.free_symbols or order.coefficient == 0:
            raise OpenError
        if not exponent.is_Integer and _known_sign(order.coefficient) != 1:
            raise OpenError
        return Order(order.coefficient**exponent, *(growth * exponent for growth in order.growth))
    if f.func is sympy.log:
        argument = _order(f.args[0], u)
        if _way(argument) == 0 and argument.coefficient == 1:
            return _order(sympy.cancel(sympy.together(f.args[0] - 1)), u)  # log(1 + h) is h (1 + o(1))
        return _logarithm(argument)
    raise OpenError


def _logarithm(argument: Order) -> Order:
    if argument.coefficient == 0 or _known_sign(argument.coefficient) != 1:
        raise OpenError
    if argument.rate != 0:
        return Order(argument.rate, power=_ONE)
    if argument.power != 0:
        return Order(argument.power, logs=_ONE)
    if argument.logs != 0:
        raise OpenError  # log log
    return Order(sympy.log(argument.coefficient))


def _exponential(exponent: Any, u: Any) -> Order:
    """Return the order of exp of an exponent that is linear up to what vanishes; any other is bounded or not known."""
    linear = sympy.expand(exponent)
    rate = linear.coeff(u, 1)
    rest = sympy.expand(linear - rate * u)
    if rate.free_symbols or (rest.has(u) and _way(_order(rest, u)) > 0):
        raise OpenError
    return Order(sympy.exp(_limit(rest, u)), rate)


_DEEP = 3  # how often a sum is split or differentiated for its sign


def ranged(box: Box) -> dict[Any, ranges.Range]:
    """Return the box in balls."""
    return {letter: ranges.ends(*ends) for letter, ends in box.items()}


def sign(g: Any, box: Box, deep: int = _DEEP) -> int | None:
    """Return 2 if ``g > 0`` wherever it is defined inside the box, 1 if ``g >= 0``, and -2, -1, 0 likewise.

    ``None`` says nothing.
    """
    if not g.free_symbols:
        exact = ball.sign(g, {})
        return None if exact is None else 2 * exact
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
        known = _sum(g, box, deep)
        if known is not None:
            return known
    used = {letter: ends for letter, ends in box.items() if g.has(letter)}
    for way, shown in ((1, low >= 0), (-1, high <= 0)):
        if shown or (g.is_Add and deep == _DEEP and nonnegative(way * g, used)):
            return 2 * way if _changes(g, box) else way
    return None


def _product(parts: list[int | None]) -> int | None:
    product = 2
    for part in parts:
        if part is None:
            return 0 if 0 in parts else None
        product = 0 if 0 in (product, part) else (1 if product * part > 0 else -1) * min(abs(product), abs(part))
    return product


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
    return _mixed(g, box, deep)


def _mixed(g: Any, box: Box, deep: int) -> int | None:
    """Return the sign of a mean of the values at both ends of a letter in which it is linear."""
    for letter, ends in box.items():
        if not all(end.is_finite for end in ends) or not g.has(letter) or g.diff(letter).has(letter):
            continue
        at_ends = [sign(g.xreplace({letter: end}), box, deep - 1) for end in ends]
        known = [part for part in at_ends if part is not None]
        if len(known) == 2 and (min(known) >= 0 or max(known) <= 0):
            return max(known, key=abs)
    return None


def _changes(g: Any, box: Box) -> bool:
    """Say whether ``g``, of polynomials and exponentials, strictly grows or falls in some letter.

    Then it has no smallest or largest value inside the box, and a bound is not attained there.
    """
    if not g.xreplace({part: sympy.Dummy() for part in g.atoms(sympy.exp)}).is_polynomial() or any(
        not part.args[0].is_polynomial() for part in g.atoms(sympy.exp)
    ):
        return False
    return any(sign(g.diff(letter), box, 0) in (2, -2) for letter in box if g.has(letter))


def _at_least(value: Any, bound: int) -> bool:
    return bool(value == sympy.oo) or bool(value.is_finite and ball.sign(value - bound, {}) in (0, 1))


_MOST_TERMS = 400


def nonnegative(f: Any, box: Box) -> bool:
    """Say whether a polynomial is shown to be at least 0 inside the box."""
    letters = list(box)
    if not f.is_polynomial(*letters):
        return False
    rational = all(end.is_Rational or not end.is_finite for ends in box.values() for end in ends)
    if not rational:
        return False
    polynomial = sympy.Poly(f, *letters)
    if not all(c.is_Rational for c in polynomial.coeffs()):
        return False
    if len(letters) == 1:
        return _without_sign_change(polynomial, *box[letters[0]])
    return _without_negative_coefficient(polynomial, box)


def _without_sign_change(polynomial: Any, low: Any, high: Any) -> bool:
    """Say whether there is no root of odd multiplicity strictly between the ends, and a value that is not negative
    there.

    Sturm's theorem, by sympy's exact count of real roots.
    """
    for factor, multiplicity in polynomial.sqf_list()[1]:
        if multiplicity % 2 == 0:
            continue
        inf, sup = (end if end.is_finite else None for end in (low, high))
        roots = factor.count_roots(inf, sup)
        roots -= sum(1 for end in (inf, sup) if end is not None and factor(end) == 0)
        if roots:
            return False
    # between the ends there is no sign change, so that any point that is no root tells
    for k in range(1, polynomial.degree() + 3):
        value = polynomial(_probe(low, high, k))
        if value != 0:
            return bool(value > 0)
    return False


def _probe(low: Any, high: Any, k: int) -> Any:
    if low.is_finite and high.is_finite:
        return low + (high - low) / (k + 1)
    if low.is_finite:
        return low + k
    return high - k if high.is_finite else sympy.Integer(k)


def _without_negative_coefficient(polynomial: Any, box: Box) -> bool:
    """Say whether no coefficient is negative once every letter is written as its bound and a part t >= 0."""
    f, positive = polynomial.as_expr(), dict[Any, Any]()
    for letter, ends in box.items():
        rule, positive[letter] = certificate.plain(letter, *ends, sympy.Dummy(positive=True))
        if rule.kind == "free":
            return False
    if len(polynomial.terms()) > _MOST_TERMS:
        return False
    numerator, denominator = sympy.fraction(sympy.together(f.xreplace(positive)))
    letters = sorted(numerator.free_symbols | denominator.free_symbols, key=lambda s: s.dummy_index)
    if not letters:
        return bool(numerator / denominator >= 0)
    return all(all(c >= 0 for c in sympy.Poly(part, *letters).coeffs()) for part in (numerator, denominator))
