"""Group DRO: the worst mixture of K bounded nonconvex losses, over the simplex.

f(w, v; (z_1, ..., z_K)) = sum_k v_k l(w - z_k) - mu/2 |v|^2,  l(u) = (1/d) sum_j (1 - cos u_j),

w in R^d, V = {v >= 0, sum v = 1}. A record is one draw z_k in R^d of each group. With F_k = the mean of
l(w - z_k), y* = the projection of F/mu onto V, Phi = <F, y*> - mu/2 |y*|^2, Phi' = sum_k y*_k F_k'. On
the support S of y* the response moves with (F_k - mean over S)/mu, so that
Phi'' = sum_k y*_k F_k'' + (1/mu) sum_{k in S} (F_k' - mean over S)(F_k' - mean over S)'. It jumps where S
changes: rho_Phi = inf, a check of second-order stationarity must refuse the problem.

0 <= l <= 2, |l'| <= 1/sqrt d and |l''| <= 1/d. So G_w = 1/sqrt d (v is a mixture);
G_v = sqrt(max(mu, |2 - mu|)^2 + 4 (K - 1)), the largest distance of mu v from [0, 2]^K, which is convex
and so largest at vertices; L <= norm of [[1/d, sqrt(K/d)], [sqrt(K/d), mu]], as the norm of a symmetric
matrix of blocks is at most that of the matrix of their norms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.problem_domains import SIMPLEX, blocks
from dpcheck.algorithms.properties import fields_read
from dpcheck.algorithms.records import as_records
from dpcheck.errors import require, require_count
from dpcheck.problems.nonconvex import Groups, simplex_hessian, spectral


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients sum_k v_k l'(w - z_k) and l(w - z_k) - mu v_k of one record z."""
    d = w.size
    out_w[:] = 0.0
    for k in range(v.size):
        out_v[k] = -params[0] * v[k]
        for j in range(d):
            u = w[j] - record[k * d + j]
            out_w[j] += v[k] * np.sin(u) / d
            out_v[k] += (1.0 - np.cos(u)) / d


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record z."""
    d, total = w.size, 0.0
    for k in range(v.size):
        total -= 0.5 * params[0] * v[k] * v[k]
        for j in range(d):
            total += v[k] * (1.0 - np.cos(w[j] - record[k * d + j])) / d
    return total


@dataclass(frozen=True, eq=False)
class GroupDRO(Groups):
    """The worst mixture of groups with bounded losses.

    Parameters
    ----------
    records : ndarray, (n, K d) float64
        Rows (z_1, ..., z_K).
    groups : int
        K >= 2.
    mu_y : float
        mu > 0.
    """

    records: Array
    groups: int = 3
    mu_y: float = 1.0
    name: str = "group_dro"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    params = fields_read("mu_y")
    convex = False
    radius = math.inf
    example_size = (200, 2)

    def __post_init__(self) -> None:
        require_count(self.groups, "groups", least=2)
        self._require_positive("mu_y")
        records = as_records(self.records, "records")
        multiple = records.shape[1] % self.groups == 0
        require(multiple, "records", f"have a multiple of {self.groups} columns", records.shape)
        self._set(records=records)

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> GroupDRO:
        """Draw ``n`` records, z_k normal of standard deviation 1/2 about the angle 2 pi k/K in each coordinate."""
        require_count(n, "n")
        require_count(d, "d")
        groups = constants.get("groups", cls.groups)
        centres = np.repeat(2 * np.pi * np.arange(groups) / groups, d)
        return cls(centres + 0.5 * rng.standard_normal((n, groups * d)), **constants)

    @property
    def dim_w(self) -> int:
        return int(self.records.shape[1]) // self.groups

    @property
    def dim_v(self) -> int:
        return self.groups

    @property
    def domain_v(self) -> Array:
        """The unit simplex."""
        return blocks((self.groups, SIMPLEX, 1.0))

    @property
    def start(self) -> Array:
        """0 and equal weights."""
        return np.concatenate([np.zeros(self.dim_w), np.full(self.groups, 1 / self.groups)])

    def constants(self) -> Constants:
        d, K, mu = self.dim_w, self.groups, self.mu_y
        return Constants(
            lipschitz_w=1 / math.sqrt(d),
            lipschitz_v=math.hypot(max(mu, abs(2 - mu)), 2 * math.sqrt(K - 1)),
            smoothness=spectral(-1 / d, math.sqrt(K / d), mu),
            concavity=mu,
        )

    def risks(self, w: Array) -> Array:
        """Return F : (K,)."""
        return np.asarray((1 - np.cos(self._residuals(w))).mean((0, 2)))

    def primal_hessian(self, w: Array) -> Array:
        """An error where a group is about to get weight."""
        curvatures = np.cos(self._residuals(w)).mean(0)[:, :, None] * np.eye(self.dim_w) / self.dim_w
        return simplex_hessian(self.risks(w), self._slopes(w), curvatures, self.mu_y)

    def _residuals(self, w: Array) -> Array:
        """Return w - z : (n, K, d)."""
        return np.asarray(w - self.records.reshape(len(self.records), self.groups, -1))

    def _slopes(self, w: Array) -> Array:
        return np.asarray(np.sin(self._residuals(w)).mean(0) / self.dim_w)
