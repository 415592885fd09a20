"""Rank-one factorisation: a strict saddle at 0, whatever the data, and two rays of minima.

f((x, s), Y; M) = <Y, x s' - M> - mu/2 |Y|^2,  x in R^p, s in R^q, Y in R^{p x q}, |M| <= B,

norms of Y and M are Frobenius, w = (x, s) in W = B(R), V = B(Lam). As |x s'| = |x||s| <= R^2/2,
Lam = room (R^2/2 + B)/mu. Then Y* = (x s' - Mbar)/mu, Phi = |x s' - Mbar|^2/(2 mu),
grad Phi = ((x s' - Mbar) s, (x s' - Mbar)' x)/mu,
Hessian = [[|s|^2 I, 2 x s' - Mbar], [., |x|^2 I]]/mu.
At 0 it is [[0, -Mbar], [-Mbar', 0]]/mu: with the singular values s_1 >= s_2 >= ... of Mbar,
lambda_min = -s_1/mu. The minima are x s' = s_1 times the leading pair, of value
(|Mbar|^2 - s_1^2)/(2 mu); in balance, |x| = |s| = sqrt(s_1).

G_w = Lam R: the gradient is (Y s, Y'x), of norm at most |Y| |w|. G_v = R^2/2 + B + mu Lam.
L = norm of [[-Lam, R], [R, -mu]]: the Hessian in w is [[0, Y], [Y', 0]], of norm at most Lam, and
|dx s' + x ds'| <= |dx||s| + |x||ds| <= R |dw|; attained at x = s = R/sqrt 2, Y = -Lam.
rho_Phi = 3 R/mu: along a unit vector (a, c) the third derivative of |x|^2|s|^2/2 is
6 (|a|^2 <s, c> + |c|^2 <x, a>) <= 6 |a||c| (|a||s| + |c||x|) <= 6 |a||c| R <= 3 R, and a symmetric
trilinear form is largest on the diagonal (Banach). Attained at x = s = R/sqrt 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.properties import fields_read
from dpcheck.algorithms.records import bounded_rows
from dpcheck.errors import require, require_count
from dpcheck.problems.nonconvex import StronglyConcave, require_room, spectral, sphere, within


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients (Y s, Y'x) and x s' - M - mu Y of one record M."""
    mu, p = params[0], int(params[1])
    q = w.size - p
    out_w[:] = 0.0
    for i in range(p):
        for j in range(q):
            y = v[i * q + j]
            out_w[i] += y * w[p + j]
            out_w[p + j] += y * w[i]
            out_v[i * q + j] = w[i] * w[p + j] - record[i * q + j] - mu * y


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record M."""
    mu, p = params[0], int(params[1])
    q, total = w.size - p, 0.0
    for i in range(p):
        for j in range(q):
            y = v[i * q + j]
            total += y * (w[i] * w[p + j] - record[i * q + j] - 0.5 * mu * y)
    return total


@dataclass(frozen=True, eq=False)
class Factorisation(StronglyConcave):
    """Factorisation of a mean matrix into a product of two vectors.

    Parameters
    ----------
    records : ndarray, (n, p q) float64
        Matrices M row by row, |M| <= bound (Frobenius).
    rows : int
        p >= 1.
    mu_y, bound, radius : float
        mu, B and R, all > 0.
    room : float
        Factor >= 1 on the radius of V.
    """

    records: Array
    rows: int
    mu_y: float = 1.0
    bound: float = 1.0
    radius: float = 2.0
    room: float = 1.5
    name: str = "factorisation"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("mu_y", "rows")
    convex = False

    def __post_init__(self) -> None:
        require_count(self.rows, "rows")
        self._require_positive("mu_y", "bound", "radius")
        require_room(self.room)
        records = bounded_rows(self.records, self.bound)
        require(records.shape[1] % self.rows == 0, "records", f"have a multiple of {self.rows} columns", records.shape)
        self._set(records=records)

    @classmethod
    def sample(
        cls, n: int, d: int, rng: np.random.Generator, *, rows: int | None = None, **constants: Any
    ) -> Factorisation:
        """Draw ``n`` matrices of ``rows`` (by default d) rows and d columns, of mean (B/2) e_1 e_1'.

        M = (B/2) (e_1 e_1' + U), U uniform on the Frobenius sphere.
        """
        half, rows = 0.5 * constants.get("bound", cls.bound), rows or d
        records = sphere(n, rows * d, rng, half)
        records[:, 0] += half
        return cls(records, rows, **constants)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Factorisation:
        """Draw the example: 200 matrices of 2 rows and 3 columns."""
        return cls.sample(200, 3, rng, rows=2)

    @property
    def dim_w(self) -> int:
        """p + q."""
        return self.rows + int(self.records.shape[1]) // self.rows

    @property
    def reach(self) -> float:
        """Lam = room (R^2/2 + B)/mu."""
        return self.room * (self.radius**2 / 2 + self.bound) / self.mu_y

    def constants(self) -> Constants:
        return Constants(
            lipschitz_w=self.reach * self.radius,
            lipschitz_v=self.radius**2 / 2 + self.bound + self.mu_y * self.reach,
            smoothness=spectral(-self.reach, self.radius, self.mu_y),
            concavity=self.mu_y,
            hessian_lipschitz=3 * self.radius / self.mu_y,
        )

    def best_response(self, w: Array) -> Array:
        return (np.outer(w[: self.rows], w[self.rows :]).ravel() - self.zbar) / self.mu_y

    def primal(self, w: Array) -> float:
        y = self.best_response(w)
        return float(0.5 * self.mu_y * y @ y)

    def primal_gradient(self, w: Array) -> Array:
        Y = self.best_response(w).reshape(self.rows, -1)
        return np.concatenate([Y @ w[self.rows :], Y.T @ w[: self.rows]])

    def primal_hessian(self, w: Array) -> Array:
        x, s = w[: self.rows], w[self.rows :]
        cross = 2 * np.outer(x, s) - self.zbar.reshape(self.rows, -1)
        return np.block([[s @ s * np.eye(len(x)), cross], [cross.T, x @ x * np.eye(len(s))]]) / self.mu_y

    def saddle_point(self) -> tuple[Array, float]:
        """Return 0 and -s_1/mu; an error where the mean record is 0."""
        largest = float(np.linalg.norm(self.zbar.reshape(self.rows, -1), 2))
        require(largest > 0, "records", "have a mean other than 0", largest)
        return np.zeros(self.dim_w), -largest / self.mu_y

    def minima(self) -> Array:
        """Return the two minima in balance; (t x, s/t) is one for every t other than 0."""
        left, size, right = np.linalg.svd(self.zbar.reshape(self.rows, -1))
        w = np.sqrt(size[0]) * np.concatenate([left[:, 0], right[0]])
        return np.array([within(w, self.radius, "minimum"), -w])
