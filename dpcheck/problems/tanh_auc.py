"""AUC maximisation with the saturating, nonconvex score tanh <theta, x>.

The relative of :mod:`dpcheck.problems.auc`, whose score is linear.

With t = <theta, x>, h = tanh t, w = (theta, a, b), scalar v, a public class share p, s+ = 1 - p, s- = p,
s0 = p (1 - p), and for a record (x, y): q = s+, c = a, o = -1 where y = 1; q = s-, c = b, o = 1 where y = -1,
f = q (h - c)^2 + 2 (1 + v) o q h - s0 v^2.

|x| <= 1, |theta| <= R, |a|, |b| <= 1, |v| <= Lam = 1/min(p, 1 - p). With m = mean o q h, |m| <= max(p, 1 - p):
v* = m/s0 in V whatever the data, Phi = mean q (h - c)^2 + 2 m + m^2/s0, and with h' = 1 - h^2, h'' = -2 h h':
Phi'_theta = mean 2 q (h - c + o (1 + v*)) h' x,  Phi'_a = mean over y = 1 of 2 q (a - h), Phi'_b likewise;
Phi''_theta,theta = mean 2 q (h'^2 + (h - c + o (1 + v*)) h'') x x' + (2/s0) g g', g = mean o q h' x.

Constants, with s = max(p, 1 - p), T = tanh R >= |h|, r = h - c + o (1 + v), so that r is in
[h - 2 - Lam, h + Lam] or, mirrored, in [h - Lam, h + 2 + Lam]:
G_w = 2 s sqrt(A^2 + (1 + T)^2), A = max over [0, T] of (1 - h^2)(2 + Lam + h) >= |r h'|.
G_v = 2 s T + 2 s0 Lam, met.
L <= the norm of [[P, q, q], [q, q, 0], [q, 0, 2 s0]], q = 2 s >= 2 s h', P = 2 s times the largest
|h'^2 + r h''| = (1 - h^2) |1 - h^2 - 2 r h|, at an end of r's interval: on [0, T] the largest of
(1 - h^2)(1 - h^2 + 2 h (2 + Lam - h)) and (1 - h^2)(2 h (2 + Lam + h) - 1 + h^2).
rho_Phi <= sqrt(A3^2 + B3^2): along a unit vector whose theta-part has the length k, the third derivative is
at most A3 k^3 + B3 k^2 sqrt(1 - k^2), A3 = 2 s (3 M1 + M3) + (6/s0) s^2 M2, B3 = 6 s M2, with the largest
values M1 of |h' h''|, M2 of |h''| and M3 of |r h'''|, h''' = -2 (1 - h^2)(1 - 3 h^2), on [0, T]; a
symmetric trilinear form is largest on the diagonal (Banach).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import Shape
from dpcheck.algorithms.problem import Array, Constants, blocks, columns
from dpcheck.errors import require
from dpcheck.problems import as_records, within_bound
from dpcheck.problems.nonconvex import StronglyConcave, largest_on

H = Polynomial([0.0, 1.0])
SLOPE = 1 - H**2  # of tanh, where its value is h


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record (x, y)."""
    d = w.size - 2
    t = 0.0
    for i in range(d):
        t += w[i] * record[i]
    h = np.tanh(t)
    if record[d] > 0:
        weight, centre, sign = params[0], w[d], -1.0
    else:
        weight, centre, sign = params[1], w[d + 1], 1.0
    slope = 2.0 * weight * (h - centre + sign * (1.0 + v[0])) * (1.0 - h * h)
    for i in range(d):
        out_w[i] = slope * record[i]
    pull = 2.0 * weight * (centre - h)
    out_w[d] = pull if sign < 0 else 0.0
    out_w[d + 1] = pull if sign > 0 else 0.0
    out_v[0] = 2.0 * (sign * weight * h - params[2] * v[0])


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (x, y)."""
    d = w.size - 2
    t = 0.0
    for i in range(d):
        t += w[i] * record[i]
    h = np.tanh(t)
    if record[d] > 0:
        weight, centre, sign = params[0], w[d], -1.0
    else:
        weight, centre, sign = params[1], w[d + 1], 1.0
    return weight * ((h - centre) * (h - centre) + 2.0 * sign * (1.0 + v[0]) * h) - params[2] * v[0] * v[0]


@dataclass(frozen=True, eq=False)
class TanhAUC(StronglyConcave):
    """AUC maximisation with the score tanh <theta, x>.

    Parameters
    ----------
    records : ndarray, (n, d + 1) float64
        Rows (x, y) with |x| <= 1 and y in {-1, 1}.
    positive_share : float
        Public p in (0, 1).
    radius : float
        R > 0, of theta.
    """

    records: Array
    positive_share: float = 0.5
    radius: float = 2.0
    name: str = "tanh_auc"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    convex = False
    dim_w = columns(lambda count: count + 1)
    dim_v = 1

    def __post_init__(self) -> None:
        require(0 < self.positive_share < 1, "positive_share", "lie in (0, 1)", self.positive_share)
        self._require_positive("radius")
        records = as_records(self.records, "records")
        require(records.shape[1] >= 2, "records", "have columns (x, y)", records.shape)
        x, y = records[:, :-1], records[:, -1]
        require(bool((np.abs(y) == 1).all()), "records", "have labels -1 or 1", np.unique(y))
        self._set(records=np.column_stack([within_bound(x, 1, "records", "|x|"), y]))

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> TanhAUC:
        """Draw ``n`` records of two overlapping classes, the positive one with probability p."""
        y = np.where(rng.random(n) < constants.get("positive_share", cls.positive_share), 1.0, -1.0)
        x = 0.5 * rng.standard_normal((n, d)) + 0.4 * y[:, None]
        x /= np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
        return cls(np.column_stack([x, y]), **constants)

    @classmethod
    def example(cls, rng: np.random.Generator) -> TanhAUC:
        """Draw the example: 200 records in 5 dimensions, the positive class public at 0.3."""
        return cls.sample(200, 5, rng, positive_share=0.3)

    @property
    def params(self) -> Array:
        """(s+, s-, s0)."""
        p = self.positive_share
        return np.array([1 - p, p, p * (1 - p)])

    @property
    def reach(self) -> float:
        """Lam = 1/min(p, 1 - p)."""
        return 1 / min(self.positive_share, 1 - self.positive_share)

    @property
    def domain_w(self) -> Array:
        """|theta| <= R, |a| <= 1, |b| <= 1."""
        return blocks((self.dim_w - 2, Shape.BALL, self.radius), (2, Shape.BOX, 1.0))

    def constants(self) -> Constants:
        """The formulas of the file's head."""
        p = self.positive_share
        s, s0, T, far = max(p, 1 - p), p * (1 - p), math.tanh(self.radius), 2 + self.reach
        curves = (SLOPE * (SLOPE + 2 * H * (far - H)), SLOPE * (2 * H * (far + H) - SLOPE))
        P, q = 2 * s * max(largest_on(curve, 0, T) for curve in curves), 2 * s
        M1, M2 = largest_on(2 * H * SLOPE**2, 0, T), largest_on(2 * H * SLOPE, 0, T)
        third = 2 * SLOPE * (1 - 3 * H**2) * (far + H)
        M3 = max(largest_on(third, 0, T), largest_on(-third, 0, T))
        A3 = 2 * s * (3 * M1 + M3) + 6 / s0 * s * s * M2
        return Constants(
            lipschitz_w=2 * s * math.hypot(largest_on(SLOPE * (far + H), 0, T), 1 + T),
            lipschitz_v=2 * s * T + 2 * s0 * self.reach,
            smoothness=float(np.linalg.norm([[P, q, q], [q, q, 0], [q, 0, 2 * s0]], 2)),
            concavity=float(2 * self.params[2]),
            hessian_lipschitz=math.hypot(A3, 6 * s * M2),
        )

    def best_response(self, w: Array) -> Array:
        _, weight, sign, h, _ = self._terms(w)
        return np.array([np.mean(sign * weight * h) / self.params[2]])

    def primal(self, w: Array) -> float:
        _, weight, _, h, centre = self._terms(w)
        m = self.params[2] * self.best_response(w)[0]
        return float(np.mean(weight * (h - centre) ** 2) + 2 * m + m * m / self.params[2])

    def primal_gradient(self, w: Array) -> Array:
        x, weight, sign, h, centre = self._terms(w)
        slope = 2 * weight * (h - centre + sign * (1 + self.best_response(w)[0])) * (1 - h * h)
        pull = 2 * weight * (centre - h)
        return np.array([*(slope @ x / len(x)), pull[sign < 0].sum() / len(x), pull[sign > 0].sum() / len(x)])

    def primal_hessian(self, w: Array) -> Array:
        x, weight, sign, h, centre = self._terms(w)
        n, d, rise = len(x), self.dim_w - 2, 1 - h * h
        residual = h - centre + sign * (1 + self.best_response(w)[0])
        curved = 2 * weight * (rise * rise - 2 * residual * h * rise)
        along = (sign * weight * rise) @ x / n
        hessian = np.zeros((d + 2, d + 2))
        hessian[:d, :d] = (curved[:, None] * x).T @ x / n + 2 / self.params[2] * np.outer(along, along)
        hessian[:d, :d] = (hessian[:d, :d] + hessian[:d, :d].T) / 2
        for column, label in ((d, -1.0), (d + 1, 1.0)):
            member = np.where(sign == label, 2 * weight, 0.0)
            hessian[:d, column] = hessian[column, :d] = -(member * rise) @ x / n
            hessian[column, column] = member.sum() / n
        return hessian

    def _terms(self, w: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return x : (n, d), and for each record its weight q, its sign o, h and its centre c."""
        x, positive = self.records[:, :-1], self.records[:, -1] > 0
        weight = np.where(positive, self.params[0], self.params[1])
        sign, centre = np.where(positive, -1.0, 1.0), np.where(positive, w[-2], w[-1])
        return x, weight, sign, np.tanh(x @ w[:-2]), centre
