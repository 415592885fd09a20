"""Laws with known exponents, tables measured from them, and how often each claim gets each verdict."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from dpcheck.audits.rate_table import read
from dpcheck.audits.rate_verdict import _BEYOND, _SLOWER, Fitted, _least_share, _two_powers, overall

Law = Callable[[np.ndarray, np.ndarray], np.ndarray]
VERDICTS = ("supported", "contradicted", "inconclusive", "not asymptotic")
TOO_FAST = 0.15  # by how much the dangerous claim's power of n is off
MARGIN = 0.1


@dataclass(frozen=True)
class Grid:
    """Sizes of data from 128 on, runs at each size and dimension, and the relative spread of a run."""

    levels: int
    seeds: int
    largest: int = 16384
    spread: float = 0.2

    @property
    def sizes(self) -> np.ndarray:
        """The sizes, alike in their logarithms."""
        return np.asarray(2.0 ** np.linspace(7, np.log2(self.largest), self.levels))


LARGE = Grid(8, 20)
OTHERS = (
    Grid(8, 10), Grid(8, 3), Grid(4, 20), Grid(6, 20, 4096), Grid(5, 5, 2048), Grid(6, 20, 4096, 0.1),
    Grid(6, 10, 4096, 0.1),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A law of n and d, the claim that it satisfies, and how it is measured.

    ``claim`` is the asymptotic truth where ``identifiable``; elsewhere a claim that the grid must
    neither support nor contradict. ``kind`` says what is asked of it: a "clean" law is a power on the
    grid once its offset is known; "bent" ones become it, a "floor" does not; "tails" have no variance;
    "noisy" ones vary more, "clustered" ones share something.
    ``noise`` names how single runs vary; ``share`` what they share.
    """

    name: str
    law: Law
    claim: dict[str, float]
    kind: str = "clean"
    noise: str = "lognormal"
    share: str = "nothing"
    offset: str | None = None
    identifiable: bool = True
    dimensions: tuple[int, ...] = (1,)

    @property
    def cluster(self) -> str | None:
        """The column of what runs share."""
        return {"nothing": None, "size": "n", "seed": "seed"}[self.share]

    @property
    def too_fast(self) -> dict[str, float]:
        """The claim with too fast a power of n."""
        return self.claim | {"n": self.claim["n"] - TOO_FAST}

    def leaves(self, grid: Grid) -> bool:
        """Whether the law is out of the margin of the claim that is too fast before "supported" follows it no more."""
        n = grid.largest * (grid.largest / grid.sizes[0]) ** _BEYOND * np.array([1, 1.001])
        low, high = np.log(self.law(n, np.ones(2)))
        return bool((high - low) / np.log(1.001) > self.too_fast["n"] + MARGIN - 1e-3)


def rival(n: np.ndarray, first: float, grid: Grid) -> np.ndarray:
    """A law of two powers that breaks the claim n^0, measured on the grid, as soon as it may."""
    length = float(np.log(grid.largest / grid.sizes[0]))
    second = _SLOWER * MARGIN
    share = _least_share(second - first, MARGIN, _BEYOND * length)
    return np.exp(_two_powers(np.log(n / grid.largest), first, second, share)[0])


@cache
def nearest(grid: Grid) -> tuple[float, float]:
    """How many standard errors lie between n^0 and the rival that is the hardest to tell from it; its first power."""
    away = {}
    for first in np.linspace(-1, 0.5 * MARGIN, 300):
        law = np.log(rival(grid.sizes, first, grid))
        away[float(np.linalg.norm(law - law.mean()) * np.sqrt(grid.seeds) / grid.spread)] = float(first)
    return min(away), away[min(away)]


