"""Inequalities with sums and products: rewritten to plain inequalities, each decided by the other routes.

The ways, each a textbook lemma whose conditions are the pieces:

- closed form: F(t) - F(t - 1) = g(t) for all t, so that the sum of g from a to b is F(b) - F(a - 1);
- induction on the upper end: the first case, and that the larger side gains at least as much as the smaller one;
- comparison with an integral: G' = g and g falls (or grows), so that g(t) <= G(t) - G(t - 1) (or <= G(t + 1) - G(t));
- telescoping bound: g(t) <= F(t) - F(t - 1), itself a plain inequality in t, with F the integral half a step on;
- a product of factors 1 + u >= 0 is at most exp of the sum of u, and at least 1 less the sum of -u for 0 <= -u <= 1.

A sum over no t is 0, a product 1. A sum that may run backwards by more than that is not decided. What a rewriting
brings in has to have values on the whole domain (:mod:`dpcheck.bounds.prover.known`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from dpcheck.bounds.prover import closed, known, tried
from dpcheck.bounds.prover.domain import Domain, Names
from dpcheck.bounds.prover.inequality import Inequality

KINDS = (sympy.Sum, sympy.Product)
_JUMPS = (sympy.floor, sympy.ceiling, sympy.Max, sympy.Min, sympy.Abs)
_WRITTEN_OUT = 40  # terms of a sum that is written out
_PEELED = (0, 1, 2, 4, 9, 20)  # first terms that are kept apart from a bound by an integral
Part = Any  # a step: an Inequality or an Identity
Proof = tuple[Part, ...]
BACKWARDS = "a sum or product may run backwards: its upper end may lie more than one below its lower one"


@dataclass(frozen=True)
class _Range:
    """A sum or product ``node`` of ``term`` for ``t`` from ``low`` to ``high``."""

    node: Any
    term: Any
    t: Any
    low: Any
    high: Any

    @property
    def product(self) -> bool:
        return isinstance(self.node, sympy.Product)

    def part(self, low: Any, high: Any) -> Any:
        """Return the part between two ends that lie a number of terms apart, written out."""
        terms = [self.term.xreplace({self.t: low + k}) for k in range(int(sympy.expand(high - low)) + 1)]
        return (sympy.Mul if self.product else sympy.Add)(*terms)


class BackwardsError(ValueError):
    """A sum that may run backwards, or whose letter is not what the sum runs over."""


BOUND = sympy.Symbol("bound", positive=True)  # stands for the letter of a sum where its summand is looked at
Genuine = Callable[[Mapping[Any, Any]], Any]


def settled(difference: Any, domain: Domain, genuine: Genuine) -> tuple[Proof | None, str, Any]:
    """Return the steps of a proof that the difference is nonnegative, and its idea; else a point at which it fails.

    ``genuine`` makes sure of a failure. The letters are those of :meth:`Domain.standard`.

    Raises :class:`BackwardsError` where the statement itself is unclear.
    """
    difference = _letters(_single(difference), domain)
    point = _refuted(difference, domain, genuine, far=False)
    if point is not None:
        return None, "", point
    steps = next(_proofs(difference, domain, ()), None)
    if steps is None:
        return None, "", _refuted(difference, domain, genuine, far=True)
    return steps, "; ".join(dict.fromkeys(step.says for step in steps)), None


def without(expression: Any) -> Any:
    """Return an expression with the ends and the summand of each sum in place of it, so that all parts are seen."""
    if not expression.has(*KINDS):
        return expression
    parts = [without(part) for part in expression.args]
    if not isinstance(expression, KINDS):
        return expression.func(*parts)
    return sum((end for limits in expression.limits for end in limits[1:]), parts[0].xreplace(
        {limits[0]: BOUND for limits in expression.limits}))


def _single(expression: Any) -> Any:
    """Return it with sums of several letters as sums of sums."""
    if not expression.has(*KINDS):
        return expression
    parts = [_single(part) for part in expression.args]
    if not isinstance(expression, KINDS):
        return expression.func(*parts)
    inner, *limits = parts
    for limit in limits:
        inner = expression.func(inner, limit)
    return inner


def _letters(expression: Any, domain: Domain) -> Any:
    """Return it with a letter of its own for each range, which is whole and says its sign, where that is sure.

    What sympy did to a summand because of what it took the letter for has to be true of all that the letter runs over.
    """
    if not expression.has(*KINDS):
        return expression
    if not isinstance(expression, KINDS):
        return expression.func(*(_letters(part, domain) for part in expression.args))
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
    wider = Domain({**domain.intervals, own: _span(low, high, domain)}, domain.where)
    return expression.func(_letters(function.xreplace({letter: own}), wider), (own, low, high))


def _span(low: Any, high: Any, domain: Domain) -> tuple[Any, Any]:
    """Return an interval in which the letter of a range lies."""
    least = low if low.is_Integer else sympy.S.One if known.positive(low, domain) else sympy.S.Zero
    sure = low.is_Integer or known.nonnegative(low, domain)
    return least if sure else -sympy.oo, high if high.is_Integer and high >= low else sympy.oo


def _ranges(expression: Any) -> list[_Range]:
    """Return the outer sums and products of an expression, which have none within."""
    nodes = sorted(expression.atoms(*KINDS), key=lambda node: (node.count_ops(), str(node)))
    return [_Range(node, node.function, *node.limits[0]) for node in nodes if not node.function.has(*KINDS)]


def _within(r: _Range, domain: Domain) -> Domain:
    """Return the domain with the range's letter in it."""
    ends = (r.t <= r.high, r.t >= r.low)
    where = (*domain.where, *(relation for relation in ends if relation is not sympy.true and r.t is not relation))
    return Domain({**domain.intervals, r.t: _span(r.low, r.high, domain)}, where)


