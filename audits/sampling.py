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
Floats = NDArray[np.float64]
_SCHEMES = ("with_replacement", "without_replacement", "poisson")
# At least; more where a p-value as small as the level asks for them.
_SIMULATIONS = 399
_AT_ONCE = 100_000  # record numbers simulated in one array


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

    observed = {name: float(values[0]) for name, values in _statistics(drawn[None], population).items()}
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
    null = _null(rng, scheme, population, batch, steps, simulations)
    p_values = {name: _two_sided(observed[name], null[name]) for name in observed}
    even = np.sort(null["evenness"])[simulations // 2]
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


def _null(
    rng: np.random.Generator, scheme: str, population: int, batch: int, steps: int, simulations: int
) -> dict[str, Floats]:
    """The statistics of so many simulations of the scheme."""
    most = max(1, _AT_ONCE // (steps * population))
    counts = [min(most, simulations - done) for done in range(0, simulations, most)]
    parts = [_statistics(_simulate(rng, scheme, population, batch, (k, steps)), population) for k in counts]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _statistics(drawn: Index, population: int) -> dict[str, Floats]:
    """Of each of k runs, (k, T, capacity) -> (k,)."""
    taken = drawn >= 0
    sizes = taken.sum(2)
    ordered = np.sort(drawn, axis=2)
    repeats = ((ordered[:, :, 1:] == ordered[:, :, :-1]) & (ordered[:, :, 1:] >= 0)).any(2)
    runs = len(drawn)
    apart = drawn + population * np.arange(runs)[:, None, None]
    hits = np.bincount(apart[taken], minlength=runs * population).reshape(runs, population)
    return {
        "size": sizes.mean(1),
        "spread": sizes.std(1),
        "distinct": (~repeats).sum(1).astype(np.float64),
        "evenness": hits.std(1),
    }


def _simulate(rng: np.random.Generator, scheme: str, n: int, batch: int, shape: tuple[int, int]) -> Index:
    """Minibatches of a whole ``shape`` of steps, (*shape, capacity)."""
    if scheme == "with_replacement":
        return rng.integers(0, n, (*shape, batch))
    if scheme == "without_replacement":
        return np.argsort(rng.random((*shape, n)), axis=-1)[..., :batch]
    taken = rng.random((*shape, n)) < batch / n
    return np.where(taken, np.arange(n), -1)


def _two_sided(observed: float, null: Floats) -> float:
    above = (1 + int((null >= observed).sum())) / (1 + null.size)
    below = (1 + int((null <= observed).sum())) / (1 + null.size)
    return min(1.0, 2 * min(above, below))