def _rival(n: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The rival of n^-.65 that is the hardest to tell from it on the large grid: its second power is -1/2."""
    return rival(n, nearest(LARGE)[1], LARGE) * n**-0.65


HALF, ONE = {"n": -0.5}, {"n": -1.0}
CASES = (
    Case("n^-1/2", lambda n, d: n**-0.5, HALF),
    Case("n^-1", lambda n, d: 1 / n, ONE),
    Case("n^-1/2, spread grows with n", lambda n, d: n**-0.5, HALF, noise="heteroscedastic", kind="noisy"),
    Case("n^-1/2, unbalanced", lambda n, d: n**-0.5, HALF, noise="unbalanced", kind="noisy"),
    Case("n^-1/2, runs of both signs", lambda n, d: n**-0.5, HALF, noise="signed", kind="noisy"),
    Case("|N|^2/n", lambda n, d: 1 / n, ONE, noise="square", kind="noisy"),
    Case("n^-1/2, t with 2 degrees of freedom", lambda n, d: n**-0.5, HALF, noise="t2", kind="tails"),
    Case("n^-1/2, Cauchy", lambda n, d: n**-0.5, HALF, noise="cauchy", kind="tails", identifiable=False),
    Case("n^-1/2, one data set a size", lambda n, d: n**-0.5, HALF, share="size", kind="clustered"),
    Case("n^-1/2, common random numbers", lambda n, d: n**-0.5, HALF, share="seed", kind="clustered"),
    Case("log(n)/n, offset log(n)", lambda n, d: np.log(n) / n, ONE, offset="log(n)"),
    Case("1/(n log(n)), offset 1/log(n)", lambda n, d: 1 / (n * np.log(n)), ONE, offset="1/log(n)"),
    Case("sqrt(d)/n", lambda n, d: np.sqrt(d) / n, {"n": -1.0, "d": 0.5}, dimensions=(4, 16, 64)),
    Case("1/sqrt(n) + 20 sqrt(d)/n, offset the bound", lambda n, d: n**-0.5 + 20 * np.sqrt(d) / n,
         {"n": 0.0, "d": 0.0}, offset="1/sqrt(n) + 20*sqrt(d)/n", dimensions=(4, 16, 64)),
    Case("1/sqrt(n) + 300/n, offset the bound", lambda n, d: n**-0.5 + 300 / n, {"n": 0.0},
         offset="1/sqrt(n) + 300/n"),
    Case("1/sqrt(n) + 20 sqrt(d)/n, as a product", lambda n, d: n**-0.5 + 20 * np.sqrt(d) / n,
         {"n": -0.5, "d": 0.5}, kind="bent", dimensions=(4, 16, 64)),
    Case("1/sqrt(n) + 300/n", lambda n, d: n**-0.5 + 300 / n, HALF, kind="bent"),
    Case("1/sqrt(n) + 150/n", lambda n, d: n**-0.5 + 150 / n, HALF, kind="bent"),
    Case("1/sqrt(n) + 100/n", lambda n, d: n**-0.5 + 100 / n, HALF, kind="bent"),
    Case("1/sqrt(n) + 10 n^-3/4", lambda n, d: n**-0.5 + 10 * n**-0.75, HALF, kind="bent"),
    Case("nearest rival of n^-.65", _rival, HALF, kind="bent"),
    Case("nearest rival of n^-.65, t with 2 degrees of freedom", _rival, HALF, noise="t2", kind="bent"),
    Case("nearest rival of n^-.65, one data set a size", _rival, HALF, share="size", kind="bent"),
    Case("nearest rival of n^-.65, common random numbers", _rival, HALF, share="seed", kind="bent"),
    Case("n^-.4 (1 + 30/sqrt(n))", lambda n, d: n**-0.4 * (1 + 30 / np.sqrt(n)), {"n": -0.4}, kind="bent"),
    Case("n^-.4 (1 + 5/sqrt(n))", lambda n, d: n**-0.4 * (1 + 5 / np.sqrt(n)), {"n": -0.4}, kind="bent"),
    Case("n^-1/2 (1 - 5/sqrt(n))", lambda n, d: n**-0.5 * (1 - 5 / np.sqrt(n)), HALF, kind="bent"),
    Case("1/(n log(n))", lambda n, d: 1 / (n * np.log(n)), ONE, kind="bent"),
    Case("n^-1/2 + .003", lambda n, d: n**-0.5 + 0.003, HALF, kind="floor", identifiable=False),
    Case("n^-1 + .002", lambda n, d: 1 / n + 0.002, ONE, kind="floor", identifiable=False),
)  # fmt: skip


def table(case: Case, rng: np.random.Generator, grid: Grid) -> pd.DataFrame:
    """A measurement a row, of the grid's runs at each size and dimension."""
    cells = [(n, d) for n in grid.sizes for d in case.dimensions]
    uneven = case.noise == "unbalanced"
    runs = [int(rng.integers(max(2, grid.seeds // 3), grid.seeds + 1)) if uneven else grid.seeds for _ in cells]
    n, d = np.repeat(np.array(cells, dtype=float), runs, axis=0).T
    seed = np.concatenate([np.arange(count) for count in runs])
    factor = _noise(case.noise, n, rng, grid.spread)
    if case.share == "size":
        factor = factor * _one(grid.spread, rng.standard_normal(grid.levels))[np.searchsorted(grid.sizes, n)]
    if case.share == "seed":  # each seed has its own level and its own slope, as a shared stream gives it
        bend = 0.05 * np.log(n / n.min())
        level = _one(grid.spread, rng.standard_normal(grid.seeds)[seed])
        factor = factor * level * _one(bend, rng.standard_normal(grid.seeds)[seed])
    return pd.DataFrame({"n": n, "d": d, "seed": seed, "gap": case.law(n, d) * factor})


def simulate(case: Case, grid: Grid, tables: int) -> dict[str, Any]:
    """How often intervals cover the claim, and the verdicts on it and on one that is too fast.

    ``... by one term`` counts what would be supported if no second term were looked for.
    """
    covered, true, fast = 0, Counter[str](), Counter[str]()
    for number in range(tables):
        rng = np.random.default_rng([zlib.crc32(case.name.encode()), number, grid.levels, grid.seeds])
        frame = table(case, rng, grid)
        fitted = Fitted.of(read(frame, "gap", list(case.claim), cluster=case.cluster, offset=case.offset))
        intervals = fitted.intervals(0.95)
        covered += all(intervals[name][0] <= value <= intervals[name][1] for name, value in case.claim.items())
        for claim, verdicts in ((case.claim, true), (case.too_fast, fast)):
            judged = fitted.judge(claim, confidence=0.95, margin=MARGIN)
            verdicts[overall(judged)[0]] += 1
            verdicts["by one term"] += all(j.verdict == "supported" or j.hidden for j in judged.values())
    return {
        "law": case.name, "kind": case.kind, "levels": grid.levels, "seeds": grid.seeds, "largest": grid.largest,
        "spread": grid.spread, "tables": tables, "coverage": covered / tables,
        "claim supported by one term": true["by one term"] / tables,
        **{f"claim {word}": true[word] / tables for word in VERDICTS},
        "too fast supported by one term": fast["by one term"] / tables,
        **{f"too fast {word}": fast[word] / tables for word in VERDICTS},
        "leaves in time": case.leaves(grid) if case.kind == "bent" and case.dimensions == (1,) else None,
        "no rule above": most_support(grid) if case.kind == "clean" and case.dimensions == (1,) else None,
    }  # fmt: skip


def most_support(grid: Grid, wrong: float = 0.05) -> float:
    """How often any rule can support a clean law of n if it supports no rival more often than ``wrong``.

    By Neyman and Pearson: with a constant that is free, the logarithms of single runs of the two laws differ by a
    known vector in Gaussian noise.
    """
    return float(stats.norm.cdf(nearest(grid)[0] + stats.norm.ppf(wrong)))


def _noise(kind: str, n: np.ndarray, rng: np.random.Generator, spread: float) -> np.ndarray:
    z = rng.standard_normal(n.size)
    if kind == "t2":
        return np.asarray(1 + spread * rng.standard_t(2, n.size))
    if kind == "cauchy":
        return np.asarray(1 + spread * rng.standard_cauchy(n.size))
    if kind == "square":
        return np.asarray(z**2)
    if kind == "signed":
        return np.asarray(1 + 5 * spread * z)
    return _one(2 * spread * np.sqrt(n / n.max()) if kind == "heteroscedastic" else spread, z)


def _one(spread: np.ndarray | float, z: np.ndarray) -> np.ndarray:
    """Lognormal factors of mean one."""
    return np.asarray(np.exp(spread * z - np.square(spread) / 2))
