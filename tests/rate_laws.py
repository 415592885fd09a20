"""Laws with known exponents, tables measured from them, and how often each claim gets each verdict."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from dpcheck.audits.rate_verdict import Fitted, overall
from dpcheck.audits.rate_table import evaluate, read

Law = Callable[[np.ndarray, np.ndarray], np.ndarray]
VERDICTS = ("supported", "contradicted", "inconclusive", "not asymptotic")
GRIDS = ((8, 20), (8, 10), (8, 3), (4, 20))  # levels and seeds
TOO_FAST = 0.15  # by how much the dangerous claim's power of n is off
SPREAD = 0.2


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

    def crosses(self, levels: int) -> bool:
        """Whether on the grid the local slope becomes slower than the claim that is too fast."""
        n, d = sizes(levels)[-2:], np.full(2, float(self.dimensions[-1]))
        values = self.law(n, d) / (evaluate(self.offset, {"n": n, "d": d}) if self.offset else 1.0)
        return bool(np.log(values[1] / values[0]) / np.log(n[1] / n[0]) > self.too_fast["n"])


HALF, ONE = {"n": -0.5}, {"n": -1.0}
CASES = (
    Case("n^-1/2", lambda n, d: n**-0.5, HALF),
    Case("n^-1", lambda n, d: 1 / n, ONE),
    Case("n^-1/2, spread grows with n", lambda n, d: n**-0.5, HALF, noise="heteroscedastic", kind="noisy"),
    Case("n^-1/2, unbalanced", lambda n, d: n**-0.5, HALF, noise="unbalanced", kind="noisy"),
    Case("n^-1/2, runs of both signs", lambda n, d: n**-0.5, HALF, noise="signed", kind="noisy"),
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
    Case("n^-.4 (1 + 30/sqrt(n))", lambda n, d: n**-0.4 * (1 + 30 / np.sqrt(n)), {"n": -0.4}, kind="bent"),
    Case("n^-.4 (1 + 5/sqrt(n))", lambda n, d: n**-0.4 * (1 + 5 / np.sqrt(n)), {"n": -0.4}, kind="bent"),
    Case("n^-1/2 (1 - 5/sqrt(n))", lambda n, d: n**-0.5 * (1 - 5 / np.sqrt(n)), HALF, kind="bent"),
    Case("1/(n log(n))", lambda n, d: 1 / (n * np.log(n)), ONE, kind="bent"),
    Case("n^-1/2 + .003", lambda n, d: n**-0.5 + 0.003, HALF, kind="floor", identifiable=False),
    Case("n^-1 + .002", lambda n, d: 1 / n + 0.002, ONE, kind="floor", identifiable=False),
)  # fmt: skip


def sizes(levels: int) -> np.ndarray:
    """Sizes of data: 128 to 16384, by factors of two where there are eight."""
    return 2.0 ** np.linspace(7, 14, levels)


def table(case: Case, rng: np.random.Generator, levels: int, seeds: int) -> pd.DataFrame:
    """A measurement a row, ``seeds`` runs at each size and dimension, of relative spread ``SPREAD``."""
    cells = [(n, d) for n in sizes(levels) for d in case.dimensions]
    uneven = case.noise == "unbalanced"
    runs = [int(rng.integers(max(2, seeds // 3), seeds + 1)) if uneven else seeds for _ in cells]
    n, d = np.repeat(np.array(cells, dtype=float), runs, axis=0).T
    seed = np.concatenate([np.arange(count) for count in runs])
    factor = _noise(case.noise, n, rng)
    if case.share == "size":
        factor = factor * _one(SPREAD, rng.standard_normal(levels))[np.searchsorted(sizes(levels), n)]
    if case.share == "seed":  # each seed has its own level and its own slope, as a shared stream gives it
        bend = 0.05 * np.log(n / n.min())
        factor = factor * _one(SPREAD, rng.standard_normal(seeds)[seed]) * _one(bend, rng.standard_normal(seeds)[seed])
    return pd.DataFrame({"n": n, "d": d, "seed": seed, "gap": case.law(n, d) * factor})


def simulate(case: Case, levels: int, seeds: int, tables: int) -> dict[str, Any]:
    """How often intervals cover the claim, and the verdicts on it and on one that is too fast."""
    covered, true, fast = 0, Counter[str](), Counter[str]()
    for number in range(tables):
        rng = np.random.default_rng([zlib.crc32(case.name.encode()), number, levels, seeds])
        frame = table(case, rng, levels, seeds)
        fitted = Fitted.of(read(frame, "gap", list(case.claim), cluster=case.cluster, offset=case.offset))
        intervals = fitted.intervals(0.95)
        covered += all(intervals[name][0] <= value <= intervals[name][1] for name, value in case.claim.items())
        for claim, verdicts in ((case.claim, true), (case.too_fast, fast)):
            verdicts[overall(fitted.judge(claim, confidence=0.95, margin=0.1))[0]] += 1
    return {
        "law": case.name, "kind": case.kind, "levels": levels, "seeds": seeds, "tables": tables,
        "coverage": covered / tables,
        **{f"claim {word}": true[word] / tables for word in VERDICTS},
        "crosses": case.crosses(levels),
        **{f"too fast {word}": fast[word] / tables for word in VERDICTS},
    }  # fmt: skip


def least_support(case: Case, levels: int, seeds: int, clean: float) -> float:
    """How often a rule must support the false claim about a law of n if it supports a clean one so often.

    By Neyman and Pearson: between the law and the claimed power, each with a constant that is free,
    the logarithms of single runs differ by a known vector in Gaussian noise. The false claim is the
    power that is too fast, or for a floor the one that holds before it.
    """
    n = sizes(levels)
    exponent = (case.claim if case.kind == "floor" else case.too_fast)["n"]
    difference = np.log(case.law(n, np.ones(levels))) - exponent * np.log(n)
    distance = np.linalg.norm(difference - difference.mean()) / (SPREAD / np.sqrt(seeds))
    return float(stats.norm.cdf(stats.norm.ppf(clean) - distance))


def _noise(kind: str, n: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    z = rng.standard_normal(n.size)
    if kind == "t2":
        return np.asarray(1 + SPREAD * rng.standard_t(2, n.size))
    if kind == "cauchy":
        return np.asarray(1 + SPREAD * rng.standard_cauchy(n.size))
    if kind == "signed":
        return np.asarray(1 + 5 * SPREAD * z)
    return _one(2 * SPREAD * np.sqrt(n / n.max()) if kind == "heteroscedastic" else SPREAD, z)


def _one(spread: np.ndarray | float, z: np.ndarray) -> np.ndarray:
    """Lognormal factors of mean one."""
    return np.asarray(np.exp(spread * z - np.square(spread) / 2))
