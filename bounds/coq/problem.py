"""An inequality taken apart for a proof: maxima split, roots and logarithms named, numbers enclosed.

Each step of this is a sentence of Coq, kept in the problem's script.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import flint
import sympy

from dpcheck.bounds.coq.expression import Writer, names
from dpcheck.bounds.evidence import AtMost
from dpcheck.bounds.formula import formula
from dpcheck.bounds.prover import Inequality, ball

_GRAIN = 1000  # numbers that are not rational are enclosed to one part in this many


@dataclass(frozen=True)
class Problem:
    """``difference >= 0`` is wanted where every one of ``facts`` is nonnegative and ``lows`` bound letters.

    ``names`` gives each letter, and each letter that stands for a root or logarithm, its term;
    ``script`` are the sentences of Coq that have led here.
    """

    difference: Any
    lows: dict[Any, Any]
    facts: tuple[Any, ...]
    names: dict[Any, str]
    script: tuple[str, ...] = field(default=("intros.", "dp_forget."))


def problem(step: Inequality | AtMost) -> Problem:
    """Return the inequality as a problem, before anything is named."""
    if isinstance(step, AtMost):
        smaller, larger = formula(step.smaller), formula(step.larger)
        letters = names(sorted(smaller.free_symbols | larger.free_symbols, key=str))
        return Problem(
            larger - smaller, {x: sympy.Integer(0) if x.is_positive else -sympy.oo for x in letters}, (), letters
        )
    smaller, larger = step.sides()
    lows, facts = {}, []
    for letter, (low, high) in step.over.intervals.items():
        plain = low.is_Rational or not low.is_finite
        lows[letter] = low if plain else sympy.Integer(0) if letter.is_positive else -sympy.oo
        if not plain:
            facts.append(letter - low)
        if high.is_finite:
            facts.append(high - letter)
    facts += step.over.differences()
    return Problem(larger - smaller, lows, tuple(facts), names(step.over.intervals))


def choice(problem: Problem) -> Any:
    """Return the simplest maximum or minimum of two that is left, or ``None``."""
    found = sorted(problem.difference.atoms(sympy.Max, sympy.Min), key=lambda each: (each.count_ops(), str(each)))
    if found and len(found[0].args) != 2:
        return None
    return found[0] if found else None


def branches(problem: Problem, chosen: Any) -> Iterator[Problem]:
    """Yield the problem where the maximum is its first argument, then where it is its second."""
    first, second = ordered_arguments(chosen, problem)
    rooted = any(
        each.exp.is_Rational and each.exp.q == 2 for each in problem.difference.atoms(sympy.Pow) if each.base == chosen
    )
    for winner, other in ((first, second), (second, first)):
        fact = winner - other if chosen.func is sympy.Max else other - winner
        yield replace(
            problem, difference=problem.difference.xreplace({chosen: winner}), facts=(*problem.facts, fact),
            script=("dp_split_roots.",) if rooted else (),
        )  # fmt: skip


def ordered_arguments(chosen: Any, problem: Problem) -> list[Any]:
    """Return the two arguments in the order in which they are written."""
    return sorted(chosen.args, key=lambda each: bracketed(Writer(problem.names)(each)))


def roots_named(problem: Problem) -> Problem:
    """Return the problem with whole powers of new letters for fractional powers."""
    expressions = [problem.difference, *problem.facts]
    powers = set().union(*(each.atoms(sympy.Pow) for each in expressions))
    exponents: dict[Any, set[Any]] = {}
    for each in powers:
        if each.base.is_Symbol and each.exp.is_Rational and each.exp.q > 1:
            exponents.setdefault(each.base, set()).add(abs(each.exp))
    names, lows, script = dict(problem.names), dict(problem.lows), list(problem.script)
    facts, swap = expressions[1:], {}
    for letter in sorted(exponents, key=str):
        q = math.lcm(*(int(each.q) for each in exponents[letter]))
        root = sympy.Symbol(f"root_{letter}", positive=True)
        old, low = names.pop(letter), lows.pop(letter)
        names[root] = new = f"root_{old}"
        if q == 2:
            script.append(f"dp_root_letter {old} {new}.")
        else:
            script.append(f"dp_nth_root {old} {new} {q}%nat.")
            script += [_power_of_root(new, q, each) for each in sorted(exponents[letter])]
        lows[root] = sympy.Integer(0)
        if low.is_finite and low > 0:
            lows[root] = enclosed(sympy.root(low, q))[0] if not sympy.root(low, q).is_Rational else sympy.root(low, q)
            script.append(
                f"assert ({lows[root]} <= {new}) by (destruct (dp_root_low {lows[root]} {new} {q}%nat) as [? | ?]; "
                "[ lra | lra | simpl; nra | lra | lia ])."
            )
        swap[letter] = root**q
    changed = [each.xreplace(swap) for each in (expressions[0], *facts)]
    return replace(
        problem, difference=changed[0], facts=tuple(changed[1:]), lows=lows, names=names, script=tuple(script)
    )  # fmt: skip


def _power_of_root(name: str, q: int, exponent: Any) -> str:
    p = int(exponent * q)
    if exponent.q == 2:
        half = f"replace (sqrt ({name} ^ {q})) with ({name} ^ {q // 2}) in * by "
        return f"{half}(symmetry; apply dp_sqrt_root; [ assumption | reflexivity ])."
    written = f"{exponent.p} / {exponent.q}"
    whole = f"replace (Rpower ({name} ^ {q}) ({written})) with ({name} ^ {p}) in * by "
    return f"{whole}(symmetry; apply dp_Rpower_root; [ assumption | simpl; lra ])."


def atoms(problem: Problem) -> list[Any]:
    """Return roots and logarithms that are not letters, simple ones first."""
    kinds = (sympy.Pow, sympy.log, sympy.exp)
    found = set().union(*(each.atoms(*kinds) for each in (problem.difference, *problem.facts)))
    roots = {sympy.sqrt(p.base) for p in found if p.is_Pow and p.exp.is_Rational and p.exp.q == 2}
    logs = {each for each in found if isinstance(each, sympy.log)}
    numbers = set().union(*(each.atoms(sympy.NumberSymbol) for each in (problem.difference, *problem.facts)))
    return sorted(roots | logs | numbers, key=lambda each: (each.count_ops(), str(each)))


def named(problem: Problem, atom: Any) -> Problem:
    """Return the problem with a letter for the atom, and what is known of it."""
    write = Writer(problem.names)
    term = f"({write(atom)})"
    letter = sympy.Symbol(f"atom_{len(problem.names)}", real=True)
    names = {**problem.names, letter: term}
    swap = {atom: letter}
    if atom.is_Pow and atom.free_symbols:
        swap |= {sympy.Pow(atom.base, sympy.Rational(k, 2)): letter**k for k in (-3, -1, 3)}
    facts = [each.xreplace(swap) for each in problem.facts]
    lows, script = dict(problem.lows), list(problem.script)
    if not atom.free_symbols:
        low, high = enclosed(atom)
        script.append(f"assert (dp_bounds : {write(low)} <= {term} <= {write(high)}) by (split; dp_interval).")
        script.append("destruct dp_bounds.")
        lows[letter] = low
        facts.append(high - letter)
    elif atom.is_Pow:
        script.append(f"assert (0 <= {term}) by apply sqrt_pos.")
        script.append(f"assert ({term} ^ 2 = {write(atom.base)}) by (apply pow2_sqrt; dp_sign).")
        lows[letter] = sympy.Integer(0)
        facts += [letter**2 - atom.base, atom.base - letter**2]
    else:
        low = _least(atom.args[0], problem)
        lows[letter] = -sympy.oo
        if low is not None and low > 0:
            below, _ = enclosed(sympy.log(low))
            script.append(
                f"assert ({write(below)} <= {term}) by (apply (dp_ln_low {bracketed(write(low))}); "
                "[ dp_interval | lra | dp_polynomial ])."
            )
            lows[letter] = below
    difference = problem.difference.xreplace(swap)
    return Problem(difference, lows, tuple(facts), names, tuple(script))


def _least(expression: Any, problem: Problem) -> Any:
    """Return the least value at the corners of the domain, which Coq then has to prove least."""
    highs = {}
    for fact in problem.facts:
        for letter in fact.free_symbols:
            if fact.free_symbols == {letter} and fact.is_polynomial(letter) and sympy.Poly(fact, letter).degree() == 1:
                slope, rest = sympy.Poly(fact, letter).all_coeffs()
                if slope < 0:
                    highs[letter] = -rest / slope
    ends = [[end for end in (problem.lows[x], highs.get(x)) if end is not None] for x in expression.free_symbols]
    found = []
    for corner in itertools.product(*ends):
        value = expression.subs(dict(zip(expression.free_symbols, corner, strict=True)))
        if value.is_Rational:
            found.append(value)
    return min(found, default=None)


def enclosed(number: Any) -> tuple[Any, Any]:
    """Return rational numbers just below and just above."""
    saved = flint.ctx.prec
    try:
        flint.ctx.prec = 96
        middle = ball.exact(number) * _GRAIN
        low = sympy.Rational(int(middle.lower().floor().unique_fmpz()), _GRAIN)
        return low, low + sympy.Rational(1, _GRAIN)
    finally:
        flint.ctx.prec = saved


def bracketed(term: str) -> str:
    """Return the term in brackets unless it is one word."""
    return f"({term})" if " " in term else term
