"""The problem on which the sensitivity of the minimiser is all that its bound allows, up to 1 + 1/n:

f(w; z) = mu/2 w^2 + z w for scalar w on |w| <= g/(mu n), records |z| <= g.

The gradient mu w + z has norm at most L = g (1 + 1/n). The minimiser over the records is -zbar/mu where that is
feasible. With all records 0 but one, which is g or -g, it is -+g/(mu n): exchanging that record moves it by
2 g/(mu n), and the bound 2 L/(mu n) is met but for the factor 1 + 1/n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.minimisation import Minimisation
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.properties import fields_read
from dpcheck.algorithms.records import bounded_rows
from dpcheck.errors import require_count


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """mu w + z."""
    out_w[0] = params[0] * w[0] + record[0]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """mu/2 w^2 + z w."""
    return 0.5 * params[0] * w[0] * w[0] + record[0] * w[0]


@dataclass(frozen=True, eq=False)
class Tight(Minimisation):
    """A scalar quadratic whose minimiser is as sensitive as its bound allows.

    Parameters
    ----------
    records : ndarray, (n, 1) float64
        Entries |z| <= bound.
    mu, bound : float
        mu and g, both > 0.
    """

    records: Array
    mu: float = 1.0
    bound: float = 1.0
    name: str = "tight"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("mu")
    dim_w = 1

    def __post_init__(self) -> None:
        self._require_positive("mu", "bound")
        self._set(records=bounded_rows(self.records, self.bound, columns=1))

    @classmethod
    def spike(cls, n: int, *, mu: float = 1.0, bound: float = 1.0) -> Tight:
        """Make ``n`` records, the first g and the others 0."""
        require_count(n, "n")
        records = np.zeros((n, 1))
        records[0] = bound
        return cls(records, mu, bound)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Tight:
        """Draw the example: 200 records."""
        return cls.spike(200)

    @property
    def radius(self) -> float:
        """g/(mu n)."""
        return self.bound / (self.mu * len(self.records))

    def constants(self) -> Constants:
        G = self.bound * (1 + 1 / len(self.records))
        return Constants(lipschitz_w=G, smoothness=self.mu, convexity=self.mu)

    def primal(self, w: Array) -> float:
        return float(0.5 * self.mu * w[0] ** 2 + self.records.mean() * w[0])

    def primal_gradient(self, w: Array) -> Array:
        return np.array([self.mu * w[0] + self.records.mean()])

    def primal_hessian(self, w: Array) -> Array:
        return np.array([[self.mu]])

    def saddle(self) -> tuple[Array, Array]:
        """Return the feasible minimiser."""
        return np.clip([-self.records.mean() / self.mu], -self.radius, self.radius), np.empty(0)

    def gap(self, w: Array, v: Array) -> float:
        """Return the excess empirical risk over the interval."""
        return self.primal(w) - self.primal(self.saddle()[0])
