"""Whether a certificate shows that a difference is positive, and not only that it is not negative."""

import itertools
from collections.abc import Mapping
from typing import Any

import sympy

from dpcheck.bounds.prover.certificate import Certificate, Rule

_MOST_FAR = 8  # letters that may reach an end at infinity of their parameters


def positive(proof: Certificate) -> bool:
    """Say whether the difference is positive: a term of the numerator has no parameter that can be 0.

    An end that a parameter reaches at infinity alone, and that is not left out, counts as well: there the quotient is
    positive only if the numerator has a term that grows as the denominator does.
    """
    parameters = sorted(proof.parameters(), key=str)
    if not parameters:
        return bool(proof.numerator > 0)
    above = {rule.parameter for rule in proof.rules if _end_is_left_out(proof, rule)}
    far = [rule.parameter for rule in proof.rules if not _far_end_is_left_out(proof, rule)]
    numerator = sympy.Poly(proof.numerator, *parameters)
    denominator = sympy.Poly(sympy.expand(proof.denominator * proof.multiplier), *parameters)
    if len(far) > _MOST_FAR or any(numerator.degree(t) > denominator.degree(t) for t in far):
        return False
    for at_infinity in itertools.product((False, True), repeat=len(far)):
        there = {t for t, infinite in zip(far, at_infinity, strict=True) if infinite}
        tops = {t: denominator.degree(t) for t in there}
        if not any(
            above.issuperset(t for t, power in zip(parameters, powers, strict=True) if power and t not in there)
            for powers in _leading(numerator, tops)
        ):
            return False
    return True


def _end_is_left_out(proof: Certificate, rule: Rule) -> bool:
    """Say whether the end of the interval at which the rule's parameter is 0 is left out."""
    if rule.kind not in ("low", "high", "between"):
        return False
    return _is_left_out(proof, rule, dict(proof.shifts)[rule.letter].xreplace({rule.parameter: sympy.S.Zero}))


def _far_end_is_left_out(proof: Certificate, rule: Rule) -> bool:
    """Say whether the end of the interval at which the rule's parameter is infinite is left out, or is none."""
    if rule.kind == "between":
        value = dict(proof.shifts)[rule.letter]
        return _is_left_out(proof, rule, 2 * value.subs(rule.parameter, 1) - value.subs(rule.parameter, 0))
    return rule.kind != "below" or _is_left_out(proof, rule, sympy.S.Zero)


def _is_left_out(proof: Certificate, rule: Rule, end: Any) -> bool:
    letter = dict(proof.meanings).get(rule.letter, rule.letter)
    at_zero = end == 0 and (letter.is_positive or letter.is_negative)
    return bool(at_zero or end in proof.domain.open_ends.get(letter, ()))


def _leading(polynomial: Any, tops: Mapping[Any, int]) -> list[tuple[int, ...]]:
    """Return the powers of the terms that have these powers of some of the letters, with coefficients above 0."""
    letters = polynomial.gens
    return [
        powers for powers, coefficient in polynomial.terms()
        if coefficient > 0 and all(power == tops.get(t, power) for t, power in zip(letters, powers, strict=True))
    ]  # fmt: skip
