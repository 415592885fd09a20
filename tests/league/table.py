"""The table: how a row is measured, read and added to ``tests/measured/league.csv``."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import tables
from league.case import Case
from league.entrant import Entrant, Process

NAME = "league"
SEEDS = {1_000: 20, 10_000: 20, 100_000: 3}
KEYS = ["entrant", "case", "runs"]


def seeds(case: Case, runs: int) -> int:
    """How many times a case is audited: fewer where only the verdict is compared, or where cases are many."""
    compared = math.isfinite(case.truth) and case.truth > 0 and not case.name.startswith("bug ")
    return min(SEEDS.get(runs, 3), 20 if compared else 3)


def measured(entrant: Entrant, process: Process, case: Case, runs: int) -> dict[str, Any] | None:
    """Return the row of an entrant on a case; None where it does not take part."""
    if runs > entrant.most_runs or (entrant.pure and case.delta > 0):
        return None
    bounds, found, seconds, failures = [], 0, [], []
    with suppress(Exception):
        process.bound(*case.samples(1_000, 10_000), case.claimed, case.delta)  # what happens once happens here
    for seed in range(entrant.seeds or seeds(case, runs)):
        data, neighbour = case.samples(runs, seed)
        answer, spent = 0.0, math.nan
        try:
            answer, spent = process.bound(data, neighbour, case.claimed, case.delta)
            found += answer > case.claimed
            if entrant.uses_claim and case.faulty and math.isfinite(case.truth):
                answer = process.bound(data, neighbour, case.truth, case.delta)[0]
        except Exception as error:
            if type(error).__name__ == "NotImplementedError":  # its adapter's word for a case that it has no way with
                return None
            failures.append(f"{type(error).__name__}: {error}".splitlines()[0][:120])
        bounds.append(answer)
        seconds.append(spent)
    return {
        "entrant": entrant.name, "case": case.name, "runs": runs, "seeds": len(bounds), "claimed": case.claimed,
        "delta": case.delta, "truth": case.truth, "faulty": int(case.faulty), "found": found,
        "above": int(np.sum(np.array(bounds) > case.truth)), "bound": float(np.mean(bounds)),
        "seconds": round(float(np.nanmean(seconds)), 3) if len(failures) < len(bounds) else math.nan,
        "failed": len(failures), "why": failures[0] if failures else "",
        "bounds": " ".join(f"{bound:.5g}" for bound in bounds),
    }  # fmt: skip


def read() -> pd.DataFrame:
    """Return the table; empty where there is none."""
    return tables.read(NAME) if (tables.FOLDER / f"{NAME}.csv").exists() else pd.DataFrame(columns=KEYS)


def has(entrant: str, case: str, runs: int) -> bool:
    """Whether a row is there."""
    kept = read()
    return bool(((kept.entrant == entrant) & (kept.case == case) & (kept.runs == runs)).any())


def add(row: dict[str, Any]) -> None:
    """Write a row into the table, in place of an earlier one."""
    kept = read()
    if len(kept):
        kept = kept[~((kept.entrant == row["entrant"]) & (kept.case == row["case"]) & (kept.runs == row["runs"]))]
    whole = pd.concat([kept, pd.DataFrame([row])]) if len(kept) else pd.DataFrame([row])
    tables.write(NAME, whole.sort_values(["runs", "case", "entrant"], kind="stable"))
