"""Inequalities by the signs of derivatives, enclosed in ball arithmetic or shown in turn; integers one by one.

A function on a box is nonnegative if it grows in a letter and is nonnegative at that letter's low end;
falls, and is so at the high end; or is concave, and is so at both. The derivative's own sign is shown
in the same way, after positive factors have been taken out. Where a derivative changes sign the box
is cut. What ends a chain is exact: an enclosure, a count of a polynomial's roots, coefficients.

Floating point chooses where to cut and which sign to try; no proof rests on it. What is shown is the
interior of a box, where the function is smooth; where it is defined on the boundary it is continuous.
"""

from collections.abc import Iterator
from typing import Any

import flint
import numpy as np
import sympy
from sympy.polys.polyerrors import BasePolynomialError

from dpcheck.bounds.prover import ball, cuts, known, lowest, ranges, series, simpler
from dpcheck.bounds.prover.domain import Domain, allows
from dpcheck.bounds.prover.search import Samples, way
from dpcheck.bounds.prover.signs import Box, OpenError, limit_at, nonnegative, ranged, sign
from dpcheck.errors import InputError

METHOD = "derivatives in ball arithmetic"
_STEPS = 120  # functions whose sign is asked for, in one proof
_DEEP = 6  # derivatives, one of another
_BEND = 2  # ... of the second derivative of what is convex
_LARGE = 120  # operations in a function that is still factored
_BOXES = 120  # of one cover


def proves(difference: Any, domain: Domain) -> bool:
    """Say whether the difference is shown to be nonnegative wherever it is defined on the domain."""
    if len(domain.intervals) > 4 or difference.has(sympy.ceiling, sympy.floor, sympy.Max, sympy.Min, sympy.Abs):
        return False
    if not continuous(difference, domain):
        return False
    try:
        forms = [*cuts.reduced(difference, domain)]
        return any(_Proof(long).nonnegative(f, box, _DEEP) for long in (False, True) for f, box in forms)
    except (ArithmeticError, NotImplementedError, ValueError, TypeError, BasePolynomialError, InputError):
        return False  # sympy or a sample could not take a form that came up; what breaks off is no proof


