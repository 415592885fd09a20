"""Mean estimation, the strongly convex problem with everything in closed form:

f(w; z) = mu/2 |w - z|^2 on |w| <= R, records |z| <= r.

The gradient mu (w - z) has norm at most L = mu (R + r) and is mu-Lipschitz; the mean over the records is
mu/2 |w - zbar|^2 + const, so the solution is zbar, which lies in the ball where r <= R.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Constants, Minimisation, fields_read
from dpcheck.errors import require, require_work
from dpcheck.problems import bounded_rows


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """mu (w - z)."""
    for i in range(w.size):
        out_w[i] = params[0] * (w[i] - record[i])


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """mu/2 |w - z|^2."""
    total = 0.0
    for i in range(w.size):
        total += (w[i] - record[i]) ** 2
    return 0.5 * params[0] * total


@dataclass(frozen=True, eq=False)
class MeanEstimation(Minimisation):
    """Estimation of a mean.

    Parameters
    ----------
    records : ndarray, (n, d) float64
        Rows with |z_i| <= bound.
    mu : float
        mu > 0.
    bound, radius : float
        r > 0 and R >= r.
    """

    records: Array
    mu: float = 1.0
    bound: float = 1.0
    radius: float = 1.0
    name: str = "mean_estimation"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("mu")

    def __post_init__(self) -> None:
        self._require_positive("mu", "bound", "radius")
        require(self.bound <= self.radius, "radius", f"be at least the records' bound {self.bound}", self.radius)
        self._set(records=bounded_rows(self.records, self.bound))

    @classmethod
    def sample(
        cls, n: int, d: int, rng: np.random.Generator, *, mu: float = 1.0, bound: float = 1.0, radius: float = 1.0
    ) -> MeanEstimation:
        """Draw ``n`` records uniformly from the ball of radius r: the population's solution is 0."""
        require_work(n, "n")
        require_work(d, "d")
        u = rng.standard_normal((n, d))
        u *= rng.random((n, 1)) ** (1 / d) / np.linalg.norm(u, axis=1, keepdims=True)
        return cls(bound * u, mu, bound, radius)

    def constants(self) -> Constants:
        G = self.mu * (self.radius + self.bound)
        return Constants(lipschitz_w=G, smoothness=self.mu, convexity=self.mu)

    def primal(self, w: Array) -> float:
        return float(0.5 * self.mu * ((w - self.records) ** 2).sum(1).mean())

    def primal_gradient(self, w: Array) -> Array:
        return np.asarray(self.mu * (w - self.zbar))

    def primal_hessian(self, w: Array) -> Array:
        return self.mu * np.eye(self.dim_w)

    def saddle(self) -> tuple[Array, Array]:
        return self.zbar, np.empty(0)

    def gap(self, w: Array, v: Array) -> float:
        """Return the excess empirical risk."""
        return float(0.5 * self.mu * np.sum((w - self.zbar) ** 2))

    def excess(self, outputs: Array) -> float:
        """Return the mean excess population risk of runs ``outputs`` : (R, d), under :meth:`sample`."""
        return float(0.5 * self.mu * (outputs**2).sum(1).mean())
