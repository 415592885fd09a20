"""What is certain of a formula on a whole domain: that it has a value everywhere, and its sign.

A rewriting brings in functions that the statement does not have, such as the 1/(1 - r) of a geometric sum. It counts
only where these have values at every point of the domain, ends included, so that no point is lost.
"""

import functools
from typing import Any

import sympy

from dpcheck.bounds.prover import ranges
from dpcheck.bounds.prover.domain import Domain
from dpcheck.bounds.prover.domain import standard as standard_letter


@functools.lru_cache(maxsize=20_000)
def defined(part: Any, domain: Domain) -> bool:
    """Say whether the formula is surely a real number at every point of the domain."""
    if part.is_Symbol or not part.args:
        return bool(part.is_real)
    if not all(defined(inner, domain) for inner in part.args):
        return False
    if part.is_Pow:
        return _power(part.base, part.exp, domain)
    if part.func is sympy.log:
        return positive(part.args[0], domain)
    return part.func in _TOTAL


_TOTAL = {
    sympy.Add, sympy.Mul, sympy.exp, sympy.Max, sympy.Min, sympy.Abs, sympy.sin, sympy.cos, sympy.erf, sympy.erfc,
    sympy.floor, sympy.ceiling,
}  # fmt: skip


def _power(base: Any, exponent: Any, domain: Domain) -> bool:
    if base is sympy.E or (exponent.is_integer and nonnegative(exponent, domain)) or positive(base, domain):
        return True
    if exponent.is_Integer:
        return positive(-base, domain)
    return positive(exponent, domain) and nonnegative(base, domain)


@functools.lru_cache(maxsize=20_000)
def positive(g: Any, domain: Domain) -> bool:
    """Say whether it is surely above 0 at every point of the domain."""
    for form in _forms(g, domain):
        if form.is_positive:
            return True
    if g.is_Pow and g.exp.is_Integer and positive(g.base, domain):
        return True
    factors = sympy.Mul.make_args(sympy.factor(sympy.together(g)))
    if len(factors) > 1 and all(positive(factor, domain) or _squared(factor, domain) for factor in factors):
        return True
    return _enclosed(g, domain)[0] > 0 or any(
        (g / fact).is_positive or sympy.cancel(g / fact).is_positive
        for fact, relation in zip(domain.differences(), domain.where, strict=True)
        if isinstance(relation, sympy.Lt | sympy.Gt)
    )


@functools.lru_cache(maxsize=20_000)
def nonnegative(g: Any, domain: Domain) -> bool:
    """Say whether it is surely at least 0 at every point of the domain at which it has a value."""
    if any(form.is_nonnegative for form in _forms(g, domain)) or _enclosed(g, domain)[0] >= 0:
        return True
    return positive(g, domain) or any(
        (g / fact).is_positive or sympy.cancel(g / fact).is_positive or sympy.expand(g - fact).is_nonnegative
        for fact in domain.differences()
    )


def _squared(factor: Any, domain: Domain) -> bool:
    base, power = factor.as_base_exp()
    return bool(power.is_Integer and power.is_even) and (positive(base, domain) or positive(-base, domain))


def _forms(g: Any, domain: Domain) -> tuple[Any, ...]:
    """Return it in letters that say of themselves what the domain says, and in their distances from the ends."""
    new = {letter: standard_letter(letter, *ends) for letter, ends in domain.limits.items()}
    there = g.xreplace(new)
    shifts: dict[Any, Any] = {}
    for old, (low, high) in domain.limits.items():
        letter = new[old]
        distance = sympy.Dummy(nonnegative=True, integer=True if letter.is_integer else None)
        if low.is_finite and low != 0:
            shifts[letter] = low + distance
        elif high.is_finite and not low.is_finite:
            shifts[letter] = high - distance
    return (there, sympy.expand(there.xreplace(shifts))) if shifts else (there,)


def _enclosed(g: Any, domain: Domain) -> ranges.Range:
    return ranges.enclose(g, {letter: ranges.ends(*ends) for letter, ends in domain.limits.items()})
