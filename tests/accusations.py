"""Repeated audits of mechanisms that keep their claims, and the tables of how often they are accused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, stats

from dpcheck.audits.bands import band_bound
from dpcheck.audits.membership import audit_privacy
from dpcheck.audits.neighbours import Pair
from dpcheck.audits.one_run import audit_one_run
from dpcheck.audits.search import audit_neighbours
from dpcheck.audits.sequential import audit_sequential
from dpcheck.audits.split import split_bound

REPEATS = 2_000


def delta_of(sigma: float) -> float:
    """The Gaussian mechanism's delta at epsilon 1, sensitivity 1 (Balle and Wang 2018)."""
    half = 1 / (2 * sigma)
    return float(stats.norm.cdf(half - sigma) - math.e * stats.norm.cdf(-half - sigma))


def sigma_of(delta: float) -> float:
    """Standard deviation at which the Gaussian mechanism is exactly (1, delta)-private at sensitivity 1."""
    return float(optimize.brentq(lambda sigma: delta_of(sigma) - delta, 0.3, 20, xtol=1e-12))


@dataclass(frozen=True)
class Mechanism:
    """``draw(data, rng, size)`` keeps (epsilon, delta) between data 1 and 0, and nothing smaller.

    claim : the same as a curve, or None;  score : the one number of a wide output that audits of scores see
    joint : outputs for the coins of many canaries at once, (coins, rng), where those are not drawn one by one
    """

    draw: Callable[[Any, np.random.Generator, int], Any]
    epsilon: float
    delta: float = 0.0
    claim: Any = None
    score: Callable[[Any], Any] | None = None
    joint: Callable[[Any, np.random.Generator], Any] | None = None

    @property
    def wide(self) -> bool:
        return np.ndim(self.draw(1, np.random.default_rng(0), 2)) == 2

    @property
    def narrow(self) -> bool:
        """Whether audits of scores can be made of it."""
        return not self.wide or self.score is not None

    def scores(self, value: int, rng: np.random.Generator, size: int) -> Any:
        drawn = self.draw(value, rng, size)
        return drawn if self.score is None else self.score(drawn)


def accused(mechanism: Mechanism, seed: int, trials: int) -> bool:
    claimed = {"epsilon": mechanism.epsilon, "delta": mechanism.delta}
    audit = audit_privacy(mechanism.draw, 1, 0, **claimed, trials=trials, seed=seed, vectorized=True)
    return audit.verdict == "violated"


def accused_as_curve(mechanism: Mechanism, seed: int, trials: int) -> bool:
    claimed = {"claim": mechanism.claim, "delta": 1e-5}
    return (
        audit_privacy(mechanism.draw, 1, 0, **claimed, trials=trials, seed=seed, vectorized=True).verdict == "violated"
    )


def accused_after_a_search(mechanism: Mechanism, seed: int, trials: int) -> bool:
    pairs = [Pair(1, 1, "equal"), Pair(1, 0, "one way"), Pair(0, 1, "the other")]
    claimed = {"epsilon": mechanism.epsilon, "delta": mechanism.delta}
    audit = audit_neighbours(mechanism.draw, pairs, **claimed, trials=trials, seed=seed, vectorized=True)
    return audit.verdict == "violated"


def accused_sequentially(mechanism: Mechanism, seed: int, trials: int) -> bool:
    claimed = {"epsilon": mechanism.epsilon, "delta": mechanism.delta}
    audit = audit_sequential(mechanism.draw, 1, 0, **claimed, most=trials, seed=seed, vectorized=True)
    return audit.verdict == "violated"


def accused_by(bound: Callable[..., Any], mechanism: Mechanism, seed: int, trials: int) -> bool:
    """By an estimator of scores at hand."""
    rng = np.random.default_rng(seed)
    a, b = (mechanism.scores(value, rng, trials) for value in (1, 0))
    return bool(bound(a, b, delta=mechanism.delta).epsilon_lower > mechanism.epsilon)


def accused_in_one_run(mechanism: Mechanism, seed: int, trials: int) -> bool:
    """As many canaries as trials; each coin's own output is its score."""

    def algorithm(included: Any, rng: np.random.Generator) -> Any:
        if mechanism.joint is not None:
            return mechanism.joint(included, rng)
        both = [mechanism.scores(value, rng, included.size) for value in (0, 1)]
        return np.where(included, both[1], both[0])

    audit = audit_one_run(algorithm, trials, epsilon=mechanism.epsilon, delta=mechanism.delta, seed=seed)
    return audit.verdict == "violated"


# estimator: how it accuses, trials, and which mechanisms it can be asked about
ESTIMATORS: dict[str, tuple[Callable[[Mechanism, int, int], bool], int, Callable[[Mechanism], bool]]] = {
    "audit_privacy": (accused, 1_000, lambda mechanism: True),
    "audit_privacy_curve": (accused_as_curve, 1_000, lambda each: each.narrow and each.claim is not None),
    "audit_neighbours": (accused_after_a_search, 300, lambda mechanism: mechanism.narrow),
    "audit_sequential": (accused_sequentially, 300, lambda mechanism: mechanism.narrow),
    "audit_one_run": (accused_in_one_run, 1_000, lambda mechanism: mechanism.narrow),
    "band_bound": (partial(accused_by, band_bound), 1_000, lambda mechanism: mechanism.narrow),
    "split_bound": (partial(accused_by, split_bound), 1_000, lambda mechanism: mechanism.narrow),
}


def table(estimator: str, mechanisms: Mapping[str, Mechanism], repeats: int = REPEATS) -> pd.DataFrame:
    """A row for each mechanism that the estimator can be asked about: how often it was accused, at seeds from 0 on."""
    accuses, trials, fits = ESTIMATORS[estimator]
    rows = []
    for name, mechanism in mechanisms.items():
        if not fits(mechanism):
            continue
        alarms = sum(accuses(mechanism, seed, trials) for seed in range(repeats))
        claim = "curve" if accuses is accused_as_curve else f"({mechanism.epsilon:.4g}, {mechanism.delta:.3g})"
        most = stats.binomtest(alarms, repeats).proportion_ci(0.95, "exact").high
        rows.append((estimator, name, claim, trials, repeats, alarms, alarms / repeats, most))
        print(rows[-1], flush=True)
    columns = ["estimator", "mechanism", "claim", "trials", "repeats", "alarms", "share", "upper_97.5"]
    return pd.DataFrame(rows, columns=columns)
