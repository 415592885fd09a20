"""The search for a certificate: ways to shift the letters, and powers that make every coefficient nonnegative."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import sympy

from dpcheck.bounds.prover import coverage
from dpcheck.bounds.prover.certificate import Certificate
from dpcheck.bounds.prover.coverage import Rule
from dpcheck.bounds.prover.domain import Domain
from dpcheck.bounds.prover.forms import Form
from dpcheck.bounds.prover.letters import Names

_MOST_TERMS = 4000  # beyond this an expansion takes longer than a solver
_POWERS = 3  # of (1 + sum of t) that the numerator is multiplied by, after Polya


def find(form: Form, claimed: Any, domain: Domain) -> Certificate | None:
    """Return a certificate for the form of ``claimed`` on ``domain``, or ``None``."""
    fresh = Names([each.name for each in (*form.intervals, *domain.intervals)]).fresh
    new = {letter: sympy.Symbol(fresh(f"t_{letter}"), nonnegative=True) for letter in form.intervals}
    for rules, shifts in _shifts(form, new):
        shifted = form.difference.subs(shifts, simultaneous=True)
        if shifted.has(sympy.zoo, sympy.nan):
            continue
        quotient = sympy.fraction(sympy.together(shifted))
        letters = sorted(quotient[0].free_symbols | quotient[1].free_symbols, key=str)
        if not set(letters) <= set(new.values()):
            continue
        ring = sympy.ring(letters or [sympy.Dummy()], sympy.QQ)[0]
        found = _nonnegative_multiple(ring, *(ring.from_expr(part) for part in quotient))
        if found is not None:
            numerator, denominator, multiplier = (polynomial.as_expr() for polynomial in found)
            return Certificate(
                form.difference, tuple(shifts.items()), numerator, denominator, multiplier,
                claimed, domain, tuple(form.meanings.items()), tuple(form.intervals.items()), tuple(form.facts),
                tuple(rules), form.scale,
            )  # fmt: skip
    return None


def _nonnegative_multiple(ring: Any, numerator: Any, denominator: Any) -> tuple[Any, Any, Any] | None:
    """Return the numerator times a multiplier, the denominator and multiplier, without negative coefficients."""
    common = numerator.gcd(denominator)
    numerator, denominator, multiplier = numerator.quo(common), denominator.quo(common), ring.one
    if any(coefficient < 0 for coefficient in denominator.coeffs()):
        numerator, denominator = -numerator, -denominator
    if any(coefficient < 0 for coefficient in denominator.coeffs()) or _negative_somewhere(ring, numerator):
        return None
    step = sum(ring.gens, ring.one)
    for _ in range(_POWERS + 1):
        if all(coefficient >= 0 for coefficient in numerator.coeffs()):
            return numerator, denominator, multiplier
        if len(numerator) * (len(ring.gens) + 1) > _MOST_TERMS:
            return None
        numerator, multiplier = numerator * step, multiplier * step
    return None


def _negative_somewhere(ring: Any, polynomial: Any) -> bool:
    """Say whether it is negative at one of a few points, where there is no certificate."""
    scales = [sympy.QQ(0), sympy.QQ(1, 100), sympy.QQ(1), sympy.QQ(100)]
    count = len(ring.gens)
    points = [[scales[(3 * i + k * (i + 1)) % 4] for i in range(count)] for k in range(12)]
    points += [[scale] * count for scale in scales]
    return any(polynomial.evaluate(list(zip(ring.gens, point, strict=True))) < 0 for point in points)


def _shifts(form: Form, new: dict[Any, Any]) -> Iterator[tuple[list[Rule], dict[Any, Any]]]:
    """Yield ways to write the letters: by their intervals, and with facts of the kind ``s >= expression``."""
    plain = {letter: coverage.plain(letter, low, high, new[letter]) for letter, (low, high) in form.intervals.items()}
    used = form.difference.free_symbols
    yield _needed(list(plain.values()), used)
    options = [
        (letter, number, known)
        for number, fact in enumerate(form.facts)
        for letter in sorted(fact.free_symbols, key=str)
        if (known := coverage.by_fact(fact, letter)) is not None
    ]
    for size in (1, 2, 3):
        for chosen in itertools.combinations(options, size):
            bounds = {letter: (number, known) for letter, number, known in chosen}
            ordered = _in_order({letter: known[1] for letter, (_, known) in bounds.items()})
            if len(bounds) < size or ordered is None:
                continue
            done = [pair for letter, pair in plain.items() if letter not in bounds]
            values = {rule.letter: value for rule, value in done}
            for letter in ordered:
                number, (kind, bound) = bounds[letter]
                at, t = bound.subs(values, simultaneous=True), new[letter]
                values[letter] = at + t if kind == "above" else at / (1 + t)
                done.append((Rule(letter, kind, t, number), values[letter]))
            yield _needed(done, used)


def _needed(pairs: list[tuple[Rule, Any]], used: set[Any]) -> tuple[list[Rule], dict[Any, Any]]:
    """Return the rules of the letters that are used, and of those whose parameters they take up."""
    own = {rule.parameter: rule.letter for rule, _ in pairs if rule.parameter is not None}
    values = {rule.letter: value for rule, value in pairs}
    wanted = {letter for letter in used if letter in values}
    for rule, value in reversed(pairs):
        if rule.letter in wanted:
            wanted |= {own[t] for t in value.free_symbols if t in own} | (value.free_symbols & values.keys())
    kept = [rule for rule, _ in pairs if rule.letter in wanted]
    return kept, {rule.letter: values[rule.letter] for rule in kept}


def _in_order(chosen: dict[Any, Any]) -> list[Any] | None:
    """Return the letters sorted so that each definition uses only earlier ones; ``None`` if they run in a circle."""
    done: list[Any] = []
    left = dict(chosen)
    while left:
        ready = [letter for letter, value in left.items() if not (value.free_symbols & left.keys())]
        if not ready:
            return None
        for letter in ready:
            del left[letter]
        done += ready
    return done