class _Proof:
    """One attempt, which ends when its steps are used up; the long ways are for a second one."""

    def __init__(self, long: bool) -> None:
        self.left, self.long = _STEPS, long
        self.known: dict[Any, bool] = {}

    def nonnegative(self, f: Any, box: Box, deep: int) -> bool:
        """Say whether ``f >= 0`` is shown inside the box."""
        box = {letter: ends for letter, ends in box.items() if f.has(letter)}
        if not box:
            return ball.sign(f, {}) in (0, 1)
        key = (f, tuple(box.items()))
        if key not in self.known:
            if self.left <= 0:
                return False
            self.left -= 1
            self.known[key] = False  # of no use to itself
            self.known[key] = self._nonnegative(f, box, deep)
        return self.known[key]

    def _nonnegative(self, f: Any, box: Box, deep: int) -> bool:
        known = sign(f, box)
        if known is not None:
            return known >= 0
        if len(box) == 1 and self._by_series(f, box):
            return True
        apart = logs_apart(f, box)
        if apart != f:
            return self.nonnegative(apart, box, deep)
        if (
            self.long
            and deep == _DEEP
            and any(self.nonnegative(g, inner, deep - 1) for g, inner in self._simpler(f, box))
        ):
            return True
        curved = self.long and deep >= _DEEP - 1 and f.has(sympy.log, sympy.exp, sympy.Pow) and smooth(f, box)
        if curved and any(self._lowest(f, letter, box, deep) for letter in box):
            return True
        if deep > 0 and (_two_powers(f) or (deep == _DEEP and f.has(sympy.exp))):
            for other in self._logarithmic(f, box, one=True):
                if self.nonnegative(other, box, deep - 1):
                    return True
        tails = f.atoms(sympy.erfc)
        if len(tails) == 1:
            alone = _alone(f, tails.pop(), box)
            if alone is not None and alone != f:
                return self.nonnegative(alone, box, deep)
        elif not _plain(f):
            core = self._core(f, box)
            if core != f:
                return self.nonnegative(core, box, deep)
        samples = Samples(f, box)
        values = samples.values(f)
        if _hopeless(values):
            return False
        if nonnegative(f, box):
            return True
        if not smooth(f, box):
            return self._apart(f, box, deep, cuts.singular(f, box))
        if np.nanmin(values) > 0 and self._covered(f, box):
            return True
        if deep <= 0:
            return False
        for other in () if _plain(f) else self._logarithmic(f, box):  # its slopes are rational already
            if self.nonnegative(other, box, deep - 1):
                return True
        slopes = {letter: f.diff(letter) for letter in box}
        ways = {letter: way(samples.values(slope)) for letter, slope in slopes.items()}
        if deep == _DEEP and len(box) > 1 and f.has(sympy.log, sympy.exp):
            for letter, slope in slopes.items():
                if ways[letter] == 1 and self._bends_up(f, slope, letter, box, samples, deep):
                    return True
        for letter, slope in slopes.items():
            if ways[letter] is not None and self._monotone(f, slope, letter, ways[letter], box, deep):
                return True
        line = len(box) == 1 and all(_plain(slope) or slope.is_rational_function() for slope in slopes.values())
        if line and self._cut(f, slopes, box, samples, deep):
            return True
        for other in self._alternatives(f, box):
            if self.nonnegative(other, box, deep - 1):
                return True
        for letter, slope in slopes.items():
            if ways[letter] is None and self._concave(f, slope.diff(letter), letter, box, samples, deep):
                return True
        return not line and self._cut(f, slopes, box, samples, deep)

    def _cut(self, f: Any, slopes: dict[Any, Any], box: Box, samples: Samples, deep: int) -> bool:
        """Say whether it is shown on parts of the box, cut where a slope changes sign."""
        for letter, slope in slopes.items():
            if way(samples.values(slope)) is None:
                for pieces in cuts.critical(f, slope, letter, box, samples):
                    if self._apart(f, box, deep - 1, pieces):
                        return True
        return False

    def _core(self, f: Any, box: Box) -> Any:
        """Return ``f`` without denominators and factors of one sign."""
        if f.count_ops() > _LARGE:
            return f
        numerator, denominator = sympy.fraction(sympy.together(f))
        below = sign(denominator, box)
        if below not in (2, -2):
            return f
        rest = sympy.Integer(1 if below == 2 else -1)
        for factor in sympy.Mul.make_args(sympy.factor(numerator)):
            known = sign(factor, box)
            rest *= factor if known is None else (known > 0) - (known < 0)
        return rest

    def _monotone(self, f: Any, slope: Any, letter: Any, direction: int | None, box: Box, deep: int) -> bool:
        """Say whether it grows, or falls, and is nonnegative where it is least."""
        end, other = box[letter] if direction == 1 else reversed(box[letter])
        towards = slope if direction == 1 else -slope
        return self._at_end(f, letter, end, other, box, deep) and self.nonnegative(towards, box, deep - 1)

    def _concave(self, f: Any, bend: Any, letter: Any, box: Box, samples: Samples, deep: int) -> bool:
        """Say whether it is concave in the letter, and nonnegative at both ends."""
        if way(samples.values(bend)) != -1:
            return False
        low, high = box[letter]
        ends = ((low, high), (high, low))
        return all(self._at_end(f, letter, end, other, box, deep) for end, other in ends) and self.nonnegative(
            -bend, box, deep - 1
        )

    def _by_series(self, f: Any, box: Box) -> bool:
        """Say whether its power series shows it, in a letter that is at least 0."""
        ((letter, _),) = box.items()
        return letter.is_positive is True and series.nonnegative(f, letter)

    def _simpler(self, f: Any, box: Box) -> Iterator[tuple[Any, Box]]:
        """Yield functions and boxes of which one is enough, for which samples show no failure."""
        both = simpler.tails(f, box)
        if both is not None and self.nonnegative(both[0], box, _BEND):
            yield both[1], box
        for below in simpler.tangents(f, box) if smooth(f, box) else ():
            if below == 0 or way(Samples(below, box).values(below)) == 1:
                yield below, box
        if len(box) > 1:
            yield from simpler.exponentials(f, box)

    def _lowest(self, f: Any, letter: Any, box: Box, deep: int) -> bool:
        """Say whether it is convex in the letter, and not negative where its slope is 0."""
        slope = f.diff(letter)
        bend = slope.diff(letter)
        rest = {other: ends for other, ends in box.items() if other != letter}
        for place in lowest.places(slope, letter, box):
            there = f.xreplace({letter: place})
            if way(Samples(bend, box).values(bend)) != 1:
                return False
            if lowest.vanishes(there, rest) or self.nonnegative(there, rest, deep - 1):
                return self.nonnegative(bend, box, min(deep - 1, _BEND))
        return False

    def _bends_up(self, f: Any, slope: Any, letter: Any, box: Box, samples: Samples, deep: int) -> bool:
        """Say whether it is convex in the letter, and at the low end neither negative nor falling."""
        bend = slope.diff(letter)
        if way(samples.values(bend)) != 1:
            return False
        ends = box[letter]
        return all(self._at_end(g, letter, *ends, box, deep - 1) for g in (f, slope)) and self.nonnegative(
            bend, box, deep - 1
        )

    def _at_end(self, f: Any, letter: Any, end: Any, other: Any, box: Box, deep: int) -> bool:
        """Say whether the values of ``f`` have a limit at least 0 as the letter tends to its end."""
        rest = {other_letter: ends for other_letter, ends in box.items() if other_letter != letter}
        if end.is_finite and _defined(f, letter, end):
            there = f.xreplace({letter: end})
            return (not rest or smooth(there, rest)) and self.nonnegative(there, rest, deep)
        if rest:
            return False
        try:
            limit = limit_at(f, letter, end, other)
        except OpenError:
            return False
        return bool(limit == sympy.oo) or (bool(limit.is_finite) and ball.sign(limit, {}) in (0, 1))

    def _logarithmic(self, f: Any, box: Box, *, one: bool = False) -> Iterator[Any]:
        """Yield the difference of the logarithms of two positive sides, for products, powers and exponentials; ``one``
        of the sides is enough.
        """
        terms = sympy.Add.make_args(f)
        signs = [sign(term, box) for term in terms]
        if {2, -2} != set(signs):
            return
        above, below = (sympy.Add(*(t for t, s in zip(terms, signs, strict=True) if s == way)) for way in (2, -2))
        single = (any if one else all)(not side.is_Add or side.is_number for side in (above, below))
        if single or not f.has(sympy.log, sympy.exp):
            yield logs_apart(sympy.expand_log(sympy.log(above) - sympy.log(-below)), box)

    def _alternatives(self, f: Any, box: Box) -> Iterator[Any]:
        """Yield functions of the same sign: one term over a factor of one sign."""
        logs = sorted(f.atoms(sympy.log), key=str)
        collected = sympy.collect(sympy.expand(f), logs, evaluate=False) if logs else {}
        if all(log == 1 or log in logs for log in collected):
            for slope in dict.fromkeys(collected.get(log, 0) for log in logs):
                known = sign(slope, box) if slope != 0 and slope.free_symbols else None
                if known in (2, -2):
                    way = 1 if known == 2 else -1
                    yield sympy.Add(
                        *(way * log * sympy.cancel(sympy.together(c / slope)) for log, c in collected.items())
                    )
        powers = sorted((p for p in f.atoms(sympy.Pow, sympy.exp) if p.exp.free_symbols), key=str)
        for power in powers[:2]:
            if sign(power, box) == 2:
                yield sympy.expand(sympy.powsimp(sympy.expand(f / power)))

    def _apart(self, f: Any, box: Box, deep: int, pieces: Iterator[cuts.Piece] | tuple[cuts.Piece, ...]) -> bool:
        """Say whether it is shown on each piece of the box; there must be some."""
        parts = tuple(pieces)
        return bool(parts) and all(self.nonnegative(piece.apply(f), piece.box, deep) for piece in parts)

    def _covered(self, f: Any, box: Box) -> bool:
        """Say whether enclosures on parts of the box show it."""
        function = ranges.compile(f, tuple(box))
        queue = [list(ranged(box).values())]
        for _ in range(_BOXES):
            if not queue:
                return True
            part = queue.pop()
            with flint.ctx.workprec(ranges.BITS):
                low, _ = function(part)
            if low >= 0:
                continue
            queue += ranges.halved(part)
        return not queue


