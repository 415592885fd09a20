"""A quadratic game whose records are all the same: gradients without sampling error, in time that no batch lengthens.

The noise, clipping and steps that an algorithm adds to them have a law in closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, hyp1f1

from dpcheck.algorithms.kernels.gradients import add_clipped
from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array
from dpcheck.problems.quadratic import Quadratic


@kernel("mean")
def mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Do what ``dpcheck.algorithms.kernels.gradients.mean`` does where all records are the first one."""
    params, records, d = data.params, data.records, data.dim_w
    one = np.empty(x.size)
    gradient(params, records[0], x[:d], x[d:], one[:d], one[d:])
    out[:] = 0.0
    add_clipped(one, d, clip, 1, out)
    for i in range(x.size):
        out[i] *= index.size / batch


@kernel("difference")
def difference(gradient, data, new, old, batch, clip, out):  # type: ignore[no-untyped-def]
    """Do what ``dpcheck.algorithms.kernels.gradients.difference`` does where all records are the first one."""
    params, records, d = data.params, data.records, data.dim_w
    x, old_x = new.x, old.x
    size = x.size
    one, other = np.empty(size), np.empty(size)
    gradient(params, records[0], x[:d], x[d:], one[:d], one[d:])
    gradient(params, records[0], old_x[:d], old_x[d:], other[:d], other[d:])
    for i in range(size):
        one[i] -= other[i]
    out[:] = 0.0
    add_clipped(one, d, clip, 1, out)
    for i in range(size):
        out[i] *= new.chosen.size / batch


@dataclass(frozen=True, eq=False)
class EqualRecords(Quadratic):
    """mu_x/2 |w|^2 + a <w, v> - mu_y/2 |v|^2 + <b, w>, with the same b in every record."""

    name: str = "equal_records"

    mean: ClassVar[Callable[..., Any]] = staticmethod(mean)
    difference: ClassVar[Callable[..., Any]] = staticmethod(difference)

    @classmethod
    def of(cls, n: int, d: int, pull: float, **constants: Any) -> EqualRecords:
        """``n`` records (b, 0), b = (pull, 0, ..., 0) in d dimensions."""
        records = np.zeros((n, 2 * d))
        records[:, 0] = pull
        return cls(records, bound=pull, **constants)

    @property
    def pull(self) -> float:
        """|b|, which is |grad Phi| where w = 0."""
        return float(self.records[0, 0])

    @property
    def curvature(self) -> float:
        """Return the curvature of Phi, mu_x + a^2/mu_y in every direction."""
        return self.mu_x + self.coupling**2 / self.mu_y

    def primal_gradient(self, w: Array) -> Array:
        """Return the gradient of Phi at points w : (..., d)."""
        return self.curvature * w + self.records[0, : self.dim_w]

    def gradient_norm(self, outputs: Array) -> float:
        """Return the mean of |grad Phi| over runs : (R, 2d)."""
        return float(np.linalg.norm(self.primal_gradient(outputs[:, : self.dim_w]), axis=1).mean())

    def expected_norm(self, mean: Array, deviation: Array) -> Array:
        """Return E |N(m, s^2 I)| in the dimension of w, |m| = ``mean``, s = ``deviation``."""
        d, s = self.dim_w, np.maximum(deviation, 1e-300)
        far = np.minimum(mean / s, 30.0) ** 2 / 2
        exact = np.sqrt(2) * s * np.exp(gammaln((d + 1) / 2) - gammaln(d / 2)) * hyp1f1(-0.5, d / 2, -far)
        return np.asarray(np.where(far < 450, exact, np.sqrt(mean**2 + (d - 1) * deviation**2)))
