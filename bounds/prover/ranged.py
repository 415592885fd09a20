"""Sums and products as they are stated: what they run over, their letters, and what is plain about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from dpcheck.bounds.prover import known
from dpcheck.bounds.prover.domain import Domain, Names

KINDS = (sympy.Sum, sympy.Product)
WRITTEN_OUT = 40  # terms of a sum that is written out
BACKWARDS = "a sum or product may run backwards: its upper end may lie more than one below its lower one"
BOUND = sympy.Symbol("bound", positive=True)  # stands for the letter of a sum where its summand is looked at


@dataclass(frozen=True)
class Range:
    """A sum or product ``node`` of ``term`` for ``t`` from ``low`` to ``high``."""

    node: Any
    term: Any
    t: Any
    low: Any
    high: Any

    @property
    def product(self) -> bool:
        """Whether it is a product."""
        return isinstance(self.node, sympy.Product)

    def part(self, low: Any, high: Any) -> Any:
        """Return the part between two ends that lie a number of terms apart, written out."""
        terms = [self.term.xreplace({self.t: low + k}) for k in range(int(sympy.expand(high - low)) + 1)]
        return (sympy.Mul if self.product else sympy.Add)(*terms)


class BackwardsError(ValueError):
    """A sum that may run backwards, or whose letter is not what the sum runs over."""


def without(expression: Any) -> Any:
    """Return an expression with the ends and the summand of each sum in place of it, so that all parts are seen."""
    if not expression.has(*KINDS):
        return expression
    parts = [without(part) for part in expression.args]
    if not isinstance(expression, KINDS):
        return expression.func(*parts)
    return sum(
        (end for limits in expression.limits for end in limits[1:]),
        parts[0].xreplace({limits[0]: BOUND for limits in expression.limits}),
    )


def single(expression: Any) -> Any:
    """Return it with sums of several letters as sums of sums."""
    if not expression.has(*KINDS):
        return expression
    parts = [single(part) for part in expression.args]
    if not isinstance(expression, KINDS):
        return expression.func(*parts)
    inner, *limits = parts
    for limit in limits:
        inner = expression.func(inner, limit)
    return inner


def lettered(expression: Any, domain: Domain) -> Any:
    """Return it with a letter of its own for each range, which is whole and says its sign, where that is sure.

    What sympy did to a summand because of what it took the letter for has to be true of all that the letter runs over.
    """
    if not expression.has(*KINDS):
        return expression
    if not isinstance(expression, KINDS):
        return expression.func(*(lettered(part, domain) for part in expression.args))
    letter, low, high = expression.limits[0]
    if any(letter.name == other.name for other in domain.intervals):
        raise BackwardsError(f"the letter {letter} of a sum is one of the domain too")
    if not (low.is_integer and high.is_integer) or letter in low.free_symbols | high.free_symbols:
        raise BackwardsError("the ends of a sum or product must be whole")
    if not known.nonnegative(high - low + 1, domain):
        raise BackwardsError(BACKWARDS)
    signs = {"positive": known.positive(low, domain), "nonnegative": known.nonnegative(low, domain)}
    for fact in ("positive", "nonnegative", "nonzero", "negative", "nonpositive", "even", "odd", "prime"):
        if getattr(letter, f"is_{fact}") and not (signs.get(fact) or (fact == "nonzero" and signs["positive"])):
            raise BackwardsError(f"the letter {letter} of a sum is said to be {fact}, which its range is not")
    function, plain = expression.function, sympy.Dummy(integer=True)
    backwards = sympy.expand(function.xreplace({letter: high - plain}), power_exp=False)
    if function.has(*high.free_symbols) and not backwards.has(*high.free_symbols):  # it counts down from the end
        function, letter, low, high = backwards, plain, sympy.S.Zero, high - low
        signs = {"nonnegative": True}
    name = Names(other.name for other in domain.intervals).fresh(expression.limits[0][0].name)
    own = sympy.Symbol(name, integer=True, **{fact: True for fact, sure in signs.items() if sure})
    wider = Domain({**domain.intervals, own: span(low, high, domain)}, domain.where)
    return expression.func(lettered(function.xreplace({letter: own}), wider), (own, low, high))


def span(low: Any, high: Any, domain: Domain) -> tuple[Any, Any]:
    """Return an interval in which the letter of a range lies."""
    least = low if low.is_Integer else sympy.S.One if known.positive(low, domain) else sympy.S.Zero
    sure = low.is_Integer or known.nonnegative(low, domain)
    return least if sure else -sympy.oo, high if high.is_Integer and high >= low else sympy.oo


def outer(expression: Any) -> list[Range]:
    """Return the outer sums and products of an expression, which have none within."""
    nodes = sorted(expression.atoms(*KINDS), key=lambda node: (node.count_ops(), str(node)))
    return [Range(node, node.function, *node.limits[0]) for node in nodes if not node.function.has(*KINDS)]


def within(r: Range, domain: Domain) -> Domain:
    """Return the domain with the range's letter in it."""
    ends = (r.t <= r.high, r.t >= r.low)
    where = (*domain.where, *(relation for relation in ends if relation is not sympy.true and r.t is not relation))
    return Domain({**domain.intervals, r.t: span(r.low, r.high, domain)}, where)


def nested(expression: Any) -> bool:
    """Say whether a sum or product stands within another."""
    return any(node.function.has(*KINDS) for node in expression.atoms(*KINDS))


def taken_apart(expression: Any) -> Any:
    """Return it with sums of sums, and constant factors, taken out of each sum, and short ones written out."""
    if not expression.has(*KINDS):
        return expression
    parts = [taken_apart(part) for part in expression.args]
    if not isinstance(expression, KINDS):
        return expression.func(*parts)
    inner, (t, low, high) = parts[0], expression.limits[0]
    count = sympy.expand(high - low)
    if count.is_Integer and count < WRITTEN_OUT:
        return Range(expression, inner, t, low, high).part(low, high)
    if isinstance(expression, sympy.Product):
        return sympy.Product(inner, (t, low, high))
    total = sympy.S.Zero
    for term in sympy.Add.make_args(sympy.expand(inner, power_exp=False, power_base=False, log=False)):
        factor, rest = term.as_independent(t, as_Add=False)
        total += factor * sympy.Sum(rest, (t, low, high))
    return total


def linear(expression: Any, letters: list[Any]) -> tuple[list[Any], Any] | None:
    """Return the factors of letters and the rest of an expression that is linear in them."""
    expanded = sympy.expand(expression, power_base=False, power_exp=False, log=False)
    factors = [expanded.coeff(letter, 1) for letter in letters]
    rest = expanded.xreplace(dict.fromkeys(letters, sympy.S.Zero))
    left = sympy.expand(expanded - rest - sum(f * letter for f, letter in zip(factors, letters, strict=True)))
    return (factors, rest) if left == 0 and not any(f.has(*letters) for f in factors) else None
