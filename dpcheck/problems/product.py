"""Convex-strongly concave: f(w, v; z) = <z, w> v - mu/2 v^2 with scalar v, |w| <= D, |v| <= D, |z| <= 1.

The gradients z v and <z, w> - mu v have norms at most D and D (1 + mu). The joint gradient is linear with
matrix [[0, z], [z', -mu]], of norm at most (mu + sqrt(mu^2 + 4))/2. With m the records' mean and mu >= 1 the
maximiser <m, w>/mu is feasible, so Phi(w) = <m, w>^2/(2 mu), smallest (0) wherever <m, w> = 0.

``product_mirror`` is the same with the parts exchanged: mu/2 w^2 - <z, v> w, strongly convex-concave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Constants, Defaults, fields_read
from dpcheck.errors import require
from dpcheck.problems import bounded_rows
from dpcheck.problems.linear import Linear


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """z v and <z, w> - mu v."""
    inner = 0.0
    for i in range(w.size):
        inner += record[i] * w[i]
        out_w[i] = record[i] * v[0]
    out_v[0] = inner - params[0] * v[0]


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """<z, w> v - mu/2 v^2."""
    inner = 0.0
    for i in range(w.size):
        inner += record[i] * w[i]
    return inner * v[0] - 0.5 * params[0] * v[0] * v[0]


@dataclass(frozen=True, eq=False)
class Product(Defaults):
    """A product of w, a record and a scalar v: convex and strongly concave.

    Parameters
    ----------
    records : ndarray, (n, d) float64
        Rows with |z_i| <= 1.
    mu : float
        mu >= 1.
    radius : float
        D > 0.
    """

    records: Array
    mu: float = 1.0
    radius: float = 1.0
    name: str = "product"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("mu")
    dim_v = 1

    def __post_init__(self) -> None:
        self._require_positive("radius")
        require(1 <= self.mu < math.inf, "mu", "be at least 1", self.mu)
        self._set(records=bounded_rows(self.records, 1))

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, *, mu: float = 1.0, radius: float = 1.0) -> Product:
        """Draw the population of :meth:`Linear.sample`: E z = e_1/2."""
        return cls(Linear.sample(n, d, rng).records, mu, radius)

    @property
    def start(self) -> Array:
        """(D/2) e_1: 0 is stationary."""
        x = np.zeros(self.dim_w + 1)
        x[0] = 0.5 * self.radius
        return x

    def constants(self) -> Constants:
        D, mu = self.radius, self.mu
        return Constants(
            lipschitz_w=D, lipschitz_v=D * (1 + mu), smoothness=0.5 * (mu + math.sqrt(mu**2 + 4)), concavity=mu
        )

    def best_response(self, w: Array) -> Array:
        return np.array([self.zbar @ w / self.mu])

    def primal(self, w: Array) -> float:
        return float((self.zbar @ w) ** 2 / (2 * self.mu))

    def primal_gradient(self, w: Array) -> Array:
        m = self.zbar
        return np.asarray((m @ w) * m / self.mu)

    def primal_hessian(self, w: Array) -> Array:
        m = self.zbar
        return np.outer(m, m) / self.mu

    def gap(self, w: Array, v: Array) -> float:
        """Return max over v of f(w, .) - min over w of f(., v) on the balls."""
        m = self.zbar
        least = -self.radius * abs(v[0]) * float(np.linalg.norm(m)) - 0.5 * self.mu * v[0] ** 2
        return self.primal(w) - float(least)
