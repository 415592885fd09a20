"""Regularised worst-group risk: logistic losses, weights on the simplex (Zhang et al. 2025, problem (5)).

f(w, v; (k, x, y)) = (v_k/p_k) log(1 + exp(-y <w, x>)) - mu/2 |v|^2,  |x| <= 1,  y = +-1,

W = B(R), V = {v >= 0, sum v = 1}, with a public share p_k of each of the K groups: the mean over the
records is sum_k v_k F_k - mu/2 |v|^2, F_k = the sum of the losses of group k over n p_k, the group's risk
where its share is p_k. (The paper divides by the size of the group, which is private.)
y* = the projection of F/mu onto V; Phi, Phi' and Phi'' as in :mod:`dpcheck.problems.group_dro`; Phi'' jumps
where the support of y* changes, so rho_Phi = inf. The losses are convex in w, hence f and Phi are.

With s = 1/min p_k, e = log(1 + exp R) the largest loss and 1/(1 + exp(-R)) its largest slope:
G_w = s/(1 + exp(-R)). G_v = sqrt(s^2 e^2 + mu^2): the gradient is the scaled loss in coordinate k less
mu v, whose norm is convex in v and so largest at a vertex, at another than k. L: in (the direction of x,
v_k) the Hessian is [[p, q], [q, -mu]], p in [0, s/4], |q| <= G_w, of norm convex in p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.problem_domains import SIMPLEX, blocks
from dpcheck.algorithms.properties import columns
from dpcheck.algorithms.records import as_records
from dpcheck.errors import require, require_count
from dpcheck.problems.nonconvex import Groups, labelled, simplex_hessian, spectral


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record (k, x, y)."""
    k, d = int(record[0]), w.size
    label, margin = record[d + 1], 0.0
    for i in range(d):
        margin += label * w[i] * record[1 + i]
    tail = np.exp(-abs(margin))
    slope = 1.0 / (1.0 + tail) if margin < 0 else tail / (1.0 + tail)  # 1/(1 + exp(margin)), no overflow
    for i in range(d):
        out_w[i] = -v[k] / params[1 + k] * slope * label * record[1 + i]
    for j in range(v.size):
        out_v[j] = -params[0] * v[j]
    out_v[k] += (max(-margin, 0.0) + np.log1p(tail)) / params[1 + k]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (k, x, y)."""
    k, d = int(record[0]), w.size
    margin, square = 0.0, 0.0
    for i in range(d):
        margin += record[d + 1] * w[i] * record[1 + i]
    for j in range(v.size):
        square += v[j] * v[j]
    return v[k] / params[1 + k] * (max(-margin, 0.0) + np.log1p(np.exp(-abs(margin)))) - 0.5 * params[0] * square


@dataclass(frozen=True, eq=False)
class WorstGroup(Groups):
    """Worst-group logistic regression.

    Parameters
    ----------
    records : ndarray, (n, d + 2) float64
        Rows (k, x, y), k a whole number in [0, K), |x| <= 1, y in {-1, 1}.
    shares : ndarray, (K,)
        Public shares p_k > 0 of the K >= 2 groups, of sum 1.
    mu_y, radius : float
        mu and R, both > 0.
    """

    records: Array
    shares: Array
    mu_y: float = 1.0
    radius: float = 5.0
    name: str = "worst_group"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    dim_w = columns(lambda count: count - 2)
    example_size = (500, 3)

    def __post_init__(self) -> None:
        self._require_positive("mu_y", "radius")
        shares = np.ascontiguousarray(self.shares, dtype=float)
        good = shares.ndim == 1 and shares.size >= 2 and bool((shares > 0).all())
        require(good and abs(shares.sum() - 1) < 1e-9, "shares", "be at least two positive numbers of sum 1", shares)
        records = as_records(self.records, "records")
        require(records.shape[1] >= 3, "records", "have columns (k, x, y)", records.shape)
        groups = records[:, 0]
        whole = bool((groups == np.floor(groups)).all() and groups.min() >= 0 and groups.max() < shares.size)
        require(whole, "records", f"hold groups 0 to {shares.size - 1}", np.unique(groups)[:5])
        records = np.column_stack([groups, labelled(records[:, 1:])])
        self._set(records=records, shares=shares)

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> WorstGroup:
        """Draw ``n`` records of three groups; the labels follow a direction that turns with k, one in ten flipped."""
        require_count(n, "n")
        require_count(d, "d", least=2)
        shares = np.array([0.6, 0.3, 0.1])
        groups = rng.choice(len(shares), n, p=shares)
        x = rng.standard_normal((n, d))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        angle = np.pi / 2 * groups / len(shares)
        labels = np.where(np.cos(angle) * x[:, 0] + np.sin(angle) * x[:, 1] > 0, 1.0, -1.0)
        labels[rng.random(n) < 0.1] *= -1
        return cls(np.column_stack([groups, x, labels]), shares, **constants)

    @property
    def params(self) -> Array:
        """(mu, p_1, ..., p_K)."""
        return np.concatenate([[self.mu_y], self.shares])

    @property
    def dim_v(self) -> int:
        return int(self.shares.size)

    @property
    def domain_v(self) -> Array:
        """The unit simplex."""
        return blocks((self.dim_v, SIMPLEX, 1.0))

    @property
    def start(self) -> Array:
        """0 and the groups' shares."""
        return np.concatenate([np.zeros(self.dim_w), self.shares])

    def constants(self) -> Constants:
        least, R, mu = float(self.shares.min()), self.radius, self.mu_y
        G_w = 1 / (least * (1 + math.exp(-R)))
        return Constants(
            lipschitz_w=G_w,
            lipschitz_v=math.hypot((R + math.log1p(math.exp(-R))) / least, mu),
            smoothness=max(spectral(p, G_w, mu) for p in (0.0, 0.25 / least)),
            concavity=mu,
        )

    def risks(self, w: Array) -> Array:
        """Return F : (K,)."""
        return self._weights() @ np.logaddexp(0.0, -self._margins(w))

    def primal_hessian(self, w: Array) -> Array:
        """An error where a group is about to get weight."""
        x, slope = self.records[:, 1:-1], self._sigmoid(w)
        curvatures = np.einsum("ki,i,ij,il->kjl", self._weights(), slope * (1 - slope), x, x)
        curvatures = (curvatures + curvatures.transpose(0, 2, 1)) / 2
        return simplex_hessian(self.risks(w), self._slopes(w), curvatures, self.mu_y)

    def _weights(self) -> Array:
        """Return 1/(n p_k) for the records of group k : (K, n)."""
        member = self.records[:, 0] == np.arange(self.dim_v)[:, None]
        return np.asarray(member / (len(self.records) * self.shares[:, None]))

    def _margins(self, w: Array) -> Array:
        """Return y <w, x> : (n,)."""
        return np.asarray(self.records[:, -1] * (self.records[:, 1:-1] @ w))

    def _sigmoid(self, w: Array) -> Array:
        """Return 1/(1 + exp(margin)) : (n,)."""
        return np.asarray(np.exp(-np.logaddexp(0.0, self._margins(w))))

    def _slopes(self, w: Array) -> Array:
        pull = -self._sigmoid(w) * self.records[:, -1]
        return np.asarray(self._weights() @ (pull[:, None] * self.records[:, 1:-1]))
