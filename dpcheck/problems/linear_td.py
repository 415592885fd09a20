"""Linear temporal-difference learning: the projected Bellman error as a saddle problem.

With a value function psi(s)'w, for one transition of features psi, psi' and reward r,
f(w, v; (psi, psi', r)) = delta psi'v - (psi'v)^2/2 - ridge |v|^2/2,  delta = r + gamma psi'^T w - psi^T w.

|psi|, |psi'| <= 1, |r| <= r_max, W = [-R, R]^d, V = [-Lam, Lam]^d (Zhao et al. 2023: R = Lam = 1).
With A = mean psi (gamma psi' - psi)', beta = mean r psi, C = mean psi psi' + ridge I, over the whole
space: y* = C^+ (A w + beta), Phi = 1/2 (A w + beta)' C^+ (A w + beta), Phi'' = A' C^+ A, rho_Phi = 0.
Without the ridge C may be singular; A w + beta lies in its range all the same, and y* is the shortest.
f is linear, hence convex, in w; where A is regular the saddle is (-A^{-1} beta, 0), the TD solution.

One record is strongly concave with modulus ``ridge`` only: it sees v along psi alone. The modulus of the
mean, ``empirical_concavity``, is the least eigenvalue of C, a number of the private data.

G_w = (1 + gamma) sqrt(d) Lam: the gradient is (psi'v)(gamma psi' - psi).
G_v = r_max + (1 + gamma) sqrt(d) R + (1 + ridge) sqrt(d) Lam: it is (delta - psi'v) psi - ridge v.
L = norm of [[0, 1 + gamma], [1 + gamma, -1 - ridge]], met at psi' = -psi.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.problem_domains import BOX, blocks
from dpcheck.algorithms.properties import columns, fields_read
from dpcheck.algorithms.records import as_records, require_within, within_bound
from dpcheck.errors import require
from dpcheck.problems.nonconvex import StronglyConcave, spectral, sphere, within_box


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record (psi, psi', r)."""
    d, gamma, ridge = w.size, params[0], params[1]
    delta, dual = record[2 * d], 0.0
    for i in range(d):
        delta += (gamma * record[d + i] - record[i]) * w[i]
        dual += record[i] * v[i]
    for i in range(d):
        out_w[i] = dual * (gamma * record[d + i] - record[i])
        out_v[i] = (delta - dual) * record[i] - ridge * v[i]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (psi, psi', r)."""
    d, gamma, ridge = w.size, params[0], params[1]
    delta, dual, square = record[2 * d], 0.0, 0.0
    for i in range(d):
        delta += (gamma * record[d + i] - record[i]) * w[i]
        dual += record[i] * v[i]
        square += v[i] * v[i]
    return delta * dual - 0.5 * dual * dual - 0.5 * ridge * square


@dataclass(frozen=True, eq=False)
class LinearTD(StronglyConcave):
    """Temporal-difference learning with a linear value function.

    Parameters
    ----------
    records : ndarray, (n, 2d + 1) float64
        Rows (psi, psi', r) with |psi|, |psi'| <= 1 and |r| <= bound.
    discount : float
        gamma in [0, 1).
    bound, radius, dual_radius : float
        r_max, R and Lam, all > 0.
    ridge : float
        Weight >= 0 of |v|^2/2.
    """

    records: Array
    discount: float = 0.9
    bound: float = 1.0
    radius: float = 1.0
    dual_radius: float = 1.0
    ridge: float = 0.0
    name: str = "linear_td"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("discount", "ridge")
    dim_w = dim_v = columns(lambda count: count // 2)

    def __post_init__(self) -> None:
        self._require_positive("bound", "radius", "dual_radius")
        require(0 <= self.discount < 1, "discount", "lie in [0, 1)", self.discount)
        require(0 <= self.ridge < math.inf, "ridge", "be finite and >= 0", self.ridge)
        records = as_records(self.records, "records")
        require(records.shape[1] % 2 == 1 and records.shape[1] > 1, "records", "have 2d + 1 columns", records.shape)
        features = records[:, :-1].reshape(len(records), 2, -1)
        features = within_bound(features, 1, "records", "features of norm")
        records = np.column_stack([features.reshape(len(records), -1), records[:, -1]])
        require_within(np.abs(records[:, -1]), self.bound, "rewards |r|")
        self._set(records=records)

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> LinearTD:
        """Draw ``n`` independent transitions: psi uniform on the sphere, psi' half of it and half of another.

        The reward is bound/2 times (psi_1 + a sign).
        """
        psi, fresh = sphere(n, d, rng, 1.0), sphere(n, d, rng, 1.0)
        reward = 0.5 * constants.get("bound", cls.bound) * (psi[:, 0] + rng.choice([-1.0, 1.0], n))
        return cls(np.column_stack([psi, 0.5 * (psi + fresh), reward]), **constants)

    @property
    def domain_w(self) -> Array:
        """[-R, R]^d."""
        return blocks((self.dim_w, BOX, self.radius))

    @property
    def domain_v(self) -> Array:
        """[-Lam, Lam]^d."""
        return blocks((self.dim_w, BOX, self.dual_radius))

    def constants(self) -> Constants:
        root, grown, ridged = math.sqrt(self.dim_w), 1 + self.discount, 1 + self.ridge
        return Constants(
            lipschitz_w=grown * root * self.dual_radius,
            lipschitz_v=self.bound + grown * root * self.radius + ridged * root * self.dual_radius,
            smoothness=spectral(0.0, grown, ridged),
            concavity=self.ridge,
            hessian_lipschitz=0.0,
        )

    @property
    def empirical_concavity(self) -> float:
        """The least eigenvalue of C: the mean's strong concavity, which the private data decide."""
        return float(np.linalg.eigvalsh(self.moments()[2])[0])

    def moments(self) -> tuple[Array, Array, Array]:
        """Return (A, beta, C), see the file's head."""
        d, n = self.dim_w, len(self.records)
        psi, other, reward = self.records[:, :d], self.records[:, d:-1], self.records[:, -1]
        C = psi.T @ psi / n + self.ridge * np.eye(d)
        return psi.T @ (self.discount * other - psi) / n, psi.T @ reward / n, C

    def best_response(self, w: Array) -> Array:
        A, beta, C = self.moments()
        y: Array = np.linalg.pinv(C, hermitian=True) @ (A @ w + beta)
        return y

    def primal(self, w: Array) -> float:
        A, beta, _ = self.moments()
        return float(0.5 * (A @ w + beta) @ self.best_response(w))

    def primal_gradient(self, w: Array) -> Array:
        return np.asarray(self.moments()[0].T @ self.best_response(w))

    def primal_hessian(self, w: Array) -> Array:
        A, _, C = self.moments()
        H = A.T @ np.linalg.pinv(C, hermitian=True) @ A
        return np.asarray((H + H.T) / 2)

    def saddle(self) -> tuple[Array, Array]:
        """Return the TD solution and 0; an error where it leaves W or is not unique."""
        A, beta, _ = self.moments()
        least = float(np.linalg.svd(A, compute_uv=False)[-1])
        require(least > 1e-12, "records", "make A regular", f"a singular value {least:.3g}")
        w = np.asarray(np.linalg.solve(A, -beta), dtype=float)
        return within_box(w, self.radius), np.zeros(self.dim_w)
