"""A problem that only declares its constants: a schedule is made from them, and nothing is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.problem import Array, Defaults, ball
from dpcheck.checks.privacy.worst_case import gradient


@dataclass(frozen=True, eq=False)
class Declared(Defaults):
    """size : n;  dim_w, dim_v, radius_w, radius_v : of balls;  the rest : the constants of every record."""

    size: int
    dim_w: int = 1
    dim_v: int = 1
    lipschitz_w: float = 1.0
    lipschitz_v: float = 1.0
    smoothness: float = 1.0
    convexity: float = 0.0
    concavity: float = 0.0
    hessian_lipschitz: float = 1.0
    radius_w: float = 1.0
    radius_v: float = 1.0
    name: str = "declared"

    params: ClassVar[Array] = np.zeros(2)
    gradient: ClassVar[Callable[..., Any]] = staticmethod(gradient)

    @property
    def records(self) -> Array:
        """n rows that take no memory."""
        return np.broadcast_to(np.zeros(1), (self.size, 1))

    @property
    def domain_w(self) -> Array:
        """A ball."""
        return ball(self.dim_w, self.radius_w)

    @property
    def domain_v(self) -> Array:
        """A ball, or nothing."""
        return ball(self.dim_v, self.radius_v) if self.dim_v else np.empty((0, 4))
