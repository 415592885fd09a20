"""The rate that a declared algorithm promises, measured."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from scipy.stats import t as student

from dpcheck.algorithms.declaration import Algorithm, RateClaim
from dpcheck.audits.rates import fit_rate
from dpcheck.checks.context import Context
from dpcheck.checks.declared_findings import finding, not_checked
from dpcheck.checks.place import place_of, place_of_theorem
from dpcheck.errors import InputError, raised
from dpcheck.report.findings import Finding

# Three looks at fresh measurements must agree: a correct algorithm is contradicted less than once in 50,000 checks.
_LOOKS, _LEVEL = 3, 0.05


def rate(context: Context, own: Algorithm, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Finding]:
    """Compare the measured law with the claimed one, and with the theorem's number where there is a theorem."""
    subject, claim = "measured rate against the claimed one", own.rate
    if claim is None:
        reason = (
            "No rate is declared: say in rate=dpcheck.RateClaim(...) how it is measured, where, and what is claimed."
        )
        yield not_checked(own, "rate", "rate", subject, reason)
        return
    factors = list(claim.grid)
    claimed = dict(claim.claimed) if claim.theorem is None else dict.fromkeys(factors, 0.0)
    for look in range(_LOOKS):
        frame = _measured(context, own, claim, look)
        fit = fit_rate(
            frame, response="measured", factors=factors, claimed=claimed, confidence=1 - _LEVEL,
            offset=None if claim.theorem is None else "bound",
        )  # fmt: skip
        above = _above(frame, factors, claim)
        if fit.verdict != "contradicted" and not above:
            break
    place = place_of(own.code) if claim.theorem is None else place_of_theorem(claim.theorem)
    yield finding(own, "rate", "rate", subject, fit.verdict, fit.reason, evidence={"fit": fit.to_dict()}, place=place)
    tables[f"{own.name}: rate"] = rows = _rows(frame, factors)
    if claim.theorem is None:
        return
    worst = max(rows, key=lambda row: row["measured/bound"])
    at = ", ".join(f"{name} = {worst[name]:g}" for name in factors)
    yield finding(
        own, "bound", "bound", f"measured error against the number of {claim.theorem.id}",
        "violated" if above else "consistent",
        f"the mean is at most {worst['measured/bound']:.3g} times the theorem's bound, at {at}",
        evidence={"largest": worst}, place=place,
    )  # fmt: skip


def _rows(frame: pd.DataFrame, factors: list[str]) -> list[dict[str, Any]]:
    """Return a row for each setting: the mean, its standard error, and the bound where there is one."""
    rows = []
    for _, cell in frame.groupby(factors, sort=False):
        row = {name: cell[name].iloc[0] for name in factors}
        row |= {"measured": float(cell["measured"].mean()), "error": float(cell["measured"].sem())}
        if "bound" in cell:
            bound = float(cell["bound"].iloc[0])
            row |= {"bound": bound, "measured/bound": row["measured"] / bound}
        rows.append(row)
    return rows


def _above(frame: pd.DataFrame, factors: list[str], claim: RateClaim) -> bool:
    """Say whether the mean exceeds the theorem's number at some setting, beyond chance."""
    rows = _rows(frame, factors)
    reach = float(student.isf(_LEVEL / 2 / len(rows), claim.seeds - 1))
    return any(row["measured"] - reach * row["error"] > row.get("bound", np.inf) for row in rows)


def _measured(context: Context, own: Algorithm, claim: RateClaim, look: int) -> pd.DataFrame:
    """Return a row for each measurement, each with a stream of its own."""
    cells = [dict(zip(claim.grid, levels, strict=True)) for levels in itertools.product(*claim.grid.values())]
    seed, rows = context.stream(crc32(own.name.encode()), 30, look), []
    for number, cell in enumerate(cells):
        bound = {} if claim.theorem is None else {"bound": claim.theorem.bound(**claim.constants, **cell)}
        for k in range(claim.seeds):
            context.progress(number * claim.seeds + k, len(cells) * claim.seeds)
            try:
                value = float(claim.measure(np.random.default_rng([seed, number, k]), **cell))
            except (Exception, SystemExit) as error:
                raise InputError(f"measure of {own.name} must return a number, got {raised(error)}") from error
            rows.append({**cell, "measured": value, **bound})
    return pd.DataFrame(rows)
