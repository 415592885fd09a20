"""Bilinear convex-concave game: f(w, v; (b, c)) = a <w, v> + <b, w> - <c, v> on balls of radius D.

With |b|, |c| <= B the partial gradients a v + b and a w - c have norms at most aD + B, and the
joint gradient is a-Lipschitz. The saddle is w = cbar/a, v = -bbar/a where those lie in the balls.
With a = 0 the gradient of a record is the record itself, so two records +-B realise the worst
sensitivity at every step: the game on which transcripts are audited.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Constants, Defaults, columns, fields_read
from dpcheck.errors import require, require_work
from dpcheck.problems import bounded_pairs, sphere


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients a v + b and a w - c of one record (b, c)."""
    a, d = params[0], w.size
    for i in range(d):
        out_w[i] = a * v[i] + record[i]
        out_v[i] = a * w[i] - record[d + i]


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (b, c)."""
    total, d = 0.0, w.size
    for i in range(d):
        total += params[0] * w[i] * v[i] + record[i] * w[i] - record[d + i] * v[i]
    return total


@dataclass(frozen=True, eq=False)
class Bilinear(Defaults):
    """A bilinear game with linear terms, on two balls.

    Parameters
    ----------
    records : ndarray, (n, 2d) float64
        Rows (b_i, c_i) with |b_i|, |c_i| <= bound.
    coupling : float
        a >= 0.
    bound : float
        B > 0.
    radius : float
        D > 0, of both balls.
    """

    records: Array
    coupling: float = 1.0
    bound: float = 1.0
    radius: float = 1.0
    name: str = "bilinear"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("coupling")
    dim_w = dim_v = columns(lambda count: count // 2)

    def __post_init__(self) -> None:
        require(0 <= self.coupling < np.inf, "coupling", "be finite and >= 0", self.coupling)
        self._require_positive("bound", "radius")
        self._set(records=bounded_pairs(self.records, self.bound))

    @classmethod
    def sample(
        cls, n: int, d: int, rng: np.random.Generator, *, coupling: float = 1.0, bound: float = 1.0,
        radius: float = 1.0,
    ) -> Bilinear:  # fmt: skip
        """Draw ``n`` records of a population with mean B/2 in the first coordinate of b and of c.

        b = (B/2) (e_1 + u), u uniform on the unit sphere (on {-1, 1} where d = 1); c likewise.
        """
        require_work(n, "n")
        u = sphere(2 * n, d, rng).reshape(n, 2, d)
        u[:, :, 0] += 1.0
        return cls(0.5 * bound * u.reshape(n, 2 * d), coupling, bound, radius)

    def constants(self) -> Constants:
        """G_w = G_v = aD + B and L = a: the joint gradient is (a v + b, a w - c)."""
        G = self.coupling * self.radius + self.bound
        return Constants(lipschitz_w=G, lipschitz_v=G, smoothness=self.coupling)

    def weak_gap(self, outputs: Array) -> float:
        """Return the weak primal-dual population gap of runs ``outputs`` : (R, 2d).

        max_v E F(w, v) - min_w E F(w, v): F is linear in each block, so only the runs' mean counts.
        Yang et al. 2022, Definition 4.
        """
        d, mean = self.dim_w, np.zeros(self.dim_w)
        mean[0] = 0.5 * self.bound  # of b and of c in the population of :meth:`sample`
        w, v = outputs[:, :d].mean(0), outputs[:, d:].mean(0)
        return self._largest(w, mean, mean) + self._largest(v, mean, -mean)

    def primal(self, w: Array) -> float:
        """Return <bbar, w> + D |a w - cbar|, the maximum over the ball."""
        return self._largest(w, *self._means)

    def gap(self, w: Array, v: Array) -> float:
        """Return max over v of f(w, .) - min over w of f(., v), over the balls."""
        b, c = self._means
        return self._largest(w, b, c) + self._largest(v, c, -b)

    def _largest(self, w: Array, b: Array, c: Array) -> float:
        """Return <b, w> + D |a w - c|; with v, c and -b in place of w, b and c it is minus the least over w."""
        return float(b @ w + self.radius * np.linalg.norm(self.coupling * w - c))

    @property
    def _means(self) -> tuple[Array, Array]:
        """Return the means of b and of c over the records."""
        return self.zbar[: self.dim_w], self.zbar[self.dim_w :]