def _alone(f: Any, tail: Any, box: Box) -> Any:
    """Return a function of the same sign in which the tail has no factor, so that its slope has no tail in it."""
    expanded = sympy.expand(f)
    factor = expanded.coeff(tail, 1)
    rest = f.xreplace({tail: sympy.Integer(0)})
    known = sign(factor, box)
    if known not in (2, -2) or factor.has(tail) or sympy.expand(expanded - factor * tail - rest) != 0:
        return None
    way = 1 if known == 2 else -1
    return sympy.Add(*(sympy.powsimp(way * term / factor) for term in sympy.Add.make_args(rest))) + way * tail


def _two_powers(f: Any) -> bool:
    """Say whether it is the difference of two terms with powers of letters in their exponents."""
    return len(sympy.Add.make_args(f)) == 2 and any(power.exp.free_symbols for power in f.atoms(sympy.Pow, sympy.exp))


def _hopeless(values: Any) -> bool:
    """Say whether samples already show a failure, so that no proof need be looked for."""
    return way(values) != 1


def _plain(f: Any) -> bool:
    """Say whether ``f`` is a sum of logarithms with numbers for factors, and of a quotient of polynomials."""
    terms = [term.as_independent(*term.atoms(sympy.log)) for term in sympy.Add.make_args(f)]
    return f.has(sympy.log) and all(
        tail == 1 or (tail.func is sympy.log and not factor.free_symbols) for factor, tail in terms
    )


