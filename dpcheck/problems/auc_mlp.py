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

from dpcheck.algorithms.kernels.jit import Place, kernel
from dpcheck.algorithms.kernels.parts import Shape
from dpcheck.algorithms.problem import Array, Constants, Defaults, blocks
from dpcheck.errors import require
from dpcheck.problems import mlp
from dpcheck.problems.auc import AUC, climb
from dpcheck.problems.mlp import Network

# params: s+, s-, s0, slope, widths

# What single precision may add to the norm of a record's clipped gradient, of some hundred roundings of 6e-8 that
# mostly cancel.
SINGLE_ERROR = 1e-5


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record (x, y), in plain loops."""
    widths, d = mlp.widths_of(params[4:]), w.size - 2
    a = np.empty(widths.sum())
    h = a[mlp.activate(w[:d], widths, params[3], record, a)]
    if record[record.size - 1] > 0:
        weight, centre, sign = params[0], w[d], -1.0
    else:
        weight, centre, sign = params[1], w[d + 1], 1.0
    pull = 2.0 * weight * (centre - h)
    top, unused = np.empty(1), np.empty(widths[0])
    top[0] = 2.0 * weight * sign * (1.0 + v[0]) - pull
    mlp.propagate(w[:d], widths, params[3], a, top, out_w[:d], unused)
    out_w[d] = pull if sign < 0 else 0.0
    out_w[d + 1] = pull if sign > 0 else 0.0
    out_v[0] = 2.0 * (sign * weight * h - params[2] * v[0])


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (x, y)."""
    widths, d = mlp.widths_of(params[4:]), w.size - 2
    a = np.empty(widths.sum())
    h = a[mlp.activate(w[:d], widths, params[3], record, a)]
    if record[record.size - 1] > 0:
        weight, centre, sign = params[0], w[d], -1.0
    else:
        weight, centre, sign = params[1], w[d + 1], 1.0
    return weight * ((h - centre) * (h - centre) + 2.0 * sign * (1.0 + v[0]) * h) - params[2] * v[0] * v[0]


@kernel(
    "void(data, place, vector, int64, mlp.Layers, matrix)",
    "void(data, place, single_vector, int64, mlp.SINGLE_LAYERS, matrix)",
)
def backpropagated(data, place, theta, first, layers, rest):  # type: ignore[no-untyped-def]
    """Inputs and signals of f for the records of a place, in the rows from ``first`` on.

    theta : the network's part of the place, in the precision of the layers
    rest : (records, 3), the gradients in a, b and v
    """
    params, records, d = data.params, data.records, data.dim_w - 2
    index, x = place
    widths, rows, work = layers
    stop, last = first + index.size, records.shape[1] - 1
    mlp.gather(records, index, mlp.inputs(work, widths, rows, 0)[first:stop])
    mlp.forward(theta, widths, params[3], rows, first, stop, work)
    top = mlp.signals(work, widths, rows, widths.size - 1)
    v = x[d + 2]
    for j in range(index.size):
        h = top[first + j, 0]
        positive = records[index[j], last] > 0
        weight, sign = (params[0], -1.0) if positive else (params[1], 1.0)
        pull = 2.0 * weight * (x[d if positive else d + 1] - h)
        top[first + j, 0] = 2.0 * weight * sign * (1.0 + v) - pull
        rest[j, 0] = pull if positive else 0.0
        rest[j, 1] = 0.0 if positive else pull
        rest[j, 2] = 2.0 * (sign * weight * h - params[2] * v)
    mlp.backward(theta, widths, params[3], rows, first, stop, work)


@kernel("void(vector, matrix, int64, vector, vector, vector)")
def add_rest(square, rest, batch, clip, scale, out):  # type: ignore[no-untyped-def]
    """Weights of the records' clipped gradients in ``scale``; their parts in a, b and v added to ``out``."""
    d = out.size - 3
    for j in range(rest.shape[0]):
        a, b, v = rest[j, 0], rest[j, 1], rest[j, 2]
        scale[j] = mlp.clip_weight(square[j] + a * a + b * b, clip[0]) / batch
        out[d] += scale[j] * a
        out[d + 1] += scale[j] * b
        out[d + 2] += mlp.clip_weight(v * v, clip[1]) / batch * v


