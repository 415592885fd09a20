"""``python -m tests.league.shares``: what dpcheck's bound becomes if more of 10,000 runs are spent on learning a set.

The shares of the plan are exchanged for the time of the call; its levels stay.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent / "entrants")]
import tables
import with_dpcheck
from league.case import Case, cases

from dpcheck.audits import looks

RUNS, SEEDS, MORE = 10_000, 8, (0.01, 0.04, 0.30, 0.65)
BEHIND = ("fooling comb, kept", "recorder sum not clipped", "sniper RAPPOR")
CASES = (
    *BEHIND, "fooling rare, kept", "fooling order", "ldp GRR", "ldp OLH at 1.5", "recorder double spending",
    "sniper Laplace", "sniper RAPPOR, once", "sniper SVT 1", "sniper noisy maximum, Laplace",
)  # fmt: skip


def mean(case: Case, shares: tuple[float, ...]) -> float:
    """Return the mean of bound over truth under these shares."""
    kept = looks._PLANS
    looks._PLANS = ((kept[0][0], shares, kept[0][2]), *kept[1:])
    try:
        bounds = [with_dpcheck.bound(*case.samples(RUNS, seed), case.truth, 0.0, 0.95) for seed in range(SEEDS)]
    finally:
        looks._PLANS = kept
    return float(np.mean(bounds)) / case.truth


if __name__ == "__main__":
    found = {name: cases()[name] for name in CASES}
    rows = [
        {"case": name, "runs": RUNS, "seeds": SEEDS, "learns on 13 %": mean(case, looks._PLANS[0][1]),
         "learns on 35 %": mean(case, MORE)}
        for name, case in found.items()
    ]  # fmt: skip
    tables.write("league_shares", pd.DataFrame(rows))