def _defined(f: Any, letter: Any, end: Any) -> bool:
    """Say whether every part of ``f`` is a finite number at the end, so that ``f`` is continuous there."""
    at = {letter: end}
    return not any(
        part.has(letter) and part.xreplace(at).has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo)
        for part in sympy.preorder_traversal(f)
    )


_FIRST = (1, 2, 4, 8, 16, 64)  # how many values are looked at one by one


def proves_counted(difference: Any, domain: Domain) -> bool:
    """Say whether the difference is shown to be nonnegative wherever it is defined on the domain."""
    for letter, (low, high) in domain.intervals.items():
        if letter.is_integer and low.is_finite and difference.has(letter):
            for count in _FIRST:
                start = low + count
                if high.is_finite and start > high:
                    break
                if proves(difference, Domain({**domain.intervals, letter: (start, high)}, domain.where)):
                    return all(_holds_at(difference, domain, letter, low + k) for k in range(count))
    return False


def _holds_at(difference: Any, domain: Domain, letter: Any, value: Any) -> bool:
    """Say whether it is shown with this value of the letter, if the letter may have it."""
    if not allows(letter, value):
        return True
    at = difference.xreplace({letter: value})
    if at.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
        return False
    rest = {other: ends for other, ends in domain.intervals.items() if other != letter}
    where = tuple(relation.xreplace({letter: value}) for relation in domain.where)
    if any(relation == sympy.false for relation in where):
        return True
    return proves(at, Domain(rest, where)) if rest else ball.sign(at, {}) in (0, 1)


def smooth(f: Any, box: Box) -> bool:
    """Say whether ``f`` is defined and differentiable any number of times at every point inside the box."""
    if not f.free_symbols:
        return ball.sign(f, {}) is not None
    if f.is_Symbol:
        return True
    if not all(smooth(part, box) for part in f.args):
        return False
    if f.is_Add or f.is_Mul or f.func in (sympy.exp, sympy.sin, sympy.cos, sympy.erf, sympy.erfc):
        return True
    if f.func is sympy.log:
        return sign(f.args[0], box) == 2
    if f.is_Pow:
        base, exponent = f.as_base_exp()
        if base is sympy.E or (exponent.is_Integer and exponent >= 0):
            return True
        return sign(base, box) in ((2, -2) if exponent.is_Integer else (2,))
    return False


def continuous(f: Any, domain: Domain) -> bool:
    """Say whether ``f`` is continuous at every point of the domain at which it is defined.

    All functions here are, except a power with letters in its exponent where the base and the
    exponent may both vanish.
    """
    powers = (power for power in f.atoms(sympy.Pow) if power.exp.free_symbols and power.base is not sympy.E)
    return all(
        power.base.is_positive or known.positive(power.base, domain)
        or (known.nonnegative(power.base, domain) and known.positive(power.exp, domain))
        for power in powers
    )  # fmt: skip


def logs_apart(f: Any, box: Box) -> Any:
    """Return ``f`` with the logarithm of a product written as a sum, where every factor is positive inside the box."""
    apart = {}
    for log in f.atoms(sympy.log):
        argument = sympy.factor(sympy.together(log.args[0]))
        if not (argument.is_Mul or argument.is_Pow):
            continue
        total, negative = sympy.Integer(0), 0
        for factor in sympy.Mul.make_args(argument):
            base, power = factor.as_base_exp()
            way = sign(base, box)
            if way == -2 and power.is_Integer:
                negative += int(power)
            elif way != 2:
                break
            total += power * sympy.log(base if way == 2 else sympy.expand(-base))
        else:
            if negative % 2 == 0:
                apart[log] = total
    return f.xreplace(apart) if apart else f
