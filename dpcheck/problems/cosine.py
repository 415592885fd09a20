"""Cosine landscape: strict saddles and minima in closed form, all constants global.

f(w, v; z) = sum_i a cos w_i + v_i (b sin w_i + z_i) - mu v_i^2/2,  |z_i| <= B,  a > b^2/mu,

w in R^d, V = [-Lam, Lam]^d with Lam = room (b + B)/mu. Coordinate by coordinate
y* = (b sin w + zbar)/mu,  Phi = a cos w + (b sin w + zbar)^2/(2 mu),
Phi' = -a sin w + (b/mu) cos w (b sin w + zbar),
Phi'' = -a cos w + (b^2/mu) cos 2w - (b zbar/mu) sin w.

G_w = sqrt(d (a^2 + b^2 Lam^2)): -a sin w + b v cos w is at most the length of (a, b v).
G_v = sqrt(d) (b + B + mu Lam).
L: the Hessian splits into blocks [[-a cos w - b v sin w, b cos w], [., -mu]]. A symmetric matrix has
at most the norm of the matrix of its absolute values, which grows with each: with
P = sqrt(a^2 + b^2 Lam^2) that is L = the norm of [[P, b], [b, mu]] = that of [[-P, b], [b, -mu]].
rho_Phi = sqrt(a^2 + b^2 B^2/mu^2) + 2 b^2/mu bounds |Phi'''| =
|a sin w - (b zbar/mu) cos w - 2 (b^2/mu) sin 2w|, and the Hessian is diagonal.

Stationary points: Phi' = cos w g(w), g = -a tan w + (b/mu)(b sin w + zbar), and
g' = (-a + (b^2/mu) cos^3 w)/cos^2 w < 0. So each coordinate has one stationary point in (-pi/2, pi/2),
where Phi'' = cos w g' < 0, and one in (pi/2, 3 pi/2), where Phi'' > 0, whatever the data: the minima
take the second in all coordinates, every other choice is a strict saddle or a maximum. With zbar = 0
they are 0 and pi, and lambda_min = -(a - b^2/mu).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import Shape
from dpcheck.algorithms.problem import Array, Constants, blocks, fields_read
from dpcheck.errors import require, require_work
from dpcheck.problems import as_records, within_bound
from dpcheck.problems.nonconvex import Centred, StronglyConcave, spectral


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients -a sin w + b v cos w and b sin w + z - mu v of one record z."""
    a, b, mu = params[0], params[1], params[2]
    for i in range(w.size):
        sine = np.sin(w[i])
        out_w[i] = b * v[i] * np.cos(w[i]) - a * sine
        out_v[i] = b * sine + record[i] - mu * v[i]


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record z."""
    a, b, mu = params[0], params[1], params[2]
    total = 0.0
    for i in range(w.size):
        total += a * np.cos(w[i]) + v[i] * (b * np.sin(w[i]) + record[i]) - 0.5 * mu * v[i] * v[i]
    return total


def signs(n: int, d: int, rng: np.random.Generator, size: float) -> Array:
    """Draw ``n`` records with independent entries +-size, of mean 0 : (n, d)."""
    require_work(n, "n")
    require_work(d, "d")
    return size * rng.choice([-1.0, 1.0], (n, d))


@dataclass(frozen=True, eq=False)
class Cosine(Centred, StronglyConcave):
    """A periodic landscape of saddles and minima.

    Parameters
    ----------
    records : ndarray, (n, d) float64
        Entries |z_i| <= bound.
    amplitude : float
        a > b^2/mu_y.
    coupling, mu_y, bound : float
        b, mu and B, all > 0.
    room : float
        Factor >= 1 on the radius of V.
    """

    records: Array
    amplitude: float = 1.0
    coupling: float = 0.5
    mu_y: float = 1.0
    bound: float = 1.0
    room: float = 1.5
    name: str = "cosine"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("amplitude", "coupling", "mu_y")
    draw = staticmethod(signs)
    convex = False
    radius = math.inf

    def __post_init__(self) -> None:
        self._require_positive("amplitude", "coupling", "mu_y", "bound")
        least = self.coupling**2 / self.mu_y
        require(self.amplitude > least, "amplitude", f"be > coupling^2/mu_y = {least:g}", self.amplitude)
        require(1 <= self.room < math.inf, "room", "be finite and >= 1", self.room)
        records = as_records(self.records, "records")
        bounded = within_bound(records[..., None], self.bound, "records", "|z_i|")
        self._set(records=bounded.reshape(records.shape))

    @property
    def reach(self) -> float:
        """Lam = room (b + B)/mu."""
        return self.room * (self.coupling + self.bound) / self.mu_y

    @property
    def domain_v(self) -> Array:
        """[-Lam, Lam]^d."""
        return blocks((self.dim_v, Shape.BOX, self.reach))

    @property
    def start(self) -> Array:
        """The strict saddle (0, pi, ..., pi) of data of mean 0, and its best response 0."""
        start = np.zeros(2 * self.dim_w)
        start[1 : self.dim_w] = np.pi
        return start

    def constants(self) -> Constants:
        a, b, mu, Lam, root = self.amplitude, self.coupling, self.mu_y, self.reach, np.sqrt(self.dim_w)
        return Constants(
            lipschitz_w=float(root * np.hypot(a, b * Lam)),
            lipschitz_v=float(root * (b + self.bound + mu * Lam)),
            smoothness=spectral(-float(np.hypot(a, b * Lam)), b, mu),
            concavity=mu,
            hessian_lipschitz=float(np.hypot(a, b * self.bound / mu) + 2 * b * b / mu),
        )

    def best_response(self, w: Array) -> Array:
        return (self.coupling * np.sin(w) + self.zbar) / self.mu_y

    def primal(self, w: Array) -> float:
        y = self.best_response(w)
        return float(np.sum(self.amplitude * np.cos(w) + 0.5 * self.mu_y * y * y))

    def primal_gradient(self, w: Array) -> Array:
        return self.coupling * np.cos(w) * self.best_response(w) - self.amplitude * np.sin(w)

    def primal_hessian(self, w: Array) -> Array:
        a, b, mu = self.params
        return np.diag(-a * np.cos(w) + b * b / mu * np.cos(2 * w) - b / mu * self.zbar * np.sin(w))

    def saddle_point(self) -> tuple[Array, float]:
        """Return a maximum in the first coordinate and minima in the others; a maximum where d = 1."""
        w = self.minima()[0]
        w[0] = self._stationary(-np.pi / 2)[0]
        return w, float(self.primal_hessian(w)[0, 0])

    def minima(self) -> Array:
        """Return the minimum in (pi/2, 3 pi/2)^d, the only one up to multiples of 2 pi."""
        return self._stationary(np.pi / 2)[None]

    def _stationary(self, left: float) -> Array:
        """Return the stationary points in (left, left + pi), one a coordinate."""
        from scipy.optimize import brentq

        a, b, mu = self.params

        def slope(x: float, z: float) -> float:
            return float(-a * np.sin(x) + b / mu * np.cos(x) * (b * np.sin(x) + z))

        return np.array([brentq(slope, left, left + np.pi, args=(z,), xtol=1e-15, rtol=1e-15) for z in self.zbar])
