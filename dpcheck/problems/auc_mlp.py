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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dpcheck.errors import require
from dpcheck.problems import auc_mlp_kernels as kernels
from dpcheck.problems.auc import AUC
from dpcheck.problems.network import Network
from dpcheck.problems.problem import BALL, BOX, Array, Defaults, ball, blocks


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
    """

    records: Array
    weights: Array
    hidden: tuple[int, ...] = (256,)
    slope: float = 0.01
    radius: float = math.inf
    seed: int = 0
    name: str = "auc_mlp"
    network: Network = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        object.__setattr__(self, "network", Network((self.records.shape[1] - 1, *self.hidden, 1), self.slope))
        require(self.radius > 0, "radius", "be > 0", self.radius)

    @classmethod
    def from_data(
        cls, X: object, y: object, *, positive_share: float | None = None, hidden: Sequence[int] = (256,),
        slope: float = 0.01, radius: float = math.inf, seed: int = 0,
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

        Returns
        -------
        AUCMLP
            The problem.
        """
        linear = AUC.from_data(X, y, positive_share=positive_share)
        return cls(linear.records, linear.params, tuple(hidden), slope, radius, seed)

    @classmethod
    def example(cls, rng: np.random.Generator) -> AUCMLP:
        """Draw the example: the 200 records of the linear problem's example, 8 hidden units, B = 3."""
        linear = AUC.example(rng)
        return cls(linear.records, linear.params, (8,), radius=3.0)

    convex: ClassVar[bool] = False
    gradient: ClassVar[Callable[..., Any]] = staticmethod(kernels.gradient)
    value: ClassVar[Callable[..., Any]] = staticmethod(kernels.value)
    mean: ClassVar[Callable[..., Any]] = staticmethod(kernels.mean)
    difference: ClassVar[Callable[..., Any]] = staticmethod(kernels.difference)

    @property
    def params(self) -> Array:
        """(s+, s-, s0, slope, widths)."""
        return np.array([*self.weights, self.slope, *self.network.widths], float)

    @property
    def dim_w(self) -> int:
        """theta, a, b."""
        return self.network.size + 2

    @property
    def dim_v(self) -> int:
        """One."""
        return 1

    @property
    def domain_w(self) -> Array:
        """|theta| <= B, |a| <= H, |b| <= H."""
        return blocks((self.dim_w - 2, BALL, self.radius), (2, BOX, self._bounds[0]))

    @property
    def domain_v(self) -> Array:
        """|v| <= 2H."""
        return ball(1, 2 * self._bounds[0])

    @property
    def start(self) -> Array:
        """theta random, everything else 0."""
        return np.concatenate([self.network.begin(self.seed, self.radius), np.zeros(3)])

    @property
    def lipschitz_w(self) -> float:
        """G_w, see the file's head."""
        (H, D, _), s = self._bounds, max(self.weights[0], self.weights[1])
        return float(2 * s * math.hypot((4 * H + 1) * D, 2 * H))

    @property
    def lipschitz_v(self) -> float:
        """G_v, see the file's head."""
        (H, _, _), s = self._bounds, max(self.weights[0], self.weights[1])
        return float((2 * s + 4 * self.weights[2]) * H)

    smoothness = math.inf

    @property
    def concavity(self) -> float:
        return float(2 * self.weights[2])

    @property
    def ascent_limit(self) -> float:
        """2/(2 s0): a clipped derivative in the scalar v falls with slope 2 s0 or 0."""
        return float(1 / self.weights[2])

    def scores(self, w: Array, X: Array) -> Array:
        """Return the scores h (n,) of the rows of X (n, k) at w."""
        return self.network.outputs(w[:-2], X)[:, 0]

    @property
    def _bounds(self) -> tuple[float, float, float]:
        return self.network.bounds(1.0, self.radius)
