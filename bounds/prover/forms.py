"""Formulas as polynomials, and the search for a certificate.

Maxima and moduli are split, roots, logarithms and roundings named; then letters are shifted until no coefficient is
negative.

An inequality ``smaller <= larger`` becomes one or more cases, each a rational function of letters
that must be nonnegative. A logarithm, exponential or root of a sum becomes a letter of its own,
tied to its argument by a :class:`Tie`; a number such as log(5/2) becomes a letter in a narrow
rational interval; a floor or ceiling becomes an integer letter, less than one from its argument; a sine
and its cosine two letters on a circle. Proofs that forget ties are proofs all the same, since they hold
for more values.

One rule governs every rewriting: wherever all parts of the original are real numbers, the new form
has the same value. So ``log(x**2)`` becomes ``2 log(x)`` only where x is known to be positive, and
no point of the domain is lost. The letters come from :meth:`Domain.standard`, so that what sympy
knows of their signs is true on the domain; a letter made here is positive only if what it stands
for is known to be.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import flint
import sympy

from dpcheck.bounds.prover import ball, certificate
from dpcheck.bounds.prover.certificate import Certificate, Rule
from dpcheck.bounds.prover.domain import Domain, Names, mixed

_NARROW = 96  # bits of the rational interval around a number


@dataclass(frozen=True)
class Tie:
    """``letter`` stands for ``kind`` (log, exp) of ``argument``, which is in the form's letters."""

    letter: Any
    kind: str
    argument: Any


@dataclass
class Form:
    """``difference >= 0`` is to be shown for letters in ``intervals`` with all ``facts >= 0``.

    ``above`` are what roundings say, each ``>= 0`` or, if its flag is set, ``> 0``; ``strict`` flags
    those of ``facts`` that are claimed to be ``> 0``.

    ``difference`` is the claimed one times ``scale``, which is positive. ``meanings`` gives every
    letter in terms of the domain's letters, and ``back`` each of those in terms of the form's.
    """

    difference: Any
    intervals: dict[Any, tuple[Any, Any]]
    facts: list[Any] = field(default_factory=list)
    equations: list[Any] = field(default_factory=list)
    ties: list[Tie] = field(default_factory=list)
    back: dict[Any, Any] = field(default_factory=dict)
    meanings: dict[Any, Any] = field(default_factory=dict)
    scale: Any = sympy.S.One
    above: list[tuple[Any, bool]] = field(default_factory=list)
    strict: list[bool] = field(default_factory=list)


_CHOICES = (sympy.Max, sympy.Min, sympy.Abs)


def cases(difference: Any, domain: Domain) -> Iterator[tuple[Any, Domain]]:
    """Split maxima, minima and moduli: pairs of a difference without them and the domain where it counts."""
    choices = sorted(difference.atoms(*_CHOICES), key=lambda choice: (choice.count_ops(), str(choice)))
    if not choices:
        choices = sorted(set().union(*(r.atoms(*_CHOICES) for r in domain.where)) if domain.where else (), key=str)
    if not choices:
        yield difference, domain
        return
    chosen = choices[0]
    # a modulus is the larger of two numbers that differ in sign
    winners = (chosen.args[0], -chosen.args[0]) if chosen.func is sympy.Abs else chosen.args
    for winner in winners:
        others = [argument for argument in winners if argument is not winner]
        if chosen.func is sympy.Abs:
            relations = [sympy.Ge(winner, 0)]
        elif chosen.func is sympy.Max:
            relations = [sympy.Ge(winner, other) for other in others]
        else:
            relations = [sympy.Le(winner, other) for other in others]
        where = [*(relation.xreplace({chosen: winner}) for relation in domain.where), *relations]
        if all(relation != sympy.false for relation in where):
            kept = tuple(relation for relation in where if relation != sympy.true)
            yield from cases(difference.xreplace({chosen: winner}), Domain(domain.intervals, kept))


def form(difference: Any, domain: Domain) -> Form:
    """Return the case as a rational function with everything else named.

    Raises :class:`~dpcheck.bounds.prover.ball.UndefinedError` if a number in it is not real.
    """
    return _Namer(domain).form(difference)


