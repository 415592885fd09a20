"""The table: how a row is measured, read and added to ``tests/measured/league.csv``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import tables
from league.case import Case
from league.entrant import Entrant, Process

NAME = "league"
SEEDS = {1_000: 20, 10_000: 20, 100_000: 5, 1_000_000: 2}
KEYS = ["entrant", "case", "runs"]


def seeds(case: Case, runs: int) -> int:
    """How many times a case is audited: fewer where only the verdict is compared, for its truth is not a number."""
    return min(SEEDS.get(runs, 5), 20 if math.isfinite(case.truth) and case.truth > 0 else 5)


def measured(entrant: Entrant, process: Process, case: Case, runs: int) -> dict[str, Any] | None:
    """Return the row of an entrant on a case; None where it does not take part."""
    if runs > entrant.most_runs or (entrant.one_number and case.samples(2, 0)[0].shape[1] > 1):
        return None
    bounds, found, seconds, failed = [], 0, [], ""
    process.bound(*case.samples(1_000, 10_000), case.claimed, case.delta)  # what happens once happens here
    for seed in range(seeds(case, runs)):
        data, neighbour = case.samples(runs, seed)
        answer, spent = process.bound(data, neighbour, case.claimed, case.delta)
        found += answer > case.claimed
        if entrant.uses_claim and case.faulty and math.isfinite(case.truth):
            answer = process.bound(data, neighbour, case.truth, case.delta)[0]
        bounds.append(answer)
        seconds.append(spent)
    return {
        "entrant": entrant.name, "case": case.name, "runs": runs, "seeds": len(bounds), "claimed": case.claimed,
        "delta": case.delta, "truth": case.truth, "faulty": int(case.faulty), "found": found,
        "above": int(np.sum(np.array(bounds) > case.truth)), "bound": float(np.mean(bounds)),
        "seconds": round(float(np.mean(seconds)), 3), "bounds": " ".join(f"{bound:.5g}" for bound in bounds),
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
