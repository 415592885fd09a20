"""Ill-conditioned quadratic: f(w; z) = 1/2 (w - z)' H (w - z), H diagonal, on |w| <= R, records |z| <= r.

H has the eigenvalues mu, ..., l, evenly spaced in the logarithm (both, where d = 2; l alone, where d = 1). The
gradient H (w - z) has norm at most L = l (R + r); f is l-smooth and mu-strongly convex. The mean over the records
is 1/2 (w - zbar)' H (w - zbar) + const, smallest at zbar, which lies in the ball where r <= R.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Constants, Minimisation
from dpcheck.errors import require
from dpcheck.problems.mean_estimation import MeanEstimation


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """H (w - z), ``params`` the diagonal of H."""
    for i in range(w.size):
        out_w[i] = params[i] * (w[i] - record[i])


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """1/2 (w - z)' H (w - z)."""
    total = 0.0
    for i in range(w.size):
        total += params[i] * (w[i] - record[i]) ** 2
    return 0.5 * total


@dataclass(frozen=True, eq=False)
class IllConditioned(Minimisation):
    """A quadratic with eigenvalues from mu to l.

    Parameters
    ----------
    records : ndarray, (n, d) float64
        Rows with |z_i| <= bound.
    mu, smoothness : float
        0 < mu <= l.
    bound, radius : float
        r > 0 and R >= r.
    """

    records: Array
    mu: float = 0.01
    smoothness: float = 1.0
    bound: float = 1.0
    radius: float = 1.0
    name: str = "ill_conditioned"

    gradient = staticmethod(gradient)
    value = staticmethod(value)

    def __post_init__(self) -> None:
        checked = MeanEstimation(self.records, self.mu, self.bound, self.radius)
        require(self.mu <= self.smoothness < np.inf, "smoothness", f"be finite and >= mu = {self.mu}", self.smoothness)
        self._set(records=checked.records)

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> IllConditioned:
        """Draw ``n`` records uniformly from the ball of radius r: the population's solution is 0."""
        bound = constants.get("bound", cls.bound)
        return cls(MeanEstimation.sample(n, d, rng, bound=bound, radius=bound).records, **constants)

    @property
    def params(self) -> Array:
        return np.geomspace(self.smoothness, self.mu, self.dim_w) if self.dim_w > 1 else np.array([self.smoothness])

    def constants(self) -> Constants:
        return Constants(lipschitz_w=self.smoothness * (self.radius + self.bound), convexity=self.mu)

    def primal(self, w: Array) -> float:
        return float(0.5 * (self.params * (w - self.records) ** 2).sum(1).mean())

    def primal_gradient(self, w: Array) -> Array:
        return np.asarray(self.params * (w - self.zbar))

    def primal_hessian(self, w: Array) -> Array:
        return np.diag(self.params)

    def saddle(self) -> tuple[Array, Array]:
        return self.zbar, np.empty(0)

    def gap(self, w: Array, v: Array) -> float:
        """Return the excess empirical risk."""
        return float(0.5 * self.params @ (w - self.zbar) ** 2)

    def excess(self, outputs: Array) -> float:
        """Return the mean excess population risk of runs ``outputs`` : (R, d), under :meth:`sample`."""
        return float(0.5 * ((outputs**2) @ self.params).mean())