class _Namer:
    """Gives letters to roots, logarithms, exponentials and numbers, each once."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.intervals: dict[Any, tuple[Any, Any]] = {}
        self.equations: list[Any] = []
        self.ties: list[Tie] = []
        self.names: dict[Any, Any] = {}
        self.roots: dict[Any, Any] = {}
        self.meanings: dict[Any, Any] = {}
        self.above: list[tuple[Any, bool]] = []
        self.count = 0
        self.fresh = Names(letter.name for letter in domain.intervals).fresh

    def form(self, difference: Any) -> Form:
        expressions = [difference, *self.domain.differences()]
        expressions = [sympy.expand_log(expression) for expression in expressions]
        apart = mixed(expressions, {s: s for s in self.domain.intervals})
        back = {s: self._root_of(s, () if s in apart else expressions) for s in self.domain.intervals}
        self.roots = {s: root for s, root in back.items() if root is not s}
        named = [self._name(sympy.expand_log(expression.xreplace(self.roots))) for expression in expressions]
        for letter, (low, high) in list(self.intervals.items()):
            self.intervals[letter] = (_rational(low, up=False), _rational(high, up=True))
        stripped, scale = _stripped(named[0])
        plain = {root.free_symbols.pop(): sympy.root(s, root.exp) for s, root in self.roots.items()}
        meanings = {letter: meaning.xreplace(plain) for letter, meaning in self.meanings.items()}
        return Form(
            stripped, self.intervals, named[1:], self.equations, self.ties, back, meanings, scale,
            self.above, [isinstance(relation, sympy.Lt | sympy.Gt) for relation in self.domain.where],
        )  # fmt: skip

    def _root_of(self, s: Any, expressions: Sequence[Any]) -> Any:
        """Return ``s`` itself, or ``r**q`` if s occurs to powers with denominators whose multiple is q.

        Where such a power is real s is not negative; r is positive only if s is known to be.
        """
        degree = 1
        for power in set[Any]().union(*(expression.atoms(sympy.Pow) for expression in expressions)):
            if power.base == s and power.exp.is_Rational:
                degree = math.lcm(degree, int(power.exp.q))
        low, high = self.domain.intervals[s]
        if degree == 1:
            self.intervals[s], self.meanings[s] = (low, high), s
            return s
        if high.is_finite and ball.sign(high, {}) not in (0, 1):
            raise ball.UndefinedError("a root of a negative letter")
        name = self.fresh(f"root{degree}_{s.name}")
        root = sympy.Symbol(name, nonnegative=True, **({"positive": True} if s.is_positive else {}))
        low = low if s.is_nonnegative else sympy.Integer(0)
        self.intervals[root] = tuple(end if not end.is_finite else sympy.root(end, degree) for end in (low, high))
        self.meanings[root] = sympy.root(s, degree)
        return root**degree

    def _name(self, expression: Any) -> Any:
        """Return the expression with everything that is not rational replaced by letters."""
        if expression.is_Rational or expression.is_Symbol:
            return expression
        if not expression.free_symbols:
            return self._number(expression)
        if expression.is_Pow and expression.exp.is_Integer:
            return self._name(expression.base) ** expression.exp
        if expression.func in (sympy.Add, sympy.Mul):
            numbers = [part for part in expression.args if not part.free_symbols]
            others = [self._name(part) for part in expression.args if part.free_symbols]
            if numbers:
                others.append(self._name(expression.func(*numbers)))
            return expression.func(*others)
        if expression in self.names:
            return self.names[expression]
        if expression.is_Pow and expression.exp.is_Rational:
            return self._compound_root(expression)
        if expression.func in (sympy.log, sympy.exp):
            return self._tied(expression)
        if expression.func in (sympy.floor, sympy.ceiling):
            return self._rounded(expression)
        if expression.func in (sympy.sin, sympy.cos):
            return self._on_circle(expression)
        letter = self.names[expression] = self._letter("free", expression)  # its sign alone is known
        self.intervals[letter] = self._ends_of(letter)
        return letter

    def _number(self, expression: Any) -> Any:
        if expression.is_Add or expression.is_Mul:
            return expression.func(*(self._name(part) for part in expression.args))
        if expression.is_Pow and expression.exp.is_Integer:
            return self._name(expression.base) ** expression.exp
        if expression not in self.names:
            ball.value(expression, {})  # refuses what is not real
            letter = self.names[expression] = self._letter("number", expression)
            self.intervals[letter] = (expression, expression)
            if expression.is_Pow and expression.exp.is_Rational and expression.base.is_Rational:
                q, p = int(expression.exp.q), int(expression.exp.p)
                self.equations.append(letter**q - expression.base**p)
        return self.names[expression]

    def _compound_root(self, expression: Any) -> Any:
        q, base = int(expression.exp.q), self._name(expression.base)
        key = sympy.Pow(expression.base, sympy.Rational(1, q))
        if key not in self.names:
            letter = self.names[key] = self._letter("root", key)
            self.intervals[letter] = (sympy.Integer(0), sympy.oo)
            self.equations.append(letter**q - base)
        return self.names[key] ** expression.exp.p

    def _tied(self, expression: Any) -> Any:
        inner = expression.args[0]
        if expression.func is sympy.log and inner.is_Pow and inner.exp.is_Rational and inner.base.is_positive:
            return inner.exp * self._name(sympy.log(inner.base))
        is_log = expression.func is sympy.log
        letter = self.names[expression] = self._letter(expression.func.__name__, expression)
        low, high = self._ends_of(letter)
        ends = self.intervals.get(inner)
        if ends and is_log:
            low = sympy.log(ends[0]) if ends[0] > 0 else low
            high = sympy.log(ends[1]) if ends[1].is_finite and ends[1] > 0 else high
        self.intervals[letter] = (low, high)
        self.ties.append(Tie(letter, expression.func.__name__, self._name(inner)))
        return letter

    def _rounded(self, expression: Any) -> Any:
        """Return an integer letter for a rounded number: ``floor(u) <= u < floor(u) + 1`` and ``ceiling(u) - 1 < u
        <= ceiling(u)``.
        """
        letter = self.names[expression] = self._letter("whole", expression, integer=True)
        self.intervals[letter] = self._ends_of(letter)
        gap = self._name(expression.args[0]) - letter
        gap = gap if expression.func is sympy.floor else -gap
        self.above += [(gap, False), (1 - gap, True)]
        return letter

    def _on_circle(self, expression: Any) -> Any:
        """Return letters for the sine and the cosine of one argument: the sum of their squares is 1."""
        pair = [function(expression.args[0]) for function in (sympy.sin, sympy.cos)]
        for wave in pair:
            self.names[wave] = letter = self._letter(wave.func.__name__, wave)
            self.intervals[letter] = (-sympy.S.One, sympy.S.One)
        self.equations.append(sum(self.names[wave] ** 2 for wave in pair) - 1)
        return self.names[expression]

    def _letter(self, kind: str, expression: Any, **more: bool) -> Any:
        """Return a letter for the expression, positive if that is known to be."""
        self.count += 1
        positive = ball.sign(expression, {}) == 1 if not expression.free_symbols else expression.is_positive
        nonnegative = expression.is_nonnegative or kind == "root"
        known = {"positive": True} if positive else {"nonnegative": True} if nonnegative else {}
        letter = sympy.Symbol(self.fresh(f"{kind}{self.count}"), **{"real": True, **known, **more})
        self.meanings[letter] = expression
        return letter

    def _ends_of(self, letter: Any) -> tuple[Any, Any]:
        """Return all real numbers, or those that are not negative if its meaning is known not to be."""
        return (sympy.Integer(0) if letter.is_nonnegative else -sympy.oo, sympy.oo)


def _stripped(difference: Any) -> tuple[Any, Any]:
    """Return the difference times its denominator, if that is positive, without a common positive monomial; and the
    factor.
    """
    numerator, denominator = sympy.fraction(sympy.together(difference))
    if not denominator.is_positive:
        return difference, sympy.Integer(1)
    letters = sorted((letter for letter in numerator.free_symbols if letter.is_positive), key=str)
    expanded = sympy.expand(numerator)
    if not letters or not expanded.is_polynomial(*letters):
        return expanded, denominator
    powers, rest = sympy.Poly(expanded, *letters).terms_gcd()
    common = sympy.Mul(*(letter**power for letter, power in zip(letters, powers, strict=True)))
    return rest.as_expr(), denominator / common


def _rational(end: Any, up: bool) -> Any:
    """Return ``end``, or the rational just outside it."""
    if end.is_Rational or not end.is_finite:
        return end
    with flint.ctx.workprec(_NARROW):
        enclosed = ball.exact(end)
        edge = enclosed.upper() if up else enclosed.lower()
        man, exp = edge.mid().man_exp()
    return sympy.Integer(int(man)) * sympy.Integer(2) ** int(exp)


_MOST_TERMS = 4000  # beyond this an expansion takes longer than a solver
_POWERS = 3  # of (1 + sum of t) that the numerator is multiplied by, after Polya


def find(form: Form, claimed: Any, domain: Domain) -> Certificate | None:
    """Return a certificate for the form of ``claimed`` on ``domain``, or ``None``."""
    fresh = Names([letter.name for letter in (*form.intervals, *domain.intervals)]).fresh
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
        expanded = _nonnegative_multiple(ring, *(ring.from_expr(part) for part in quotient))
        if expanded is not None:
            numerator, denominator, multiplier = (polynomial.as_expr() for polynomial in expanded)
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
    plain = {
        letter: certificate.plain(letter, low, high, new[letter]) for letter, (low, high) in form.intervals.items()
    }
    used = form.difference.free_symbols
    yield _needed(list(plain.values()), used)
    options = [
        (letter, number, known)
        for number, fact in enumerate(form.facts)
        for letter in sorted(fact.free_symbols, key=str)
        if (known := certificate.by_fact(fact, letter)) is not None
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
    letter_of = {rule.parameter: rule.letter for rule, _ in pairs if rule.parameter is not None}
    values = {rule.letter: value for rule, value in pairs}
    wanted = {letter for letter in used if letter in values}
    for rule, value in reversed(pairs):
        if rule.letter in wanted:
            wanted |= {letter_of[t] for t in value.free_symbols if t in letter_of}
            wanted |= value.free_symbols & values.keys()
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
