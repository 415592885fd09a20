"""A power law fitted to means.

log E[response] is linear, and rows that share something count once. The estimate solves ``sum of x_i (y_i / mu_i - 1) =
0`` with ``log mu_i = x_i beta + offset_i``, the quasi-likelihood of a constant relative spread. It is about arithmetic
means, like a theorem on an expected gap, so that responses of zero and below are data. Standard errors come from the
residuals of each cluster, corrected for the cluster's own effect on the fit (CR2, Bell and McCaffrey 2002); their
degrees of freedom follow Satterthwaite's rule. Leaving clusters out instead (CR3) covers too often where clusters are
few: .99 in place of .95 with four.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpcheck.arrays import Floats

_STEPS = 200
_EXACT = 1e-9  # the most that rounding changes an exponent
_ALONE = 1e-8  # a coefficient rests on one cluster if the others hold less than this share of its information


@dataclass(frozen=True, eq=False)
class PowerLaw:
    """The coefficients of a power law, and how far each cluster moves them."""

    coefficients: Floats  # (p,)
    moves: Floats  # (clusters, p), how far each cluster moves the coefficients
    leaned: Floats  # (rows, p), the part of each row in the move of its cluster
    design: Floats  # (rows, p)
    clusters: NDArray[np.int64]  # (rows,), the cluster of each row
    inverse: Floats  # (p, p), of design' design
    alone: bool  # whether some coefficient rests on one cluster, so that its error is unknown

    def contrast(self, direction: Floats) -> Estimate:
        """Return the estimate of ``direction @ coefficients``, direction (p,)."""
        error = float(np.sqrt(((self.moves @ direction) ** 2).sum()))
        return Estimate(float(direction @ self.coefficients), error, self._freedom(direction))

    def _freedom(self, direction: Floats) -> float:
        """Return Satterthwaite's degrees of freedom of the error, for rows of equal spread that share nothing.

        The error has the matrix ``L' (1 - H) L``, no two of L's columns with a row in common: no such matrix is made.
        """
        weights = self.leaned @ direction  # (rows,): the columns of L, one after the other
        count = len(self.moves)
        size = np.bincount(self.clusters, weights**2, count)
        shared = _sums(self.design * weights[:, None], self.clusters, count)
        within = ((shared @ self.inverse) * shared).sum(1)
        square = self.inverse @ (shared.T @ shared)
        total = float((size**2).sum() - 2 * (size * within).sum() + np.trace(square @ square))
        trace = float((size - within).sum())
        return trace**2 / total if total > 0 else float(count)


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and the degrees of freedom of that error."""

    value: float
    error: float
    freedom: float

    def low(self, level: float) -> float:
        """Return the lower confidence limit, one-sided at ``level``."""
        return self.value - self._reach(level)

    def high(self, level: float) -> float:
        """Return the upper confidence limit, one-sided at ``level``."""
        return self.value + self._reach(level)

    def _reach(self, level: float) -> float:
        return float(special.stdtrit(max(self.freedom, 1.0), level)) * self.error + _EXACT


def fit_law(
    design: Floats, response: Floats, offset: Floats, clusters: NDArray[np.int64], start: Floats
) -> PowerLaw | None:
    """Fit a law (p,) by a design (rows, p) of full rank from ``start``; None if the means follow none."""
    inverse: Floats = np.asarray(np.linalg.inv(design.T @ design), dtype=np.float64)
    beta = _solve(design, response, offset, inverse, start)
    if beta is None:
        return None
    residual = response * np.exp(-(design @ beta) - offset) - 1
    count = int(clusters.max()) + 1
    leaned, alone = _leaned(design, clusters, count)
    moves = _sums(leaned * residual[:, None], clusters, count)
    return PowerLaw(beta, moves, leaned, design, clusters, inverse, alone)


def starting_line(design: Floats, response: Floats, offset: Floats, cells: NDArray[np.int64]) -> Floats:
    """Return a line (p,) through the logarithms of the means of the cells (rows,), where those are positive."""
    count = np.bincount(cells)
    scaled = response * np.exp(-(offset - offset.mean()))
    means = np.bincount(cells, scaled) / count
    designs = _sums(design, cells, len(count)) / count[:, None]
    good = means > 0
    if good.sum() < design.shape[1] or np.linalg.matrix_rank(designs[good]) < design.shape[1]:
        level = np.linalg.lstsq(design, np.ones(len(design)), rcond=None)[0]
        return np.asarray(level * (np.log(max(scaled.mean(), 1e-300)) - offset.mean()))
    line: Floats = np.linalg.lstsq(designs[good], np.log(means[good]) - offset.mean(), rcond=None)[0]
    return line


@np.errstate(over="ignore", invalid="ignore")
def _solve(design: Floats, response: Floats, offset: Floats, inverse: Floats, start: Floats) -> Floats | None:
    """Solve the equations by Fisher's scoring, with each step shortened until they come closer to zero."""
    if response.mean() <= 0 or (response > 0).sum() < design.shape[1]:
        return None
    beta, across = start, np.ascontiguousarray(design.T)

    def equations(at: Floats) -> Floats:
        value: Floats = across @ (response * np.exp(-(design @ at) - offset) - 1)
        return value

    now = equations(beta)
    for _ in range(_STEPS):
        if not np.all(np.isfinite(now)):
            return None
        step = inverse @ now
        longest = float(np.max(np.abs(design @ step)))
        if longest < 1e-11:
            return beta
        step *= min(1.0, 1.0 / longest)
        left = now @ inverse @ now
        for _ in range(40):
            after = equations(beta + step)
            if after @ inverse @ after < left:  # which numbers that are not finite never are
                break
            step /= 2
        else:
            return beta if left < 1e-14 * len(response) else None
        beta, now = beta + step, after
    return None


def _leaned(design: Floats, clusters: NDArray[np.int64], count: int) -> tuple[Floats, bool]:
    """Return ``(1 - H_gg)^-1/2 X_g (X'X)^-1`` for each cluster g in the places of its rows, (rows, p).

    In coordinates where X'X = 1 this is ``X_g (1 - X_g'X_g)^-1/2``, a small matrix for each cluster. The second value
    says whether one of these matrices is singular; a coefficient then rests on that cluster alone.
    """
    inverse_root = np.linalg.inv(np.linalg.cholesky(design.T @ design))
    white = design @ inverse_root.T
    if count == len(white):
        left = 1 - (white**2).sum(1)
        gain = np.where(left > _ALONE, 1 / np.sqrt(np.maximum(left, _ALONE)), 0.0)
        return (white * gain[:, None]) @ inverse_root, bool((left <= _ALONE).any())
    size = design.shape[1]
    squares = _sums((white[:, :, None] * white[:, None, :]).reshape(len(white), -1), clusters, count)
    values, vectors = np.linalg.eigh(squares.reshape(count, size, size))
    left = 1 - values
    gain = np.where(left > _ALONE, 1 / np.sqrt(np.maximum(left, _ALONE)), 0.0)
    without = (vectors * gain[:, None, :]) @ vectors.transpose(0, 2, 1) @ inverse_root
    return (white[:, None, :] @ without[clusters])[:, 0, :], bool((left <= _ALONE).any())


def _sums(values: Floats, groups: NDArray[np.int64], count: int) -> Floats:
    """Return the sum of the rows of each group, (count, columns)."""
    return np.stack([np.bincount(groups, column, count) for column in values.T], axis=1)
