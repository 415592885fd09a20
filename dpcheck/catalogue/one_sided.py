"""A game whose gradients bend where the saddle is, so that noise moves the mean of the iterates, and not only them:

f(w, v; (b, c)) = sum_i mu/2 w_i^2 + a/2 max(w_i + v_i, 0)^2 - (rho + a)/2 v_i^2 - <b, w> + <c, v>,

|w| <= R, |v| <= V, |b| <= A, |c| <= B. It is mu-strongly convex in w and rho-strongly concave in v; its Hessian in a
pair of coordinates is diag(mu, -(rho + a)) or [[mu + a, a], [a, -rho]]. Where b and c have the mean 0 the saddle is
0, and Phi(w) = sum_i mu/2 w_i^2 for w <= 0, (mu + a (rho + a)/rho)/2 w_i^2 for w > 0. Where v is off by a normal
error of deviation s, the gradient in w is a s/sqrt(2 pi) on average at w = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Constants, Defaults, columns, fields_read
from dpcheck.errors import require
from dpcheck.problems import as_records, within_bound
from dpcheck.problems.hinge_game import HingeGame


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record (b, c)."""
    mu, a, curved, d = params[0], params[1], params[2], w.size
    for i in range(d):
        bent = a * max(w[i] + v[i], 0.0)
        out_w[i] = mu * w[i] + bent - record[i]
        out_v[i] = bent - curved * v[i] + record[d + i]


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (b, c)."""
    total, d = 0.0, w.size
    for i in range(d):
        bent = max(w[i] + v[i], 0.0)
        total += 0.5 * (params[0] * w[i] * w[i] + params[1] * bent * bent - params[2] * v[i] * v[i])
        total += record[d + i] * v[i] - record[i] * w[i]
    return total


@dataclass(frozen=True, eq=False)
class OneSided(Defaults):
    """Records (b, c) : (n, 2d); mu, rho, pull A, bound B, radius R and room V > 0, coupling a >= 0."""

    records: Array
    mu: float = 1.0
    rho: float = 1.0
    coupling: float = 0.2
    pull: float = 1.0
    bound: float = 1.0
    radius: float = 1.0
    room: float = 1.0
    name: str = "one_sided"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    mean: ClassVar[Callable[..., Any]] = staticmethod(HingeGame.mean)  # it is linear in the record
    dim_w = dim_v = columns(lambda count: count // 2)
    params = fields_read("mu", "coupling", "curved")

    def __post_init__(self) -> None:
        require(0 <= self.coupling < np.inf, "coupling", "be finite and >= 0", self.coupling)
        self._require_positive("mu", "rho", "pull", "bound", "radius", "room")
        rows = as_records(self.records, "records")
        require(rows.shape[1] % 2 == 0, "records", "have an even number of columns", rows.shape)
        b, c = np.hsplit(rows, 2)
        halves = within_bound(b, self.pull, "records", "|b|"), within_bound(c, self.bound, "records", "|c|")
        self._set(records=np.hstack(halves))

    @property
    def curved(self) -> float:
        """rho + a."""
        return self.rho + self.coupling

    @property
    def reach(self) -> float:
        """V."""
        return self.room

    def constants(self) -> Constants:
        a, R, V = self.coupling, self.radius, self.room
        on = [[self.mu + a, a], [a, -self.rho]]
        return Constants(
            lipschitz_w=(self.mu + a) * R + a * V + self.pull,
            lipschitz_v=a * R + self.curved * V + self.bound,
            smoothness=max(float(np.linalg.norm(on, 2)), self.curved, self.mu),
            convexity=self.mu,
            concavity=self.rho,
        )

    def excess(self, w: Array) -> Array:
        """Return Phi(w) - min Phi at points w : (..., d), for mean records 0."""
        steep = self.mu + self.coupling * self.curved / self.rho
        return np.asarray((0.5 * np.where(w > 0, steep, self.mu) * w * w).sum(-1))
