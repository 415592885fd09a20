"""A difference on a domain as differences on boxes, and where to cut a box.

Relations are solved and scales taken out; the parts of a cut are intervals of numbers, or one letter on either side of
the others.

Parts always cover the interior of the box up to its cuts, where what is shown on both sides holds by
continuity, or where the function is undefined. Only the choice of a cut is guesswork.
"""

import cmath
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np
import sympy
from sympy import Rational

from dpcheck.bounds.prover import ball, ranges
from dpcheck.bounds.prover.domain import Domain
from dpcheck.bounds.prover.numeric import numeric
from dpcheck.bounds.prover.search import Samples
from dpcheck.bounds.prover.signs import Box, sign

_MOST_CUTS = 4
_CONSTANTS = (sympy.Integer(1), sympy.E, sympy.pi, sympy.log(2))


@dataclass(frozen=True)
class Piece:
    """A part of a box: what the letters become, and the box of the new letters."""

    box: Box
    letters: dict[Any, Any] = field(default_factory=dict)

    def apply(self, f: Any) -> Any:
        """Return the function on this part."""
        return sympy.expand_log(f.xreplace(self.letters)) if self.letters else f


def fresh(count: int, low: Any) -> Any:
    """Return a letter that knows that it is positive if its low end says so; unique by ``count``."""
    positive = low.is_finite and ball.sign(low, {}) in (0, 1)
    return sympy.Symbol(f"v{count}", real=True, **({"positive": True} if positive else {}))


def interval(box: Box, letter: Any, low: Any, high: Any) -> Piece:
    """Return the part where the letter is between two numbers; its sign is changed if both are at most 0."""
    rest = {other: ends for other, ends in box.items() if other != letter}
    count = 1 + max(int(other.name[1:]) for other in box)
    if low.is_finite and ball.sign(low, {}) in (0, 1):
        if letter.is_positive:
            return Piece({**box, letter: (low, high)})
        new = fresh(count, low)
        return Piece({**rest, new: (low, high)}, {letter: new})
    if high.is_finite and ball.sign(high, {}) in (0, -1):
        new = fresh(count, -high)
        return Piece({**rest, new: (-high, -low)}, {letter: -new})
    return Piece({**box, letter: (low, high)})


def at(box: Box, letter: Any, points: list[Any]) -> tuple[Piece, ...]:
    """Return the parts between increasing numbers inside the letter's interval."""
    low, high = box[letter]
    return tuple(interval(box, letter, *pair) for pair in itertools.pairwise([low, *points, high]))


def beside(box: Box, letter: Any, middle: Any) -> tuple[Piece, ...]:
    """Return the parts below and above ``middle``, a formula in the other letters that lies between the ends."""
    low, high = box[letter]
    rest = {other: ends for other, ends in box.items() if other != letter}
    count = 1 + max(int(other.name[1:]) for other in box)
    part = fresh(count, sympy.Integer(0))
    unit, half = (sympy.Integer(0), sympy.Integer(1)), (sympy.Integer(0), sympy.oo)
    below = (unit, low + (middle - low) * part) if low.is_finite else (half, middle - part)
    above = (unit, middle + (high - middle) * part) if high.is_finite else (half, middle + part)
    return tuple(Piece({**rest, part: ends}, {letter: value}) for ends, value in (below, above))


def singular(f: Any, box: Box) -> tuple[Piece, ...]:
    """Return parts cut where a logarithm's argument, a base or a denominator in one letter vanishes; none if
    nowhere.
    """
    inner = [part.args[0] for part in f.atoms(sympy.log)] + [part.base for part in f.atoms(sympy.Pow)]
    for letter, (low, high) in box.items():
        points: set[Any] = set()
        for base in inner:
            if base.free_symbols == {letter} and base.is_polynomial(letter):
                points |= (
                    set(sympy.roots(sympy.Poly(base, letter)).keys()) if sympy.degree(base, letter) <= 2 else set()
                )
        zeros = [p for p in points if p.is_real and _inside(p, low, high)]
        if zeros and len(zeros) <= _MOST_CUTS:
            return at(box, letter, sorted(zeros, key=float))
    return ()


