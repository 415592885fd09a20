"""All families by name."""

from __future__ import annotations

from inequalities import algebraic, analytic, discrete
from inequalities.item import Family, Item, collection

FAMILIES: dict[str, Family] = {
    function.__name__.replace("_", " "): function
    for function in (
        algebraic.squares, algebraic.means, algebraic.shifted, algebraic.rational, algebraic.roots, algebraic.extremes,
        algebraic.moduli, algebraic.triangles, algebraic.related, analytic.logarithms, analytic.exponentials,
        analytic.chords, analytic.log_powers, analytic.log_ratios, analytic.entropies, analytic.divergences,
        analytic.log_quotients, analytic.exponents, analytic.sines, analytic.far, analytic.schedules,
        discrete.integers, discrete.roundings, discrete.kinds, discrete.branches, discrete.numbers, discrete.ordered,
    )
}  # fmt: skip


def every() -> tuple[Item, ...]:
    """The whole collection."""
    return collection(FAMILIES)
