"""Strongly convex-concave: f(w, v; z) = mu/2 w^2 - <z, v> w with scalar w, |w| <= D, |v| <= D, |z| <= 1.

``product`` with the parts exchanged and the sign turned, so its constants hold with the parts exchanged:
G_w = D (1 + mu), G_v = D, and the joint gradient is (mu + sqrt(mu^2 + 4))/2-Lipschitz. With m the records'
mean, max over v gives Phi(w) = mu/2 w^2 + D |m| |w|, smallest at 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Constants, Defaults, columns, fields_read
from dpcheck.problems.product import Product


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """mu w - <z, v> and -z w."""
    inner = 0.0
    for i in range(v.size):
        inner += record[i] * v[i]
        out_v[i] = -record[i] * w[0]
    out_w[0] = params[0] * w[0] - inner


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """mu/2 w^2 - <z, v> w."""
    inner = 0.0
    for i in range(v.size):
        inner += record[i] * v[i]
    return 0.5 * params[0] * w[0] * w[0] - inner * w[0]


@dataclass(frozen=True, eq=False)
class ProductMirror(Defaults):
    """The mirror image of product: strongly convex and concave.

    Parameters
    ----------
    records : ndarray, (n, d) float64
        Rows with |z_i| <= 1.
    mu : float
        mu >= 1.
    radius : float
        D > 0.
    """

    records: Array
    mu: float = 1.0
    radius: float = 1.0
    name: str = "product_mirror"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("mu")
    dim_w = 1
    dim_v = columns(lambda count: count)

    def __post_init__(self) -> None:
        self._set(records=Product(self.records, self.mu, self.radius).records)

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, *, mu: float = 1.0, radius: float = 1.0) -> ProductMirror:
        """Draw the records of :meth:`Product.sample`."""
        return cls(Product.sample(n, d, rng, mu=mu, radius=radius).records, mu, radius)

    @property
    def start(self) -> Array:
        """(D/2) e_1 in v: 0 is stationary."""
        x = np.zeros(1 + self.dim_v)
        x[1] = 0.5 * self.radius
        return x

    def constants(self) -> Constants:
        mirrored = Product(self.records, self.mu, self.radius).constants()
        return replace(
            mirrored, lipschitz_w=mirrored.lipschitz_v, lipschitz_v=mirrored.lipschitz_w, convexity=mirrored.concavity,
            concavity=mirrored.convexity,
        )  # fmt: skip

    def primal(self, w: Array) -> float:
        largest = self.radius * float(np.linalg.norm(self.zbar))
        return float(0.5 * self.mu * w[0] ** 2 + largest * abs(w[0]))

    def gap(self, w: Array, v: Array) -> float:
        """Return max over v of f(w, .) - min over w of f(., v).

        The latter is -<m, v>^2/(2 mu), feasible as mu >= 1.
        """
        return self.primal(w) + float((self.zbar @ v) ** 2 / (2 * self.mu))
