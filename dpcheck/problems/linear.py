"""Linear loss on a ball, convex and not strongly so: f(w; z) = <z, w> on |w| <= D, records |z| <= 1.

The gradient z has norm at most L = 1 and does not depend on w: smoothness 0. The mean over the records is
<zbar, w>, smallest at -D zbar/|zbar| with value -D |zbar|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Minimisation
from dpcheck.problems import bounded_rows, sphere


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """The record."""
    for i in range(w.size):
        out_w[i] = record[i]


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """<z, w>."""
    total = 0.0
    for i in range(w.size):
        total += record[i] * w[i]
    return total


@dataclass(frozen=True, eq=False)
class Linear(Minimisation):
    """A linear loss on a ball.

    Parameters
    ----------
    records : ndarray, (n, d) float64
        Rows with |z_i| <= 1.
    radius : float
        D > 0.
    """

    records: Array
    radius: float = 1.0
    name: str = "linear"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    lipschitz_w = 1.0
    smoothness = 0.0

    def __post_init__(self) -> None:
        self._require_positive("radius")
        self._set(records=bounded_rows(self.records, 1.0))

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, *, radius: float = 1.0) -> Linear:
        """Draw z = (e_1 + u)/2, u uniform on the unit sphere (on {-1, 1} where d = 1): E z = e_1/2."""
        u = sphere(n, d, rng)
        u[:, 0] += 1.0
        return cls(0.5 * u, radius)

    def primal(self, w: Array) -> float:
        return float(self.zbar @ w)

    def primal_gradient(self, w: Array) -> Array:
        return self.zbar

    def gap(self, w: Array, v: Array) -> float:
        """Return the excess empirical risk over the ball."""
        mean = self.zbar
        return float(mean @ w + self.radius * np.linalg.norm(mean))

    def excess(self, outputs: Array) -> float:
        """Return the mean excess population risk of runs ``outputs`` : (R, d), under :meth:`sample`."""
        return float(0.5 * outputs[:, 0].mean() + 0.5 * self.radius)