def critical(f: Any, slope: Any, letter: Any, box: Box, samples: Samples) -> Iterator[tuple[Piece, ...]]:
    """Yield ways to cut the box where the slope changes sign."""
    if len(box) == 1:
        yield from _on_a_line(f, slope, letter, box, samples)
        return
    low, high = box[letter]
    numerator, _ = sympy.fraction(sympy.together(slope))
    for factor in sympy.Mul.make_args(sympy.factor(numerator)):
        base = factor.as_base_exp()[0]
        base = base.args[0] - 1 if base.func is sympy.log else base
        base = sympy.fraction(sympy.together(base))[0]
        if not base.has(letter) or not base.is_polynomial(letter) or sympy.degree(base, letter) != 1:
            continue
        a, b = sympy.Poly(base, letter).all_coeffs()
        middle = sympy.cancel(-b / a)
        if not middle.free_symbols:
            if _inside(middle, low, high):
                yield at(box, letter, [middle])
        elif _between(middle, low, high, box):
            yield beside(box, letter, middle)
    for middle in (sympy.Integer(0), sympy.Integer(1), *(other for other in box if other != letter)):
        replaced = f.xreplace({letter: middle})
        if replaced.has(sympy.zoo, sympy.nan, sympy.oo):
            continue
        there = samples.values(replaced)
        if np.nanmax(abs(there), initial=0.0) > 0 or not np.isfinite(there).any():
            continue
        if middle.is_number and _inside(middle, low, high):
            yield at(box, letter, [middle])
        elif not middle.is_number and _between(middle, low, high, box):
            yield beside(box, letter, middle)


def _inside(point: Any, low: Any, high: Any) -> bool:
    above = not low.is_finite or ball.sign(point - low, {}) == 1
    return above and (not high.is_finite or ball.sign(high - point, {}) == 1)


def _between(middle: Any, low: Any, high: Any, box: Box) -> bool:
    """Say whether the formula lies between the ends for all values of the other letters."""
    above = not low.is_finite or (sign(sympy.factor(middle - low), box) or 0) > 0
    return above and (not high.is_finite or (sign(sympy.factor(high - middle), box) or 0) > 0)


def _on_a_line(f: Any, slope: Any, letter: Any, box: Box, samples: Samples) -> Iterator[tuple[Piece, ...]]:
    low, high = box[letter]
    order = np.argsort(samples.points[0])
    xs, ys = samples.points[0][order], samples.values(slope)[order]
    known = np.isfinite(ys) & (ys != 0)
    xs, ys = xs[known], ys[known]
    places = np.flatnonzero(np.sign(ys[1:]) != np.sign(ys[:-1]))
    if not len(places) or len(places) > _MOST_CUTS:
        return
    points: list[Any] = []
    for place in places:
        root = _root(slope, letter, xs[place], xs[place + 1])
        named = _named(root, slope, letter, low, high)
        if named is not None:
            points.append(named)
            continue
        around = _around(f, letter, root, low, high)
        if around is None:
            return
        points += around
    points = sorted(set(points), key=float)
    if all(_inside(p, low, high) for p in points):
        yield at(box, letter, points)


def _root(slope: Any, letter: Any, left: float, right: float) -> Any:
    """Return where the slope changes sign, as a fraction near it."""
    function = sympy.lambdify(letter, slope, modules="mpmath")
    with mpmath.workdps(50):
        a, b = mpmath.mpf(float(left)), mpmath.mpf(float(right))
        sign_a = mpmath.sign(mpmath.re(function(a)))
        for _ in range(400):
            wide = a * b > 0 and abs(mpmath.log(b / a)) > 1
            middle = mpmath.sign(a) * mpmath.sqrt(a * b) if wide else (a + b) / 2
            sign_middle = mpmath.sign(mpmath.re(function(middle)))
            if sign_middle == 0:
                a = b = middle
            elif sign_middle == sign_a:
                a = middle
            else:
                b = middle
            if abs(b - a) <= abs(a + b) * mpmath.mpf(10) ** -45 + mpmath.mpf(10) ** -60:
                break
        return Rational(str((a + b) / 2)) if abs(a + b) > mpmath.mpf(10) ** -40 else sympy.Integer(0)