def _proofs(difference: Any, domain: Domain, so_far: tuple[Part, ...]) -> Iterator[Proof]:
    """Yield proofs, the shortest ones first."""
    difference = _taken_apart(difference)
    ranges = _ranges(difference)
    if not ranges:
        if difference.has(*KINDS):
            return
        last = _inequality("what is left without sums", sympy.S.Zero, difference, domain)
        if _holds(last):
            yield (*so_far, last)
        return
    for r in ranges:
        found = _closed(r, domain)
        if found is not None:
            value, parts = found
            yield from _proofs(difference.xreplace({r.node: value}), domain, (*so_far, *parts))
            return
    if any(r.node.function.has(*KINDS) for r in ranges) or difference.has(*KINDS) and _nested(difference):
        return
    if not all(known.defined(r.term, _within(r, domain)) for r in ranges):
        return
    yield from ((*so_far, *parts) for parts in _inductions(difference, ranges, domain))
    yield from _bounds(difference, ranges, domain, so_far)


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
    sides = [sympy.sympify(side).xreplace(reals) for side in (smaller, larger)]
    if between.empty or not all(known.defined(side, between) for side in sides):
        return whole
    wider = Inequality(says, *sides, between)
    return whole if wider.outcome().verdict == "refuted" else wider


def _identity(says: str, left: Any, right: Any) -> Part:
    from dpcheck.bounds.evidence import Identity  # which knows inequalities as one kind of step among others

    return Identity(says, left, right)


def _holds(part: Part) -> bool:
    """Say whether a step is proved."""
    return bool(part.holds())


def _nested(expression: Any) -> bool:
    return any(node.function.has(*KINDS) for node in expression.atoms(*KINDS))


def _taken_apart(expression: Any) -> Any:
    """Return it with sums of sums, and constant factors, taken out of each sum, and short ones written out."""
    if not expression.has(*KINDS):
        return expression
    parts = [_taken_apart(part) for part in expression.args]
    if not isinstance(expression, KINDS):
        return expression.func(*parts)
    inner, (t, low, high) = parts[0], expression.limits[0]
    count = sympy.expand(high - low)
    if count.is_Integer and count < _WRITTEN_OUT:
        return _Range(expression, inner, t, low, high).part(low, high)
    if isinstance(expression, sympy.Product):
        return sympy.Product(inner, (t, low, high))
    total = sympy.S.Zero
    for term in sympy.Add.make_args(sympy.expand(inner, power_exp=False, power_base=False, log=False)):
        factor, rest = term.as_independent(t, as_Add=False)
        total += factor * sympy.Sum(rest, (t, low, high))
    return total