@kernel(
    "void(data, indices, int64, vector, vector, vector, mlp.Layers, vector, vector)",
    "void(data, indices, int64, vector, vector, single_vector, mlp.SINGLE_LAYERS, single_vector, vector)",
)
def add_chunks(data, index, batch, x, clip, theta, layers, total, out):  # type: ignore[no-untyped-def]
    """Clipped mean, as many records at a time as the layers have rows for: ``total`` in theta, ``out`` in the rest."""
    widths, chunk, work = layers
    square, scale, rest = np.empty(chunk), np.empty(chunk), np.empty((chunk, 3))
    for start in range(0, index.size, max(chunk, 1)):
        part = index[start : start + chunk]
        m = part.size
        backpropagated(data, Place(part, x), theta, 0, layers, rest)
        mlp.squares(widths, chunk, work, square[:m])
        add_rest(square, rest[:m], batch, clip, scale, out)
        mlp.weighted_sum(widths, chunk, work, scale[:m], start > 0, total)


@kernel("mean")
def mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean by matrix products, see ``dpcheck.problems.mlp``; ``gradient`` is not called."""
    widths, d, chunk = mlp.widths_of(data.params[4:]), data.dim_w - 2, min(index.size, mlp.CHUNK)
    out[d if index.size > 0 else 0 :] = 0.0  # the products fill the rest
    layers = mlp.Layers(widths, chunk, np.empty(chunk * mlp.room(widths)))
    add_chunks(data, index, batch, x, clip, x[:d], layers, out[:d], out)


@kernel("mean")
def mean_single(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Compute ``mean`` by products in single precision, with norms lowered by more than these are off."""
    widths, d, chunk = mlp.widths_of(data.params[4:]), data.dim_w - 2, min(index.size, 2 * mlp.CHUNK)
    layers = mlp.Layers(widths, chunk, np.empty(chunk * mlp.room(widths), np.float32))
    total = np.zeros(d, np.float32)
    out[d:] = 0.0
    add_chunks(data, index, batch, x, (1.0 - SINGLE_ERROR) * clip, x[:d].astype(np.float32), layers, total, out)
    out[:d] = total


@kernel("difference")
def difference(gradient, data, new, old, batch, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean of gradient differences by matrix products; ``gradient`` is not called."""
    index, old_index, d = new.chosen, old.chosen, data.dim_w - 2
    widths, chunk = mlp.widths_of(data.params[4:]), min(index.size, mlp.CHUNK)
    work, square, scale = np.empty(2 * chunk * mlp.room(widths)), np.empty(chunk), np.empty(2 * chunk)
    layers, rest, old_rest = mlp.Layers(widths, 2 * chunk, work), np.empty((chunk, 3)), np.empty((chunk, 3))
    out[d if index.size > 0 else 0 :] = 0.0
    for start in range(0, index.size, mlp.CHUNK):
        part, old_part = index[start : start + mlp.CHUNK], old_index[start : start + mlp.CHUNK]
        m = part.size
        backpropagated(data, Place(part, new.x), new.x[:d], 0, layers, rest)
        backpropagated(data, Place(old_part, old.x), old.x[:d], m, layers, old_rest)
        mlp.difference_squares(widths, 2 * chunk, work, 1, square[:m])
        for j in range(m):
            for k in range(3):
                rest[j, k] -= old_rest[j, k]
        add_rest(square, rest[:m], batch, clip, scale, out)
        for j in range(m):
            scale[m + j] = -scale[j]
        mlp.weighted_sum(widths, 2 * chunk, work, scale[: 2 * m], start > 0, out[:d])


@kernel("ascent")
def ascent(gradient, mean, data, index, steps, clip, point, g):  # type: ignore[no-untyped-def]
    """Climb with scores from one forward pass, since v is not in them; ``gradient`` and ``mean`` are not called."""
    params, records, d = data.params, data.records, data.dim_w - 2
    widths, last = mlp.widths_of(params[4:]), records.shape[1] - 1
    rows = min(index.size, mlp.CHUNK)
    work, pulls = np.empty(rows * mlp.room(widths)), np.empty(index.size)
    top = mlp.signals(work, widths, rows, widths.size - 1)
    for start in range(0, index.size, mlp.CHUNK):
        part = index[start : start + mlp.CHUNK]
        mlp.gather(records, part, mlp.inputs(work, widths, rows, 0)[: part.size])
        mlp.forward(point[:d], widths, params[3], rows, 0, part.size, work)
        for j in range(part.size):
            pulls[start + j] = (-params[0] if records[part[j], last] > 0 else params[1]) * top[j, 0]
    climb(params[2], pulls, steps, clip[1], data.domain_v, point[d + 2 :])


_MEANS = {"float64": mean, "float32": mean_single}


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

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    difference = staticmethod(difference)
    ascent = staticmethod(ascent)
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
        linear = AUC.from_data(X, y, positive_share=positive_share)
        return cls(linear.records.copy(), linear.params, tuple(hidden), slope, radius, seed, dtype)

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
        return blocks((self.dim_w - 2, Shape.BALL, self.radius), (2, Shape.BOX, self._bounds[0]))

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
