"""The proof anyone can repeat: shift every letter to its bound and expand.

With n = 2 + t, epsilon = 1/(1 + t), ... and every t >= 0, a difference whose numerator and
denominator have only nonnegative coefficients is nonnegative. The check is one expansion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sympy

from dpcheck.bounds.prover import ball
from dpcheck.bounds.prover.domain import Domain

Kind = Literal["free", "point", "low", "high", "between", "above", "below"]


@dataclass(frozen=True)
class Rule:
    """A way to write ``letter`` with a parameter; ``fact`` is the number of the fact that allows it."""

    letter: Any
    kind: Kind
    parameter: Any = None
    fact: int | None = None


def plain(letter: Any, low: Any, high: Any, t: Any) -> tuple[Rule, Any]:
    """Return the rule that an interval gives, with what the letter becomes."""
    if low.is_finite and high.is_finite:
        if low == high:
            return Rule(letter, "point"), low
        return Rule(letter, "between", t), (low + high * t) / (1 + t) if low != 0 else high / (1 + t)
    if low.is_finite:
        return Rule(letter, "low", t), low + t
    return (Rule(letter, "high", t), high - t) if high.is_finite else (Rule(letter, "free"), letter)


def by_fact(fact: Any, letter: Any) -> tuple[Kind, Any] | None:
    """Return what ``fact >= 0`` says of a letter in which it is linear: ``above`` or ``below``, and the bound."""
    numerator, denominator = sympy.fraction(sympy.together(fact))
    if not surely_positive(denominator) or not numerator.is_polynomial(letter):
        return None
    polynomial = sympy.Poly(numerator, letter)
    if polynomial.degree() != 1:
        return None
    slope, rest = polynomial.all_coeffs()
    bound = sympy.cancel(-rest / slope)
    if surely_positive(slope):
        return "above", bound
    return ("below", bound) if letter.is_nonnegative and surely_positive(-slope) else None


def surely_positive(expression: Any) -> bool:
    """Say whether it is a polynomial of terms that are not negative, with a term of positive letters alone."""
    letters = sorted(expression.free_symbols, key=str)
    if not letters:
        return bool(expression.is_Rational and expression > 0)
    if not expression.is_polynomial(*letters):
        return False
    positive = False
    for powers, coefficient in sympy.Poly(expression, *letters).terms():
        factors = [(letter, power) for letter, power in zip(letters, powers, strict=True) if power]
        if not (coefficient.is_Rational and coefficient >= 0):
            return False
        if not all(letter.is_nonnegative or power % 2 == 0 for letter, power in factors):
            return False
        positive |= bool(coefficient > 0) and all(letter.is_positive for letter, _ in factors)
    return positive


def covers(
    rules: Sequence[Rule], shifts: Mapping[Any, Any], intervals: Mapping[Any, tuple[Any, Any]], facts: Sequence[Any]
) -> bool:
    """Say whether the shifts reach every point with all letters in ``intervals`` and all ``facts >= 0``."""
    parameters = [rule.parameter for rule in rules if rule.kind not in ("free", "point")]
    done: dict[Any, Any] = {}
    if len(set(parameters)) < len(parameters) or any(parameter in intervals for parameter in parameters):
        return False
    if not all(isinstance(parameter, sympy.Symbol) and parameter.is_nonnegative for parameter in parameters):
        return False
    if {rule.letter for rule in rules} != shifts.keys() or len(rules) != len(shifts) or shifts.keys() - intervals:
        return False
    for rule in rules:
        if not _justified(rule, shifts[rule.letter], intervals[rule.letter], facts, done):
            return False
        done[rule.letter] = shifts[rule.letter]
    return True


def _justified(rule: Rule, value: Any, ends: tuple[Any, Any], facts: Sequence[Any], done: Mapping[Any, Any]) -> bool:
    low, high = ends
    t = rule.parameter
    if rule.kind in ("above", "below"):
        if rule.fact is None or not 0 <= rule.fact < len(facts):
            return False
        known = by_fact(facts[rule.fact], rule.letter)
        if known is None or known[0] != rule.kind or known[1].free_symbols - done.keys():
            return False
        bound = known[1].xreplace(dict(done))
        return _same(value, bound + t if rule.kind == "above" else bound / (1 + t))
    if rule.kind == "free":
        return bool(value == rule.letter)
    if rule.kind == "point":
        return bool(value == low == high)
    if rule.kind == "between":
        if not (low.is_finite and high.is_finite and value.free_symbols == {t}):
            return False
        first = value.subs(t, 0)
        last = 2 * value.subs(t, 1) - first
        inside = any(_reaches(a, low) and _reaches(high, b) for a, b in ((first, last), (last, first)))
        return inside and _same(value, (first + last * t) / (1 + t))
    edge = value - t if rule.kind == "low" else value + t
    if edge.free_symbols:
        return False
    return _reaches(edge, low) if rule.kind == "low" else _reaches(high, edge)


def _same(first: Any, second: Any) -> bool:
    return bool(sympy.cancel(sympy.together(first - second)) == 0)


def _reaches(first: Any, second: Any) -> bool:
    return bool(second.is_finite and first.is_finite and ball.sign(second - first, {}) in (0, 1))


def fits(letter: Any, meaning: Any, ends: tuple[Any, Any], domain: Domain, speaking: Sequence[Any]) -> bool:
    """Say whether the letter's assumptions and its interval hold for what it means, on the domain.

    ``speaking`` are the expressions that have to be real: a root in them is of a number that is
    not negative.
    """
    try:
        true = _ends(meaning, domain, speaking)
    except ball.UndefinedError:
        return False
    if true is None or not _at_most(ends[0], true[0]) or not _at_most(true[1], ends[1]):
        return False
    if letter.is_integer and not (meaning.is_Symbol and meaning.is_integer):
        return False
    above = _sign(true[0])
    if letter.is_positive:
        return above == 1 or bool(meaning.is_positive)
    if letter.is_nonnegative:
        return above in (0, 1)
    below = _sign(true[1])
    if letter.is_negative:
        return below == -1 or bool(meaning.is_negative)
    return below in (-1, 0) if letter.is_nonpositive else True


def same(first: Any, second: Any) -> bool:
    """Say whether two expressions are equal wherever both are defined."""
    difference = sympy.expand_log(first - second)
    if difference == 0:
        return True
    numerator, _ = sympy.fraction(sympy.together(difference))
    return bool(sympy.expand(sympy.expand_log(sympy.expand(numerator))) == 0)


def _ends(meaning: Any, domain: Domain, speaking: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return an interval that holds every real value of the meaning, or ``None`` if it is not one of the kinds."""
    if not meaning.free_symbols:
        at = ball.value(meaning, {})
        return at, at
    if meaning.is_Symbol:
        return domain.intervals.get(meaning)
    if meaning.is_Pow and meaning.exp.is_Rational and not meaning.exp.is_Integer:
        if not _occurs(meaning, speaking):
            return None
        inner = domain.intervals.get(meaning.base)
        if inner is None or meaning.exp < 0:
            return sympy.Integer(0), sympy.oo
        low, high = (end if not end.is_finite else max(end, sympy.Integer(0)) ** meaning.exp for end in inner)
        return (low if low.is_finite else sympy.Integer(0)), high
    least = sympy.Integer(0) if meaning.is_nonnegative else -sympy.oo
    if meaning.func is sympy.log:
        inner = _ends(meaning.args[0], domain, speaking)
        if inner is not None:
            low = sympy.log(inner[0]) if _sign(inner[0]) == 1 and inner[0].is_finite else least
            return low, sympy.log(inner[1]) if inner[1].is_finite and _sign(inner[1]) == 1 else sympy.oo
    return least, sympy.oo


