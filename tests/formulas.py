"""How loose each formula is in its region, and where it is wrong: ``tests/measured/formulas.csv``.

``python tests/formulas.py [NAME ...]`` measures all, or these, and keeps the rows of the others.
"""

from __future__ import annotations

import contextlib
import math
import random
import sys
import time
from collections.abc import Iterator

import pandas as pd
import tables

from dpcheck.bounds.formulas.formula import Formula, Letter, formulas
from dpcheck.errors import InputError

INSIDE, OUTSIDE = 200, 60  # random settings


def drawn(letter: Letter, rng: random.Random) -> float:
    """A value of the letter's range, in three digits so that it can be typed again."""
    value = math.exp(rng.uniform(math.log(letter.low), math.log(letter.high)))
    return round(value) if letter.symbol.is_integer else float(f"{value:.3g}")


def settings(formula: Formula, count: int, *, inside: bool, seed: int = 0) -> Iterator[dict[str, float]]:
    """Random settings in or outside the region, fewer where 50 draws for each do not meet it."""
    rng = random.Random(f"{formula.name} {seed} {inside}")
    found = 0
    for _ in range(50 * count):
        values = {str(letter.symbol): drawn(letter, rng) for letter in formula.letters}
        if found < count and bool(formula.outside(formula.known(values))) is not inside:
            found += 1
            yield values


def measured(formula: Formula, inside: int = INSIDE, outside: int = OUTSIDE) -> dict[str, object]:
    """The slack over random settings in the region, how often it is wrong out of it, and the worst setting there."""
    within = [formula.at(**values) for values in settings(formula, inside, inside=True)]
    beyond = []
    for values in settings(formula, outside, inside=False):
        with contextlib.suppress(InputError):  # where the formula has no real value
            beyond.append((formula.at(**values), values))
    slacks = sorted(at.slack for at in within if at.exact > 0)
    worst, where = min(beyond, key=lambda pair: pair[0].slack, default=(None, {}))
    wrong = sum(not at.kept for at, _ in beyond)
    return {
        "formula": formula.name, "gives": formula.gives, "settings inside": len(within),
        "broken inside": sum(not at.kept for at in within),
        "exact is 0": sum(at.exact == 0 for at in within),
        "least slack": slacks[0] if slacks else math.nan,
        "median slack": slacks[len(slacks) // 2] if slacks else math.nan,
        "worst slack": slacks[-1] if slacks else math.nan,
        "settings outside": len(beyond), "broken outside": wrong,
        "least slack outside": worst.slack if worst else math.nan,
        "there": ", ".join(f"{name} = {value:g}" for name, value in where.items()) if wrong else "",
    }  # fmt: skip


def main(names: list[str]) -> None:
    known = formulas()
    rows = {}
    if (tables.FOLDER / "formulas.csv").exists():
        rows = {row["formula"]: row for row in tables.read("formulas").to_dict("records")}
    for name in names or known:
        started = time.perf_counter()
        rows[name] = measured(known[name])
        tables.write("formulas", pd.DataFrame([rows[name] for name in known if name in rows]))
        print(f"{time.perf_counter() - started:6.1f} s", *rows[name].values(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
