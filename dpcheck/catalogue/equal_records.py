"""A quadratic game whose records are all the same: gradients without sampling error, in time that no batch lengthens.

Whatever minibatch is drawn has the same mean. What an algorithm adds to it (noise, clipping, steps, what it
returns) is left, with a law in closed form, and schedules of millions of gradients take seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.kernels.gradients import add_clipped
from dpcheck.algorithms.kernels.jit import DIFFERENCE_SIGNATURE, MEAN_SIGNATURE, kernel
from dpcheck.algorithms.problem import Array
from dpcheck.problems.quadratic import Quadratic


@kernel(MEAN_SIGNATURE)
def mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Do what ``dpcheck.algorithms.kernels.gradients.mean`` does where all records are the first one."""
    params, records, d = data.params, data.records, data.dim_w
    one = np.empty(x.size)
    gradient(params, records[0], x[:d], x[d:], one[:d], one[d:])
    out[:] = 0.0
    add_clipped(one, d, clip, 1, out)
    for i in range(x.size):
        out[i] *= index.size / batch


@kernel(DIFFERENCE_SIGNATURE)
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


def gradient_norm(problem: EqualRecords, outputs: Array) -> float:
    """Mean of |grad Phi| over runs : (R, 2d)."""
    return float(np.linalg.norm(problem.primal_gradient(outputs[:, : problem.dim_w]), axis=1).mean())
