"""What the problems without v share: an algorithm minimises them over w alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array, Defaults
from dpcheck.algorithms.properties import fields_read


class Minimisation(Defaults):
    """A problem whose Phi is the mean objective itself, and whose best response is the empty vector."""

    params: Any = fields_read()
    dim_v = 0
    lipschitz_v = 0.0

    @property
    def domain_v(self) -> Array:
        return np.empty((0, 4))

    def best_response(self, w: Array) -> Array:
        return np.empty(0)
