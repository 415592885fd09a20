"""Shift: each record, a sign, moves the best response by 1/n.

f(w, v; z) = w v + z v - v^2/2,  z = +-1,  W = [-R, R],  V = [-1, 1].

y* = w + zbar where that lies in V, and Phi = (w + zbar)^2/2 there; beyond, y* is clipped and Phi is
Huber's function, so that rho_Phi = inf, as for :mod:`dpcheck.problems.huber`. Flipping one of the n
signs moves y* by 2/n inside V: all that a dual variable of strong concavity 1 and a gradient that
moves by 2/n can, so the sensitivity 2 G/(mu n) of an exact inner maximum is met with G = 1, the half
distance of the two gradients.

G_w = 1, the largest |v|. G_v = R + 2. L is the spectral norm of [[0, 1], [1, -1]], (1 + sqrt 5)/2.
f is linear, hence convex, in w; saddle (-zbar, 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.problem_domains import BOX, blocks
from dpcheck.algorithms.records import as_records
from dpcheck.errors import require
from dpcheck.problems.nonconvex import StronglyConcave, signs, spectral


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients v and w + z - v of one record z."""
    out_w[0] = v[0]
    out_v[0] = w[0] + record[0] - v[0]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record z."""
    return v[0] * (w[0] + record[0] - 0.5 * v[0])


@dataclass(frozen=True, eq=False)
class Shift(StronglyConcave):
    """Records that shift the best response.

    Parameters
    ----------
    records : ndarray, (n, 1) float64
        Entries -1 or 1.
    radius : float
        R > 0.
    """

    records: Array
    radius: float = 0.5
    name: str = "shift"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    example_size = (200, 1)

    def __post_init__(self) -> None:
        self._require_positive("radius")
        records = as_records(self.records, "records", 1)
        require(bool((np.abs(records) == 1).all()), "records", "be -1 or 1", np.unique(records)[:5])
        self._set(records=records)

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> Shift:
        """Draw ``n`` independent fair signs; d must be 1."""
        require(d == 1, "d", "be 1", d)
        return cls(signs(n, 1, rng, 1.0), **constants)

    @property
    def domain_w(self) -> Array:
        """[-R, R]."""
        return blocks((1, BOX, self.radius))

    @property
    def domain_v(self) -> Array:
        """[-1, 1]."""
        return blocks((1, BOX, 1.0))

    def constants(self) -> Constants:
        return Constants(
            lipschitz_w=1.0, lipschitz_v=self.radius + 2, smoothness=spectral(0.0, 1.0, 1.0), concavity=1.0
        )

    def best_response(self, w: Array) -> Array:
        return np.clip(w + self.zbar, -1.0, 1.0)

    def primal(self, w: Array) -> float:
        y = self.best_response(w)
        return float(y @ (w + self.zbar - 0.5 * y))

    def primal_gradient(self, w: Array) -> Array:
        return self.best_response(w)

    def primal_hessian(self, w: Array) -> Array:
        """Return 1 inside V and 0 beyond; an error at the jump."""
        size = abs(float(w[0] + self.zbar[0]))
        require(size != 1, "w", "be off the jump of the Hessian", w)
        return np.array([[float(size < 1)]])

    def saddle(self) -> tuple[Array, Array]:
        """Return (-zbar, 0); an error where it leaves W."""
        size = abs(float(self.zbar[0]))
        require(size <= self.radius, "radius", f"be at least the saddle's {size:.6g}", self.radius)
        return -self.zbar, np.zeros(1)