# Closed forms


def _closed(r: _Range, domain: Domain) -> tuple[Any, tuple[Part, ...]] | None:
    """Return what a sum is without a sum, with the identity that shows it."""
    if r.product:
        if r.term.has(r.t):
            return None
        return r.term ** (r.high - r.low + 1), ()
    if not r.term.has(r.t):
        return r.term * (r.high - r.low + 1), ()
    within = _within(r, domain)
    guess = closed.telescoped(r.term, r.t)
    if guess is None or not known.defined(r.term, within):
        return None
    before = guess.xreplace({r.t: r.t - 1})
    if not (known.defined(guess, within) and known.defined(before, within)):
        return None
    first = guess.xreplace({r.t: r.low - 1})
    if not known.defined(first, domain):
        return None
    step = _identity(f"the sum of {r.term} telescopes", guess - before, r.term)
    if not _holds(step):
        return None
    return guess.xreplace({r.t: r.high}) - first, (step,)


# Induction on the upper end


def _inductions(difference: Any, ranges: list[_Range], domain: Domain) -> Iterator[tuple[Part, ...]]:
    """Yield the pieces of inductions on a letter in which all upper ends grow by one."""
    for letter in _counters(ranges, domain):
        low, high = domain.limits[letter]
        kept = tuple(relation for relation in domain.where if not relation.has(letter))
        over = Domain({**domain.intervals, letter: (low, sympy.oo)}, kept)
        if high.is_finite and not _still_sure(ranges, over):
            continue
        parts = _induction(difference, ranges, letter, low, over)
        if parts is not None and all(map(_holds, parts)):
            yield parts


def _still_sure(ranges: list[_Range], over: Domain) -> bool:
    return all(known.nonnegative(r.high - r.low + 1, over) for r in ranges)


def _counters(ranges: list[_Range], domain: Domain) -> list[Any]:
    """Return the letters T with every upper end T + a number, and nothing else of the sums in T."""
    letters = set.intersection(*(r.high.free_symbols for r in ranges))
    return [
        letter
        for letter in sorted(letters, key=str)
        if letter in domain.intervals and domain.limits[letter][0].is_finite and letter.is_integer
        and all(
            sympy.expand(r.high - letter).is_Integer and not r.low.has(letter) and not r.term.has(letter)
            for r in ranges
        )
    ]  # fmt: skip


def _induction(difference: Any, ranges: list[_Range], T: Any, low: Any, over: Domain) -> tuple[Part, ...] | None:
    """Return the first case and the step, or ``None`` where the difference is of another form."""
    start = {r: sympy.expand(r.high.xreplace({T: low}) - r.low) for r in ranges}
    if not all(count.is_Integer and -1 <= count < _WRITTEN_OUT for count in start.values()):
        return None
    firsts = {r.node: r.part(r.low, r.high.xreplace({T: low})) for r in ranges}
    first_over = Domain({x: ends for x, ends in over.intervals.items() if x != T}, over.where)
    first = _inequality(f"the first case, {T} = {low}", sympy.S.Zero, difference.xreplace(firsts).xreplace({T: low}),
                  first_over)  # fmt: skip
    letters = {r.node: sympy.Dummy("S", real=True) for r in ranges}
    named = difference.xreplace(letters)
    next_terms = {r: r.term.xreplace({r.t: r.high.xreplace({T: T + 1})}) for r in ranges}
    if len(ranges) == 1:
        return _single_induction(named, ranges[0], letters[ranges[0].node], T, over, first, next_terms[ranges[0]])
    polynomial = _linear(named, list(letters.values()))
    if polynomial is None or any(r.product for r in ranges):
        return None
    factors, rest = polynomial
    if any(factor.has(T) or not known.defined(factor, over) for factor in factors) or not known.defined(rest, over):
        return None
    gained = sum(factor * next_terms[r] for factor, r in zip(factors, ranges, strict=True))
    step = _inequality(f"from {T} to {T} + 1", rest - rest.xreplace({T: T + 1}), gained, over)
    return first, step


