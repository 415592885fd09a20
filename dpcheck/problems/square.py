"""Square: convex, the primal function four times as curved as the coupling lets on.

f(w, v; z) = 2 <w, v> + <z, v> - |v|^2/2,  |z| <= B,  W = B(R),  V = B(Lam),  Lam = room (2R + B).

With z = 0, Phi = 2 |w|^2. In general y* = 2 w + zbar,
Phi = |2 w + zbar|^2/2, Hessian 4 I, rho_Phi = 0, saddle (-zbar/2, 0).

L is the spectral norm of [[0, 2], [2, -1]], (1 + sqrt 17)/2 = 2.56, below the 4 of Phi (at most
L (1 + L/mu) = 9.12, Lin, Jin and Jordan's bound). G_w = 2 Lam, G_v = 2 R + B + Lam.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.errors import require_positive
from dpcheck.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.problems.nonconvex import StronglyConcave, require_room, spectral, sphere, within
from dpcheck.problems.problem import Array, ball, bounded_rows


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
class Square(StronglyConcave):
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

    def __post_init__(self) -> None:
        require_positive(self.bound, "bound")
        require_positive(self.radius, "radius")
        require_room(self.room)
        object.__setattr__(self, "records", bounded_rows(self.records, self.bound))

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> Square:
        """Draw ``n`` records uniformly from the sphere of radius B, of mean 0."""
        return cls(sphere(n, d, rng, constants.get("bound", 1.0)), **constants)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Square:
        """Draw the example: 200 records in one dimension."""
        return cls.sample(200, 1, rng)

    gradient: ClassVar[Callable[..., Any]] = staticmethod(gradient)
    value: ClassVar[Callable[..., Any]] = staticmethod(value)

    @property
    def reach(self) -> float:
        """Lam = room (2R + B)."""
        return self.room * (2 * self.radius + self.bound)

    @property
    def domain_w(self) -> Array:
        """The ball of radius R."""
        return ball(self.dim_w, self.radius)

    @property
    def domain_v(self) -> Array:
        """The ball of radius Lam."""
        return ball(self.dim_v, self.reach)

    @property
    def lipschitz_w(self) -> float:
        """G_w = 2 Lam."""
        return 2 * self.reach

    @property
    def lipschitz_v(self) -> float:
        """G_v = 2 R + B + Lam."""
        return 2 * self.radius + self.bound + self.reach

    @property
    def smoothness(self) -> float:
        """(1 + sqrt 17)/2."""
        return spectral(0.0, 2.0, 1.0)

    @property
    def concavity(self) -> float:
        return 1.0

    @property
    def hessian_lipschitz(self) -> float:
        """rho_Phi = 0."""
        return 0.0

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
        """(-zbar/2, 0); an error where it leaves W."""
        return within(-self.zbar / 2, self.radius, "saddle"), np.zeros(self.dim_v)

    def minima(self) -> Array:
        """-zbar/2."""
        return self.saddle()[0][None]
