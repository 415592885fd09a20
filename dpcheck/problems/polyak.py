"""Nonconvex in w with the Polyak-Lojasiewicz inequality, strongly concave in v, everything scalar:

f(w, v; z) = 1/2 (phi(w) - z)^2 + v (phi(w) - z) - rho v^2/2,  phi(w) = 3/4 w + 1/4 sqrt(1 + w^2),

|w| <= R, |z| <= B, |v| <= V = (P + B)/rho with P = phi(R), the largest |phi| on the domain.

phi' = 3/4 + w/(4 sqrt(1 + w^2)) lies in (1/2, 1), phi'' = 1/4 (1 + w^2)^{-3/2} in (0, 1/4], and |phi'''| =
3/4 |w| (1 + w^2)^{-5/2} is at most K = 3/8 (5/4)^{-5/2}, at |w| = 1/2. For every v, f(., v) is a square in phi(w), so
|d/dw f|^2 >= 2 mu (f - min f) with mu = (inf phi')^2 = 1/4, whatever the data.
y* = (phi - zbar)/rho,  Phi = 1/2 (1 + 1/rho) (phi - zbar)^2 + Var(z)/2, Phi' = (1 + 1/rho)(phi - zbar) phi',
Phi'' = (1 + 1/rho)(phi'^2 + (phi - zbar) phi''), |Phi'''| <= (1 + 1/rho)(3/4 + K (P + B)).
G_w = P + B + V, G_v = P + B + rho V. The Hessian of f is [[phi'^2 + (phi - z + v) phi'', phi'], [., -rho]], of norm
at most that of [[1 + (P + B + V)/4, 1], [1, rho]].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Constants, Defaults, ball, fields_read
from dpcheck.errors import require_work
from dpcheck.problems import bounded_rows


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """(phi - z + v) phi' and phi - z - rho v."""
    root = math.sqrt(1.0 + w[0] * w[0])
    rest = 0.75 * w[0] + 0.25 * root - record[0]
    out_w[0] = (rest + v[0]) * (0.75 + 0.25 * w[0] / root)
    out_v[0] = rest - params[0] * v[0]


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record z."""
    rest = 0.75 * w[0] + 0.25 * math.sqrt(1.0 + w[0] * w[0]) - record[0]
    return 0.5 * rest * rest + v[0] * rest - 0.5 * params[0] * v[0] * v[0]


@dataclass(frozen=True, eq=False)
class Polyak(Defaults):
    """Scalar w and v, the Polyak-Lojasiewicz inequality in w.

    Parameters
    ----------
    records : ndarray, (n, 1) float64
        Entries |z| <= bound.
    rho, bound, radius : float
        All > 0.
    """

    records: Array
    rho: float = 1.0
    bound: float = 1.0
    radius: float = 3.0
    name: str = "polyak"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("rho")
    convex = False
    dim_w = dim_v = 1
    pl: ClassVar[float] = 0.25

    def __post_init__(self) -> None:
        self._require_positive("rho", "bound", "radius")
        self._set(records=bounded_rows(self.records, self.bound, columns=1))

    @classmethod
    def sample(cls, n: int, rng: np.random.Generator, **constants: Any) -> Polyak:
        """Draw z uniformly from [-B, B]."""
        require_work(n, "n")
        return cls(rng.uniform(-1, 1, (n, 1)) * constants.get("bound", cls.bound), **constants)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Polyak:
        """Draw the example: 200 records."""
        return cls.sample(200, rng)

    @property
    def start(self) -> Array:
        """w = -R/2 and v = 0."""
        return np.array([-0.5 * self.radius, 0.0])

    @property
    def reach(self) -> float:
        """P + B, the largest |phi(w) - z|."""
        return 0.75 * self.radius + 0.25 * math.sqrt(1 + self.radius**2) + self.bound

    @property
    def domain_v(self) -> Array:
        """[-(P + B)/rho, (P + B)/rho]."""
        return ball(1, self.reach / self.rho)

    def constants(self) -> Constants:
        G_w = self.reach * (1 + 1 / self.rho)
        return Constants(
            lipschitz_w=G_w,
            lipschitz_v=2 * self.reach,
            smoothness=float(np.linalg.norm([[1 + 0.25 * G_w, 1.0], [1.0, self.rho]], 2)),
            concavity=self.rho,
            hessian_lipschitz=float((1 + 1 / self.rho) * (0.75 + 0.375 * 1.25**-2.5 * self.reach)),
        )

    def best_response(self, w: Array) -> Array:
        return np.array([self._rest(w) / self.rho])

    def primal(self, w: Array) -> float:
        return float(0.5 * (1 + 1 / self.rho) * self._rest(w) ** 2 + 0.5 * self.records.var())

    def primal_gradient(self, w: Array) -> Array:
        return np.array([(1 + 1 / self.rho) * self._rest(w) * _slope(w[0])])

    def primal_hessian(self, w: Array) -> Array:
        bend = 0.25 * (1 + w[0] ** 2) ** -1.5
        return np.array([[(1 + 1 / self.rho) * (_slope(w[0]) ** 2 + self._rest(w) * bend)]])

    def _rest(self, w: Array) -> float:
        """Return phi(w) - zbar."""
        return float(0.75 * w[0] + 0.25 * math.sqrt(1 + w[0] ** 2) - self.records.mean())


def _slope(w: float) -> float:
    """Return phi'(w)."""
    return 0.75 + 0.25 * w / math.sqrt(1 + w * w)
