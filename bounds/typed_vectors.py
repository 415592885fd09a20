"""Norms and inner products in a typed line, as trees in the letters ``<x, y>`` of :mod:`dpcheck.bounds.prover.vectors`.

An argument is a sum of vectors, each times factors that are numbers; it is multiplied out, and ``norm(x)`` is the root
of ``<x, x>``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from fractions import Fraction

from dpcheck.bounds.typed import Tree, number, value_of
from dpcheck.errors import InputError

_ONE = number(1)


def told(tree: Tree, vectors: Collection[str]) -> Tree:
    """Return the tree with norms and inner products in the letters of the vectors.

    Raises :class:`~dpcheck.errors.InputError` for a vector elsewhere, and an argument that is no sum of vectors.
    """
    head, *parts = tree
    if head == "letter" and parts[0] in vectors:
        raise InputError(f"the vector {parts[0]} must stand within norm(...) or inner(..., ...), got it outside")
    if head in ("letter", "number", "constant"):
        return tree
    if head in ("norm", "inner"):
        first, second = _linear(parts[0], vectors), _linear(parts[-1], vectors)
        factors: dict[str, list[Tree]] = {}
        for (u, a), (v, b) in itertools.product(first.items(), second.items()):
            factors.setdefault(_entry(u, v)[1], []).append(_product([a, b]))
        square = _sum([_product([_total(every), ["letter", name, {}]]) for name, every in factors.items()])
        return ["Pow", square, number(Fraction(1, 2))] if head == "norm" else square
    if head == "Pow" and parts[0][0] == "norm" and value_of(parts[1]) == 2:
        return told(["inner", parts[0][1], parts[0][1]], vectors)
    return [head, *(told(part, vectors) for part in parts)]


def letters(vectors: Collection[str]) -> dict[str, dict[str, bool]]:
    """Return all inner products of the vectors, with what is known of each."""
    pairs = itertools.combinations_with_replacement(sorted(vectors), 2)
    return {_entry(u, v)[1]: {"nonnegative": True} if u == v else {"real": True} for u, v in pairs}


def _entry(first: str, second: str) -> Tree:
    first, second = sorted((first, second))
    return ["letter", f"<{first}, {second}>", {}]


def _linear(tree: Tree, vectors: Collection[str]) -> dict[str, Tree]:
    """Return the factor of each vector."""
    head, *parts = tree
    if head == "letter" and parts[0] in vectors:
        return {parts[0]: _ONE}
    if head == "Add":
        terms = [_linear(part, vectors) for part in parts]
        names = dict.fromkeys(itertools.chain.from_iterable(terms))
        return {name: _sum([term[name] for term in terms if name in term]) for name in names}
    if head == "Mul":
        among = [part for part in parts if _has(part, vectors)]
        if len(among) == 1:
            scalars = [part for part in parts if part is not among[0]]
            return {name: _product([*scalars, factor]) for name, factor in _linear(among[0], vectors).items()}
    named = f"the vectors {', '.join(vectors)}" if vectors else "vectors, which the domain names: for vectors x, y"
    raise InputError(f"what stands in norm(...) and inner(..., ...) must be a sum of {named}")


def _has(tree: Tree, vectors: Collection[str]) -> bool:
    if tree[0] == "letter":
        return tree[1] in vectors
    return any(isinstance(part, list) and _has(part, vectors) for part in tree[1:])


def _total(factors: list[Tree]) -> Tree:
    """Return the sum of what an inner product is multiplied by, which comes twice where the vectors change places."""
    same = all(factor == factors[0] for factor in factors)
    return _product([number(len(factors)), factors[0]]) if same else _sum(factors)


def _sum(terms: list[Tree]) -> Tree:
    return terms[0] if len(terms) == 1 else ["Add", *terms]


def _product(factors: list[Tree]) -> Tree:
    flat = [part for factor in factors for part in (factor[1:] if factor[0] == "Mul" else [factor])]
    known = math.prod((value for factor in flat if (value := value_of(factor)) is not None), start=Fraction(1))
    kept = [*([number(known)] if known != 1 else []), *(factor for factor in flat if value_of(factor) is None)]
    return _ONE if not kept else kept[0] if len(kept) == 1 else ["Mul", *kept]
