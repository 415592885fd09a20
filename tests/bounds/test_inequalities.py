"""The prover against inequalities whose truth is known: none is decided wrongly, and few are left open.

The ordinary suite takes a slice. All of them, with z3, cvc5 and sympy beside them at the same limit, take about
15 minutes of one core: ``pytest -n 0 -s -m experiment tests/bounds/test_inequalities.py --keep-tables``.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator
from typing import Any

import mpmath
import pandas as pd
import pytest
import sympy
from inequalities.families import every
from inequalities.item import Item
from inequalities.run import Answer, answers
from inequalities.tools import TOOLS

from dpcheck.bounds.prover import Inequality

ITEMS = every()
SLICE = ITEMS[::17]
PEERS_STEP = 9  # the peers are asked about every ninth item, since most of their time is spent on what they leave open


def test_the_collection_is_large_and_the_same_each_time() -> None:
    assert len(ITEMS) >= 1000
    assert sum(item.truth for item in ITEMS) == len(ITEMS) // 2
    assert every() == ITEMS
    assert len({item.name for item in ITEMS}) == len(ITEMS)
    assert len(SLICE) >= 59 and {item.family for item in SLICE} == {item.family for item in ITEMS}


def test_false_items_fail_at_their_witness() -> None:
    for item in ITEMS:
        if item.truth:
            continue
        assert item.witness is not None
        assert item.over.contains(item.witness), item.name
        value = sympy.N((sympy.sympify(item.larger) - item.smaller).xreplace(dict(item.witness)), 60)
        assert value.is_real and value < 0, item.name


@pytest.mark.thorough
def test_true_items_hold_wherever_they_are_tried() -> None:
    rng = random.Random(3)
    for item in ITEMS:
        if item.truth:
            assert all(value >= -1e-25 * size for value, size in _tried(item, rng)), item.name


def _tried(item: Item, rng: random.Random) -> Iterator[tuple[Any, Any]]:
    """The difference at random points of the domain, in 50 digits, and how large its parts may be."""
    letters = list(item.over.intervals)
    difference = sympy.lambdify(letters, sympy.sympify(item.larger) - item.smaller, "mpmath")
    relations = [sympy.lambdify(letters, relation, "mpmath") for relation in item.over.where]
    with mpmath.workdps(50):
        for _ in range(12):
            drawn = [_drawn(letter, *item.over.limits[letter], rng) for letter in letters]
            at = [mpmath.mpf(int(value.p)) / int(value.q) for value in drawn]
            if not all(relation(*at) for relation in relations):
                continue
            try:
                value = difference(*at)
            except (ZeroDivisionError, OverflowError):
                continue
            if not isinstance(value, mpmath.mpc):
                yield value, max([mpmath.mpf(1), *map(abs, at)]) ** 12


def _drawn(letter: Any, low: Any, high: Any, rng: random.Random) -> Any:
    """A value that the letter may take."""
    while True:
        if low.is_finite and high.is_finite:
            start, stop = (sympy.Rational(str(sympy.N(end, 20))) for end in (low, high))
            value = start + (stop - start) * sympy.Rational(rng.randint(1, 999), 1000)
        else:
            size = sympy.Rational(str(round(math.exp(rng.gauss(0, 2)), 4)))
            value = low + size if low.is_finite else high - size if high.is_finite else rng.choice((1, -1)) * size
        value = sympy.Integer(round(float(value))) if letter.is_integer else value
        known = ("even", "odd", "prime", "nonzero", "positive", "negative", "nonnegative")
        facts = ((getattr(letter, f"is_{key}"), getattr(value, f"is_{key}")) for key in known)
        if all(said is None or said is found for said, found in facts):
            return value


@pytest.mark.thorough
def test_a_slice_is_decided_without_a_wrong_verdict() -> None:
    decided = 0
    for item in SLICE:
        verdict = Inequality(item.name, item.smaller, item.larger, item.over).outcome().verdict
        assert verdict != ("refuted" if item.truth else "proved"), item.name
        decided += verdict != "unresolved"
    assert decided >= 0.9 * len(SLICE)


def table(found: Iterable[Answer]) -> pd.DataFrame:
    """Shares and mean processor time by family and tool, and over all families."""
    frame = pd.DataFrame(
        {"family": a.family, "tool": a.tool, "truth": a.truth, "decided": a.decided, "wrong": a.wrong, "s": a.seconds}
        for a in found
    )
    rows = []
    families = [*dict.fromkeys(frame.family), "all"]
    for family, tool in itertools.product(families, dict.fromkeys(frame.tool)):
        part = frame[(frame.tool == tool) & ((frame.family == family) | (family == "all"))]
        shares = {
            f"{word}_%": 100 * part[part.truth == truth].decided.mean()
            for word, truth in (("true", True), ("false", False))
        }
        rows.append({"family": family, "tool": tool, "items": len(part), **shares,
                     "wrong": int(part.wrong.sum()), "mean_s": part.s.mean()})  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.experiment
def test_all_are_decided_without_a_wrong_verdict_and_faster_than_by_others(keep) -> None:
    found: list[Answer] = []
    for name, tool in TOOLS.items():
        found += answers(name, tool, ITEMS if name == "dpcheck" else ITEMS[::PEERS_STEP])
    measured = table(found)
    keep("prover_fuzz", measured)
    ours = measured[(measured.tool == "dpcheck") & (measured.family == "all")].iloc[0]
    assert ours.wrong == 0
    assert ours["true_%"] >= 92 and ours["false_%"] >= 98
    assert ours.mean_s < 1.5
