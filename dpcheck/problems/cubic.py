"""Cubic: a maximum of Phi with curvature -g whose Hessian is exactly rho-Lipschitz.

f(w, v; z) = -(g + b^2/mu) |w|^2/2 + (rho/6) |w|^3 + <v, b w + z> - mu/2 |v|^2,  |z| <= B,

W = B(R), V = B(Lam), Lam = room (b R + B)/mu. Then y* = (b w + zbar)/mu,
Phi = -g |w|^2/2 + (rho/6) |w|^3 + (b/mu) <w, zbar> + |zbar|^2/(2 mu), and
Phi'' = -g I + (rho/2) (|w| I + w w'/|w|), Phi''(0) = -g I. With data of mean 0, 0 is stationary and
the minima are the sphere |w| = 2 g/rho.

In general the stationary points are on the line of zbar. With c = b |zbar|/mu, u = zbar/|zbar|:
w = t u,   t = (g - sqrt(g^2 - 2 rho c))/rho, the point near 0, where c <= g^2/(2 rho): a maximum,
w = t u,   t = (g + sqrt(g^2 - 2 rho c))/rho, likewise: a strict saddle where d >= 2,
w = -t u,  t = (g + sqrt(g^2 + 2 rho c))/rho: the minimum.
At w = +-t u the Hessian has -g + rho t along u and -g + rho t/2 across.

G_w = max over t in [0, R] of |rho t^2/2 - (g + b^2/mu) t|, at its vertex or at R, plus b Lam.
G_v = b R + B + mu Lam.
L: the Hessian splits into blocks [[p, b], [b, -mu]], p + g + b^2/mu in [0, rho R]; convex in p.
rho_Phi = rho: the third derivative of |w|^3 along a unit vector at the cosine s to w is 9 s - 3 s^3, at
most 6, which it reaches along w; a symmetric trilinear form is largest on the diagonal (Banach).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.properties import fields_read
from dpcheck.algorithms.records import bounded_rows
from dpcheck.errors import require
from dpcheck.problems.nonconvex import Centred, DualData, StronglyConcave, require_room, spectral, sphere, within


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients (rho |w|/2 - g - b^2/mu) w + b v and b w + z - mu v of one record z."""
    g, rho, b, mu = params[0], params[1], params[2], params[3]
    square = 0.0
    for i in range(w.size):
        square += w[i] * w[i]
    slope = 0.5 * rho * np.sqrt(square) - g - b * b / mu
    for i in range(w.size):
        out_w[i] = slope * w[i] + b * v[i]
        out_v[i] = b * w[i] + record[i] - mu * v[i]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record z."""
    g, rho, b, mu = params[0], params[1], params[2], params[3]
    square, total = 0.0, 0.0
    for i in range(w.size):
        square += w[i] * w[i]
        total += v[i] * (b * w[i] + record[i] - 0.5 * mu * v[i])
    return total - 0.5 * (g + b * b / mu) * square + rho / 6.0 * square * np.sqrt(square)


@dataclass(frozen=True, eq=False)
class Cubic(Centred, DualData, StronglyConcave):
    """A cubic well around a maximum, with data in the dual term.

    Parameters
    ----------
    records : ndarray, (n, d) float64
        Rows with |z| <= bound.
    descent, cubic, coupling, mu_y : float
        g, rho, b and mu, all > 0.
    bound, radius : float
        B and R, both > 0.
    room : float
        Factor >= 1 on the radius of V.
    """

    records: Array
    descent: float = 1.0
    cubic: float = 1.0
    coupling: float = 0.5
    mu_y: float = 1.0
    bound: float = 1.0
    radius: float = 4.0
    room: float = 1.5
    name: str = "cubic"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("descent", "cubic", "coupling", "mu_y")
    draw = staticmethod(sphere)
    convex = False

    def __post_init__(self) -> None:
        self._require_positive("descent", "cubic", "coupling", "mu_y", "bound", "radius")
        require_room(self.room)
        self._set(records=bounded_rows(self.records, self.bound))

    @property
    def inner(self) -> float:
        """g + b^2/mu, the concave curvature of f in w."""
        return self.descent + self.coupling**2 / self.mu_y

    def constants(self) -> Constants:
        R, vertex = self.radius, min(self.inner / self.cubic, self.radius)
        steepest = max(abs(self.cubic * t * t / 2 - self.inner * t) for t in (vertex, R))
        ends = (-self.inner, self.cubic * self.radius - self.inner)
        return Constants(
            lipschitz_w=steepest + self.coupling * self.reach,
            lipschitz_v=self.coupling * self.radius + self.bound + self.mu_y * self.reach,
            smoothness=max(spectral(p, self.coupling, self.mu_y) for p in ends),
            concavity=self.mu_y,
            hessian_lipschitz=self.cubic,
        )

    def primal(self, w: Array) -> float:
        y, norm = self.best_response(w), float(np.linalg.norm(w))
        return float(-self.inner / 2 * norm**2 + self.cubic / 6 * norm**3 + self.mu_y / 2 * y @ y)

    def primal_gradient(self, w: Array) -> Array:
        slope = self.cubic / 2 * np.linalg.norm(w) - self.inner
        return np.asarray(slope * w + self.coupling * self.best_response(w))

    def primal_hessian(self, w: Array) -> Array:
        norm = float(np.linalg.norm(w))
        outer = np.outer(w, w) / norm if norm > 0 else 0.0
        return np.asarray(self.cubic / 2 * outer + (self.cubic / 2 * norm - self.descent) * np.eye(self.dim_w))

    def saddle_point(self) -> tuple[Array, float]:
        """Return the maximum near 0, where the gradient is 0 and the curvature about -g."""
        c, u, g = *self._pull(), self.descent
        inside = g * g - 2 * self.cubic * c
        require(inside >= 0, "records", f"have a mean with 2 rho b |zbar|/mu <= g^2 = {g * g:.6g}", 2 * self.cubic * c)
        t = 2 * c / (g + math.sqrt(inside))  # (g - sqrt(inside))/rho without cancellation
        across = -g + self.cubic * t / (2 if self.dim_w > 1 else 1)
        return within(t * u, self.radius, "stationary point"), across

    def minima(self) -> Array:
        """Return the minimum; one of the sphere of them where zbar = 0."""
        c, u, g = *self._pull(), self.descent
        return within(-(g + math.sqrt(g * g + 2 * self.cubic * c)) / self.cubic * u, self.radius, "minimum")[None]

    def _pull(self) -> tuple[float, Array]:
        """Return c = b |zbar|/mu and u = zbar/|zbar|, e_1 where zbar = 0."""
        zbar = self.zbar
        norm = float(np.linalg.norm(zbar))
        return self.coupling * norm / self.mu_y, zbar / norm if norm > 0 else np.eye(self.dim_w)[0]
