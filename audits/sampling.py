"""The sampling scheme that ran, against the one that was accounted.

Null hypothesis: each row of record numbers is an independent minibatch of the stated scheme. Sizes
and repeats that the scheme excludes are deterministic evidence. The spread of sizes, the number of
minibatches without a repeat and the evenness of inclusion are compared with simulations of the
null (Monte Carlo p-values, Bonferroni).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import require, require_confidence, require_count

Index = NDArray[np.int64]
_SCHEMES = ("with_replacement", "without_replacement", "poisson")
# At least; more where a p-value as small as the level asks for them.
_SIMULATIONS = 399


@dataclass(frozen=True)
class SamplingAudit:
    """``reason`` says in words what the minibatches show against the scheme."""

    verdict: str
    scheme: str
    population: int
    batch: int
    steps: int
    p_values: dict[str, float]
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self)


def audit_sampling(
    drawn: Index, *, scheme: str, population: int, batch: int, confidence: float = 0.95, seed: int = 0
) -> SamplingAudit:
    """Judge minibatches ``drawn`` : (T, capacity) record numbers, unused places -1."""
    drawn = np.asarray(drawn)
    require(drawn.ndim == 2 and len(drawn) >= 10, "drawn", "have shape (>= 10, capacity)", drawn.shape)
    require(scheme in _SCHEMES, "scheme", f"be one of {', '.join(_SCHEMES)}", scheme)
    require_count(population, "population")
    require_count(batch, "batch")
    require(batch <= population, "batch", f"be at most the population, {population}", batch)
    require_confidence(confidence)
    require(bool((drawn < population).all()), "drawn", f"hold numbers below {population}", drawn.max())

    observed = _statistics(drawn, population)
    steps = len(drawn)
    impossible = []
    if scheme != "poisson" and observed["spread"] > 0:
        impossible.append("minibatch sizes vary")
    if scheme != "poisson" and observed["size"] != batch:
        impossible.append(f"minibatches hold {observed['size']:g} records, not {batch}")
    if scheme != "with_replacement" and observed["distinct"] < steps:
        impossible.append("a minibatch holds a record twice")
    rng = np.random.default_rng(seed)
    level = (1 - confidence) / len(observed)
    simulations = max(_SIMULATIONS, math.ceil(2 / level))
    null = [_statistics(_simulate(rng, scheme, population, batch, steps), population) for _ in range(simulations)]
    p_values = {name: _two_sided(observed[name], [s[name] for s in null]) for name in observed}
    even = sorted(s["evenness"] for s in null)[len(null) // 2]
    words = {
        "size": f"mean size {observed['size']:.3g} is not {batch}",
        "spread": f"sizes have standard deviation {observed['spread']:.3g}",
        "distinct": f"{observed['distinct']:g} of {steps} minibatches hold no record twice",
        "evenness": "some records are drawn more often than others"
        if observed["evenness"] > even
        else "records are drawn more evenly than by chance, as by shuffling once an epoch",
    }
    unlikely = [words[name] for name, p in p_values.items() if p <= level and not impossible]
    reasons = impossible + unlikely
    return SamplingAudit(
        "violated" if reasons else "consistent", scheme, population, batch, steps, p_values,
        "; ".join(reasons) or f"the minibatches look like {scheme.replace('_', ' ')}",
    )  # fmt: skip


def _statistics(drawn: Index, population: int) -> dict[str, float]:
    sizes = (drawn >= 0).sum(1)
    ordered = np.sort(drawn, axis=1)
    repeats = ((np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] >= 0)).any(1)
    hits = np.bincount(drawn[drawn >= 0], minlength=population)
    return {
        "size": float(sizes.mean()),
        "spread": float(sizes.std()),
        "distinct": float((~repeats).sum()),
        "evenness": float(hits.std()),
    }


def _simulate(rng: np.random.Generator, scheme: str, n: int, batch: int, steps: int) -> Index:
    if scheme == "with_replacement":
        return rng.integers(0, n, (steps, batch))
    if scheme == "without_replacement":
        return np.argsort(rng.random((steps, n)), axis=1)[:, :batch]
    taken = rng.random((steps, n)) < batch / n
    return np.where(taken, np.arange(n), -1)


def _two_sided(observed: float, null: list[float]) -> float:
    above = (1 + sum(value >= observed for value in null)) / (1 + len(null))
    below = (1 + sum(value <= observed for value in null)) / (1 + len(null))
    return min(1.0, 2 * min(above, below))
