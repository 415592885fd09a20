"""Proofs of polynomial inequalities: products of facts of which the difference is a sum.

A linear program picks products of what is known to be nonnegative (letters less their bounds, the
relations of the domain, squares of differences) whose combination with nonnegative factors is the
difference times a positive scale. Coq checks that equation and the sign of every part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
from sympy.polys.polyerrors import BasePolynomialError

from dpcheck.bounds.coq.expression import UntranslatedError, Writer
from dpcheck.bounds.coq.problem import (
    Problem,
    atoms,
    bracketed,
    branches,
    choice,
    enclosed,
    named,
    ordered_arguments,
    problem,
    roots_named,
)
from dpcheck.bounds.coq.space import Space
from dpcheck.bounds.evidence import AtMost
from dpcheck.bounds.prover import Inequality


def proof(step: Inequality | AtMost) -> str | None:
    """Return a script for the step, or ``None`` if no products are found."""
    try:
        return _script(problem(step))
    except (BasePolynomialError, UntranslatedError):
        return None


def _script(problem: Problem) -> str | None:
    chosen = choice(problem)
    if chosen is not None:
        scripts = [_script(each) for each in branches(problem, chosen)]
        if any(each is None for each in scripts):
            return None
        first, second = (Writer(problem.names)(each) for each in ordered_arguments(chosen, problem))
        kind = "max" if chosen.func is sympy.Max else "min"
        inner = "\n".join("  { " + str(each).replace("\n", "\n    ") + " }" for each in scripts)
        return "\n".join([*problem.script, f"dp_case_{kind} ({first}) ({second}).", inner])
    ready = roots_named(problem)
    while left := atoms(ready):
        ready = named(ready, left[-1])  # the outermost first: what it is made of may not occur elsewhere
    found = _products(ready)
    return None if found is None else "\n".join([*ready.script, *found])


def _products(problem: Problem) -> list[str] | None:
    """Return the sentences that close the goal, or ``None`` if the linear program finds no products."""
    letters = sorted(problem.difference.free_symbols.union(*(f.free_symbols for f in problem.facts)), key=str)
    if not letters or not problem.difference.is_rational_function(*letters):
        return None
    write = Writer(problem.names)
    sentences, facts = [], []
    for fact in problem.facts:
        if not fact.is_rational_function(*letters):
            continue
        above, below = _stripped(fact, problem.lows)
        name = f"({write(above)})"
        scale = bracketed(write(below))
        sentences.append(
            f"assert (0 <= {write(above)}) by "
            f"(apply (dp_scaled {bracketed(write(fact))} {scale}); [ lra | dp_sign | field; dp_side ])."
        )
        facts.append((name, above))
    for name, fact, proof in _rooted(facts, problem.lows, write):
        sentences.append(f"assert (0 <= {name[1:-1]}) by ({proof}).")
        facts.append((name, fact))
    numerator, denominator = _stripped(problem.difference, problem.lows)
    shifts = {x: low for x, low in problem.lows.items() if low.is_finite and low != 0}
    plain = [(f"({write(x - low)})", x - low) for x, low in shifts.items()]
    for lows, known in ((problem.lows, facts), (problem.lows | dict.fromkeys(shifts, sympy.Integer(0)), facts + plain)):
        for wide, multiplied in ((False, False), (False, True), (True, False), (True, True)):
            space = Space(letters, lows, known, write)
            found = space.combination(numerator, wide, multiplied)
            if found is not None:
                total, multiplier = found
                scale = write(denominator) if multiplier == "1" else f"{bracketed(write(denominator))} * {multiplier}"
                apply = f"apply (dp_combination _ _ {bracketed(scale)} ({total}));"
                return [*sentences, apply, "  [ dp_sign | field; dp_side | dp_sign ]."]
        if not shifts:
            break
    return None


def _stripped(expression: Any, lows: dict[Any, Any]) -> tuple[Any, Any]:
    """Return a polynomial without common powers of positive letters, and what the expression is multiplied by for
    it.
    """
    above, below = sympy.fraction(sympy.together(expression))
    above = sympy.expand(above)
    letters = sorted((x for x in above.free_symbols if x.is_positive), key=str)
    common = sympy.Integer(1)
    if letters:
        powers, _ = sympy.Poly(above, *letters).terms_gcd()
        common = sympy.prod([x**k for x, k in zip(letters, powers, strict=True)])
    if below.xreplace({x: _inside(x, lows) for x in below.free_symbols}) < 0:
        above, below = -above, -below
    return sympy.expand(above / common), below / common


def _inside(letter: Any, lows: dict[Any, Any]) -> Any:
    """Return a value just above the least, where a denominator shows its sign."""
    return (lows[letter] if lows[letter].is_finite else 0) + sympy.Rational(1, 1000)


def _rooted(facts: list[tuple[str, Any]], lows: dict[Any, Any], write: Writer) -> Iterator[tuple[str, Any, str]]:
    """Yield x <= c y, with a number c just above the root of b/a, from a x^2 <= b y^2 with positive letters."""
    for _, fact in facts:
        terms = sympy.Add.make_args(fact)
        if len(terms) != 2:
            continue
        (a, small), (b, large) = sorted((each.as_coeff_Mul() for each in terms), key=lambda pair: pair[0])
        x, y = sympy.sqrt(small), sympy.sqrt(large)
        if not (a < 0 < b and _monomial(x) and _monomial(y)):
            continue
        ratio = sympy.sqrt(-b / a)
        c = ratio if ratio.is_Rational else enclosed(ratio)[1]
        derived = c * y - x
        yield f"({write(derived)})", derived, "apply dp_root_order; [ dp_sign | dp_sign | first [ lra | nra ] ]"


def _monomial(expression: Any) -> bool:
    """Say whether it is a product of whole powers of positive letters."""
    return all(
        base.is_Symbol and base.is_positive and power.is_Integer and power > 0
        for base, power in expression.as_powers_dict().items()
    )