def _named(root: Any, slope: Any, letter: Any, low: Any, high: Any) -> Any:
    """Return an exact number that is the root, if one is recognised: the slope must vanish there."""
    close = Rational(1, 10**10)  # a flat place is found to few digits only
    for candidate in _candidates(root):
        if abs(sympy.N(candidate - root, 45)) <= close * max(1, abs(root)) and _inside(candidate, low, high):
            at_root = slope.xreplace({letter: candidate})
            if ball.sign(at_root, {}) == 0:
                return candidate
    return None


def _candidates(root: Any) -> Iterator[Any]:
    def simple(value: Any) -> Any:
        return sympy.Rational(value).limit_denominator(10_000)

    yield simple(root)
    for constant in _CONSTANTS[1:]:
        yield simple(sympy.N(root / constant, 45)) * constant
        yield simple(sympy.N(root * constant, 45)) / constant
    yield sympy.sign(root) * sympy.sqrt(simple(root**2))
    if root > 0:
        yield sympy.exp(simple(sympy.N(sympy.log(root), 45)))
        yield sympy.log(simple(sympy.N(sympy.exp(root), 45))) if root < 40 else simple(root)
        yield sympy.Integer(10) ** simple(sympy.N(sympy.log(root, 10), 45)).limit_denominator(2)


def _around(f: Any, letter: Any, root: Any, low: Any, high: Any) -> list[Any] | None:
    """Return two numbers beside the root between which enclosures show the function to be nonnegative."""
    room = [abs(root - end) for end in (low, high) if end.is_finite] + [abs(root) or Rational(1)]
    reach = min(sympy.N(distance, 30) for distance in room)
    for k in range(1, 40):
        step = sympy.Rational(reach / 2**k).limit_denominator(10**12) if reach > 1e-9 else sympy.Rational(reach / 2**k)
        ends = [_short(root - step, step), _short(root + step, step)]
        if ranges.enclose(f, {letter: ranges.ends(*ends)})[0] >= 0 and all(_inside(e, low, high) for e in ends):
            return ends
    return None


def _short(value: Any, step: Any) -> Any:
    """Return a number with few digits near the value."""
    return sympy.Rational(value).limit_denominator(max(1, int(8 / step))) if step > 0 else value


_MOST_SCALED = 4  # letters whose scales are tried


def reduced(difference: Any, domain: Domain) -> Iterator[tuple[Any, Box]]:
    """Yield boxes of fresh letters, the most reduced first; a positive number that is added is left out, if that
    will do.
    """
    for f, box in _solved(difference, domain):
        f, box = _renamed(f, box)
        constant = sympy.Add(*(term for term in sympy.Add.make_args(f) if term.is_number))
        if constant.is_number and ball.sign(constant, {}) == 1 and f != constant:
            yield from _unscaled(f - constant, box)
        yield from _unscaled(f, box)


def _unscaled(f: Any, box: Box) -> Iterator[tuple[Any, Box]]:
    """Return the problem without a scale, if there is one, and as it is."""
    scaled = _scaled(f, box)
    while (once := _scaled(*scaled) if scaled else None) is not None:
        scaled = once
    if scaled is not None:
        yield scaled
    yield f, box


def _solved(difference: Any, domain: Domain) -> Iterator[tuple[Any, Box]]:
    """Yield boxes where relations that are linear in a letter are letters of their own; others are forgotten."""
    box = dict(domain.intervals)
    f = difference
    facts = list(domain.differences())
    while facts:
        new, box = _with(facts.pop(0), box)
        f, facts = f.xreplace(new), [fact.xreplace(new) for fact in facts]
    single = {letter: low for letter, (low, high) in box.items() if low == high}
    yield f.xreplace(single), {letter: ends for letter, ends in box.items() if letter not in single}


