"""Functions that lie below another, or are it in another letter, and have fewer kinds of parts.

- Tangents: u - 1 >= log(u) >= 1 - 1/u, for logarithms with factors of one sign inside the box.
- A letter that occurs in exponentials alone, of its multiples: their base is a letter of its own.
- Tails: exp(u^2) erfc(u) falls in u, so that a erfc(u) >= b erfc(v) where u <= v and a exp(-u^2) >= b exp(-v^2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from dpcheck.bounds.prover import cuts
from dpcheck.bounds.prover.signs import Box, sign


def tangents(f: Any, box: Box) -> Iterator[Any]:
    """Yield a function below ``f`` without its logarithms, the tangents to those with one factor taken together."""
    logs = sorted(f.atoms(sympy.log), key=str)
    expanded = sympy.expand(f)
    factors = {log: expanded.coeff(log, 1) for log in logs}
    rest = sympy.expand(expanded - sum(factor * log for log, factor in factors.items()))
    if not logs or any(part.has(sympy.log) for part in (rest, *factors.values())):
        return
    groups: dict[Any, Any] = {}
    for log, factor in factors.items():
        same = next((k for k in groups if sympy.expand(factor - k) == 0), None)
        against = next((k for k in groups if sympy.expand(factor + k) == 0), None)
        key = factor if same is None and against is None else same if against is None else against
        groups[key] = groups.get(key, sympy.S.One) * log.args[0] ** (1 if against is None else -1)
    total = rest
    for factor, argument in groups.items():
        known = sign(factor, box)
        if known is None:
            return
        total += factor * (1 - 1 / argument if known > 0 else argument - 1)
    yield sympy.factor(sympy.together(total))


def exponentials(f: Any, box: Box) -> Iterator[tuple[Any, Box]]:
    """Yield it with a letter for an exponential, in place of a letter that occurs in exponentials alone."""
    for letter, (low, high) in box.items():
        inner = [part for part in f.atoms(sympy.exp) if part.has(letter)]
        rates = [sympy.expand(part.args[0]).coeff(letter, 1) for part in inner]
        starts = [sympy.expand(part.args[0] - rate * letter) for part, rate in zip(inner, rates, strict=True)]
        if not inner or any(not rate.is_Rational or rate == 0 for rate in rates) or any(s.has(letter) for s in starts):
            continue
        step = abs(sympy.gcd_list(rates))
        step = -step if all(rate < 0 for rate in rates) else step
        ends = [sympy.exp(step * end) for end in ((low, high) if step > 0 else (high, low))]
        new = cuts.fresh(1 + max(int(other.name[1:]) for other in box), sympy.S.Zero)
        powers = {
            part: sympy.exp(start) * new ** (rate / step)
            for part, rate, start in zip(inner, rates, starts, strict=True)
        }
        there = f.xreplace(powers)
        if not there.has(letter):
            rest = {other: pair for other, pair in box.items() if other != letter}
            yield there, {**rest, new: tuple(ends)}


def tails(f: Any, box: Box) -> tuple[Any, Any] | None:
    """Return two functions that must be at least 0 for a difference of two tails with factors to be so."""
    found = sorted(f.atoms(sympy.erfc), key=str)
    expanded = sympy.expand(f)
    factors = [expanded.coeff(tail, 1) for tail in found]
    if len(found) != 2 or sympy.expand(expanded - sum(map(sympy.Mul, factors, found))) != 0:
        return None
    known = [sign(factor, box) for factor in factors]
    if sorted(known, key=str) != [-2, 2] or any(factor.has(sympy.erfc) for factor in factors):
        return None
    above, below = (known.index(way) for way in (2, -2))
    u, v = (found[i].args[0] for i in (above, below))
    logs = sympy.expand_log(sympy.log(factors[above]) - sympy.log(-factors[below]))
    return sympy.expand(v - u), sympy.expand(logs + v**2 - u**2)
