"""Laws with known exponents, and tables measured from them: what the fit of a rate is tried on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

Law = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Case:
    """A law of n with its true exponent, how it is measured, and what is claimed of it.

    ``exponent`` is the true one, or ``None`` where a power of n is not what the law is on the grid.
    ``noise`` names how single runs vary; ``share`` what they share.
    """

    name: str
    law: Law
    exponent: float | None
    noise: str = "lognormal"
    share: str = "nothing"
    offset: str | None = None


CASES = (
    Case("n^-1/2", lambda n: n**-0.5, -0.5),
    Case("n^-1", lambda n: 1 / n, -1.0),
    Case("n^-1/2, spread grows with n", lambda n: n**-0.5, -0.5, noise="heteroscedastic"),
    Case("n^-1/2, heavy tails (t with 2)", lambda n: n**-0.5, -0.5, noise="t2"),
    Case("n^-1/2, Cauchy", lambda n: n**-0.5, -0.5, noise="cauchy"),
    Case("n^-1/2, runs of both signs", lambda n: n**-0.5, -0.5, noise="signed"),
    Case("n^-1/2, unbalanced", lambda n: n**-0.5, -0.5, noise="unbalanced"),
    Case("n^-1/2, one data set a size", lambda n: n**-0.5, -0.5, share="size"),
    Case("n^-1/2, common random numbers", lambda n: n**-0.5, -0.5, share="seed"),
    Case("log(n)/n, offset log(n)", lambda n: np.log(n) / n, -1.0, offset="log(n)"),
    Case("1/(n log(n)), offset 1/log(n)", lambda n: 1 / (n * np.log(n)), -1.0, offset="1/log(n)"),
    Case("1/sqrt(n) + 300/n, offset the bound", lambda n: n**-0.5 + 300 / n, 0.0, offset="1/sqrt(n) + 300/n"),
    Case("n^-1/2 + .003", lambda n: n**-0.5 + 0.003, None),
    Case("n^-1 + .002", lambda n: 1 / n + 0.002, None),
    Case("n^-1/2 (1 - 5/sqrt(n))", lambda n: n**-0.5 * (1 - 5 / np.sqrt(n)), -0.5),
    Case("n^-.4 (1 + 30/sqrt(n))", lambda n: n**-0.4 * (1 + 30 / np.sqrt(n)), -0.4),
    Case("n^-.4 (1 + 5/sqrt(n))", lambda n: n**-0.4 * (1 + 5 / np.sqrt(n)), -0.4),
    Case("1/(n log(n))", lambda n: 1 / (n * np.log(n)), -1.0),
    Case("1/sqrt(n) + 300/n", lambda n: n**-0.5 + 300 / n, -0.5),
)


def table(case: Case, rng: np.random.Generator, levels: int, seeds: int, spread: float = 0.2) -> pd.DataFrame:
    """A measurement a row: n from 128 on by factors of two, ``seeds`` runs each, relative noise ``spread``."""
    sizes = 2.0 ** (7 + np.linspace(0, 7, levels)) if levels < 8 else 2.0 ** np.arange(7, 7 + levels)
    runs = [int(rng.integers(max(2, seeds // 3), seeds + 1)) if case.noise == "unbalanced" else seeds for _ in sizes]
    n = np.repeat(sizes, runs)
    seed = np.concatenate([np.arange(count) for count in runs])
    factor = _noise(case.noise, n, rng, spread)
    if case.share == "size":
        factor = factor * _one(spread, rng.standard_normal(sizes.size))[np.searchsorted(sizes, n)]
    if case.share == "seed":  # each seed has its own level and its own slope, as a shared stream gives it
        bend = 0.05 * np.log(n / n.min())
        factor = factor * _one(spread, rng.standard_normal(seeds)[seed]) * _one(bend, rng.standard_normal(seeds)[seed])
    frame = pd.DataFrame({"n": n, "seed": seed, "gap": case.law(n) * factor})
    return frame


def cluster(case: Case) -> str | None:
    """The column of what runs share."""
    return {"nothing": None, "size": "n", "seed": "seed"}[case.share]


def _noise(kind: str, n: np.ndarray, rng: np.random.Generator, spread: float) -> np.ndarray:
    z = rng.standard_normal(n.size)
    if kind == "t2":
        return np.asarray(1 + spread * rng.standard_t(2, n.size))
    if kind == "cauchy":
        return np.asarray(1 + spread * rng.standard_cauchy(n.size))
    if kind == "signed":
        return np.asarray(1 + 5 * spread * z)
    return _one(2 * spread * np.sqrt(n / n.max()) if kind == "heteroscedastic" else spread, z)


def _one(spread: np.ndarray | float, z: np.ndarray) -> np.ndarray:
    """Lognormal factors of mean one."""
    return np.asarray(np.exp(spread * z - np.square(spread) / 2))
