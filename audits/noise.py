"""The noise a mechanism really adds: scale, shape and independence against what is claimed.

Null hypothesis: the outputs are a constant plus independent draws of the claimed distribution, per
coordinate and per call. Four tests share the level equally (Bonferroni): scale, shape
(Kolmogorov-Smirnov), correlation between coordinates and from call to call, exact repeats. Those
whose law depends on the centring are calibrated by simulating the null, which keeps their level
exactly (Monte Carlo p-values). "consistent" says that none of these saw a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import InputError, require, require_confidence, require_count, require_positive

Array = NDArray[np.float64]
_DRAW: dict[str, Callable[[np.random.Generator, tuple[int, int]], Array]] = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "laplace": lambda rng, shape: rng.laplace(size=shape),
}
_SIMULATIONS = 999


@dataclass(frozen=True)
class NoiseAudit:
    """What the noise looks like against the claim.

    scale : measured (standard deviation of a Gaussian, mean absolute deviation of a Laplace)
    p_values : test -> p-value, each to be read against ``level``
    reason : which tests rejected, in words
    """

    verdict: str
    distribution: str
    claimed_scale: float
    scale: float
    p_values: dict[str, float]
    level: float
    trials: int
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self)


def audit_noise(
    mechanism: Callable[[Any, np.random.Generator], Any], data: Any, *, distribution: str = "gaussian",
    scale: float, trials: int = 10_000, confidence: float = 0.95, seed: int = 0,
) -> NoiseAudit:  # fmt: skip
    """Audit the noise of ``mechanism(data, rng)``, number or array, over ``trials`` calls on one rng.

    distribution : "gaussian" (scale is the standard deviation) or "laplace" (scale is b)
    """
    require(callable(mechanism), "mechanism", "be callable", type(mechanism).__name__)
    require_count(trials, "trials", least=50)
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(trials):
        try:
            rows.append(np.asarray(mechanism(data, rng), dtype=float).ravel())
        except Exception as error:
            raise InputError(f"mechanism must return numbers, got {type(error).__name__}: {error}") from error
        require(rows[-1].shape == rows[0].shape, "mechanism", "keep its output's shape", rows[-1].shape)
    return audit_noise_sample(np.array(rows), distribution=distribution, scale=scale, confidence=confidence, seed=seed)


def audit_noise_sample(
    sample: Array, *, distribution: str = "gaussian", scale: float, centred: bool = False,
    confidence: float = 0.95, seed: int = 0,
) -> NoiseAudit:  # fmt: skip
    """The same tests on noise already at hand.

    sample : (trials, k);  centred : True where the mean is known to be 0 (recorded noise)
    """
    require(distribution in _DRAW, "distribution", f"be one of {', '.join(_DRAW)}", distribution)
    require_positive(scale, "scale")
    require_confidence(confidence)
    sample = np.asarray(sample, dtype=float)
    require(sample.ndim == 2 and len(sample) >= 50, "sample", "have shape (>= 50, k)", sample.shape)
    require(bool(np.isfinite(sample).all()), "mechanism", "return finite numbers", "NaN or infinity")
    noise = sample / scale if centred else (sample - sample.mean(0)) / scale
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])

    observed = _statistics(noise, distribution)
    null = []
    for _ in range(_SIMULATIONS):
        drawn = _DRAW[distribution](rng, noise.shape)
        null.append(_statistics(drawn if centred else drawn - drawn.mean(0), distribution))
    p_values = {name: _p_value(name, observed[name], [s[name] for s in null]) for name in observed}
    # continuous noise repeats with probability zero
    values = np.sort(np.abs(noise), axis=None)
    repeated = int((np.diff(values) == 0).sum())
    p_values["repeats"] = 0.0 if repeated else 1.0

    level = (1 - confidence) / len(p_values)
    measured = float(observed["scale"] * scale)
    reasons = _reasons(p_values, level, measured, scale, repeated)
    return NoiseAudit(
        "violated" if reasons else "consistent", distribution, scale, measured, p_values, level,
        len(sample), "; ".join(reasons) or "scale, shape and independence agree with the claim",
    )  # fmt: skip


def _statistics(noise: Array, distribution: str) -> dict[str, float]:
    from scipy import special

    if distribution == "gaussian":
        scale = float(np.sqrt((noise**2).mean()))
        ranks = special.ndtr(np.sort(noise, axis=None))
    else:
        scale = float(np.abs(noise).mean())
        ordered = np.sort(noise, axis=None)
        tail = 0.5 * np.exp(-np.abs(ordered))
        ranks = np.where(ordered < 0, tail, 1 - tail)
    grid = np.arange(1, ranks.size + 1) / ranks.size
    shape = float(max((grid - ranks).max(), (ranks - grid).max() + 1 / ranks.size))
    serial = np.abs((noise[1:] * noise[:-1]).mean(0)).max()
    between = 0.0
    if noise.shape[1] > 1:
        product = noise.T @ noise / len(noise)
        between = float(np.abs(product[np.triu_indices(len(product), 1)]).max())
    return {"scale": scale, "shape": shape, "dependence": float(max(serial, between))}


def _p_value(name: str, observed: float, null: list[float]) -> float:
    """Monte Carlo p-value, two-sided for the scale."""
    above = (1 + sum(value >= observed for value in null)) / (1 + len(null))
    if name != "scale":
        return above
    below = (1 + sum(value <= observed for value in null)) / (1 + len(null))
    return min(1.0, 2 * min(above, below))


def _reasons(p_values: dict[str, float], level: float, measured: float, scale: float, repeated: int) -> list[str]:
    words = {
        "scale": f"scale {measured:.4g} is {'below' if measured < scale else 'above'} the claimed {scale:.4g}",
        "shape": "the distribution's shape is another",
        "dependence": "the noise depends on other coordinates or on the call before",
        "repeats": f"{repeated} values repeat exactly",
    }
    return [words[name] for name, p in p_values.items() if p <= level]
