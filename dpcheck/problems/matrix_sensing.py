"""Matrix sensing with one dual variable a sample (Xu et al. 2026, Section 5).

f(U, V, y) = (1/n) sum_i y_i (<A_i, U V'> - b_i) - y_i^2/2,  U in R^{p x r}, V in R^{q x r}, y in R^n,

w = (U, V) row by row, v = y. A record is (i, A_i, b_i), with the number i in [0, n) of the dual variable
that it speaks to; its own objective is y_i (<A_i, U V'> - b_i) - y_i^2/2. With r_i = <A_i, U V'> - b_i:
y*_i = r_i, Phi = (1/2n) sum_i r_i^2, Phi' = (1/n) sum_i y*_i r_i', Phi'' = (1/n) sum_i y*_i r_i'' + r_i' r_i''.
(If a neighbour's record names the variable of another one, y* is the mean of r over the records that name
it, 0 where none does, and the formulas are those of these means.)

0 is a strict saddle, with lambda_min = -sigma_1(Mbar), Mbar = (1/n) sum_i b_i A_i: Phi'' is there
[[0, -Mbar], [-Mbar', 0]] in every column. The paper: p = q = 20, r = 3, n = 400, entries of A_i from N(0, 1/(pq)),
b_i = <A_i, X*> + N(0, 0.01^2), X* = U* V*' of Gaussian factors "followed by a rescaling" that it does not
give: here |X*| = ``size``, by default sqrt(pq), so that the b_i have variance 1. Start: N(0, 0.1^2) and y = 0.

The dual variables have the dimension n, and a released y_i is about record i alone: the noise on n of them
does not average out. One record is not strongly concave in y; the mean is, with modulus 1/n.

The paper's domains are whole spaces, where no constant is finite. With |A_i| <= a (Frobenius), |b_i| <= b,
W = B(R), V = [-Lam, Lam]^n: G_w = Lam a R, G_v = a R^2/2 + b + Lam, L = the norm of [[-Lam a, a R], [a R, -1]], as
the Hessian in (U, V) is y_i times that of <A_i, U V'>, of norm at most a, and r_i moves by at most a R |dw|.
rho_Phi = 3 a^2 R: along a unit vector the third derivative of r^2/2 is 3 r' r'' <= 3 (a R)(a), and a symmetric
trilinear form is largest on the diagonal (Banach).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import Shape
from dpcheck.algorithms.problem import Array, Constants, Defaults, blocks, fields_read
from dpcheck.errors import require, require_work
from dpcheck.problems import as_records
from dpcheck.problems.nonconvex import StronglyConcave, spectral


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients y_i (A V, A'U) and (<A, U V'> - b - y_i) e_i of one record (i, A, b)."""
    p, q, rank = int(params[0]), int(params[1]), int(params[2])
    number, split, product = int(record[0]), p * rank, 0.0
    y = v[number]
    out_w[:] = 0.0
    out_v[:] = 0.0
    for j in range(p):
        for k in range(q):
            entry = record[1 + j * q + k]
            for m in range(rank):
                left, right = j * rank + m, split + k * rank + m
                out_w[left] += y * entry * w[right]
                out_w[right] += y * entry * w[left]
                product += entry * w[left] * w[right]
    out_v[number] = product - record[1 + p * q] - y


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (i, A, b)."""
    p, q, rank = int(params[0]), int(params[1]), int(params[2])
    split, product, y = p * rank, 0.0, v[int(record[0])]
    for j in range(p):
        for k in range(q):
            for m in range(rank):
                product += record[1 + j * q + k] * w[j * rank + m] * w[split + k * rank + m]
    return y * (product - record[1 + p * q]) - 0.5 * y * y


class Factors(Defaults):
    """A problem over two factors, U of ``rows`` rows and V, of this ``rank``, with a public start ``initial``."""

    initial: Any
    rows: Any
    rank: Any
    bound_a: Any

    params: Any = fields_read("rows", "columns", "rank")
    dim_w: Any = property(lambda problem: int(problem.initial.size))

    @property
    def start(self) -> Array:
        """(U_0, V_0) and y = 0."""
        return np.concatenate([self.initial, np.zeros(self.dim_v)])

    def _checked(self, bounds: tuple[str, ...], beside: int) -> tuple[Array, Array]:
        """Return the records and the start, once sizes and bounds are good; ``beside`` columns are no matrix."""
        require_work(self.rows, "rows")
        require_work(self.rank, "rank")
        for name in bounds:
            require(getattr(self, name) > 0, name, "be > 0", getattr(self, name))
        records = as_records(self.records, "records")
        size, other = records.shape[1] - beside, "column" if beside == 1 else "columns"
        good = size > 0 and size % self.rows == 0
        require(good, "records", f"have {beside} {other} and a multiple of {self.rows}", records.shape)
        return records, np.ascontiguousarray(self.initial, dtype=float)

    def _require_within(self, sizes: Array, bound: float, what: str) -> None:
        """Require the records' ``sizes``, named ``what``, to be at most ``bound`` up to rounding."""
        largest = float(sizes.max())
        require(largest <= bound * (1 + 1e-12), "records", f"have {what} <= {bound}", largest)

    def _require_start(self, initial: Array, size: int) -> None:
        """Check the shape of the start beside matrices of ``size`` entries."""
        width = (self.rows + size // self.rows) * self.rank
        require(initial.shape == (width,), "initial", f"have shape ({width},)", initial.shape)

    def primal_gradient(self, w: Array) -> Array:
        return self._turn(self._weighted(w), w)

    def saddle_point(self) -> tuple[Array, float]:
        """Return 0 and -sigma_1(Mbar)."""
        zero = np.zeros(self.dim_w)
        largest = float(np.linalg.norm(self._weighted(zero), 2))
        require(largest > 0, "records", "have a mean of b A other than 0", largest)
        return zero, -largest

    def _weighted(self, w: Array) -> Array:
        """Return the mean of the A_i, each times the slope of its record's term in <A_i, U V'> : (p, q)."""
        raise NotImplementedError

    def _factors(self, w: Array) -> tuple[Array, Array]:
        """Return U and V."""
        split = self.rows * self.rank
        return w[:split].reshape(self.rows, -1), w[split:].reshape(-1, self.rank)

    def _turn(self, matrix: Array, w: Array) -> Array:
        """Return the derivative (M V, M'U) of <M, U V'>."""
        U, V = self._factors(w)
        return np.concatenate([(matrix @ V).ravel(), (matrix.T @ U).ravel()])

    def _with_cross(self, hessian: Array, matrix: Array) -> Array:
        """Add to the Hessian of the squares what the second derivative of <M, U V'> brings, made symmetric."""
        split, cross = self.rows * self.rank, np.kron(matrix, np.eye(self.rank))
        hessian[:split, split:] += cross
        hessian[split:, :split] += cross.T
        return np.asarray((hessian + hessian.T) / 2)


@dataclass(frozen=True, eq=False)
class MatrixSensing(Factors, StronglyConcave):
    """The experiment of Xu et al. 2026.

    Parameters
    ----------
    records : ndarray, (n, p q + 2) float64
        Rows (i, A_i row by row, b_i), i a whole number in [0, n).
    initial : ndarray, ((p + q) rank,)
        Public starting point (U_0, V_0).
    rows, rank : int
        p and r.
    bound_a, bound_b : float
        Bounds on |A_i| (Frobenius) and |b_i|, inf for none.
    radius, dual_radius : float
        R and Lam, inf for none.

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
    dual_radius: float = math.inf
    name: str = "matrix_sensing"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    convex = False
    example_size = (400, 20)  # the paper's sizes: a 20 x 20 matrix of rank 3

    def __post_init__(self) -> None:
        records, initial = self._checked(("bound_a", "bound_b", "radius", "dual_radius"), beside=2)
        number = records[:, 0]
        whole = bool((number == np.floor(number)).all() and number.min() >= 0 and number.max() < len(records))
        require(whole, "records", f"begin with a number from 0 to {len(records) - 1}", np.unique(number)[[0, -1]])
        self._require_within(np.linalg.norm(records[:, 1:-1], axis=1), self.bound_a, "|A|")
        self._require_within(np.abs(records[:, -1]), self.bound_b, "|b|")
        self._require_start(initial, records.shape[1] - 2)
        self._set(records=records, initial=initial)

    @classmethod
    def sample(
        cls, n: int, d: int, rng: np.random.Generator, *, rows: int | None = None, rank: int = 3, noise: float = 0.01,
        size: float | None = None, **constants: Any,
    ) -> MatrixSensing:  # fmt: skip
        """Draw the paper's population, ``n`` measurements of a matrix of ``rows`` (by default d) rows and d columns.

        Parameters
        ----------
        n, d : int
            Measurements and columns.
        rng : numpy.random.Generator
            All randomness.
        rows, rank : int
            Rows, d by default, and rank of the matrix.
        noise : float
            Standard deviation of a measurement's error.
        size : float, optional
            Frobenius norm of X*, sqrt(rows d) by default.
        **constants : float
            Fields of the problem.

        Returns
        -------
        MatrixSensing
            The problem.
        """
        require_work(n, "n")
        require_work(d, "d")
        p = rows or d
        truth = rng.standard_normal((p, rank)) @ rng.standard_normal((rank, d))
        truth *= (math.sqrt(p * d) if size is None else size) / np.linalg.norm(truth)
        A = rng.standard_normal((n, p * d)) / math.sqrt(p * d)
        b = A @ truth.ravel() + noise * rng.standard_normal(n)
        initial = 0.1 * rng.standard_normal((p + d) * rank)
        return cls(np.column_stack([np.arange(n), A, b]), initial, p, rank, **constants)

    @property
    def columns(self) -> int:
        """The number q of columns of A."""
        return (int(self.records.shape[1]) - 2) // self.rows

    @property
    def dim_v(self) -> int:
        """n, a dual variable a record."""
        return len(self.records)

    @property
    def domain_v(self) -> Array:
        """[-Lam, Lam]^n."""
        return blocks((self.dim_v, Shape.BOX, self.dual_radius))

    def constants(self) -> Constants:
        """The ascent limit is 2: y_i is moved by step clip(r_i - y_i), the other entries stay."""
        a, R, Lam = self.bound_a, self.radius, self.dual_radius
        return Constants(
            lipschitz_w=Lam * a * R,
            lipschitz_v=a * R**2 / 2 + self.bound_b + Lam,
            smoothness=spectral(-Lam * a, a * R, 1.0),
            hessian_lipschitz=3 * a**2 * R,
            ascent_limit=2.0,
        )

    @property
    def empirical_concavity(self) -> float:
        """The mean's strong concavity: 1/n where every dual variable has its record, else 0."""
        return float(self._counts().min() / len(self.records))

    def best_response(self, w: Array) -> Array:
        """Return the argmax over the whole space: where V is bounded, it must hold the residuals."""
        U, V = self._factors(w)
        residual = self.records[:, 1:-1] @ (U @ V.T).ravel() - self.records[:, -1]
        return np.asarray(np.bincount(self._number, residual, self.dim_v) / np.maximum(self._counts(), 1))

    def primal(self, w: Array) -> float:
        return float(0.5 * self._counts() @ self.best_response(w) ** 2 / len(self.records))

    def primal_hessian(self, w: Array) -> Array:
        n, split = len(self.records), self.rows * self.rank
        slopes = np.zeros((n, self.dim_w))  # of the sums of the residuals that share a dual variable
        matrices = self.records[:, 1:-1].reshape(n, self.rows, -1)
        U, V = self._factors(w)
        np.add.at(slopes[:, :split], self._number, (matrices @ V).reshape(n, -1))
        np.add.at(slopes[:, split:], self._number, (matrices.transpose(0, 2, 1) @ U).reshape(n, -1))
        slopes /= np.sqrt(n * np.maximum(self._counts(), 1))[:, None]
        return self._with_cross(slopes.T @ slopes, self._weighted(w))

    @property
    def _number(self) -> Any:
        """The dual variable of each record : (n,) int64."""
        return self.records[:, 0].astype(np.int64)

    def _counts(self) -> Array:
        """Return how many records each dual variable has : (n,)."""
        return np.asarray(np.bincount(self._number, minlength=self.dim_v), dtype=float)

    def _weighted(self, w: Array) -> Array:
        """Return (1/n) sum_i y*_i A_i : (p, q)."""
        y = self.best_response(w)[self._number]
        return np.asarray((y @ self.records[:, 1:-1] / len(y)).reshape(self.rows, -1))
