"""Output sets in words: the values, intervals and patterns that a set holds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.numbers.number_text import exactly, shown

Floats = NDArray[np.float64]

# Values or intervals named one by one.
_NAMED = 6


def named(pieces: Sequence[str], joint: str) -> str:
    """Join the first few of ``pieces``, and say how many more there are."""
    more = [f"{len(pieces) - _NAMED} more"] if len(pieces) > _NAMED else []
    return joint.join([*pieces[:_NAMED], *more])


def one_of(name: str, pieces: Sequence[str], *, outside: bool = False) -> str:
    """Say that ``name`` lies in one of the sets ``pieces``; or, ``outside``, that it lies in none."""
    if list(pieces) == ["{nan}"]:
        return f"{name} is {'not ' if outside else ''}nan"
    return f"{name} {'not ' if outside else ''}in {named(pieces, ' or ')}"


def either(direction: str, threshold: float, statement: str, denial: str) -> str:
    """Name the set of a score that is 1 where the statement holds and 0 where its denial does."""
    denied, stated = (value >= threshold if direction == ">=" else value <= threshold for value in (0.0, 1.0))
    return "any output" if denied and stated else denial if denied else statement


def values(chosen: Floats) -> list[str]:
    """Write one set for each value."""
    return [f"{{{exactly(value)}}}" for value in chosen.tolist()]


def intervals(edges: Floats, inside: NDArray[np.bool_]) -> list[str]:
    """Write the bins ``[edges[i-1], edges[i])`` that are ``inside`` (m + 1,), with adjacent bins joined.

    An edge that is the next double after the one before it ends the bin of a single value. If NaN is the last edge, it
    begins a bin of its own.
    """
    if edges.size and math.isnan(edges[-1]):
        return intervals(edges[:-1], inside[:-1]) + ["{nan}"] * int(inside[-1])
    steps = list(zip(np.append(np.nan, edges)[:-1].tolist(), edges.tolist(), strict=True))
    single = {before for before, edge in steps if edge == math.nextafter(before, math.inf)}
    starts, ends = ["[-inf"], []
    for before, edge in steps:
        end = exactly(edge) if edge in single else shown(edge)
        starts.append(f"({exactly(before)}" if before in single else f"[{end}")
        ends.append(f"{exactly(before)}]" if before in single else f"{end})")
    ends.append("inf]")
    turns = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]])))
    found = [(starts[low], ends[high - 1]) for low, high in zip(turns[::2], turns[1::2], strict=True)]
    return [f"{{{low[1:]}}}" if (low[0], high) == ("[", f"{low[1:]}]") else f"{low}, {high}" for low, high in found]
