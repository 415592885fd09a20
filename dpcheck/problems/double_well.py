"""Double well without a dual variable: a strict saddle between two minima, for methods that minimise.

f(w; z) = w_1^4/4 - (g/2) w_1^2 + 1/2 sum_{i>=2} w_i^2 + <z, w>,  |z| <= B = 1,  W = B(R), g > 0.

Data of mean 0 give the saddle 0 (``start``) with lambda_min = -g and the minima w_1 = +-sqrt g of value
-g^2/4. In general w_i = -zbar_i for i >= 2, and w_1 is a root of x^3 - g x + zbar_1 (see ``nonconvex.Wells``).

G: the gradient without z has the square s (s - g)^2 + |w|^2 - s, s = w_1^2, largest at |w| = R for some s
in [0, R^2] (s = |w|^2 where d = 1); z adds B in any direction.
L: the Hessian is diagonal with 3 w_1^2 - g in [-g, 3 R^2 - g] and ones.
rho = 6 R: only the first entry of the Hessian moves, by 6 w_1 a unit.

z enters linearly: a difference of two gradients of one record tells nothing about it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Constants, Minimisation, fields_read
from dpcheck.problems import bounded_rows, sphere
from dpcheck.problems.nonconvex import Centred, Wells


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """(w_1^3 - g w_1, w_2, ...) + z of one record z."""
    for i in range(w.size):
        out_w[i] = w[i] + record[i]
    out_w[0] = w[0] * (w[0] * w[0] - params[0]) + record[0]


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record z."""
    square = w[0] * w[0]
    total = 0.25 * square * square - 0.5 * (params[0] + 1.0) * square  # the sum takes in w_1^2/2
    for i in range(w.size):
        total += 0.5 * w[i] * w[i] + record[i] * w[i]
    return total


@dataclass(frozen=True, eq=False)
class DoubleWell(Centred, Wells, Minimisation):
    """A nonconvex minimisation problem whose stationary points are known.

    Parameters
    ----------
    records : ndarray, (n, d) float64
        Rows with |z| <= bound.
    descent, bound, radius : float
        g, B and R, all > 0.
    """

    records: Array
    descent: float = 1.0
    bound: float = 1.0
    radius: float = 1.5
    name: str = "double_well"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("descent")
    draw = staticmethod(sphere)
    convex = False
    example_size = (1000, 3)

    def __post_init__(self) -> None:
        self._require_positive("descent", "bound", "radius")
        self._set(records=bounded_rows(self.records, self.bound))

    def constants(self) -> Constants:
        ends = (self.descent, abs(3 * self.radius**2 - self.descent), 1.0)
        return Constants(
            lipschitz_w=self._steepest(self.descent) + self.bound,
            smoothness=max(ends[: 2 if self.dim_w == 1 else 3]),
            hessian_lipschitz=6 * self.radius,
        )

    def primal(self, w: Array) -> float:
        return float(w[0] ** 4 / 4 - self.descent / 2 * w[0] ** 2 + 0.5 * w[1:] @ w[1:] + self.zbar @ w)

    def primal_gradient(self, w: Array) -> Array:
        slope = w + self.zbar
        slope[0] += w[0] ** 3 - (self.descent + 1) * w[0]
        return slope

    def primal_hessian(self, w: Array) -> Array:
        diagonal = np.ones(self.dim_w)
        diagonal[0] = 3 * w[0] ** 2 - self.descent
        return np.diag(diagonal)

    def gap(self, w: Array, v: Array) -> float:
        """Return the excess over the lowest minimum."""
        return self.primal(w) - min(self.primal(best) for best in self.minima())

    @property
    def _tilt(self) -> float:
        return float(self.zbar[0])

    def _point(self, first: float) -> Array:
        w = -self.zbar
        w[0] = first
        return w
