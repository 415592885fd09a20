"""Hyperbola: a slope that stays above a threshold at any distance.

f(w, v; z) = 2 alpha sqrt(1 + w^2) + z (w + v) - mu v^2/2,  |z| <= B < 2 alpha,  w, v scalar,

W = R, V = [-Lam, Lam], Lam = room B/mu. With z = 0, w and v are apart, and
|Phi'| = 2 alpha |w|/sqrt(1 + w^2) >= alpha exactly where |w| >= 1/sqrt 3, so that a method whose steps
have a fixed length while the slope is at least alpha, needs steps in proportion to the distance.
In general y* = zbar/mu, Phi = 2 alpha sqrt(1 + w^2) + zbar w + zbar^2/(2 mu),
Phi' = 2 alpha w/sqrt(1 + w^2) + zbar, Phi'' = 2 alpha (1 + w^2)^{-3/2}; f is convex in w, with saddle
(-zbar/sqrt(4 alpha^2 - zbar^2), zbar/mu).

G_w = 2 alpha + B, approached as |w| grows. G_v = B + mu Lam. L = max(2 alpha, mu), at w = 0.
rho_Phi = 3 alpha (4/5)^{5/2}: |Phi'''| = 6 alpha |w| (1 + w^2)^{-5/2} is largest at |w| = 1/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.problem_domains import BOX, blocks
from dpcheck.algorithms.properties import fields_read
from dpcheck.algorithms.records import bounded_rows
from dpcheck.errors import require
from dpcheck.problems.nonconvex import StronglyConcave, require_room, signs


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients 2 alpha w/sqrt(1 + w^2) + z and z - mu v of one record z."""
    out_w[0] = 2.0 * params[0] * w[0] / np.sqrt(1.0 + w[0] * w[0]) + record[0]
    out_v[0] = record[0] - params[1] * v[0]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record z."""
    hyperbola = 2.0 * params[0] * np.sqrt(1.0 + w[0] * w[0])
    return hyperbola + record[0] * (w[0] + v[0]) - 0.5 * params[1] * v[0] * v[0]


@dataclass(frozen=True, eq=False)
class Hyperbola(StronglyConcave):
    """A slope that levels off, beside data that are linear in w and v.

    Parameters
    ----------
    records : ndarray, (n, 1) float64
        Entries |z| <= bound.
    slope, mu_y : float
        alpha and mu, both > 0.
    bound : float
        B in (0, 2 alpha).
    room : float
        Factor >= 1 on the radius of V.
    """

    records: Array
    slope: float = 1.0
    mu_y: float = 1.0
    bound: float = 0.5
    room: float = 1.5
    name: str = "hyperbola"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("slope", "mu_y")
    radius = math.inf
    example_size = (200, 1)

    def __post_init__(self) -> None:
        self._require_positive("slope", "mu_y", "bound")
        require(self.bound < 2 * self.slope, "bound", f"be < 2 slope = {2 * self.slope:g}", self.bound)
        require_room(self.room)
        self._set(records=bounded_rows(self.records, self.bound, 1))

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> Hyperbola:
        """Draw ``n`` independent records +-B, of mean 0; d must be 1."""
        require(d == 1, "d", "be 1", d)
        return cls(signs(n, 1, rng, constants.get("bound", cls.bound)), **constants)

    @property
    def reach(self) -> float:
        """Lam = room B/mu."""
        return self.room * self.bound / self.mu_y

    @property
    def domain_v(self) -> Array:
        """[-Lam, Lam]."""
        return blocks((1, BOX, self.reach))

    def constants(self) -> Constants:
        return Constants(
            lipschitz_w=2 * self.slope + self.bound,
            lipschitz_v=self.bound + self.mu_y * self.reach,
            smoothness=max(2 * self.slope, self.mu_y),
            concavity=self.mu_y,
            hessian_lipschitz=float(3 * self.slope * 0.8**2.5),
        )

    def best_response(self, w: Array) -> Array:
        return self.zbar / self.mu_y

    def primal(self, w: Array) -> float:
        z = float(self.zbar[0])
        return float(2 * self.slope * np.hypot(1, w[0]) + z * w[0] + z * z / (2 * self.mu_y))

    def primal_gradient(self, w: Array) -> Array:
        return 2 * self.slope * w / np.hypot(1, w) + self.zbar

    def primal_hessian(self, w: Array) -> Array:
        return np.array([[2 * self.slope / np.hypot(1, w[0]) ** 3]])

    def saddle(self) -> tuple[Array, Array]:
        """Return the point where the slope of the hyperbola is -zbar."""
        zbar = self.zbar
        return -zbar / np.sqrt(4 * self.slope**2 - zbar**2), zbar / self.mu_y
