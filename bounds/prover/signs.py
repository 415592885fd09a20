"""The sign of a formula inside a box, and whether it is smooth there, read off its structure.

A box gives each letter an interval with an interior; points on its boundary do not count here.
"""

from __future__ import annotations

from typing import Any

import sympy

from dpcheck.bounds.prover import ball, polynomials, ranges
from dpcheck.bounds.prover.polynomials import Box

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
