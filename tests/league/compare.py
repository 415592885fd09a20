"""What the table says of one entrant beside another: by case, over all cases, and of its own level."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

LEVEL, SURE, LEAST = 0.05, 0.01, 6


def shares(row: pd.Series) -> np.ndarray:
    """Return the bounds of a row over its truth, one a seed."""
    return np.array(str(row.bounds).split(), float) / row.truth


def ranked(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in which a bound can be held against a truth: finite, above 0."""
    return table[np.isfinite(table.truth) & (table.truth > 0)]


@dataclass(frozen=True)
class Errors:
    """How often an entrant's bound was above the truth, and how often it accused what keeps its claim."""

    above: int
    of: int
    alarms: int
    honest: int

    @property
    def broken(self) -> bool:
        """Whether more than 5 % of either is shown, at 1 % each: such an entrant is not ranked."""
        pairs = ((self.above, self.of), (self.alarms, self.honest))
        return any(k and stats.binomtest(k, n, LEVEL, alternative="greater").pvalue < SURE for k, n in pairs)


def errors(rows: pd.DataFrame) -> Errors:
    """Count over rows of one entrant."""
    known, honest = rows[np.isfinite(rows.truth)], rows[rows.faulty == 0]
    counts = (known.above.sum(), known.seeds.sum(), honest.found.sum(), honest.seeds.sum())
    return Errors(*(int(count) for count in counts))


def by_case(table: pd.DataFrame, entrant: str) -> dict[str, float]:
    """Return the mean of bound over truth, by case."""
    rows = ranked(table[table.entrant == entrant])
    return {row.case: float(shares(row).mean()) for _, row in rows.iterrows()}


def beside(table: pd.DataFrame, one: str, other: str) -> tuple[int, float, float]:
    """Return cases in common, the mean of ``one`` less ``other``, and the p-value of equality (signed ranks)."""
    a, b = by_case(table, one), by_case(table, other)
    gaps = np.array([a[case] - b[case] for case in a if case in b])
    if len(gaps) == 0:
        return 0, 0.0, 1.0
    p = 1.0 if not gaps.any() or len(gaps) < LEAST else float(stats.wilcoxon(gaps, zero_method="zsplit").pvalue)
    return len(gaps), float(gaps.mean()), p


def groups(table: pd.DataFrame, names: list[str], mark: str = "dpcheck") -> list[list[str]]:
    """Return groups of equals, the best first: a leader, and those that it is not shown to be ahead of (Holm, 5 %).

    Who leads is decided by the mean gap to ``mark`` over the cases in common with it.
    """
    left, found = list(names), []
    while left:
        gap = {name: beside(table, name, mark)[1] if name != mark else 0.0 for name in left}
        leader = max(left, key=lambda name: gap[name])
        tests = {name: beside(table, leader, name) for name in left if name != leader}
        behind, m = [], len(tests)
        for place, name in enumerate(sorted(tests, key=lambda name: tests[name][2])):
            if tests[name][2] > LEVEL / (m - place):
                break
            behind.append(name)
        found.append([name for name in left if name not in behind])
        left = behind
    return found


def ahead(table: pd.DataFrame, mark: str = "dpcheck") -> Iterator[tuple[str, int, str, str]]:
    """Yield (case, runs, entrant, words) where another is ahead of ``mark``, as far as its seeds can show at 1 %."""
    for (case, runs), rows in table.groupby(["case", "runs"], sort=False):
        ours = rows[rows.entrant == mark]
        for _, other in rows[rows.entrant != mark].iterrows():
            if ours.empty:
                continue
            row = ours.iloc[0]
            if row.faulty:
                counts = [[other.found, other.seeds - other.found], [row.found, row.seeds - row.found]]
                if stats.fisher_exact(counts, alternative="greater").pvalue < SURE:
                    yield case, runs, other.entrant, f"found {other.found}/{other.seeds}, {row.found}/{row.seeds}"
                    continue
            if math.isfinite(row.truth) and row.truth > 0:
                a, b = shares(other), shares(row)
                n = min(len(a), len(b))
                if n >= 3 and (a[:n] != b[:n]).any():
                    p = stats.ttest_rel(a[:n], b[:n], alternative="greater").pvalue
                    if p < SURE:
                        yield case, runs, other.entrant, f"bound {a[:n].mean():.2f} of the truth, {b[:n].mean():.2f}"
