"""Nonconvex quadratic: an indefinite Hessian, the same everywhere.

f(w, v; z) = 1/2 w'A w + <v, B w + z> - mu/2 |v|^2,  |z| <= b,  W = B(R),  V = B(Lam),

A symmetric, B any matrix, Lam = room (|B| R + b)/mu. Then y* = (B w + zbar)/mu,
grad Phi = A w + B'(B w + zbar)/mu and the Hessian is H = A + B'B/mu throughout, so that rho_Phi = 0.
The stationary point is w = -H^{-1} B' zbar/mu, a strict saddle where lambda_min(H) < 0; the least
values of Phi then lie on the boundary of W.

G_w = |A| R + |B| Lam and G_v = |B| R + b + mu Lam in spectral norms; the joint gradient is linear, so L
is the spectral norm of [[A, B'], [B, -mu I]].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.records import as_records, bounded_rows
from dpcheck.errors import require, require_count
from dpcheck.problems.nonconvex import StronglyConcave, require_room, sphere, within


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients A w + B'v and B w + z - mu v of one record z."""
    d, k, mu = w.size, v.size, params[0]
    for i in range(d):
        out_w[i] = 0.0
        for j in range(d):
            out_w[i] += params[1 + i * d + j] * w[j]
    for i in range(k):
        row = 1 + (d + i) * d
        out_v[i] = record[i] - mu * v[i]
        for j in range(d):
            out_v[i] += params[row + j] * w[j]
            out_w[j] += params[row + j] * v[i]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record z."""
    d, mu, total = w.size, params[0], 0.0
    for i in range(d):
        for j in range(d):
            total += 0.5 * w[i] * params[1 + i * d + j] * w[j]
    for i in range(v.size):
        total += v[i] * (record[i] - 0.5 * mu * v[i])
        for j in range(d):
            total += v[i] * params[1 + (d + i) * d + j] * w[j]
    return total


@dataclass(frozen=True, eq=False)
class NonconvexQuadratic(StronglyConcave):
    """A quadratic with an indefinite Hessian.

    Parameters
    ----------
    records : ndarray, (n, d_v) float64
        Rows with |z| <= bound.
    A, B : ndarray, (d_w, d_w) and (d_v, d_w)
        A symmetric matrix, and the coupling.
    mu_y, bound, radius : float
        mu, b and R, all > 0.
    room : float
        Factor >= 1 on the radius of V.
    """

    records: Array
    A: Array
    B: Array
    mu_y: float = 1.0
    bound: float = 1.0
    radius: float = 2.0
    room: float = 1.5
    name: str = "nonconvex_quadratic"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    convex = False

    def __post_init__(self) -> None:
        self._require_positive("mu_y", "bound", "radius")
        require_room(self.room)
        A, B = as_records(self.A, "A"), as_records(self.B, "B")
        require(A.shape[0] == A.shape[1] and np.array_equal(A, A.T), "A", "be symmetric", A.tolist())
        require(B.shape[1] == len(A), "B", f"have {len(A)} columns, as A has", B.shape[1])
        self._set(A=A, B=B, records=bounded_rows(self.records, self.bound, len(B)))

    @classmethod
    def sample(
        cls, n: int, d: int, rng: np.random.Generator, *, curvature: float = 1.0, coupling: float = 0.5,
        **constants: Any,
    ) -> NonconvexQuadratic:  # fmt: skip
        """Draw A with eigenvalues (-curvature, 1, ..., 1) in a random basis, and B = coupling I.

        The ``n`` records are uniform on the sphere of radius b, of mean 0.
        """
        require_count(d, "d")
        basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
        A = np.eye(d) - (1 + curvature) * np.outer(basis[0], basis[0])
        return cls(sphere(n, d, rng, constants.get("bound", cls.bound)), A, coupling * np.eye(d), **constants)

    @property
    def params(self) -> Array:
        """(mu, A, B), row by row."""
        return np.concatenate([[self.mu_y], self.A.ravel(), self.B.ravel()])

    @property
    def dim_w(self) -> int:
        return len(self.A)

    @property
    def norms(self) -> tuple[float, float]:
        """Spectral norms of A and B."""
        return float(np.linalg.norm(self.A, 2)), float(np.linalg.norm(self.B, 2))

    @property
    def reach(self) -> float:
        """Lam = room (|B| R + b)/mu."""
        return self.room * (self.norms[1] * self.radius + self.bound) / self.mu_y

    def constants(self) -> Constants:
        """L is the spectral norm of [[A, B'], [B, -mu I]]."""
        (a, b), mu, Lam = self.norms, self.mu_y, self.reach
        joint = np.block([[self.A, self.B.T], [self.B, -mu * np.eye(self.dim_v)]])
        return Constants(
            lipschitz_w=a * self.radius + b * Lam,
            lipschitz_v=b * self.radius + self.bound + mu * Lam,
            smoothness=float(np.linalg.norm(joint, 2)),
            concavity=mu,
            hessian_lipschitz=0.0,
        )

    def best_response(self, w: Array) -> Array:
        return (self.B @ w + self.zbar) / self.mu_y

    def primal(self, w: Array) -> float:
        y = self.best_response(w)
        return float(0.5 * w @ self.A @ w + self.mu_y / 2 * y @ y)

    def primal_gradient(self, w: Array) -> Array:
        return self.A @ w + self.B.T @ self.best_response(w)

    def primal_hessian(self, w: Array | None = None) -> Array:
        """Return H, the same for all w."""
        return self.A + self.B.T @ self.B / self.mu_y

    def saddle_point(self) -> tuple[Array, float]:
        """Return the stationary point; an error where H is no saddle's or the point leaves W."""
        H = self.primal_hessian()
        curvatures = np.linalg.eigvalsh(H)
        require(curvatures[0] < 0 and bool((curvatures != 0).all()), "A", "make A + B'B/mu indefinite", curvatures)
        w = np.asarray(np.linalg.solve(H, -self.B.T @ self.zbar / self.mu_y), dtype=float)
        return within(w, self.radius, "saddle"), float(curvatures[0])
