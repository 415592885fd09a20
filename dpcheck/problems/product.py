"""Convex-strongly concave: f(w, v; z) = <z, w> v - mu/2 v^2 with scalar v, |w| <= D, |v| <= D, |z| <= 1.

The gradients z v and <z, w> - mu v have norms at most D and D (1 + mu). The joint gradient is linear with
matrix [[0, z], [z', -mu]], of norm at most (mu + sqrt(mu^2 + 4))/2. With m the records' mean and mu >= 1 the
maximiser <m, w>/mu is feasible, so Phi(w) = <m, w>^2/(2 mu), smallest (0) wherever <m, w> = 0.

``product_mirror`` is the same with the parts exchanged: mu/2 w^2 - <z, v> w, strongly convex-concave.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.errors import require, require_positive
from dpcheck.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.problems.linear import Linear
from dpcheck.problems.problem import Array, Defaults, ball, bounded_rows


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """z v and <z, w> - mu v."""
    inner = 0.0
    for i in range(w.size):
        inner += record[i] * w[i]
        out_w[i] = record[i] * v[0]
    out_v[0] = inner - params[0] * v[0]


@kernel(VALUE_SIGNATURE)
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

    def __post_init__(self) -> None:
        require_positive(self.radius, "radius")
        require(1 <= self.mu < math.inf, "mu", "be at least 1", self.mu)
        object.__setattr__(self, "records", bounded_rows(self.records, 1))

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, *, mu: float = 1.0, radius: float = 1.0) -> Product:
        """Draw the population of :meth:`Linear.sample`: E z = e_1/2."""
        return cls(Linear.sample(n, d, rng).records, mu, radius)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Product:
        """Draw the example: 200 records in 3 dimensions."""
        return cls.sample(200, 3, rng)

    gradient: ClassVar[Callable[..., Any]] = staticmethod(gradient)
    value: ClassVar[Callable[..., Any]] = staticmethod(value)

    @property
    def start(self) -> Array:
        """(D/2) e_1: at 0 there would be nothing to do."""
        x = np.zeros(self.dim_w + 1)
        x[0] = 0.5 * self.radius
        return x

    @property
    def params(self) -> Array:
        return np.array([self.mu], float)

    @property
    def dim_v(self) -> int:
        return 1

    @property
    def domain_w(self) -> Array:
        return ball(self.dim_w, self.radius)

    @property
    def domain_v(self) -> Array:
        return ball(1, self.radius)

    @property
    def lipschitz_w(self) -> float:
        return self.radius

    @property
    def lipschitz_v(self) -> float:
        return self.radius * (1 + self.mu)

    @property
    def smoothness(self) -> float:
        return 0.5 * (self.mu + math.sqrt(self.mu**2 + 4))

    @property
    def concavity(self) -> float:
        return self.mu

    def best_response(self, w: Array) -> Array:
        return np.array([self.records.mean(0) @ w / self.mu])

    def primal(self, w: Array) -> float:
        return float((self.records.mean(0) @ w) ** 2 / (2 * self.mu))

    def primal_gradient(self, w: Array) -> Array:
        m = self.records.mean(0)
        return np.asarray((m @ w) * m / self.mu)

    def primal_hessian(self, w: Array) -> Array:
        m = self.records.mean(0)
        return np.outer(m, m) / self.mu

    def gap(self, w: Array, v: Array) -> float:
        """Return max over v of f(w, .) - min over w of f(., v) on the balls."""
        m = self.records.mean(0)
        least = -self.radius * abs(v[0]) * float(np.linalg.norm(m)) - 0.5 * self.mu * v[0] ** 2
        return self.primal(w) - float(least)
