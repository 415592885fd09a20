"""Strongly-convex-strongly-concave quadratic game on balls of radius R:

f(w, v; (b, c)) = mu_x/2 |w|^2 + a <w, v> - mu_y/2 |v|^2 + <b, w> - <c, v>,  |b|, |c| <= B.

The partial gradients have norms at most mu_x R + aR + B and aR + mu_y R + B. The joint gradient is
linear with matrix [[mu_x, a], [a, -mu_y]] on each coordinate pair, so L is its spectral norm. The
unconstrained saddle solves [[mu_x, a], [-a, mu_y]] (w; v) = (-bbar; -cbar).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Constants, Defaults, columns, fields_read
from dpcheck.errors import require
from dpcheck.problems import bounded_pairs
from dpcheck.problems.bilinear import Bilinear


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients mu_x w + a v + b and a w - mu_y v - c of one record (b, c)."""
    mu_x, a, mu_y, d = params[0], params[1], params[2], w.size
    for i in range(d):
        out_w[i] = mu_x * w[i] + a * v[i] + record[i]
        out_v[i] = a * w[i] - mu_y * v[i] - record[d + i]


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (b, c)."""
    mu_x, a, mu_y, d = params[0], params[1], params[2], w.size
    total = 0.0
    for i in range(d):
        total += 0.5 * (mu_x * w[i] * w[i] - mu_y * v[i] * v[i]) + a * w[i] * v[i]
        total += record[i] * w[i] - record[d + i] * v[i]
    return total


@dataclass(frozen=True, eq=False)
class Quadratic(Defaults):
    """A strongly convex-strongly concave quadratic game on two balls.

    Parameters
    ----------
    records : ndarray, (n, 2d) float64
        Rows (b_i, c_i) with |b_i|, |c_i| <= bound.
    mu_x, mu_y : float
        Strong convexity and strong concavity, > 0.
    coupling : float
        a >= 0.
    bound, radius : float
        B and R, both > 0.
    """

    records: Array
    mu_x: float = 1.0
    mu_y: float = 1.0
    coupling: float = 1.0
    bound: float = 1.0
    radius: float = 1.0
    name: str = "quadratic"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("mu_x", "coupling", "mu_y")
    dim_w = dim_v = columns(lambda count: count // 2)

    def __post_init__(self) -> None:
        require(0 <= self.coupling < np.inf, "coupling", "be finite and >= 0", self.coupling)
        self._require_positive("mu_x", "mu_y", "bound", "radius")
        self._set(records=bounded_pairs(self.records, self.bound))

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> Quadratic:
        """Draw ``n`` records of the population of :meth:`Bilinear.sample`."""
        return cls(Bilinear.sample(n, d, rng, bound=constants.get("bound", cls.bound)).records, **constants)

    def constants(self) -> Constants:
        """L is the spectral norm of [[mu_x, a], [a, -mu_y]]."""
        return Constants(
            lipschitz_w=(self.mu_x + self.coupling) * self.radius + self.bound,
            lipschitz_v=(self.mu_y + self.coupling) * self.radius + self.bound,
            smoothness=float(np.linalg.norm([[self.mu_x, self.coupling], [self.coupling, -self.mu_y]], 2)),
            convexity=self.mu_x,
            concavity=self.mu_y,
        )

    def saddle(self, b: Array | None = None, c: Array | None = None) -> tuple[Array, Array]:
        """Return the unconstrained saddle of the game with means b, c, by default those of the records.

        An error where it leaves the balls.
        """
        means = self.zbar
        b = means[: self.dim_w] if b is None else b
        c = means[self.dim_w :] if c is None else c
        system = np.array([[self.mu_x, self.coupling], [-self.coupling, self.mu_y]])
        w, v = np.linalg.solve(system, -np.stack([b, c]))
        norm = float(max(np.linalg.norm(w), np.linalg.norm(v)))
        require(norm <= self.radius, "radius", f"be at least the saddle's norm {norm:.6g}", self.radius)
        return w, v

    def gap(self, w: Array, v: Array) -> float:
        """Return the duality gap over the whole space, a quadratic form about the saddle."""
        best_w, best_v = self.saddle()
        curved_w = self.mu_x + self.coupling**2 / self.mu_y
        curved_v = self.mu_y + self.coupling**2 / self.mu_x
        return float(0.5 * curved_w * np.sum((w - best_w) ** 2) + 0.5 * curved_v * np.sum((v - best_v) ** 2))

    def weak_gap(self, outputs: Array) -> float:
        """Return the weak primal-dual population gap of runs ``outputs`` : (R, 2d), under :meth:`sample`.

        Yang et al. 2022, Definition 4. Through the quadratic terms the variance of the runs enters.
        """
        d = self.dim_w
        b = np.zeros(d)
        b[0] = 0.5 * self.bound
        w, v = outputs[:, :d], outputs[:, d:]
        square_w, square_v = (w * w).sum(1).mean(), (v * v).sum(1).mean()
        w, v = w.mean(0), v.mean(0)
        best_v = _largest(self.coupling * w - b, self.mu_y, self.radius)
        best_w = _largest(self.coupling * v + b, self.mu_x, self.radius)
        primal = 0.5 * self.mu_x * square_w + b @ w + best_v
        dual = -0.5 * self.mu_y * square_v - b @ v - best_w
        return float(primal - dual)


def _largest(u: Array, mu: float, radius: float) -> float:
    """Return the maximum over |x| <= radius of <u, x> - mu/2 |x|^2."""
    size = min(float(np.linalg.norm(u)) / mu, radius)
    return float(np.linalg.norm(u)) * size - 0.5 * mu * size * size
