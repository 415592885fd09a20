"""Linear classification by a loss of the margin: f(w; (a, y)) = loss(y <a, w>), |w| <= D, |a| <= 1, y in {-1, 1}.

With t the margin:

logistic        log(1 + e^{-t}), of slope in (-1, 0) and curvature at most 1/4;
smoothed hinge  0 for t >= 1, (1 - t)^2/(2h) for 1 - h < t < 1, 1 - t - h/2 below: curvature at most 1/h;
hinge           max(0, 1 - t), not smooth.

All are convex and steepest at the least margin, which is at least -D, so that for every record
L = 1/(1 + e^{-D}), min(1, (1 + D)/h) and 1; l = 1/4, 1/h and inf.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import GRADIENT_SIGNATURE, VALUE_SIGNATURE, kernel
from dpcheck.algorithms.minimisation import Minimisation
from dpcheck.algorithms.problem import Array, Constants
from dpcheck.algorithms.properties import columns
from dpcheck.algorithms.records import as_records, within_bound
from dpcheck.errors import require, require_count

LOSSES = ("logistic", "smoothed_hinge", "hinge")  # params[0] is the place in this list


@kernel(GRADIENT_SIGNATURE)
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """loss'(y <a, w>) y a of one record (a, y); at the hinge's kink the subgradient 0."""
    d = w.size
    y, t = record[d], 0.0
    for i in range(d):
        t += y * record[i] * w[i]
    if params[0] == 0:
        slope = -1.0 / (1.0 + np.exp(t)) if t < 700 else 0.0
    elif params[0] == 1:
        slope = -min(max((1.0 - t) / params[1], 0.0), 1.0)
    else:
        slope = -1.0 if t < 1 else 0.0
    for i in range(d):
        out_w[i] = slope * y * record[i]


@kernel(VALUE_SIGNATURE)
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """loss(y <a, w>) of one record (a, y)."""
    d = w.size
    t = 0.0
    for i in range(d):
        t += record[d] * record[i] * w[i]
    if params[0] == 0:
        return max(-t, 0.0) + np.log1p(np.exp(-abs(t)))
    if params[0] == 1:
        u, h = 1.0 - t, params[1]
        return 0.0 if u <= 0 else (u * u / (2 * h) if u < h else u - 0.5 * h)
    return max(1.0 - t, 0.0)


@dataclass(frozen=True, eq=False)
class Classification(Minimisation):
    """Linear classification by a loss of the margin.

    Parameters
    ----------
    records : ndarray, (n, d + 1) float64
        Rows (a, y).
    loss : str
        One of ``LOSSES``.
    width : float
        h > 0 of a smoothed hinge.
    radius : float
        D > 0.
    """

    records: Array
    loss: str = "logistic"
    width: float = 0.5
    radius: float = 1.0
    name: str = "classification"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    dim_w = columns(lambda count: count - 1)

    def __post_init__(self) -> None:
        records = as_records(self.records, "records")
        require(self.loss in LOSSES, "loss", f"be one of {', '.join(LOSSES)}", self.loss)
        self._require_positive("width", "radius")
        require(records.shape[1] >= 2, "records", "have at least two columns", records.shape)
        records = np.column_stack([within_bound(records[:, :-1], 1, "records", "|a|"), records[:, -1]])
        labels = set(np.unique(records[:, -1]).tolist())
        require(labels <= {-1.0, 1.0}, "records", "have labels -1 and 1", sorted(labels)[:5])
        self._set(records=records)

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> Classification:
        """Draw records with a uniform on the unit sphere, y = 1 with probability 1/(1 + e^{-3 a_1})."""
        require_count(n, "n")
        require_count(d, "d")
        a = rng.standard_normal((n, d))
        a /= np.linalg.norm(a, axis=1, keepdims=True)
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-3 * a[:, 0])), 1.0, -1.0)
        return cls(np.column_stack([a, y]), **constants)

    @property
    def params(self) -> Array:
        """The place of the loss in ``LOSSES``, and h."""
        return np.array([LOSSES.index(self.loss), self.width], float)

    def constants(self) -> Constants:
        """The slope is steepest at the margin -D."""
        slope, curvature = {
            "logistic": (1 / (1 + np.exp(-self.radius)), 0.25),
            "smoothed_hinge": (min(1.0, (1 + self.radius) / self.width), 1 / self.width),
            "hinge": (1.0, np.inf),
        }[self.loss]
        return Constants(lipschitz_w=float(slope), smoothness=curvature)

    def primal(self, w: Array) -> float:
        return float(np.mean([value(self.params, record, w, np.empty(0)) for record in self.records]))

    def primal_gradient(self, w: Array) -> Array:
        g, one = np.zeros(self.dim_w), np.empty(self.dim_w)
        for record in self.records:
            gradient(self.params, record, w, np.empty(0), one, np.empty(0))
            g += one / len(self.records)
        return g
