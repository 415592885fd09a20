"""A game whose records do as much harm as an algorithm's analysis allows.

Record (b, c, p, q, a), constants (mu_w, mu_v), directions e of length 1 with entries of one size and changing sign:

    f(w, v) = b <e_w, w> + c <e_v, v> + a <w, v> + (mu_w + p)/2 |w|^2 - (mu_v + q)/2 |v|^2,   |w| <= R_w, |v| <= R_v,

where <w, v> is over the coordinates that both have. The gradients are b e_w + a v + (mu_w + p) w and
c e_v + a w - (mu_v + q) v. Two records of opposite sign whose linear parts are beyond the clipping norm have
gradients as far apart as clipping allows, everywhere; where their curvatures p, q and coupling a are large, so have
the differences of their gradients between two points.

No direction is an axis: clipping each coordinate by itself lets a gradient through that is sqrt(d) times as long,
noise on one coordinate alone leaves the others bare, and one random number for all coordinates cancels along e, whose
entries add up to 0 in an even number of dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array, Defaults, ball


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Compute the partial gradients of one record (b, c, p, q, a); v may be empty."""
    slope = record[0] / np.sqrt(w.size)
    for i in range(w.size):
        out_w[i] = slope + (params[0] + record[2]) * w[i]
        slope = -slope
        if i < v.size:
            out_w[i] += record[4] * v[i]
    if v.size > 0:
        slope = record[1] / np.sqrt(v.size)
        for i in range(v.size):
            out_v[i] = slope - (params[1] + record[3]) * v[i]
            slope = -slope
            if i < w.size:
                out_v[i] += record[4] * w[i]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """Return f of one record."""
    total, slope = 0.0, record[0] / np.sqrt(w.size)
    for i in range(w.size):
        total += slope * w[i] + 0.5 * (params[0] + record[2]) * w[i] * w[i]
        slope = -slope
        if i < v.size:
            total += record[4] * w[i] * v[i]
    if v.size > 0:
        slope = record[1] / np.sqrt(v.size)
        for i in range(v.size):
            total += slope * v[i] - 0.5 * (params[1] + record[3]) * v[i] * v[i]
            slope = -slope
    return total


@dataclass(frozen=True, eq=False)
class WorstCase(Defaults):
    """records : (n, 5) float64;  convexity, concavity : mu_w, mu_v;  radius_w, radius_v : R_w, R_v.

    dim_w, dim_v : sizes of the blocks; dim_v is 0 where w is all
    lipschitz_w, lipschitz_v, smoothness, hessian_lipschitz : the constants that an algorithm is told. Where it
    clips, privacy must not rest on them; where it does not, they have to be true.
    """

    records: Array
    lipschitz_w: float = 1.0
    lipschitz_v: float = 1.0
    smoothness: float = 1.0
    convexity: float = 0.0
    concavity: float = 0.0
    hessian_lipschitz: float = 1.0
    radius_w: float = 1.0
    radius_v: float = 1.0
    dim_v: int = 2
    dim_w: int = 2
    name: str = "worst_case"

    gradient: ClassVar[Callable[..., Any]] = staticmethod(gradient)
    value: ClassVar[Callable[..., Any]] = staticmethod(value)

    @property
    def params(self) -> Array:
        """(mu_w, mu_v)."""
        return np.array([self.convexity, self.concavity], float)

    @property
    def domain_w(self) -> Array:
        """The ball of radius R_w."""
        return ball(self.dim_w, self.radius_w)

    @property
    def domain_v(self) -> Array:
        """The ball of radius R_v, or nothing."""
        return ball(self.dim_v, self.radius_v) if self.dim_v else np.empty((0, 4))


def record(b: float = 0.0, c: float = 0.0, p: float = 0.0, q: float = 0.0, a: float = 0.0) -> Array:
    """Return the record (b, c, p, q, a)."""
    return np.array([b, c, p, q, a], float)
