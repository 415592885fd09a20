"""A game of two numbers whose records do as much harm as an algorithm's analysis allows.

Record (b, c, p, q, a), constants (mu_w, mu_v):

    f(w, v) = b w + c v + a w v + (mu_w + p)/2 w^2 - (mu_v + q)/2 v^2,   |w| <= R_w, |v| <= R_v.

The gradients are b + a v + (mu_w + p) w and c + a w - (mu_v + q) v. Two records of opposite sign whose linear
parts are beyond the clipping norm have gradients as far apart as clipping allows, everywhere; where their
curvatures p, q and coupling a are large, so have the differences of their gradients between two points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.problems.problem import Array, Defaults, ball


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record (b, c, p, q, a); v may be empty."""
    out_w[0] = record[0] + (params[0] + record[2]) * w[0]
    if v.size > 0:
        out_w[0] += record[4] * v[0]
        out_v[0] = record[1] + record[4] * w[0] - (params[1] + record[3]) * v[0]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record."""
    total = record[0] * w[0] + 0.5 * (params[0] + record[2]) * w[0] * w[0]
    if v.size > 0:
        total += (record[1] + record[4] * w[0]) * v[0] - 0.5 * (params[1] + record[3]) * v[0] * v[0]
    return total


@dataclass(frozen=True, eq=False)
class WorstCase(Defaults):
    """records : (n, 5) float64;  convexity, concavity : mu_w, mu_v;  radius_w, radius_v : R_w, R_v.

    dim_v : 1, or 0 where w is all;  dim_w : 1
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
    dim_v: int = 1
    dim_w: int = 1
    name: str = "worst_case"

    gradient: ClassVar[Callable[..., Any]] = staticmethod(gradient)
    value: ClassVar[Callable[..., Any]] = staticmethod(value)

    @property
    def params(self) -> Array:
        """(mu_w, mu_v)."""
        return np.array([self.convexity, self.concavity], float)

    @property
    def domain_w(self) -> Array:
        """[-R_w, R_w]."""
        return ball(1, self.radius_w)

    @property
    def domain_v(self) -> Array:
        """[-R_v, R_v], or nothing."""
        return ball(1, self.radius_v) if self.dim_v else np.empty((0, 4))


def record(b: float = 0.0, c: float = 0.0, p: float = 0.0, q: float = 0.0, a: float = 0.0) -> Array:
    """(b, c, p, q, a)."""
    return np.array([b, c, p, q, a], float)
