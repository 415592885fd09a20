"""Proofs about sums, products and whole powers: telescoping, induction on the upper end, and Bernoulli's bounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import sympy

from dpcheck.bounds.coq import ladder
from dpcheck.bounds.coq.expression import UntranslatedError, Writer, names, ranged
from dpcheck.bounds.prover import closed


def scripts(step: Any) -> Iterator[str]:
    """Yield proofs of the inequality or equation."""
    smaller, larger = step.sides()
    letters = names(step.over.intervals)
    write = Writer(letters)
    both = (smaller, larger)
    if any(power.exp.is_integer and power.exp.free_symbols for side in both for power in side.atoms(sympy.Pow)):
        yield "intros. dp_whole_powers."
    if any(side.has(sympy.Sum, sympy.Product) for side in both):
        try:
            yield from _sums(step, write)
            yield from _inductions(step, write)
        except UntranslatedError:
            return


def _sums(step: Any, write: Writer) -> Iterator[str]:
    """Yield proofs that replace a sum by a telescoping function, exactly or as a bound."""
    smaller, larger = step.sides()
    sums = sorted(smaller.atoms(sympy.Sum) | larger.atoms(sympy.Sum), key=str)
    if len(sums) != 1 or any(side.has(sympy.Product) for side in step.sides()):
        return
    (total,) = sums
    body, letter, low, high = ranged(total)
    bound = names([*write.letters, letter])[letter]
    inner = Writer({**write.letters, letter: bound})
    term = f"fun {bound} : R => {inner(body)}"
    ends = f"{write.argument(low)} {write.argument(high)}"
    points = list(itertools.islice(ladder.points(step.over), 3))
    for found in _telescopes(body, letter):
        function = _upright(found, letter, points)
        try:
            f = f"(fun {bound} : R => {inner(function)})"
        except UntranslatedError:
            continue
        whole = "ltac:(dp_whole) ltac:(dp_whole) ltac:(lra)"
        for lemma in ("closed", "below", "above"):
            total = f"dp_sum_{lemma} ({term}) {f} {ends} {whole}"
            yield f"intros. assert (dp_total := {total}). dp_telescoped dp_total."


def _telescopes(body: Any, letter: Any) -> Iterator[Any]:
    """Yield functions whose differences may be, or bound, the summand."""
    for one in (closed.telescoped, closed.integral):
        try:
            found = one(body, letter)
        except (NotImplementedError, ValueError, TypeError, sympy.PolynomialError):
            continue
        if found is not None:
            yield found
    integral = closed.integral(body, letter)
    if integral is not None:
        yield integral.xreplace({letter: letter + 1})
        yield integral.xreplace({letter: letter + sympy.Rational(1, 2)})


def _upright(function: Any, letter: Any, points: list[dict[Any, Any]]) -> Any:
    """Return the function with denominators of which none is negative."""

    def negative(base: Any) -> bool:
        values = [base.xreplace(point) for point in points]
        return bool(values) and not base.has(letter) and all(value.is_negative for value in values)

    return function.replace(
        lambda part: part.is_Pow and part.exp == -1 and part.base.is_Add and negative(part.base),
        lambda part: -1 / sympy.Add(*(-term for term in part.base.args)),
    )


def _inductions(step: Any, write: Writer) -> Iterator[str]:
    """Yield proofs by induction on a whole letter from its lower end."""
    for letter, (low, _) in step.over.intervals.items():
        if letter.is_integer and low.is_finite and low.is_Integer:
            name = write(letter)
            yield f"intros. dp_by_induction {name} {write.argument(low)}."
