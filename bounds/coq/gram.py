"""Proofs about inner products: the difference, less multiples of conditions, as a sum of squared norms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from dpcheck.bounds.coq.expression import Writer, names
from dpcheck.bounds.prover import vectors


def scripts(step: Any) -> Iterator[str]:
    """Yield proofs of an inequality that is linear in the inner products of its domain."""
    products = vectors.named(step.over.intervals)
    every = sorted(set[str]().union(*products))
    smaller, larger = step.sides()
    difference = sympy.expand(larger - smaller)
    entries = set(products.values())
    if len(every) < 2 or not _homogeneous(difference, products):
        return
    write = Writer(names(step.over.intervals))
    conditions = [fact for fact in step.over.differences() if fact.has(*entries) and _homogeneous(fact, products)]
    for condition, factor in [(sympy.S.Zero, sympy.S.Zero), *_multipliers(difference, conditions, entries)]:
        rest = sympy.expand(difference - factor * condition)
        parts = _squares(rest, products)
        if parts is None:
            continue
        lines = ["intros. dp_forget."]
        terms = []
        for number, (weight, row) in enumerate(parts, 1):
            square = sum(
                row[i] * row[j] * products[frozenset((every[i], every[j]))]
                for i in range(len(every)) for j in range(len(every))
            )  # fmt: skip
            factors = " ".join(write.argument(entry) for entry in row)
            lines.append(
                f"assert (square_{number} : 0 <= {write(square)}) by (match goal with H : forall _ _ : R, _ |- _ => "
                f"apply Rle_trans with (1 := H {factors}); right; field; dp_other_sign end)."
            )
            lines.append(f"assert (weight_{number} : 0 <= {write(weight)}) by dp_weight.")
            terms.append((weight, square))
        if condition != 0:
            lines.append(f"assert (given : 0 <= {write(condition)}) by lra.")
            lines.append(f"assert (share : 0 <= {write(factor)}) by dp_weight.")
            terms.append((factor, condition))
        total = " + ".join(f"({write(weight)}) * ({write(square)})" for weight, square in terms) or "0"
        lines.append(f"apply (dp_by ({total})); [ field; dp_other_sign | ].")
        lines.append("repeat apply Rplus_le_le_0_compat; apply Rmult_le_pos; assumption.")
        yield "\n".join(lines)


def _homogeneous(expression: Any, products: Any) -> bool:
    form = vectors.form_of(expression, products)
    return form is not None and bool(form[1].equals(0))


def _multipliers(difference: Any, conditions: list[Any], entries: set[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield conditions with what makes an inner product vanish from the difference less the multiple."""
    for condition in conditions:
        ratios = {
            sympy.cancel(sympy.diff(difference, a) / slope)
            for a in entries if (slope := sympy.diff(condition, a)) != 0
        }  # fmt: skip
        yield from ((condition, ratio) for ratio in sorted(ratios, key=str) if ratio != 0)


def _squares(rest: Any, products: Any) -> list[tuple[Any, list[Any]]] | None:
    """Return weights and combinations of the vectors whose weighted squared norms add up to what is left."""
    form = vectors.form_of(rest, products)
    if form is None:
        return None
    matrix, size = form[0].applyfunc(sympy.cancel), form[0].rows
    found = []
    for i in range(size):
        pivot = matrix[i, i]
        if pivot == 0:
            if any(matrix[i, j] != 0 for j in range(size)):
                return None
            continue
        row = [sympy.cancel(matrix[i, j] / pivot) for j in range(size)]
        found.append((sympy.factor(pivot), row))
        matrix = (matrix - pivot * sympy.Matrix(row) * sympy.Matrix([row])).applyfunc(sympy.cancel)
    return found
