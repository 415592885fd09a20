"""A power law fitted to means: log E[response] is linear, and rows that share something count once.

The estimate solves ``sum of x_i (y_i / mu_i - 1) = 0`` with ``log mu_i = x_i beta + offset_i``, the
quasi-likelihood of a constant relative spread. It is about arithmetic means, as a theorem on an
expected gap is, so that responses of zero and below are data. Errors come from leaving out one
cluster at a time (CR3, Bell and McCaffrey 2002), with their degrees of freedom by Satterthwaite's rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_STEPS = 200
_EXACT = 1e-9  # what rounding may do to an exponent


@dataclass(frozen=True, eq=False)
class PowerLaw:
    """Coefficients, and for each cluster how far they move when it is left out.

    coefficients : (p,);  moves : (clusters, p);  leaned : (rows, p), each row's part in its cluster's
    move;  design : (rows, p);  clusters : (rows,);  inverse : (p, p), that of design' design
    """

    coefficients: Array
    moves: Array
    leaned: Array
    design: Array
    clusters: NDArray[np.int64]
    inverse: Array

    def contrast(self, direction: Array) -> Estimate:
        """The estimate of ``direction @ coefficients`` : direction (p,)."""
        error = float(np.sqrt(((self.moves @ direction) ** 2).sum()))
        return Estimate(float(direction @ self.coefficients), error, self._freedom(direction))

    def _freedom(self, direction: Array) -> float:
        """Satterthwaite's degrees of freedom of the error, for rows of equal spread that share nothing.

        The error is a quadratic form with the matrix ``L' (1 - H) L``: a column of L for each cluster,
        no two with a row in common, so that its trace and norm need no matrix of that size.
        """
        weights = self.leaned @ direction  # (rows,): the columns of L, one after the other
        size = np.bincount(self.clusters, weights**2)
        shared = np.zeros((len(size), self.design.shape[1]))
        np.add.at(shared, self.clusters, self.design * weights[:, None])
        middle = shared @ self.inverse
        own = (middle * shared).sum(1)
        square = self.inverse @ (shared.T @ shared)
        total = float((size**2).sum() - 2 * (size * own).sum() + np.trace(square @ square))
        trace = float((size - own).sum())
        return trace**2 / total if total > 0 else float(len(size))


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and the degrees of freedom of that error."""

    value: float
    error: float
    freedom: float

    def low(self, level: float) -> float:
        """Lower confidence limit, one-sided at ``level``."""
        return self.value - self._reach(level)

    def high(self, level: float) -> float:
        """Upper confidence limit, one-sided at ``level``."""
        return self.value + self._reach(level)

    def exceeds(self, value: float, level: float) -> bool:
        """Whether it is above ``value``, beyond chance at ``level``."""
        return self.low(level) > value

    def _reach(self, level: float) -> float:
        from scipy import stats

        return float(stats.t.ppf(level, max(self.freedom, 1.0))) * self.error + _EXACT


def fit(design: Array, response: Array, offset: Array, clusters: NDArray[np.int64]) -> PowerLaw | None:
    """The power law, or ``None`` if the means have none, as when they are not positive.

    design : (rows, p), of full column rank;  response, offset : (rows,);  clusters : (rows,), 0, 1, ...
    """
    inverse = np.linalg.inv(design.T @ design)
    beta = _solve(design, response, offset, inverse)
    if beta is None:
        return None
    residual = response * np.exp(-(design @ beta) - offset) - 1
    count = int(clusters.max()) + 1
    leaned = _leaned(design, clusters, inverse)
    moves = np.zeros((count, design.shape[1]))
    np.add.at(moves, clusters, leaned * residual[:, None])
    return PowerLaw(beta, moves, leaned, design, clusters, inverse)


def _solve(design: Array, response: Array, offset: Array, inverse: Array) -> Array | None:
    """Fisher's scoring, each step shortened until the equations come closer to zero."""
    positive = response > 0
    if response.mean() <= 0 or positive.sum() < design.shape[1]:
        return None
    beta = _start(design, response, offset)

    def equations(at: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            found: Array = design.T @ (response * np.exp(-(design @ at) - offset) - 1)
        return found

    now = equations(beta)
    for _ in range(_STEPS):
        if not np.all(np.isfinite(now)):
            return None
        step = inverse @ now
        if np.max(np.abs(design @ step)) < 1e-11:
            return beta
        step *= min(1.0, 1.0 / np.max(np.abs(design @ step)))
        for _ in range(40):
            after = equations(beta + step)
            if np.all(np.isfinite(after)) and after @ inverse @ after < now @ inverse @ now:
                break
            step /= 2
        else:
            return beta if now @ inverse @ now < 1e-14 * len(response) else None
        beta, now = beta + step, after
    return None


def _start(design: Array, response: Array, offset: Array) -> Array:
    """A straight line through the logarithms of the means of equal rows, where those are positive."""
    cells, index = np.unique(design, axis=0, return_inverse=True)
    index = index.reshape(-1)
    scaled = response * np.exp(-(offset - offset.mean()))
    means = np.bincount(index, scaled) / np.bincount(index)
    good = means > 0
    if good.sum() < design.shape[1] or np.linalg.matrix_rank(cells[good]) < design.shape[1]:
        beta = np.zeros(design.shape[1])
        level = np.linalg.lstsq(design, np.ones(len(design)), rcond=None)[0]
        return beta + level * (np.log(scaled.mean()) - offset.mean())
    found: Array = np.linalg.lstsq(cells[good], np.log(means[good]) - offset.mean(), rcond=None)[0]
    return found


def _leaned(design: Array, clusters: NDArray[np.int64], inverse: Array) -> Array:
    """``(1 - H_gg)^-1 X_g (X'X)^-1`` for each cluster g, in the places of its rows : (rows, p)."""
    hat = design @ inverse
    order = np.argsort(clusters, kind="stable")
    edges = np.flatnonzero(np.diff(clusters[order])) + 1
    leaned = np.empty_like(hat)
    for own in np.split(order, edges):
        if len(own) == 1:
            leaned[own] = hat[own] / max(1 - float((hat[own] * design[own]).sum()), 1e-9)
        else:
            left = np.eye(len(own)) - hat[own] @ design[own].T
            leaned[own] = np.linalg.pinv(left, rcond=1e-10, hermitian=True) @ hat[own]
    return leaned
