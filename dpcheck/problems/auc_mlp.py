"""AUC maximisation with a multilayer perceptron as the score: Yang et al. 2022, Zhang et al. 2025.

The objective of :mod:`dpcheck.problems.auc` with h = MLP(theta; x), leaky ReLU between the layers:
f = s+ (h - a)^2 [y=1] + s- (h - b)^2 [y=-1] + 2 (1 + v) (s- h [y=-1] - s+ h [y=1]) - s0 v^2,
w = (theta, a, b), scalar v. Yang et al. use one hidden layer of 256 units, Zhang et al. 256 and 128.
Neither prints the slope of the leaky ReLU (0.01 here), whether layers have biases (they do here) nor
how theta begins (uniform on +-1/sqrt(fan-in) per layer here, scaled into the ball if it lies outside).

``repaired``: s+ = 1 - p, s- = p, s0 = p (1 - p) with a public class share p, see ``auc``.
``as_printed``: s+ = 1/n+, s- = 1/n-, s0 = 1/n counted on the private data.

For |x| <= 1 and |theta| <= B, :meth:`Network.bounds` has |h| <= H and |grad h| <= D.
The optimal a, b are means of scores and v = b - a, so |a|, |b| <= H and |v| <= 2H lose nothing, and as in ``auc``
G_w = 2 s sqrt((4H + 1)^2 D^2 + (2H)^2),  G_v = 2 s H + 4 s0 H,  s = max(s+, s-).
f is not smooth, as the leaky ReLU is not. It is 2 s0-strongly concave in v.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import BALL, BOX, Array, Constants, Defaults, blocks
from dpcheck.errors import require
from dpcheck.problems import auc_mlp_kernels as kernels
from dpcheck.problems.auc import AUC, labelled
from dpcheck.problems.network import Network

_MEANS = {"float64": kernels.mean, "float32": kernels.mean_single}


@dataclass(frozen=True, eq=False)
class AUCMLP(Defaults):
    """AUC of a multilayer perceptron; build it with :meth:`from_data`.

    Parameters
    ----------
    records : ndarray, (n, k + 1) float64
        Rows (x, y) with |x| <= 1 and y in {-1, 1}.
    weights : ndarray, (3,)
        s+, s- and s0.
    hidden : tuple of int
        Widths of the hidden layers.
    slope : float
        Slope of the leaky ReLU, in (0, 1].
    radius : float
        B > 0, inf for none.
    seed : int
        Seed of the start, which is public.
    dtype : str
        "float64", or "float32" for the matrix products of minibatches' gradients, which then take half the time.
        Points, noise and sums of squares are float64 in either case. Clipping norms are lowered by 1e-5, relatively,
        so that roundings of float32 leave a record's gradient within the norm that is accounted for.
    """

    records: Array
    weights: Array
    hidden: tuple[int, ...] = (256,)
    slope: float = 0.01
    radius: float = math.inf
    seed: int = 0
    dtype: str = "float64"
    name: str = "auc_mlp"
    network: Network = field(init=False)

    gradient = staticmethod(kernels.gradient)
    value = staticmethod(kernels.value)
    difference = staticmethod(kernels.difference)
    ascent = staticmethod(kernels.ascent)
    convex = False
    dim_v = 1

    def __post_init__(self) -> None:
        network = Network((self.records.shape[1] - 1, *self.hidden, 1), self.slope)
        self._set(hidden=tuple(self.hidden), network=network)
        require(self.radius > 0, "radius", "be > 0", self.radius)
        require(self.dtype in _MEANS, "dtype", f"be one of {', '.join(_MEANS)}", self.dtype)

    @classmethod
    def from_data(
        cls, X: object, y: object, *, positive_share: float | None = None, hidden: Sequence[int] = (256,),
        slope: float = 0.01, radius: float = math.inf, seed: int = 0, dtype: str = "float64",
    ) -> AUCMLP:  # fmt: skip
        """Make the problem of features and labels.

        Parameters
        ----------
        X : array_like, (n, k)
            Features with |x| <= 1.
        y : array_like, (n,)
            Labels in {-1, 1}.
        positive_share : float, optional
            As in :meth:`AUC.from_data`.
        hidden : sequence of int
            Widths of the hidden layers.
        slope : float
            Slope of the leaky ReLU, in (0, 1].
        radius : float
            B > 0, inf for none.
        seed : int
            Seed of the start.
        dtype : str
            "float64" or "float32", see :class:`AUCMLP`.

        Returns
        -------
        AUCMLP
            The problem.
        """
        return cls(*labelled(X, y, positive_share), tuple(hidden), slope, radius, seed, dtype)

    @classmethod
    def example(cls, rng: np.random.Generator) -> AUCMLP:
        """Draw the example: the 200 records of the linear problem's example, 8 hidden units, B = 3."""
        linear = AUC.example(rng)
        return cls(linear.records.copy(), linear.params, (8,), radius=3.0)

    @property
    def mean(self) -> Any:  # type: ignore[override]
        """The kernel of clipped means, in the precision of ``dtype``."""
        return _MEANS[self.dtype]

    @property
    def params(self) -> Array:
        """(s+, s-, s0, slope, widths)."""
        return np.array([*self.weights, self.slope, *self.network.widths], float)

    @property
    def dim_w(self) -> int:
        """theta, a, b."""
        return self.network.size + 2

    @property
    def domain_w(self) -> Array:
        """|theta| <= B, |a| <= H, |b| <= H."""
        return blocks((self.dim_w - 2, BALL, self.radius), (2, BOX, self._bounds[0]))

    @property
    def reach(self) -> float:
        """2H, the largest |v|."""
        return 2 * self._bounds[0]

    @property
    def start(self) -> Array:
        """theta random, everything else 0."""
        return np.concatenate([self.network.begin(self.seed, self.radius), np.zeros(3)])

    def constants(self) -> Constants:
        """G_w and G_v of the file's head; a clipped derivative in the scalar v falls with slope 2 s0 or 0."""
        (H, D, _), (s_plus, s_minus, s0) = self._bounds, self.weights
        s = max(s_plus, s_minus)
        return Constants(
            lipschitz_w=float(2 * s * math.hypot((4 * H + 1) * D, 2 * H)),
            lipschitz_v=float((2 * s + 4 * s0) * H),
            concavity=float(2 * s0),
            ascent_limit=float(1 / s0),
        )

    def scores(self, w: Array, X: Array) -> Array:
        """Return the scores h (n,) of the rows of X (n, k) at w."""
        return self.network.outputs(w[:-2], X)[:, 0]

    @property
    def _bounds(self) -> tuple[float, float, float]:
        return self.network.bounds(1.0, self.radius)