def _with(fact: Any, box: dict[Any, Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return what letters become, and the box, to use ``fact >= 0``.

    ``s >= bound`` gives ``s = bound + t``, and ``s <= bound`` gives ``s = low + (bound - low) u``.
    """
    zero, one = sympy.Integer(0), sympy.Integer(1)
    ways = sorted(
        ((x, slope) for x in fact.free_symbols if fact.is_polynomial(x) and (slope := fact.diff(x)).is_number),
        key=lambda pair: (ball.sign(pair[1], {}) != 1, str(pair[0])),
    )
    for letter, slope in ways:
        bound = sympy.expand(letter - fact / slope)
        low, high = box[letter]
        grows = ball.sign(slope, {}) == 1
        rest = {other: ends for other, ends in box.items() if other != letter}
        if not bound.free_symbols:
            ends = (sympy.Max(low, bound), high) if grows else (low, sympy.Min(high, bound))
            return {}, {**rest, letter: ends}
        new = sympy.Dummy(f"{letter}", positive=True)
        if grows and high == sympy.oo:
            value, ends = bound + new, (zero, sympy.oo)
        elif not grows and low.is_finite:
            value, ends = low + (bound - low) * new, (zero, one)
        else:
            continue
        return {letter: value}, {**rest, new: ends}
    return {}, box


def _renamed(f: Any, box: Box) -> tuple[Any, Box]:
    """Write the problem in letters v0, v1, ..., each positive if its interval says so."""
    box = {letter: ends for letter, ends in box.items() if f.has(letter)}
    new = {letter: fresh(i, low) for i, (letter, (low, _)) in enumerate(box.items())}
    return sympy.expand_log(f.xreplace(new)), {new[letter]: ends for letter, ends in box.items()}


def _scaled(f: Any, box: Box) -> tuple[Any, Box] | None:
    """Return the box with one letter set to 1, where the sign of ``f`` does not change as positive letters are
    scaled together.

    If ``f(s^w x) = s^k f(x)`` for all s > 0 then every point is on the orbit of one with that letter 1.
    """
    letters = [letter for letter, ends in box.items() if ends == (0, sympy.oo)]
    if len(box) < 2 or not 0 < len(letters) <= _MOST_SCALED:
        return None
    s = sympy.Symbol("s", positive=True)
    for weights in itertools.product((1, 0, -1), repeat=len(letters)):
        if not any(weights) or next(w for w in weights if w) < 0:
            continue
        power = _degree(f, box, dict(zip(letters, weights, strict=True)))
        if power is None:
            continue
        moved = f.xreplace({x: x * s**w for x, w in zip(letters, weights, strict=True) if w})
        if _same(moved, s**power * f):
            letter = next(x for x, w in zip(letters, weights, strict=True) if w)
            set_to_one = sympy.expand_log(f.xreplace({letter: sympy.Integer(1)}))
            return set_to_one, {x: ends for x, ends in box.items() if x != letter and set_to_one.has(x)}
    return None


def _degree(f: Any, box: Box, weights: dict[Any, int]) -> Any:
    """Return the power of the scale by which ``f`` seems to change, at three points."""
    function = numeric(list(box), f)
    powers = []
    for k in (1, 2, 3):
        point = [_inner(ends, k + i / 7) for i, ends in enumerate(box.values())]
        moved = [x * 2.0 ** weights.get(letter, 0) for x, letter in zip(point, box, strict=True)]
        with np.errstate(all="ignore"):
            before, after = (complex(function(*at)) for at in (point, moved))
        growth = after / before if before and after else cmath.nan
        if cmath.isnan(growth) or abs(growth - abs(growth)) > 1e-9:
            return None
        powers.append(np.log2(abs(growth)))
    whole = round(2 * powers[0]) / 2
    return sympy.Rational(int(2 * whole), 2) if all(abs(power - whole) < 1e-7 for power in powers) else None


def _inner(ends: tuple[Any, Any], k: float) -> float:
    low, high = (float(end) for end in ends)
    if np.isfinite(low) and np.isfinite(high):
        return low + (high - low) * (k / 4.6)
    return low + k * 1.3 if np.isfinite(low) else high - k if np.isfinite(high) else k - 1.7


def _same(left: Any, right: Any) -> bool:
    """Say whether the two expand to the same, logarithms of products in parts."""

    def parts(e: Any) -> Any:
        logs = {log: sympy.expand_log(sympy.log(sympy.factor(log.args[0]))) for log in e.atoms(sympy.log)}
        powers = {
            power: sympy.expand_power_base(sympy.factor(power.base) ** power.exp)
            for power in e.atoms(sympy.Pow)
            if power.base.is_Add and not power.exp.is_Integer
        }
        return e.xreplace({**logs, **powers})

    difference = sympy.expand(parts(left) - parts(right))
    return bool(difference == 0 or sympy.expand(sympy.powsimp(difference)) == 0 or sympy.simplify(difference) == 0)
