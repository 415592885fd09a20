"""Where a convex function is lowest, as a formula in the other letters, and powers multiplied out exactly.

A function that is convex in a letter is nowhere below its value at a point where its slope is 0. So Young's inequality,
weighted means, and what is conjugate to a power, an exponential or a logarithm, are three short questions: is the slope
0 there, is the value there not negative, is the function convex. The place is solved for, or one of the numbers 0 and
1 or another letter; that the slope vanishes there is shown by writing each term as a product of powers.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import sympy

from dpcheck.bounds.prover.signs import Box, sign

_LARGE = 60  # operations of a slope that is solved for its letter
Powers = dict[Any, Any]  # base, positive inside the box -> exponent


def places(slope: Any, letter: Any, box: Box) -> Iterator[Any]:
    """Yield formulas in the other letters, strictly between the ends of the letter's interval, where the slope is 0."""
    low, high = box[letter]
    solved = _solved(slope, letter, box) if slope.count_ops() <= _LARGE else None
    others = (other for other in box if other != letter)
    for place in dict.fromkeys((solved, sympy.S.Zero, sympy.S.One, *others)):
        if place is not None and _inside(place, low, high, box) and vanishes(slope.xreplace({letter: place}), box):
            yield place


def _inside(place: Any, low: Any, high: Any, box: Box) -> bool:
    above = not low.is_finite or sign(sympy.factor(place - low), box) == 2
    return above and (not high.is_finite or sign(sympy.factor(high - place), box) == 2)


def _solved(slope: Any, letter: Any, box: Box) -> Any:
    """Return where two terms cancel, of which one is a power, an exponential or a logarithm in the letter."""
    numerator = sympy.expand(slope)
    with_letter = [term for term in sympy.Add.make_args(numerator) if term.has(letter)]
    rest = sympy.Add(*(term for term in sympy.Add.make_args(numerator) if not term.has(letter)))
    logs = sympy.Add(*with_letter).atoms(sympy.log)
    if len(with_letter) == 1 and sympy.log(letter) in logs:
        factor = with_letter[0] / sympy.log(letter)
        return None if factor.has(letter) else sympy.exp(sympy.expand(-rest / factor))
    if len(with_letter) > 1 and (rest != 0 or len(with_letter) > 2):
        return None
    one, other = (*with_letter, rest) if rest != 0 or len(with_letter) == 1 else with_letter
    ratio = powers(-one / other, box) if other != 0 else None
    if ratio is None:
        return None
    at = sympy.expand(ratio.pop(letter, sympy.S.Zero))
    if at != 0 and not at.has(letter) and not any(part.has(letter) for pair in ratio.items() for part in pair):
        return sympy.Mul(*(base ** sympy.cancel(-exponent / at) for base, exponent in ratio.items()))
    total = sympy.expand(sum(exponent * sympy.log(base) for base, exponent in ratio.items()))
    factor = total.coeff(letter, 1)
    rest = sympy.expand(total - factor * letter)
    if at != 0 or factor == 0 or factor.has(letter) or rest.has(letter):
        return None
    return sympy.cancel(-rest / factor)


def powers(term: Any, box: Box) -> Powers | None:
    """Return a term that is positive inside the box as a product of powers of bases that are; ``None`` for others."""
    found: Powers = {}
    negative = False

    def add(base: Any, exponent: Any, whole: bool) -> bool:
        """Take in a power; of a negative base only where no root is taken: that of (x - 2)^2 is not x - 2."""
        nonlocal negative
        if base.is_Rational and base != 0:
            if base < 0 and not (whole and exponent.is_Integer):
                return False
            negative ^= bool(base < 0 and exponent % 2 == 1)
            for prime, power in sympy.factorrat(abs(base)).items():
                found[sympy.Integer(prime)] = found.get(sympy.Integer(prime), 0) + power * exponent
            return True
        known = 2 if base is sympy.E else sign(base, box)
        if known == -2 and whole and exponent.is_Integer:
            negative ^= bool(exponent % 2 == 1)
            base, known = sympy.expand(-base), 2
        if known == 2:
            found[base] = found.get(base, 0) + exponent
        return known == 2

    for factor in sympy.Mul.make_args(term):
        base, exponent = factor.as_base_exp()
        inner = [base] if base is sympy.E or base.is_Rational else sympy.Mul.make_args(_factored(base))
        if len(inner) > 1 and not exponent.is_Integer and sign(base, box) != 2:
            return None
        for part in inner:
            inner_base, power = (part, sympy.S.One) if part is sympy.E else part.as_base_exp()
            if not add(inner_base, power * exponent, exponent.is_Integer is True):
                return None
    if negative:
        return None
    return {base: exponent for base, power in found.items() if (exponent := sympy.cancel(power)) != 0}


@functools.lru_cache(maxsize=4096)
def _factored(base: Any) -> Any:
    return sympy.factor(sympy.together(base))


def vanishes(f: Any, box: Box) -> bool:
    """Say whether a sum is 0 throughout the inside of the box, its terms written as products of powers."""
    total: dict[frozenset[Any], Any] = {}
    for term in sympy.Add.make_args(sympy.expand(f)):
        if term == 0:
            continue
        positive = powers(term, box)
        parts = positive if positive is not None else powers(-term, box)
        if parts is None:
            return bool(sympy.cancel(sympy.together(f)) == 0)
        key, factor = [], sympy.S.One if positive is not None else sympy.S.NegativeOne
        for base, exponent in parts.items():
            whole, left = _whole_part(exponent)
            factor *= base**whole
            key += [(base, left)] * (left != 0)
        total[frozenset(key)] = total.get(frozenset(key), 0) + factor
    return all(sympy.cancel(sympy.together(factor)) == 0 for factor in total.values())


def _whole_part(exponent: Any) -> tuple[Any, Any]:
    """Return the whole number in an exponent, and what is left of it: p/(p - 1) is 1 + 1/(p - 1)."""
    if exponent.is_Rational:
        return sympy.floor(exponent), exponent - sympy.floor(exponent)
    above, below = sympy.fraction(exponent)
    letters = sorted(exponent.free_symbols, key=str)
    if not letters or not (above.is_polynomial(*letters) and below.is_polynomial(*letters)):
        return sympy.S.Zero, exponent
    quotient, _ = sympy.div(above, below, *letters)
    constant = sympy.floor(sympy.Poly(quotient, *letters).nth(*[0] * len(letters)))
    return (constant, sympy.cancel(exponent - constant)) if constant.is_Integer else (sympy.S.Zero, exponent)
