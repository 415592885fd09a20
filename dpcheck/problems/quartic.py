"""Quartic double well: a strict saddle between two minima.

f(w, v; z) = w_1^4/4 - (c/2) w_1^2 + 1/2 sum_{i>=2} w_i^2 + <v, b w + z> - mu/2 |v|^2,  |z| <= B,

W = B(R), V = B(Lam), Lam = room (b R + B)/mu. With g = c - b^2/mu > 0,
y* = (b w + zbar)/mu and
Phi = w_1^4/4 - (g/2) w_1^2 + 1/2 (1 + b^2/mu) sum_{i>=2} w_i^2 + (b/mu) <w, zbar> + |zbar|^2/(2 mu).
Data of mean 0 give the saddle 0 with lambda_min = -g and the minima w_1 = +-sqrt g.

In general w_i = -b zbar_i/(mu + b^2) for i >= 2, and w_1 is a root of x^3 - g x + b zbar_1/mu (see
``nonconvex.Wells``).

G_w: the gradient of the first line has the square s (s - c)^2 + |w|^2 - s, s = w_1^2, largest at
|w| = R for some s in [0, R^2] (s = |w|^2 where d = 1); <v, b w> adds b Lam in any direction.
G_v = b R + B + mu Lam.
L: the Hessian splits into blocks [[p, b], [b, -mu]], p = 3 w_1^2 - c in [-c, 3 R^2 - c] or p = 1; the
norm is convex in p, so the ends are enough.
rho_Phi = 6 R: only the first entry, 3 w_1^2 - g, of the diagonal Hessian moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Constants, fields_read
from dpcheck.errors import require
from dpcheck.problems import bounded_rows, sphere
from dpcheck.problems.nonconvex import Centred, StronglyConcave, Wells, spectral


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients (w_1^3 - c w_1, w_2, ...) + b v and b w + z - mu v of one record z."""
    c, b, mu = params[0], params[1], params[2]
    for i in range(w.size):
        out_w[i] = w[i] + b * v[i]
        out_v[i] = b * w[i] + record[i] - mu * v[i]
    out_w[0] = w[0] * (w[0] * w[0] - c) + b * v[0]


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record z."""
    c, b, mu = params[0], params[1], params[2]
    square = w[0] * w[0]
    total = 0.25 * square * square - 0.5 * (c + 1.0) * square  # the sum takes in w_1^2/2
    for i in range(w.size):
        total += 0.5 * (w[i] * w[i] - mu * v[i] * v[i]) + v[i] * (b * w[i] + record[i])
    return total


@dataclass(frozen=True, eq=False)
class Quartic(Centred, Wells, StronglyConcave):
    """A double well with data in the dual term.

    Parameters
    ----------
    records : ndarray, (n, d) float64
        Rows with |z| <= bound.
    curvature : float
        c > b^2/mu_y.
    coupling, mu_y, bound, radius : float
        b, mu, B and R, all > 0.
    room : float
        Factor >= 1 on the radius of V.
    """

    records: Array
    curvature: float = 1.0
    coupling: float = 0.5
    mu_y: float = 1.0
    bound: float = 0.5
    radius: float = 2.0
    room: float = 1.5
    name: str = "quartic"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("curvature", "coupling", "mu_y")
    draw = staticmethod(sphere)
    convex = False

    def __post_init__(self) -> None:
        self._require_positive("curvature", "coupling", "mu_y", "bound", "radius")
        require(self.descent > 0, "curvature", f"be > {self.coupling**2 / self.mu_y:g}", self.curvature)
        require(1 <= self.room < math.inf, "room", "be finite and >= 1", self.room)
        self._set(records=bounded_rows(self.records, self.bound))

    @property
    def descent(self) -> float:
        """g = c - b^2/mu; the curvature of Phi at the saddle of data of mean 0 is -g."""
        return self.curvature - self.coupling**2 / self.mu_y

    @property
    def reach(self) -> float:
        """Lam = room (b R + B)/mu."""
        return float(self.room * (self.coupling * self.radius + self.bound) / self.mu_y)

    def constants(self) -> Constants:
        b, mu = self.coupling, self.mu_y
        ends = (-self.curvature, 3 * self.radius**2 - self.curvature, 1.0)
        return Constants(
            lipschitz_w=self._steepest(self.curvature) + b * self.reach,
            lipschitz_v=b * self.radius + self.bound + mu * self.reach,
            smoothness=max(spectral(p, b, mu) for p in ends[: 2 if self.dim_w == 1 else 3]),
            concavity=mu,
            hessian_lipschitz=6 * self.radius,
        )

    def best_response(self, w: Array) -> Array:
        return np.asarray((self.coupling * w + self.zbar) / self.mu_y)

    def primal(self, w: Array) -> float:
        y = self.best_response(w)
        well = w[0] ** 4 / 4 - self.curvature / 2 * w[0] ** 2
        return float(well + 0.5 * w[1:] @ w[1:] + self.mu_y / 2 * y @ y)

    def primal_gradient(self, w: Array) -> Array:
        slope = w + self.coupling * self.best_response(w)
        slope[0] += w[0] ** 3 - (self.curvature + 1) * w[0]
        return slope

    def primal_hessian(self, w: Array) -> Array:
        diagonal = np.full(self.dim_w, 1 + self.coupling**2 / self.mu_y)
        diagonal[0] = 3 * w[0] ** 2 - self.descent
        return np.diag(diagonal)

    @property
    def _tilt(self) -> float:
        return float(self.coupling * self.zbar[0] / self.mu_y)

    def _point(self, first: float) -> Array:
        w = -self.coupling * self.zbar / (self.mu_y + self.coupling**2)
        w[0] = first
        return w