def _occurs(root: Any, speaking: Sequence[Any]) -> bool:
    """Say whether a fractional power of the base has to be real, or the base cannot be negative."""
    if root.base.is_nonnegative:
        return True
    powers = set().union(*(expression.atoms(sympy.Pow) for expression in speaking))
    return any(power.base == root.base and power.exp.is_Rational and not power.exp.is_Integer for power in powers)


def _sign(end: Any) -> int | None:
    if not end.is_finite:
        return 1 if end == sympy.oo else -1
    return ball.sign(end, {})


def _at_most(first: Any, second: Any) -> bool:
    if first == -sympy.oo or second == sympy.oo:
        return True
    return bool(first.is_finite and second.is_finite and ball.sign(second - first, {}) in (0, 1))


@dataclass(frozen=True)
class Certificate:
    """A proof that ``claimed`` is nonnegative at each point of ``domain`` at which it is defined.

    ``difference`` is ``claimed`` times ``scale``, a quotient of positive polynomials, with roots, logarithms and
    numbers named: ``meanings`` has those letters in the letters of the domain, ``intervals`` the rational ones in
    which they lie, ``facts`` the relations of the domain in them, as what is at least zero. ``shifts`` write each
    letter in parameters that are at least zero, as ``rules`` allow; ``difference`` is then
    ``numerator/(denominator multiplier)``, and no coefficient of the three is negative.
    """

    difference: Any
    shifts: tuple[tuple[Any, Any], ...]
    numerator: Any
    denominator: Any
    multiplier: Any
    claimed: Any
    domain: Domain
    meanings: tuple[tuple[Any, Any], ...] = ()
    intervals: tuple[tuple[Any, tuple[Any, Any]], ...] = ()
    facts: tuple[Any, ...] = ()
    rules: tuple[Rule, ...] = ()
    scale: Any = sympy.S.One

    def holds(self) -> bool:
        """Check all of it again, by exact arithmetic: meanings, coverage, expansion and signs."""
        return self._states() and self._covers() and self._expands()

    def _states(self) -> bool:
        """Say whether the difference and the facts are those of the claim and its domain."""
        meanings, intervals = dict(self.meanings), dict(self.intervals)
        used = set().union(self.difference.free_symbols, self.scale.free_symbols, *(f.free_symbols for f in self.facts))
        if used - meanings.keys() or meanings.keys() != intervals.keys() or len(meanings) != len(self.meanings):
            return False
        loose = set().union(self.claimed.free_symbols, *(meaning.free_symbols for meaning in meanings.values()))
        if loose - self.domain.intervals.keys() or len({letter.name for letter in meanings}) < len(meanings):
            return False
        domain_letters = {letter.name: letter for letter in self.domain.intervals}
        if any(domain_letters.get(letter.name, letter) != meanings[letter] for letter in meanings
               if letter.name in domain_letters):  # fmt: skip
            return False
        speaking = (self.claimed, *self.domain.differences())
        if not all(fits(letter, meanings[letter], intervals[letter], self.domain, speaking) for letter in meanings):
            return False
        relations = list(self.domain.differences())
        if len(relations) != len(self.facts) or not _positive_quotient(self.scale):
            return False
        pairs = [(self.claimed * self.scale.xreplace(meanings), self.difference)]
        pairs += zip(relations, self.facts, strict=True)
        return all(same(whole, named.xreplace(meanings)) for whole, named in pairs)

    def _covers(self) -> bool:
        """Say whether the shifts reach every point, and leave no letter of the difference unshifted."""
        shifts = dict(self.shifts)
        if len(shifts) != len(self.shifts) or self.difference.free_symbols - shifts.keys():
            return False
        free = {rule.letter for rule in self.rules if rule.kind == "free"}
        if set().union(*(value.free_symbols for value in shifts.values())) - self.parameters() - free:
            return False
        return covers(self.rules, shifts, dict(self.intervals), self.facts)

    def _expands(self) -> bool:
        """Say whether the quotient is the shifted difference, and no coefficient is negative."""
        parts = (self.numerator, self.denominator, self.multiplier)
        if set().union(*(part.free_symbols for part in parts)) - self.parameters():
            return False
        if not all(_nonnegative(part) for part in parts) or any(sympy.expand(part) == 0 for part in parts[1:]):
            return False
        shifted = self.difference.subs(dict(self.shifts), simultaneous=True)
        above, below = sympy.fraction(sympy.together(shifted))
        if below.has(sympy.zoo, sympy.nan) or above.has(sympy.zoo, sympy.nan) or sympy.expand(below) == 0:
            return False
        cross = sympy.expand(above * self.denominator * self.multiplier - self.numerator * below)
        return bool(cross == 0 or sympy.Poly(cross, *(cross.free_symbols or [sympy.Dummy()])).is_zero)

    def parameters(self) -> set[Any]:
        """Return the letters that the shifts are written in."""
        return {rule.parameter for rule in self.rules if rule.kind not in ("free", "point")}

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as text and coefficients, so that another program can check it without this one.

        A polynomial is a list of (coefficient, powers), a quotient a pair of polynomials.
        """
        return {
            "claimed": f"{self.claimed} >= 0",
            "domain": {
                "letters": {
                    str(letter): {
                        "low": str(low), "high": str(high), "integer": bool(letter.is_integer),
                        "open": bool((low == 0 and letter.is_positive) or (high == 0 and letter.is_negative)),
                    }
                    for letter, (low, high) in self.domain.intervals.items()
                },
                "where": [f"{fact} {'>' if isinstance(relation, sympy.Lt | sympy.Gt) else '>='} 0"
                          for fact, relation in zip(self.domain.differences(), self.domain.where, strict=True)],
            },
            "letters": {
                str(letter): {
                    "means": str(means), "low": str(dict(self.intervals)[letter][0]),
                    "high": str(dict(self.intervals)[letter][1]), "positive": bool(letter.is_positive),
                }
                for letter, means in self.meanings
            },
            "facts": [_quotient(fact) for fact in self.facts],
            "rules": [
                {"letter": str(rule.letter), "kind": rule.kind, "parameter": str(rule.parameter or ""),
                 "fact": rule.fact}
                for rule in self.rules
            ],
            "shifts": {str(letter): _quotient(value) for letter, value in self.shifts},
            "scale": _quotient(self.scale),
            "difference": _quotient(self.difference),
            "numerator": _terms(self.numerator),
            "denominator": _terms(self.denominator),
            "multiplier": _terms(self.multiplier),
        }  # fmt: skip

    def __str__(self) -> str:
        """Return the shifts and the expansion in plain text."""
        shifts = ", ".join(f"{letter} = {_cut(value)}" for letter, value in self.shifts if letter != value)
        shown = dict(self.shifts)
        names = ", ".join(f"{letter} for {means}" for letter, means in self.meanings
                          if letter != means and letter in shown)  # fmt: skip
        where = f"with {shifts}, every t >= 0: " if shifts else ""
        where = f"{names}; {where}" if names else where
        by = f", after multiplying by {_cut(self.multiplier)}," if self.multiplier != 1 else ""
        quotient = f"({_cut(self.numerator)})/({_cut(self.denominator)})"
        return f"{where}the difference{by} is {quotient}; no coefficient is negative"

    @property
    def idea(self) -> str:
        """Return in a sentence how a reader sees that the certificate holds."""
        letters = {letter for letter, _ in self.domain.intervals.items()}
        shifts = [f"{letter} = {value}" for letter, value in self.shifts if letter in letters and letter != value]
        start = f"substitute {', '.join(shifts)}; " if shifts else ""
        by = "" if self.multiplier == 1 else f" after multiplying by {_cut(self.multiplier)}"
        return f"{start}no coefficient is negative{by}"


_COLUMNS = 80


def _cut(polynomial: Any) -> str:
    """Return a formula in at most 80 columns, with the number of terms that are left out."""
    text = str(polynomial)
    terms = sympy.Add.make_args(polynomial)
    if len(text) <= _COLUMNS or len(terms) < 3:
        return text
    kept = text[: max(0, text.rfind(" + ", 0, _COLUMNS - 20))]
    left = len(terms) - kept.count(" + ") - 1
    return f"{kept} + ... {left} more terms" if 0 < len(kept) < _COLUMNS else f"... {len(terms)} terms"


def _positive_quotient(expression: Any) -> bool:
    parts = sympy.fraction(sympy.together(expression))
    return all(surely_positive(part) or bool(part.is_positive) for part in parts)


def _terms(polynomial: Any) -> list[tuple[str, dict[str, int]]]:
    """Return each term as its coefficient, a fraction, and the powers of its letters."""
    letters = sorted(polynomial.free_symbols, key=str)
    if not letters:
        return [(str(polynomial), {})]
    terms = sympy.Poly(polynomial, *letters).terms()
    return [(str(c), {str(x): int(p) for x, p in zip(letters, powers, strict=True) if p}) for powers, c in terms]


def _quotient(expression: Any) -> list[list[tuple[str, dict[str, int]]]]:
    """Return the numerator and the denominator."""
    return [_terms(part) for part in sympy.fraction(sympy.together(expression))]


def _nonnegative(expression: Any) -> bool:
    """Say whether the expanded expression has no negative coefficient, in letters that are at least zero."""
    expression = sympy.expand(expression)
    letters = expression.free_symbols
    if not letters:
        return bool(expression.is_Rational and expression >= 0)
    if not expression.is_polynomial(*letters) or not all(letter.is_nonnegative for letter in letters):
        return False
    return all(bool(c.is_Rational and c >= 0) for c in sympy.Poly(expression, *letters).coeffs())
