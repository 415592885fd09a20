"""The hard instances behind Theorems 3 and 4 of Zhang et al. 2025, with bounded losses (see ``bounds.zhang2025``).

A record is a sign vector z in {-1, 1}^d, for groups with the number of its group before it. With

    F(x; z) = 2 - (1/sqrt d) sum_k cos(x_k - z_k pi/4),    (grad mean F(x))_k = (sin x_k - M_k cos x_k)/sqrt(2 d),

M the mean of the records, a small gradient gives tan x_k near M_k: whoever finds a stationary point knows the means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.kernels.parts import SIMPLEX
from dpcheck.algorithms.problem import Array, ball, blocks
from dpcheck.problems.nonconvex import StronglyConcave, spectral


@kernel(GRADIENT_SIGNATURE)
def mean_gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of F(w; z) - |v|^2/2."""
    for i in range(w.size):
        out_w[i] = np.sin(w[i] - record[i] * (np.pi / 4)) / np.sqrt(w.size)
    for i in range(v.size):
        out_v[i] = -v[i]


@kernel(VALUE_SIGNATURE)
def mean_value(params, record, w, v):  # type: ignore[no-untyped-def]
    """F(w; z) - |v|^2/2."""
    total = 2.0
    for i in range(w.size):
        total -= np.cos(w[i] - record[i] * (np.pi / 4)) / np.sqrt(w.size)
    for i in range(v.size):
        total -= 0.5 * v[i] * v[i]
    return total


@kernel(GRADIENT_SIGNATURE)
def group_gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of K v_k F(w; z) - |v|^2/2 for a record of the first group, whose k is 0; of others F = 0."""
    K, loss = v.size, 2.0
    first = record[0] == 0.0
    for i in range(w.size):
        shifted = w[i] - record[1 + i] * (np.pi / 4)
        out_w[i] = K * v[0] * np.sin(shifted) / np.sqrt(w.size) if first else 0.0
        loss -= np.cos(shifted) / np.sqrt(w.size)
    for i in range(K):
        out_v[i] = -v[i]
    if first:
        out_v[0] += K * loss


@kernel(VALUE_SIGNATURE)
def group_value(params, record, w, v):  # type: ignore[no-untyped-def]
    """K v_k F(w; z) - |v|^2/2 for a record of the first group, -|v|^2/2 for others."""
    total, loss = 0.0, 2.0
    for i in range(w.size):
        loss -= np.cos(w[i] - record[1 + i] * (np.pi / 4)) / np.sqrt(w.size)
    for i in range(v.size):
        total -= 0.5 * v[i] * v[i]
    return total + v.size * v[0] * loss if record[0] == 0.0 else total


@dataclass(frozen=True, eq=False)
class HiddenMeans(StronglyConcave):
    """F(x; z) - |y|^2/2 on R^d and the unit ball.  records : (n, d) float64, entries -1 or 1"""

    records: Array
    name: str = "hidden_means"

    convex: ClassVar[bool] = False
    gradient: ClassVar[Callable[..., Any]] = staticmethod(mean_gradient)
    value: ClassVar[Callable[..., Any]] = staticmethod(mean_value)

    @property
    def domain_w(self) -> Array:
        """The whole space."""
        return ball(self.dim_w, math.inf)

    @property
    def domain_v(self) -> Array:
        """The unit ball."""
        return ball(self.dim_v, 1.0)

    @property
    def lipschitz_w(self) -> float:
        """sum_k sin^2/d <= 1."""
        return 1.0

    lipschitz_v = lipschitz_w

    @property
    def smoothness(self) -> float:
        """Return the larger smoothness of the two uncoupled blocks, 1/sqrt d and 1."""
        return 1.0

    @property
    def concavity(self) -> float:
        """Return the strong concavity of -|v|^2/2."""
        return 1.0

    @property
    def hessian_lipschitz(self) -> float:
        """Return the constant for a diagonal Hessian with entries cos/sqrt d."""
        return 1 / math.sqrt(self.dim_w)

    def best_response(self, w: Array) -> Array:
        """0, whatever w is."""
        return np.zeros(self.dim_v)

    def primal_gradient(self, w: Array) -> Array:
        """Return the gradient of Phi at points w (..., d)."""
        return hidden_gradient(self.records, w)


@dataclass(frozen=True, eq=False)
class HiddenGroup(StronglyConcave):
    """sum_k y_k F_k(x) - |y|^2/2 over the simplex, d equal groups, all but the first with loss 0.

    As F_1 >= 1 the best y is the first unit vector everywhere.  records : (n, 1 + d), the group and the signs
    """

    records: Array
    name: str = "hidden_group"

    convex: ClassVar[bool] = False
    gradient: ClassVar[Callable[..., Any]] = staticmethod(group_gradient)
    value: ClassVar[Callable[..., Any]] = staticmethod(group_value)

    @property
    def dim_w(self) -> int:
        """d, and as many groups."""
        return int(self.records.shape[1]) - 1

    dim_v = dim_w

    domain_w = HiddenMeans.domain_w

    @property
    def domain_v(self) -> Array:
        """The unit simplex."""
        return blocks((self.dim_v, SIMPLEX, 1.0))

    @property
    def start(self) -> Array:
        """0 and equal weights."""
        return np.concatenate([np.zeros(self.dim_w), np.full(self.dim_v, 1 / self.dim_v)])

    @property
    def lipschitz_w(self) -> float:
        """K |v| times 1."""
        return float(self.dim_v)

    @property
    def largest(self) -> float:
        """F <= 2 + sqrt d."""
        return 2 + math.sqrt(self.dim_w)

    @property
    def lipschitz_v(self) -> float:
        """K F in one coordinate, and |v| <= 1."""
        return self.dim_v * self.largest + 1.0

    @property
    def smoothness(self) -> float:
        """Return the norm of [[K/sqrt d, K], [K, -1]], which bounds the smoothness."""
        return spectral(-self.dim_v / math.sqrt(self.dim_w), float(self.dim_v), 1.0)

    concavity = HiddenMeans.concavity

    def best_response(self, w: Array) -> Array:
        """All weight on the first group."""
        return np.asarray(np.eye(self.dim_v)[0])

    def primal_gradient(self, w: Array) -> Array:
        """Return the gradient of Phi at points w (..., d)."""
        return hidden_gradient(self.records[self.records[:, 0] == 0, 1:], w)


def hidden_gradient(signs: Array, w: Array) -> Array:
    """(sin x_k - M_k cos x_k)/sqrt(2 d), M the mean of the signs."""
    return np.asarray((np.sin(w) - signs.mean(0) * np.cos(w)) / math.sqrt(2 * signs.shape[1]))
