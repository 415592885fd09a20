"""A difference on a domain as differences on boxes: relations solved, scales taken out.

Each pair that is yielded would do: a difference that is nonnegative inside its box means that the
original is nonnegative wherever it is defined on the domain.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpcheck.bounds.prover import ball
from dpcheck.bounds.prover.cuts import fresh
from dpcheck.bounds.prover.domain import Domain
from dpcheck.bounds.prover.polynomials import Box

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
        rest = {each: ends for each, ends in box.items() if each != letter}
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
    function = sympy.lambdify(list(box), f, modules=["scipy", "numpy"])
    found = []
    for k in (1, 2, 3):
        point = [_inner(ends, k + i / 7) for i, ends in enumerate(box.values())]
        moved = [x * 2.0 ** weights.get(letter, 0) for x, letter in zip(point, box, strict=True)]
        with np.errstate(all="ignore"):
            before, after = (complex(function(*at)) for at in (point, moved))
        if (
            not before
            or not after
            or after / before != after / before
            or abs(after / before - abs(after / before)) > 1e-9
        ):
            return None
        found.append(np.log2(abs(after / before)))
    whole = round(2 * found[0]) / 2
    return sympy.Rational(int(2 * whole), 2) if all(abs(each - whole) < 1e-7 for each in found) else None


def _inner(ends: tuple[Any, Any], k: float) -> float:
    low, high = (float(end) for end in ends)
    if np.isfinite(low) and np.isfinite(high):
        return low + (high - low) * (k / 4.6)
    return low + k * 1.3 if np.isfinite(low) else high - k if np.isfinite(high) else k - 1.7


def _same(left: Any, right: Any) -> bool:
    """Say whether the two expand to the same, logarithms of products in parts."""

    def parts(e: Any) -> Any:
        logs = {each: sympy.expand_log(sympy.log(sympy.factor(each.args[0]))) for each in e.atoms(sympy.log)}
        powers = {
            each: sympy.expand_power_base(sympy.factor(each.base) ** each.exp)
            for each in e.atoms(sympy.Pow)
            if each.base.is_Add and not each.exp.is_Integer
        }
        return e.xreplace({**logs, **powers})

    difference = sympy.expand(parts(left) - parts(right))
    return bool(difference == 0 or sympy.expand(sympy.powsimp(difference)) == 0 or sympy.simplify(difference) == 0)
