"""Estimated tail probabilities of a score, for choosing thresholds; no guarantee rests on them.

Three estimates, the first that fits the earlier runs: one noise distribution shifted between the
two datasets, with a smooth tail; a smooth tail for each; counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

# Intervals of the tail whose hazards are fitted, and the runs that must lie beyond the last.
_INTERVALS = 16
_BEYOND = 6
# Where a tail begins: the first of these shares beyond it whose fit holds. Many runs see that a whole
# half is not quite quadratic; what lies far out still is.
_STARTS = (1 / 2, 1 / 8, 1 / 32, 1 / 128)
# A fit that the runs contradict at this level is dropped.
_LEVEL = 0.01
# Standard errors in a margin. Without one the luckiest threshold would win, not the best; estimates
# from separate counts differ more by luck from threshold to threshold.
_SHIFTED, _COUNTS = 1.0, 2.0
# Share cut off either end for estimating a shift.
_TRIM = 0.2


def estimate(
    a: Floats, b: Floats, thresholds: Floats, *, linear: bool, smooth: bool = False
) -> tuple[Floats, Floats, Floats]:
    """P(value >= threshold) on both datasets, and a margin for the log of their ratio.

    a, b : (n,), sorted; thresholds : (m,), increasing. Additive noise shifts only scores ``linear``
    in the output. The margin is in natural-log units. ``smooth`` : counts of shifted noise are smoothed, for
    the middle, where p - q counts and luck between neighbouring thresholds is most of what is seen.
    """
    shifted = _shifted(a, b, thresholds, smooth) if linear else None
    if shifted is not None:
        return shifted
    (p, p_error), (q, q_error) = (_single(v, thresholds) for v in (a, b))
    return p, q, _COUNTS * np.hypot(p_error, q_error)


@dataclass(frozen=True)
class _Tail:
    """Upper tail of a distribution: log-survival quadratic beyond ``start``, counts before.

    Exact for an exponential tail, close for a Gaussian one. ``slope`` : (2,), hazard at ``start``
    and its growth, both in units of ``scale``.
    """

    values: Floats
    start: float
    scale: float
    half: float
    slope: Floats
    covariance: Floats

    @classmethod
    def fit(cls, values: Floats) -> _Tail | None:
        """The longest tail that fits; None where none does: atoms, heavy tails, too few runs."""
        n = values.size
        if np.count_nonzero(values[1:] != values[:-1]) < 0.9 * (n - 1):
            return None
        fits = (cls.beyond(values, share) for share in _STARTS)
        return next((tail for tail in fits if tail is not None), None)

    @classmethod
    def beyond(cls, values: Floats, share: float) -> _Tail | None:
        """The fit to the largest ``share`` of the values, if it holds.

        The hazard is fitted to the hits of consecutive intervals, which are independent given the
        runs still at risk.
        """
        n = values.size
        if n * share <= 4 * _BEYOND:
            return None
        start, end = values[n - int(n * share)], values[n - 1 - _BEYOND]
        if not (np.isfinite(start) and np.isfinite(end) and end > start):
            return None
        scale = end - start
        grid = np.linspace(0, 1, _INTERVALS + 1)
        edges = np.append(start + scale * grid[:-1], end)
        at_risk = n - np.searchsorted(values, edges, side="left")
        hits, risk = -np.diff(at_risk), at_risk[:-1]
        design = np.column_stack([np.diff(grid), np.diff(grid**2) / 2])
        hazard = -np.log1p(-hits / (risk + 0.5))
        expected = np.full(_INTERVALS, np.log(at_risk[0] / at_risk[-1]) / _INTERVALS)
        for _ in range(5):
            variance = np.expm1(expected) / risk
            covariance = _inverse(design.T @ (design / variance[:, None]))
            slope = covariance @ (design.T @ (hazard / variance))
            expected = np.maximum(design @ slope, 1e-3)
        spread = np.expm1(expected) * np.exp(-2 * expected) * risk
        misfit = ((hits + risk * np.expm1(-expected)) ** 2 / spread).sum()
        if slope[0] < 0 or special.chdtrc(_INTERVALS - 2, misfit) < _LEVEL:
            return None
        return cls(values, float(start), float(scale), at_risk[0] / n, slope, covariance)

    def basis(self, t: Floats) -> Floats:
        """(m, 2) such that ``basis @ slope`` is the cumulative hazard since ``start``."""
        u = np.clip((t - self.start) / self.scale, 0, 1)
        return np.column_stack([u, u * u / 2])

    def survival(self, t: Floats) -> Floats:
        """P(value >= t), (m,)."""
        smooth = self.half * np.exp(-np.maximum.accumulate(self.basis(t) @ self.slope))
        return np.where(t >= self.start, smooth, _counted(self.values, t))


def _inverse(m: Floats) -> Floats:
    """Of a symmetric (2, 2) matrix: quicker than the general one."""
    a, b, c = m[0, 0], m[0, 1], m[1, 1]
    return np.asarray(np.array([[c, -b], [-b, a]]) / (a * c - b * b))


def _counted(values: Floats, t: Floats) -> Floats:
    count = values.size - np.searchsorted(values, t, side="left")
    return np.asarray(np.maximum(count, 0.5) / values.size)


def _smoothed(values: Floats, t: Floats) -> Floats:
    """The share of values >= t, smoothed over a normal kernel of a third of their interquartile range."""
    low, high = np.quantile(values, [0.25, 0.75])
    offsets = np.linspace(-2, 2, 9)
    weights = np.exp(-(offsets**2) / 2)
    shares = [_counted(values, t + (high - low) / 3 * offset) for offset in offsets]
    return np.asarray(weights @ np.array(shares) / weights.sum())


def _single(values: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Survival at t, and the standard error of its logarithm."""
    tail = _Tail.fit(values)
    p = _counted(values, t)
    error = np.sqrt((1 - p) / (p * values.size) + 0.25 / values.size)
    if tail is None:
        return p, error
    basis = tail.basis(t)
    bent = np.sqrt(1 / values.size + ((basis @ tail.covariance) * basis).sum(axis=1))
    return tail.survival(t), np.where(t >= tail.start, bent, error)


