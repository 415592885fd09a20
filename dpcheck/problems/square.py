"""Square: convex, the primal function four times as curved as the coupling lets on.

f(w, v; z) = 2 <w, v> + <z, v> - |v|^2/2,  |z| <= B,  W = B(R),  V = B(Lam),  Lam = room (2R + B).

With z = 0, Phi = 2 |w|^2. In general y* = 2 w + zbar,
Phi = |2 w + zbar|^2/2, Hessian 4 I, rho_Phi = 0, saddle (-zbar/2, 0).

L is the spectral norm of [[0, 2], [2, -1]], (1 + sqrt 17)/2 = 2.56, below the 4 of Phi (at most
L (1 + L/mu) = 9.12, Lin, Jin and Jordan's bound). G_w = 2 Lam, G_v = 2 R + B + Lam.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.records import bounded_rows
from dpcheck.problems.nonconvex import Centred, StronglyConcave, require_room, spectral, sphere, within


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients 2 v and 2 w + z - v of one record z."""
    for i in range(w.size):
        out_w[i] = 2.0 * v[i]
        out_v[i] = 2.0 * w[i] + record[i] - v[i]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record z."""
    total = 0.0
    for i in range(w.size):
        total += v[i] * (2.0 * w[i] + record[i] - 0.5 * v[i])
    return total


@dataclass(frozen=True, eq=False)
class Square(Centred, StronglyConcave):
    """A square whose curvature comes from the coupling alone.

    Parameters
    ----------
    records : ndarray, (n, d) float64
        Rows with |z| <= bound.
    bound, radius : float
        B and R, both > 0.
    room : float
        Factor >= 1 on the radius of V.
    """

    records: Array
    bound: float = 1.0
    radius: float = 1.0
    room: float = 1.0
    name: str = "square"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    draw = staticmethod(sphere)
    example_size = (200, 1)

    def __post_init__(self) -> None:
        self._require_positive("bound", "radius")
        require_room(self.room)
        self._set(records=bounded_rows(self.records, self.bound))

    @property
    def reach(self) -> float:
        """Lam = room (2R + B)."""
        return self.room * (2 * self.radius + self.bound)

    def constants(self) -> Constants:
        return Constants(
            lipschitz_w=2 * self.reach,
            lipschitz_v=2 * self.radius + self.bound + self.reach,
            smoothness=spectral(0.0, 2.0, 1.0),
            concavity=1.0,
            hessian_lipschitz=0.0,
        )

    def best_response(self, w: Array) -> Array:
        return 2 * w + self.zbar

    def primal(self, w: Array) -> float:
        y = self.best_response(w)
        return float(0.5 * y @ y)

    def primal_gradient(self, w: Array) -> Array:
        return 2 * self.best_response(w)

    def primal_hessian(self, w: Array) -> Array:
        return 4.0 * np.eye(self.dim_w)

    def saddle(self) -> tuple[Array, Array]:
        """Return (-zbar/2, 0); an error where it leaves W."""
        return within(-self.zbar / 2, self.radius, "saddle"), np.zeros(self.dim_v)