def _linear(expression: Any, letters: list[Any]) -> tuple[list[Any], Any] | None:
    """Return the factors of letters and the rest of an expression that is linear in them."""
    expanded = sympy.expand(expression, power_base=False, power_exp=False, log=False)
    factors = [expanded.coeff(letter, 1) for letter in letters]
    rest = expanded.xreplace(dict.fromkeys(letters, sympy.S.Zero))
    left = sympy.expand(expanded - rest - sum(f * letter for f, letter in zip(factors, letters, strict=True)))
    return (factors, rest) if left == 0 and not any(f.has(*letters) for f in factors) else None


def _single_induction(
    named: Any, r: _Range, S: Any, T: Any, over: Domain, first: Part, term: Any
) -> tuple[Part, ...] | None:
    """Return the pieces for one sum or product, which is bounded by what the rest says."""
    linear = _linear(named, [S])
    if linear is None:
        return None
    (factor,), rest = linear
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


def _bounds(difference: Any, ranges: list[_Range], domain: Domain, so_far: Proof) -> Iterator[Proof]:
    """Yield proofs in which one sum after another is replaced by a bound."""
    r = ranges[0]
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


def _direction(difference: Any, r: _Range, domain: Domain) -> bool | None:
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
    sure = known.nonnegative(r.term, _within(r, domain)) and all(
        known.defined(term, half) for term in sympy.Add.make_args(named) if term.has(S)
    )
    positive_s = sympy.Symbol(S.name, positive=True)
    inside = Domain({**domain.intervals, positive_s: (sympy.S.Zero, sympy.oo)}, domain.where)
    return True if sure and known.nonnegative(-slope.xreplace({S: positive_s}), inside) else None


def _replaced(
    difference: Any, r: _Range, value: Any, since: Any, parts: Proof, domain: Domain, so_far: Proof
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


def _cut(r: _Range, since: Any, domain: Domain) -> tuple[Domain | None, list[dict[Any, Any]]]:
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


def _sums_of_product(r: _Range, above: bool, domain: Domain) -> Iterator[tuple[Any, Proof, Any]]:
    """Yield bounds of a product of factors 1 + u by the sum of u, its first factors as they are."""
    within = _within(r, domain)
    u = sympy.expand(r.term - 1)
    parts: Proof = (_inequality("the factors are not negative", sympy.S.Zero, r.term, within),)
    if not above:
        total = sympy.Sum(u, (r.t, r.low, r.high))
        yield 1 + total, (*parts, _inequality("the factors are at most 1", r.term, sympy.S.One, within)), r.low - 1
        return
    for peeled in _PEELED if r.low.is_Integer else (0,):
        head = r.part(r.low, r.low + peeled - 1) if peeled else sympy.S.One
        total = sympy.Sum(u, (r.t, r.low + peeled, r.high))
        yield head * sympy.exp(total), parts, r.low + peeled - 1


def _integral_bounds(r: _Range, above: bool, peeled: int, domain: Domain) -> Iterator[_Bound]:
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
        step = _inequality("a term is below the integral around it", *((r.term, gained) if above else (gained, r.term)), over)
        if _holds(step):
            yield _Bound(head + at_m + between(m + half, r.high + half), m, (has_slope, step))


def _refuted(difference: Any, domain: Domain, genuine: Genuine, *, far: bool) -> Mapping[Any, Any] | None:
    """Return values at which the inequality fails for certain, the sums added up term by term."""
    counters = set().union(*(limit.free_symbols for node in difference.atoms(*KINDS)
                             for limit in node.limits[0][1:])) & domain.intervals.keys()  # fmt: skip
    for point in tried.failures(difference, domain, counters, far=far):
        found = genuine(point)
        if found is not None:
            return found
    return None
