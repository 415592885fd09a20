"""Low-order bits of the outputs: whether the arithmetic gives away what the noise hides.

A continuous mechanism is carried out on doubles [1], which near 0 lie closer together than near 1. The
sum of a value and its noise is rounded to the spacing at the sum or coarser, so that which doubles
can come out depends on the value: 0 + z ends in any bit, 1 + z, where it lies near 0, in none below
2^-53. Textbook inverse-CDF Laplace and Box-Muller Gaussian noise are open to this, and as open is
``value + rng.laplace()`` or ``value + rng.normal()`` with NumPy's own generators. Rounding the sum
to a public grid, coarse beside the spacing and chosen beforehand, or drawing discrete noise hides it.

Null hypothesis: the place of the lowest bit set in each output, and the number of zeros below it in
the significand, are (epsilon, delta)-private, as post-processing of a private mechanism is. It is
tested by a membership audit of these two numbers; another, of the outputs rounded to about a
thousandth of their spread, says whether the leak shows without the low bits. Each has half the level.

[1] I. Mironov, "On significance of the least significant bits for differential privacy", CCS 2012.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.audits.membership import PrivacyAudit, audit_privacy
from dpcheck.errors import require, require_confidence

Array = NDArray[np.float64]

# Beyond the place of any bit of a double: stand for 0 and for infinite outputs, which have none.
_ZERO, _INFINITE = 2000.0, 3000.0
_WORDS = "output[2i] is the exponent of the lowest bit set in number i and output[2i + 1] counts the zeros below it"
_PILOT = 200
_FINENESS = 2.0**-10


@dataclass(frozen=True)
class FloatingPointAudit:
    """Two audits at the same claim.

    verdict : "violated" where the low bits break the claim and the rounded outputs do not; where
        those do too, "inconclusive": the algorithm leaks, and about its arithmetic nothing is shown
    low_bits : audit of (place of the lowest bit, zeros below it) of each number
    rounded : audit of the outputs rounded to multiples of ``grid``
    """

    verdict: str
    reason: str
    low_bits: PrivacyAudit
    rounded: PrivacyAudit
    grid: float

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "low_bits": self.low_bits.to_dict(),
            "rounded": self.rounded.to_dict(),
            "grid": self.grid,
        }


def audit_floating_point(
    mechanism: Callable[..., Any], data: Any, neighbour: Any, *, epsilon: float = 1.0, delta: float = 0.0,
    trials: int = 20_000, confidence: float = 0.95, seed: int = 0, jobs: int | None = None,
    vectorized: bool = False, progress: Callable[[int, int], None] | None = None,
) -> FloatingPointAudit:  # fmt: skip
    """Audit the low-order bits of ``mechanism``; arguments as in :func:`dpcheck.audit_privacy`.

    Values near 0 on one dataset and not on the other, against noise of a larger size, show most.
    A correct mechanism is called violated with probability at most ``1 - confidence``.
    """
    require(callable(mechanism), "mechanism", "be callable", type(mechanism).__name__)
    require_confidence(confidence)
    grid = _grid(mechanism, data, seed, vectorized)
    audits = []
    views: tuple[Callable[..., Array], ...] = (LowBits(mechanism), _Rounded(mechanism, grid))
    for k, seen in enumerate(views):

        def told(done: int, total: int, offset: int = k) -> None:
            if progress is not None:
                progress(offset * total + done, 2 * total)

        audits.append(audit_privacy(
            seen, data, neighbour, epsilon=epsilon, delta=delta, trials=trials, confidence=(1 + confidence) / 2,
            seed=seed, jobs=jobs, vectorized=vectorized, progress=told,
        ))  # fmt: skip
    low, rounded = audits
    if rounded.verdict == "violated":
        verdict, reason = "inconclusive", f"the algorithm leaks by itself: {rounded.event}"
    elif low.verdict == "violated":
        verdict = "violated"
        reason = f"the arithmetic leaks: {low.event}, where {_WORDS}; rounded to {grid:g} nothing shows"
    else:
        verdict, reason = low.verdict, "the low-order bits show nothing beyond the claim"
    return FloatingPointAudit(verdict, reason, low, rounded, grid)


@dataclass(frozen=True)
class LowBits:
    """The mechanism followed by :func:`low_bits`."""

    mechanism: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Array:
        """(..., 2) for outputs (...)."""
        return low_bits(self.mechanism(*arguments))


@dataclass(frozen=True)
class _Rounded:
    mechanism: Callable[..., Any]
    grid: float

    def __call__(self, *arguments: Any) -> Array:
        return np.asarray(np.round(np.asarray(self.mechanism(*arguments), float) / self.grid) * self.grid)


def low_bits(outputs: ArrayLike) -> Array:
    """(..., 2) from outputs (...): exponent of the lowest bit set, and zeros below it in the significand.

    >>> low_bits([1.0, 0.75, 0.1]).tolist()
    [[0.0, 52.0], [-2.0, 51.0], [-55.0, 1.0]]
    """
    values = np.asarray(outputs, float)
    finite = np.isfinite(values)
    fraction, exponent = np.frexp(np.where(finite, np.abs(values), 0.0))
    significand = (fraction * 2.0**53).astype(np.int64)
    zeros = np.frexp((significand & -significand).astype(float))[1] - 1.0
    place = np.where(significand > 0, exponent - 53 + zeros, np.where(finite, _ZERO, _INFINITE))
    return np.stack([place, np.maximum(zeros, -1.0)], axis=-1)


def _grid(mechanism: Callable[..., Any], data: Any, seed: int, vectorized: bool) -> float:
    """A power of 2, about a thousandth of the outputs' spread."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    try:
        outputs = mechanism(data, rng, _PILOT) if vectorized else [mechanism(data, rng) for _ in range(_PILOT)]
        rows = np.asarray(outputs, float).reshape(_PILOT, -1)
    except Exception:  # the audits say what is wrong with it
        return _FINENESS
    spread = np.subtract(*np.nanquantile(np.where(np.isfinite(rows), rows, np.nan), [0.75, 0.25], axis=0))
    size = float(np.min(spread[spread > 0], initial=np.inf))
    return _FINENESS * (2.0 ** np.floor(np.log2(size)) if np.isfinite(size) else 1.0)
