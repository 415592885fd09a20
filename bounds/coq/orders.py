"""Proofs of orders of magnitude: each term is at most a constant times parts of the rate.

The multipliers of ``dpcheck.bounds.asymptotics`` say which parts; Coq is given the constants and sees
for itself, from logarithms, that each monomial is at most its share.
"""

from __future__ import annotations

import itertools
from typing import Any

import sympy

from dpcheck.bounds.asymptotics import Dominated, Domination, dominate
from dpcheck.bounds.coq.expression import Writer, names
from dpcheck.bounds.coq.statement import ordered, rate_of
from dpcheck.bounds.formula import formula


def proof(step: Dominated) -> str | None:
    """Return a script with a constant that bounds the terms by the rate, or ``None``."""
    terms, rate = _monomials(formula(step.terms)), _monomials(rate_of(step))
    values = [sympy.Mul(*each) for each in rate]
    found = [dominate(sympy.Mul(*each), tuple(values), step.region) for each in terms]
    if any(each is None or sum(1 for w in each.weights if w) > 2 for each in found):
        return None
    relations = step.region.relations
    used = set().union(*(x.free_symbols for x in (*values, *(sympy.Mul(*each) for each in terms), *relations)))
    letters = names(ordered(used))
    write = Writer(letters)
    parts = [" * ".join(write.argument(factor) for factor in each) for each in rate]
    lines, total = [], 0
    for each, one in zip(terms, found, strict=True):
        assert one is not None
        shown, constant = _share(" * ".join(write.argument(factor) for factor in each), one, parts, write)
        lines += shown
        total += constant
    facts = [f"{write(relation.lts)} <= {write(relation.gts)}" for relation in relations]
    facts += [f"1 <= {name}" for letter, name in letters.items() if letter.is_integer]
    logs = [f"assert (fact{k} : {fact}) by assumption. dp_log_fact fact{k}." for k, fact in enumerate(facts)]
    positive = [f"assert (0 < {part}) by dp_sign." for part in parts]
    return "\n".join([f"exists {total}.", "intros.", "dp_forget.", *logs, *positive, *lines, "dp_sum."])


def _share(term: str, found: Domination, parts: list[str], write: Writer) -> tuple[list[str], int]:
    """Return the sentences that bound one term, and the whole number that does."""
    whole = int(sympy.ceiling(found.constant))
    constant = write.argument(found.constant)
    chosen = [(part, weight) for part, weight in zip(parts, found.weights, strict=True) if weight]
    first, share = chosen[0]
    mean = f"({first})"
    if len(chosen) == 2:
        second = chosen[1][0]
        w = write.argument(sympy.Rational(share.numerator, share.denominator))
        mean = f"(Rpower ({first}) {w} * Rpower ({second}) (1 - {w}))"
    lines = [f"assert ({term} <= {constant} * {mean}) by dp_monomial."]
    if len(chosen) == 2:
        lines.append(
            f"assert ({mean} <= {w} * ({first}) + (1 - {w}) * ({second})) "
            "by (apply dp_means; [ dp_sign | dp_sign | lra ])."
        )
    lines.append(
        f"assert ({constant} * {mean} <= {whole} * {mean}) "
        "by (apply Rmult_le_compat_r; [ dp_sign | first [ lra | dp_interval ] ])."
    )
    return lines, whole


def _monomials(expression: Any) -> list[list[Any]]:
    """Return the terms of a product of sums as lists of factors, none combined with another."""
    if expression.is_Add or expression.func is sympy.Max:
        return [each for part in expression.args for each in _monomials(part)]
    if expression.is_Mul:
        combined = itertools.product(*(_monomials(part) for part in expression.args))
        return [[factor for factors in each for factor in factors] for each in combined]
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0 and expression.base.is_Add:
        return _monomials(sympy.Mul(*([expression.base] * int(expression.exp)), evaluate=False))
    return [[expression]]