def _shifted(a: Floats, b: Floats, t: Floats, smooth: bool) -> tuple[Floats, Floats, Floats] | None:
    centres, errors = zip(*(_centre(v) for v in (a, b)), strict=True)
    if not np.isfinite(centres).all():
        return None
    noise = np.sort(np.concatenate([a - centres[0], b - centres[1]]))
    tail = _Tail.fit(noise)
    if tail is None:
        return None
    p, q = (tail.survival(t - centre) for centre in centres)
    if _contradicts(a, p, t) or _contradicts(b, q, t):
        return None
    if smooth:
        p, q = (np.where(t - c >= tail.start, v, _smoothed(noise, t - c)) for v, c in zip((p, q), centres, strict=True))
    (basis_p, basis_q), slope = (tail.basis(t - centre) for centre in centres), tail.slope
    apart = basis_p - basis_q
    upper = np.maximum(basis_p[:, 0], basis_q[:, 0])
    hazard = np.where(upper > 0, slope[0] + slope[1] * upper, 0) / tail.scale
    counts = [np.where(v > tail.half, (1 - v) / (v * noise.size), 0) for v in (p, q)]
    variance = (hazard * np.hypot(*errors)) ** 2 + ((apart @ tail.covariance) * apart).sum(axis=1)
    return p, q, _SHIFTED * np.sqrt(variance + counts[0] + counts[1])


def _centre(values: Floats) -> tuple[float, float]:
    """Trimmed mean and its standard error."""
    n = values.size
    cut = int(_TRIM * n)
    middle = values[cut : n - cut]
    winsorized = np.clip(values, middle[0], middle[-1])
    with np.errstate(invalid="ignore"):
        return float(middle.mean()), float(winsorized.std() / ((1 - 2 * _TRIM) * np.sqrt(n)))


def _contradicts(values: Floats, survival: Floats, t: Floats) -> bool:
    """Chi-squared test of the model on intervals expected to hold five runs or more."""
    n = values.size
    # Walk the tail inwards, keeping thresholds that enclose enough.
    chosen, expected = [], []
    last = 0.0
    for i in range(t.size - 1, -1, -1):
        if n * (survival[i] - last) >= 5:
            chosen.append(i)
            expected.append(n * (survival[i] - last))
            last = float(survival[i])
    if len(chosen) < 4:
        return True
    counts = np.diff(n - np.searchsorted(values, t[chosen], side="left"), prepend=0)
    misfit = ((counts - np.array(expected)) ** 2 / np.array(expected)).sum()
    return bool(special.chdtrc(len(chosen) - 1, misfit) < _LEVEL)
