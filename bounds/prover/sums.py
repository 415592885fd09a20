"""Inequalities with sums and products: rewritten to plain inequalities, each decided by the other routes.

The ways, each a textbook lemma whose conditions are the pieces:

- closed form: F(t) - F(t - 1) = g(t) for all t, so that the sum of g from a to b is F(b) - F(a - 1);
- induction on the upper end: the first case, and that the larger side gains at least as much as the smaller one;
- comparison with an integral: G' = g and g falls (or grows), so that g(t) <= G(t) - G(t - 1) (or <= G(t + 1) - G(t));
- telescoping bound: g(t) <= F(t) - F(t - 1), itself a plain inequality in t, with F the integral half a step on;
- the binomial theorem and its derivatives, for sums of binomial coefficients (:mod:`~dpcheck.bounds.prover.binomials`);
- a product of factors 1 + u >= 0 is at most exp of the sum of u, and at least 1 less the sum of -u for 0 <= -u <= 1.

A sum over no t is 0, a product 1. A sum that may run backwards by more than that is not decided. What a rewriting
brings in has to have values on the whole domain (:mod:`dpcheck.bounds.prover.known`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import sympy

from dpcheck.bounds.prover import binomials, closed, known, tried
from dpcheck.bounds.prover.domain import Domain, Names
from dpcheck.bounds.prover.inequality import Inequality
from dpcheck.bounds.prover.ranged import (
    KINDS,
    WRITTEN_OUT,
    Range,
    lettered,
    linear,
    nested,
    outer,
    single,
    taken_apart,
    within,
)

_JUMPS = (sympy.floor, sympy.ceiling, sympy.Max, sympy.Min, sympy.Abs)
_SECONDS = 20.0  # of this process, after which no further step is begun
_deadline = ContextVar("deadline", default=math.inf)
_PEELED = (0, 1, 2, 4, 9, 20)  # first terms that are kept apart from a bound by an integral
Part = Any  # a step: an Inequality or an Identity
Proof = tuple[Part, ...]


Genuine = Callable[[Mapping[Any, Any]], Any]


def settled(difference: Any, domain: Domain, genuine: Genuine) -> tuple[Any, tuple[Proof, str] | None]:
    """Return a point at which the difference is negative; else the steps of a proof that it is not, and its idea.

    ``genuine`` makes sure of a failure. The letters are those of :meth:`Domain.standard`.

    Raises :class:`BackwardsError` where the statement itself is unclear.
    """
    difference = lettered(single(difference), domain)
    point = tried.refuted(difference, domain, genuine)
    if point is not None:
        return point, None
    token = _deadline.set(time.process_time() + _SECONDS)
    try:
        steps = next(_proofs(difference, domain, ()), None)
    finally:
        _deadline.reset(token)
    return None, steps and (steps, "; ".join(dict.fromkeys(step.says for step in steps)))


def _proofs(difference: Any, domain: Domain, so_far: tuple[Part, ...]) -> Iterator[Proof]:
    """Yield proofs, the shortest ones first."""
    difference = taken_apart(difference)
    for node in difference.atoms(sympy.Sum):
        found = binomials.total(node, domain)
        if found is not None and all(map(_holds, found[1])):
            yield from _proofs(difference.xreplace({node: found[0]}), domain, (*so_far, *found[1]))
            return
    all_of = outer(difference)
    if not all_of:
        if difference.has(*KINDS):
            return
        last = _inequality("what is left without sums", sympy.S.Zero, difference, domain)
        if _holds(last):
            yield (*so_far, last)
        return
    for r in all_of:
        found = _closed(r, domain)
        if found is not None:
            value, parts = found
            yield from _proofs(difference.xreplace({r.node: value}), domain, (*so_far, *parts))
            return
    if any(r.node.function.has(*KINDS) for r in all_of) or (difference.has(*KINDS) and nested(difference)):
        return
    if not all(known.defined(r.term, within(r, domain)) for r in all_of):
        return
    yield from ((*so_far, *parts) for parts in _inductions(difference, all_of, domain))
    yield from _bounds(difference, all_of, domain, so_far)


def _inequality(says: str, smaller: Any, larger: Any, over: Domain) -> Part:
    """Return the step for real letters where both sides have values between the whole numbers too, and it holds."""
    reals: dict[Any, Any] = {}
    ends = {}
    for letter, (low, high) in over.limits.items():
        if letter.is_integer and low.is_finite:
            sign = {"positive": True} if low > 0 else {"nonnegative": True} if low == 0 else {"real": True}
            reals[letter] = sympy.Symbol(letter.name, **sign)
        ends[reals.get(letter, letter)] = (low, high)
    whole = Inequality(says, smaller, larger, over)
    if not reals:
        return whole
    between = Domain(ends, tuple(relation.xreplace(reals) for relation in over.where))
    sides = [sympy.sympify(side, strict=True).xreplace(reals) for side in (smaller, larger)]
    if between.empty or not all(known.defined(side, between) for side in sides):
        return whole
    wider = Inequality(says, sides[0], sides[1], between)
    if time.process_time() > _deadline.get():
        return wider
    return whole if wider.outcome().verdict == "refuted" else wider


def _identity(says: str, left: Any, right: Any) -> Part:
    from dpcheck.bounds.evidence import Identity  # which knows inequalities as one kind of step among others

    return Identity(says, left, right)


def _holds(part: Part) -> bool:
    """Say whether a step is proved; no more is tried once the time is up."""
    return time.process_time() < _deadline.get() and bool(part.holds())


# Closed forms


def _closed(r: Range, domain: Domain) -> tuple[Any, tuple[Part, ...]] | None:
    """Return what a sum is without a sum, with the identity that shows it."""
    if r.product:
        if r.term.has(r.t):
            return None
        return r.term ** (r.high - r.low + 1), ()
    if not r.term.has(r.t):
        return r.term * (r.high - r.low + 1), ()
    inside = within(r, domain)
    guess = closed.telescoped(r.term, r.t)
    if guess is None or not known.defined(r.term, inside):
        return None
    before = guess.xreplace({r.t: r.t - 1})
    if not (known.defined(guess, inside) and known.defined(before, inside)):
        return None
    first = guess.xreplace({r.t: r.low - 1})
    if not known.defined(first, domain):
        return None
    step = _identity(f"the sum of {r.term} telescopes", guess - before, r.term)
    if not _holds(step):
        return None
    return guess.xreplace({r.t: r.high}) - first, (step,)


# Induction on the upper end


def _inductions(difference: Any, all_of: list[Range], domain: Domain) -> Iterator[tuple[Part, ...]]:
    """Yield the pieces of inductions on a letter in which all upper ends grow by one."""
    for letter in _counters(all_of, domain):
        low, high = domain.limits[letter]
        kept = tuple(relation for relation in domain.where if not relation.has(letter))
        over = Domain({**domain.intervals, letter: (low, sympy.oo)}, kept)
        if high.is_finite and not _still_sure(all_of, over):
            continue
        parts = _induction(difference, all_of, letter, low, over)
        if parts is not None and all(map(_holds, parts)):
            yield parts


def _still_sure(all_of: list[Range], over: Domain) -> bool:
    return all(known.nonnegative(r.high - r.low + 1, over) for r in all_of)


def _counters(all_of: list[Range], domain: Domain) -> list[Any]:
    """Return the letters T with every upper end T + a number, and nothing else of the sums in T."""
    letters = set.intersection(*(r.high.free_symbols for r in all_of))
    return [
        letter
        for letter in sorted(letters, key=str)
        if letter in domain.intervals and domain.limits[letter][0].is_finite and letter.is_integer
        and all(
            sympy.expand(r.high - letter).is_Integer and not r.low.has(letter) and not r.term.has(letter)
            for r in all_of
        )
    ]  # fmt: skip


def _induction(difference: Any, all_of: list[Range], T: Any, low: Any, over: Domain) -> tuple[Part, ...] | None:
    """Return the first case and the step, or ``None`` where the difference is of another form."""
    start = {r: sympy.expand(r.high.xreplace({T: low}) - r.low) for r in all_of}
    if not all(count.is_Integer and -1 <= count < WRITTEN_OUT for count in start.values()):
        return None
    firsts = {r.node: r.part(r.low, r.high.xreplace({T: low})) for r in all_of}
    first_over = Domain({x: ends for x, ends in over.intervals.items() if x != T}, over.where)
    first = _inequality(f"the first case, {T} = {low}", sympy.S.Zero, difference.xreplace(firsts).xreplace({T: low}),
                  first_over)  # fmt: skip
    letters = {r.node: sympy.Dummy("S", real=True) for r in all_of}
    named = difference.xreplace(letters)
    next_terms = {r: r.term.xreplace({r.t: r.high.xreplace({T: T + 1})}) for r in all_of}
    if len(all_of) == 1:
        return _single_induction(named, all_of[0], letters[all_of[0].node], T, over, first, next_terms[all_of[0]])
    polynomial = linear(named, list(letters.values()))
    if polynomial is None or any(r.product for r in all_of):
        return None
    factors, rest = polynomial
    if any(factor.has(T) or not known.defined(factor, over) for factor in factors) or not known.defined(rest, over):
        return None
    gained = sum(factor * next_terms[r] for factor, r in zip(factors, all_of, strict=True))
    step = _inequality(f"from {T} to {T} + 1", rest - rest.xreplace({T: T + 1}), gained, over)
    return first, step


def _single_induction(
    named: Any, r: Range, S: Any, T: Any, over: Domain, first: Part, term: Any
) -> tuple[Part, ...] | None:
    """Return the pieces for one sum or product, which is bounded by what the rest says."""
    parts_of = linear(named, [S])
    if parts_of is None:
        return None
    (factor,), rest = parts_of
    above = known.positive(-factor, over)  # the sum is bounded from above
    if not (above or known.positive(factor, over)):
        return None
    bound = sympy.cancel(-rest / factor) if not rest.has(sympy.log, sympy.exp) else sympy.expand(-rest / factor)
    if not (known.defined(bound, over) and known.defined(factor, over)):
        return None
    after = bound.xreplace({T: T + 1})
    parts: tuple[Part, ...] = ()
    if r.product:
        gained = bound * term
        parts = (_inequality("the factors are not negative", sympy.S.Zero, term, over),)
        sides = (gained, after) if above else (after, gained)
    else:
        sides = (term, after - bound) if above else (after - bound, term)
    return first, *parts, _inequality(f"from {T} to {T} + 1", *sides, over)


# Bounds by integrals


@dataclass(frozen=True)
class _Bound:
    """A value that a sum does not exceed, or fall below, once its upper end is at least ``since``."""

    value: Any
    since: Any
    parts: tuple[Part, ...]


def _bounds(difference: Any, all_of: list[Range], domain: Domain, so_far: Proof) -> Iterator[Proof]:
    """Yield proofs in which one sum after another is replaced by a bound."""
    r = all_of[0]
    above = _direction(difference, r, domain)
    if above is None:
        return
    if r.product:
        for node, parts, since in _sums_of_product(r, above, domain):
            yield from _replaced(difference, r, node, since, parts, domain, so_far)
        return
    for peeled in _PEELED:
        for bound in _integral_bounds(r, above, peeled, domain):
            yield from _replaced(difference, r, bound.value, bound.since, bound.parts, domain, so_far)


def _direction(difference: Any, r: Range, domain: Domain) -> bool | None:
    """Return whether a larger sum makes the difference smaller, or larger: then bounds from above, or below, help."""
    S = sympy.Symbol(Names(letter.name for letter in domain.intervals).fresh("S"), real=True)
    other = {node: sympy.S.One for node in difference.atoms(*KINDS) if node is not r.node}
    named = difference.xreplace({r.node: S})
    slope = named.diff(S)
    if slope.has(*KINDS) and other:
        return None
    wide = Domain({**domain.intervals, S: (-sympy.oo, sympy.oo)}, domain.where)
    if known.nonnegative(slope, wide) and known.defined(slope, wide):
        return False
    if known.nonnegative(-slope, wide) and known.defined(slope, wide):
        return True
    # of what is not negative roots can be taken too; a bound from above is not negative either
    half = Domain({**domain.intervals, S: (sympy.S.Zero, sympy.oo)}, domain.where)
    sure = known.nonnegative(r.term, within(r, domain)) and all(
        known.defined(term, half) for term in sympy.Add.make_args(named) if term.has(S)
    )
    positive_s = sympy.Symbol(S.name, positive=True)
    inside = Domain({**domain.intervals, positive_s: (sympy.S.Zero, sympy.oo)}, domain.where)
    return True if sure and known.nonnegative(-slope.xreplace({S: positive_s}), inside) else None


def _replaced(
    difference: Any, r: Range, value: Any, since: Any, parts: Proof, domain: Domain, so_far: Proof
) -> Iterator[Proof]:
    """Yield proofs with a value for the sum where its upper end is at least ``since``, and the cases before."""
    later, earlier = _cut(r, since, domain)
    if later is None or not all(map(_holds, parts)):
        return
    shown = [*so_far, *parts]
    for at in earlier:
        case = next(_proofs(difference.xreplace(at), _at(domain, at), ()), None)
        if case is None:
            return
        shown += case
    yield from _proofs(difference.xreplace({r.node: value}), later, tuple(shown))


def _at(domain: Domain, values: Mapping[Any, Any]) -> Domain:
    intervals = {letter: ends for letter, ends in domain.intervals.items() if letter not in values}
    return Domain(intervals, tuple(relation.xreplace(dict(values)) for relation in domain.where))


def _cut(r: Range, since: Any, domain: Domain) -> tuple[Domain | None, list[dict[Any, Any]]]:
    """Return the part of the domain where the upper end is at least ``since``, and the values before it."""
    if known.nonnegative(r.high - since, domain):
        return domain, []
    letters = [x for x in r.high.free_symbols if sympy.expand(r.high - x).is_Integer]
    if len(letters) != 1 or not since.is_Integer or not domain.limits[letters[0]][0].is_finite:
        return None, []
    T = letters[0]
    low, high = domain.limits[T]
    start = since - sympy.expand(r.high - T)
    if high.is_finite and start > high:
        return None, []
    later = Domain({**domain.intervals, T: (start, high)}, domain.where)
    return later, [{T: low + k} for k in range(int(start - low))]


def _sums_of_product(r: Range, above: bool, domain: Domain) -> Iterator[tuple[Any, Proof, Any]]:
    """Yield bounds of a product of factors 1 + u by the sum of u, its first factors as they are."""
    inside = within(r, domain)
    u = sympy.expand(r.term - 1)
    parts: Proof = (_inequality("the factors are not negative", sympy.S.Zero, r.term, inside),)
    if not above:
        total = sympy.Sum(u, (r.t, r.low, r.high))
        yield 1 + total, (*parts, _inequality("the factors are at most 1", r.term, sympy.S.One, inside)), r.low - 1
        return
    for peeled in _PEELED if r.low.is_Integer else (0,):
        head = r.part(r.low, r.low + peeled - 1) if peeled else sympy.S.One
        total = sympy.Sum(u, (r.t, r.low + peeled, r.high))
        yield head * sympy.exp(total), parts, r.low + peeled - 1


def _integral_bounds(r: Range, above: bool, peeled: int, domain: Domain) -> Iterator[_Bound]:
    """Yield bounds of a sum by a function with slope ``term``, after ``peeled`` terms more than it needs."""
    if not r.low.is_Integer and peeled:
        return
    m = r.low + peeled
    least = m if m.is_Integer else sympy.S.One if known.positive(m, domain) else None
    if least is None:
        return
    x = sympy.Symbol(f"{r.t.name}r", real=True, **({"positive": True} if least > 0 else {}))
    if any(x.name == letter.name for letter in domain.intervals):
        return
    line = Domain({**domain.intervals, x: (least, sympy.oo)}, domain.where)
    slope = r.term.xreplace({r.t: x})
    whole = closed.integral(slope, x)
    if whole is None or whole.has(*_JUMPS) or not (known.defined(whole, line) and known.defined(slope, line)):
        return
    has_slope = _identity(f"the slope of {whole}", sympy.Derivative(whole, x), slope)
    bend = slope.diff(x)
    if not _holds(has_slope) or not known.defined(bend, line):
        return

    def between(first: Any, last: Any) -> Any:
        return whole.xreplace({x: last}) - whole.xreplace({x: first})

    head = r.part(r.low, m - 1) if peeled else sympy.S.Zero
    at_m = slope.xreplace({x: m})
    for falls, sides in ((True, (bend, sympy.S.Zero)), (False, (sympy.S.Zero, bend))):
        way = _inequality(f"{slope} {'falls' if falls else 'grows'}", *sides, line)
        if not _holds(way):
            continue
        if falls is above:  # g(m) first, and the others below the integral from m to the end, or above it
            yield _Bound(head + at_m + between(m, r.high), m, (has_slope, way))
        else:
            yield _Bound(head + between(m, r.high + 1), m - 1, (has_slope, way))
        break
    if not r.low.is_Integer:
        return
    half = sympy.Rational(1, 2)
    over = Domain({**domain.intervals, r.t: (m + 1, sympy.oo)}, domain.where)
    gained = between(r.t - half, r.t + half)
    if known.defined(gained, over):
        step = _inequality(
            "a term is below the integral around it", *((r.term, gained) if above else (gained, r.term)), over
        )
        if _holds(step):
            yield _Bound(head + at_m + between(m + half, r.high + half), m, (has_slope, step))
