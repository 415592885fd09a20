"""Matrix sensing as plain nonconvex least squares over both factors.

f((U, V); (A, b)) = 1/2 (<A, U V'> - b)^2,  U in R^{p x r}, V in R^{q x r},  w = (U, V) row by row.

Xu et al. 2026, Section 5, run their baselines Sto-SPIDER and Ada-DP-SPIDER "directly on the explicit value
function Phi(U, V)" of the minimax problem :mod:`dpcheck.problems.matrix_sensing`: this is that objective, over U
and V alike (not over a symmetric U U'). There a dual variable belongs to one record, so Phi is a mean over
records, and its gradients cost no more privacy than any others. Settings: Appendix D, per-record clipping
at 1; ``Sensing.of`` takes over the data of the minimax problem.

0 is a strict saddle where Mbar = (1/n) sum_i b_i A_i is not 0: the Hessian is there
[[0, -Mbar], [-Mbar', 0]] in every column, lambda_min = -sigma_1(Mbar).

Constants, with the spectral norm |A| <= a, |b| <= B and W = B(R): |<A, U V'>| <= a |U||V| <= a R^2/2, so
the residual is at most m = a R^2/2 + B, and the gradient of <A, U V'>, (A V, A'U), at most a R. So
G = m a R; L = a m + a^2 R^2, since the Hessian is residual * 2 <A, dU dV'> + (<A V, dU> + <A'U, dV>)^2 and
2|dU||dV| <= |dw|^2. Along a unit vector the third derivative of r^2/2 is 3 r' r'' <= 3 (a R)(a), and a
symmetric trilinear form is largest on the diagonal (Banach): rho = 3 a^2 R. All three are attained where U and V
are the leading pair of A, |U| = |V| = R/sqrt 2, b = -B. Without bounds (inf, as in the paper) there are none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Constants, Minimisation
from dpcheck.errors import require
from dpcheck.problems.matrix_sensing import Factors, MatrixSensing


@kernel("value")
def residual(params, record, w, v):  # type: ignore[no-untyped-def]
    """<A, U V'> - b of one record (A, b)."""
    p, q, rank = int(params[0]), int(params[1]), int(params[2])
    split, product = p * rank, 0.0
    for j in range(p):
        for k in range(q):
            for m in range(rank):
                product += record[j * q + k] * w[j * rank + m] * w[split + k * rank + m]
    return product - record[p * q]


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Residual times (A V, A'U)."""
    p, q, rank = int(params[0]), int(params[1]), int(params[2])
    split, off = p * rank, residual(params, record, w, v)
    out_w[:] = 0.0
    for j in range(p):
        for k in range(q):
            pull = off * record[j * q + k]
            for m in range(rank):
                out_w[j * rank + m] += pull * w[split + k * rank + m]
                out_w[split + k * rank + m] += pull * w[j * rank + m]


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (A, b)."""
    off = residual(params, record, w, v)
    return 0.5 * off * off


@dataclass(frozen=True, eq=False)
class Sensing(Factors, Minimisation):
    """The value function of the experiment of Xu et al. 2026.

    Parameters
    ----------
    records : ndarray, (n, p q + 1) float64
        Rows (A_i row by row, b_i).
    initial : ndarray, ((p + q) rank,)
        Public starting point (U_0, V_0), in W.
    rows, rank : int
        p and r.
    bound_a, bound_b : float
        Bounds on the spectral norm |A_i| and on |b_i|, inf for none.
    radius : float
        R, inf for none.

    References
    ----------
    D. Xu et al. Finding differentially private second order stationary points in stochastic minimax optimization. 2026,
    Section 5.
    """

    records: Array
    initial: Array
    rows: int = 20
    rank: int = 3
    bound_a: float = math.inf
    bound_b: float = math.inf
    radius: float = math.inf
    name: str = "sensing"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    convex = False
    example_size = (400, 4)  # a 4 x 4 matrix of rank 2; the paper's has 20 x 20 and rank 3

    def __post_init__(self) -> None:
        records, initial = self._checked(("bound_a", "bound_b", "radius"), beside=1)
        matrices = records[:, :-1].reshape(len(records), self.rows, -1)
        self._require_within(np.linalg.norm(matrices, 2, axis=(1, 2)), self.bound_a, "|A|")
        self._require_within(np.abs(records[:, -1]), self.bound_b, "|b|")
        self._require_start(initial, records.shape[1] - 1)
        norm = float(np.linalg.norm(initial))
        require(norm <= self.radius, "initial", f"lie in the ball of radius {self.radius}", norm)
        self._set(records=records, initial=initial)

    @classmethod
    def of(cls, problem: MatrixSensing) -> Sensing:
        """Take a problem's measurements, starting point and, as far as it has them, bounds; drop the dual variables."""
        owners = len(np.unique(problem.records[:, 0]))
        require(owners == len(problem.records), "problem", "have a dual variable for each record", owners)
        return cls(
            problem.records[:, 1:], problem.initial, problem.rows, problem.rank, problem.bound_a, problem.bound_b,
            problem.radius,
        )  # fmt: skip

    @classmethod
    def sample(
        cls, n: int, d: int, rng: np.random.Generator, *, rank: int = 2, bound_a: float = 1.0, bound_b: float = 1.0,
        radius: float = 3.0, **population: Any,
    ) -> Sensing:  # fmt: skip
        """Draw ``n`` measurements of a d x d matrix, the paper's population brought within the bounds.

        A_i has entries N(0, 1/d^2), shrunk to spectral norm a where it is beyond; b_i = <A_i, X*> + N(0, noise^2), cut
        off at +-B; X* of this rank with |X*| = size (Frobenius); start N(0, 0.1^2). ``size`` and ``noise`` are in
        ``population``, as :meth:`MatrixSensing.sample` has them.
        """
        drawn = MatrixSensing.sample(n, d, rng, rank=rank, **{"size": 2.0, "noise": 0.01} | population)
        matrices = drawn.records[:, 1:-1]
        norms = np.linalg.norm(matrices.reshape(n, d, d), 2, axis=(1, 2))
        matrices = matrices * np.minimum(1.0, bound_a / norms)[:, None]
        targets = np.clip(drawn.records[:, -1], -bound_b, bound_b)
        return cls(np.column_stack([matrices, targets]), drawn.initial, d, rank, bound_a, bound_b, radius)

    @property
    def columns(self) -> int:
        """The number q of columns of A."""
        return (int(self.records.shape[1]) - 1) // self.rows

    def constants(self) -> Constants:
        """G = m a R, L = a m + a^2 R^2 and rho = 3 a^2 R, with m the largest residual."""
        a, R = self.bound_a, self.radius
        m = a * R**2 / 2 + self.bound_b
        return Constants(lipschitz_w=m * a * R, smoothness=a * m + (a * R) ** 2, hessian_lipschitz=3 * a**2 * R)

    def primal(self, w: Array) -> float:
        return float(0.5 * np.mean(self._residuals(w) ** 2))

    def primal_hessian(self, w: Array) -> Array:
        n, (U, V) = len(self.records), self._factors(w)
        matrices = self.records[:, :-1].reshape(n, self.rows, -1)
        slopes = np.hstack([(matrices @ V).reshape(n, -1), (matrices.transpose(0, 2, 1) @ U).reshape(n, -1)])
        return self._with_cross(slopes.T @ slopes / n, self._weighted(w))

    def _residuals(self, w: Array) -> Array:
        """Return <A_i, U V'> - b_i : (n,)."""
        U, V = self._factors(w)
        return np.asarray(self.records[:, :-1] @ (U @ V.T).ravel() - self.records[:, -1])

    def _weighted(self, w: Array) -> Array:
        """Return (1/n) sum_i residual_i A_i : (p, q)."""
        return np.asarray((self._residuals(w) @ self.records[:, :-1] / len(self.records)).reshape(self.rows, -1))
