"""Huber: the dual box binds, and Phi has no Lipschitz Hessian.

f(w, v; z) = <w - z, v> - |v|^2/2,  |z_i| <= B,  W = [-R, R]^d,  V = [-Lam, Lam]^d.

z is a location. Coordinate by coordinate y* = w - zbar clipped to [-Lam, Lam], Phi = Huber's function of
w - zbar, Phi' = y*, and Phi'' = 1 inside, 0 outside: it jumps where |w - zbar| = Lam, so rho_Phi = inf, and a check of
second-order stationarity must refuse the problem wherever W reaches the jump, R + B > Lam. (Otherwise
Phi is quadratic and rho_Phi = 0.) Nor is the gradient of f in v zero at y* outside.

G_w = sqrt(d) Lam, the norm of v. G_v = sqrt(d) (R + B + Lam). L is the spectral norm of
[[0, 1], [1, -1]], (1 + sqrt 5)/2. f is linear, hence convex, in w; saddle (zbar, 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.problem_domains import BOX, blocks
from dpcheck.algorithms.records import bounded_entries
from dpcheck.errors import require
from dpcheck.problems.nonconvex import Centred, StronglyConcave, signs, spectral, within_box


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients v and w - z - v of one record z."""
    for i in range(w.size):
        out_w[i] = v[i]
        out_v[i] = w[i] - record[i] - v[i]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record z."""
    total = 0.0
    for i in range(w.size):
        total += v[i] * (w[i] - record[i] - 0.5 * v[i])
    return total


@dataclass(frozen=True, eq=False)
class Huber(Centred, StronglyConcave):
    """Huber's function of the distance to a location, as a maximum over a box.

    Parameters
    ----------
    records : ndarray, (n, d) float64
        Entries |z_i| <= bound.
    threshold : float
        Lam > 0, of V.
    bound, radius : float
        B > 0, and R > 0 of W.
    """

    records: Array
    threshold: float = 1.0
    bound: float = 0.5
    radius: float = 2.0
    name: str = "huber"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    draw = staticmethod(signs)
    example_size = (200, 1)

    def __post_init__(self) -> None:
        self._require_positive("threshold", "bound", "radius")
        self._set(records=bounded_entries(self.records, self.bound))

    @property
    def domain_w(self) -> Array:
        """[-R, R]^d."""
        return blocks((self.dim_w, BOX, self.radius))

    @property
    def domain_v(self) -> Array:
        """[-Lam, Lam]^d."""
        return blocks((self.dim_v, BOX, self.threshold))

    def constants(self) -> Constants:
        """Return the constants; rho_Phi is inf where W reaches the jump of the Hessian."""
        return Constants(
            lipschitz_w=math.sqrt(self.dim_w) * self.threshold,
            lipschitz_v=math.sqrt(self.dim_w) * (self.radius + self.bound + self.threshold),
            smoothness=spectral(0.0, 1.0, 1.0),
            concavity=1.0,
            hessian_lipschitz=math.inf if self.radius + self.bound > self.threshold else 0.0,
        )

    def best_response(self, w: Array) -> Array:
        return np.clip(w - self.zbar, -self.threshold, self.threshold)

    def primal(self, w: Array) -> float:
        y = self.best_response(w)
        return float(y @ (w - self.zbar - 0.5 * y))

    def primal_gradient(self, w: Array) -> Array:
        return self.best_response(w)

    def primal_hessian(self, w: Array) -> Array:
        """An error at the jump, where there is none."""
        size = np.abs(w - self.zbar)
        require(bool((size != self.threshold).all()), "w", "be off the jump of the Hessian", w)
        return np.diag((size < self.threshold).astype(float))

    def saddle(self) -> tuple[Array, Array]:
        """Return (zbar, 0); an error where zbar leaves W."""
        return within_box(self.zbar, self.radius), np.zeros(self.dim_v)
