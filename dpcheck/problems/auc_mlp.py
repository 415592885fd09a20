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
from numba import types

from dpcheck.errors import require, require_count
from dpcheck.kernels import mlp
from dpcheck.kernels.jit import (
    DIFFERENCE_SIGNATURE,
    GRADIENT_SIGNATURE,
    INDICES,
    MATRIX,
    MEAN_SIGNATURE,
    VALUE_SIGNATURE,
    VECTOR,
    kernel,
)
from dpcheck.problems.auc import AUC
from dpcheck.problems.problem import BALL, BOX, Array, Defaults, ball, blocks

# params: s+, s-, s0, slope, widths


@kernel(GRADIENT_SIGNATURE)
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


@kernel(VALUE_SIGNATURE)
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


@kernel(types.void(VECTOR, MATRIX, INDICES, VECTOR, types.int64, types.int64, INDICES, types.int64, VECTOR, MATRIX))
def backpropagated(params, records, index, x, d, first, widths, rows, work, rest):  # type: ignore[no-untyped-def]
    """Inputs and signals of f for the records ``index`` at x, in the rows from ``first`` on.

    rest : (index.size, 3), the gradients in a, b and v
    """
    stop, last = first + index.size, records.shape[1] - 1
    mlp.gather(records, index, mlp.inputs(work, widths, rows, 0)[first:stop])
    mlp.forward(x[:d], widths, params[3], rows, first, stop, work)
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
    mlp.backward(x[:d], widths, params[3], rows, first, stop, work)


@kernel(types.void(VECTOR, MATRIX, types.int64, VECTOR, VECTOR, VECTOR))
def add_rest(square, rest, batch, clip, scale, out):  # type: ignore[no-untyped-def]
    """Weights of the records' clipped gradients in ``scale``; their parts in a, b and v added to ``out``."""
    d = out.size - 3
    for j in range(rest.shape[0]):
        a, b, v = rest[j, 0], rest[j, 1], rest[j, 2]
        scale[j] = mlp.clip_weight(square[j] + a * a + b * b, clip[0]) / batch
        out[d] += scale[j] * a
        out[d + 1] += scale[j] * b
        out[d + 2] += mlp.clip_weight(v * v, clip[1]) / batch * v


@kernel(MEAN_SIGNATURE)
def mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean by matrix products, see ``dpcheck.kernels.mlp``; ``gradient`` is not called."""
    params, records, _, _, _, dim_w = data
    widths, d = mlp.widths_of(params[4:]), dim_w - 2
    chunk = min(index.size, mlp.CHUNK)
    work, square, scale = np.empty(chunk * mlp.room(widths)), np.empty(chunk), np.empty(chunk)
    rest = np.empty((chunk, 3))
    out[d if index.size > 0 else 0 :] = 0.0  # the products fill the rest
    for start in range(0, index.size, mlp.CHUNK):
        part = index[start : start + mlp.CHUNK]
        m = part.size
        backpropagated(params, records, part, x, d, 0, widths, chunk, work, rest)
        mlp.squares(widths, chunk, work, square[:m])
        add_rest(square, rest[:m], batch, clip, scale, out)
        mlp.weighted_sum(widths, chunk, work, scale[:m], start > 0, out[:d])


@kernel(DIFFERENCE_SIGNATURE)
def difference(gradient, data, index, x, old_index, old_x, batch, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean of gradient differences by matrix products; ``gradient`` is not called."""
    params, records, _, _, _, dim_w = data
    widths, d = mlp.widths_of(params[4:]), dim_w - 2
    chunk = min(index.size, mlp.CHUNK)
    work, square, scale = np.empty(2 * chunk * mlp.room(widths)), np.empty(chunk), np.empty(2 * chunk)
    rest, old_rest = np.empty((chunk, 3)), np.empty((chunk, 3))
    out[d if index.size > 0 else 0 :] = 0.0
    for start in range(0, index.size, mlp.CHUNK):
        part, old_part = index[start : start + mlp.CHUNK], old_index[start : start + mlp.CHUNK]
        m = part.size
        backpropagated(params, records, part, x, d, 0, widths, 2 * chunk, work, rest)
        backpropagated(params, records, old_part, old_x, d, m, widths, 2 * chunk, work, old_rest)
        mlp.difference_squares(widths, 2 * chunk, work, 1, square[:m])
        for j in range(m):
            for k in range(3):
                rest[j, k] -= old_rest[j, k]
        add_rest(square, rest[:m], batch, clip, scale, out)
        for j in range(m):
            scale[m + j] = -scale[j]
        mlp.weighted_sum(widths, 2 * chunk, work, scale[: 2 * m], start > 0, out[:d])


@dataclass(frozen=True)
class Network:
    """A multilayer perceptron as the problems see it; its kernels are in ``dpcheck.kernels.mlp``.

    widths : of inputs, hidden layers and outputs;  slope : of the leaky ReLU for negative arguments
    """

    widths: tuple[int, ...]
    slope: float

    def __post_init__(self) -> None:
        for width in self.widths:
            require_count(width, "hidden")
        require(0 < self.slope <= 1, "slope", "lie in (0, 1]", self.slope)

    @property
    def size(self) -> int:
        """Number of parameters, biases included."""
        return sum((below + 1) * width for below, width in zip(self.widths, self.widths[1:], strict=False))

    def layers(self, theta: Array) -> list[Array]:
        """The matrices W_l : (w_{l-1} + 1, w_l), biases last, views of ``theta``."""
        found, start = [], 0
        for below, width in zip(self.widths, self.widths[1:], strict=False):
            stop = start + (below + 1) * width
            found.append(theta[start:stop].reshape(below + 1, width))
            start = stop
        return found

    def begin(self, seed: int, radius: float = math.inf) -> Array:
        """Parameters uniform on +-1/sqrt(w_{l-1}) in layer l, scaled into the ball of this radius."""
        rng = np.random.default_rng(seed)
        theta = np.empty(self.size)
        for matrix in self.layers(theta):
            matrix[:] = rng.uniform(-1.0, 1.0, matrix.shape) / math.sqrt(len(matrix) - 1)
        norm = float(np.linalg.norm(theta))
        return theta if norm <= radius else theta * (radius * (1 - 1e-12) / norm)

    def outputs(self, theta: Array, X: Array) -> Array:
        """Outputs at the rows of X : (n, w_0) -> (n, w_L)."""
        *hidden, last = self.layers(theta)
        for matrix in hidden:
            z = X @ matrix[:-1] + matrix[-1]
            X = np.where(z >= 0, z, self.slope * z)
        outputs: Array = X @ last[:-1] + last[-1]
        return outputs

    def bounds(self, inputs: float, radius: float) -> tuple[float, float, float]:
        """H, D and B^L for |x| <= inputs and |theta| <= radius = B.

        Each activation is 1-Lipschitz and 0 at 0, and each |W_l| <= B, so the inputs of layer l + 1, with the 1
        that multiplies the biases, have norm at most H_0 = hypot(inputs, 1), H_l = hypot(B H_{l-1}, 1), and the
        outputs at most H = B H_{L-1}. The signal that comes back to layer l from a unit vector at the outputs
        has norm at most B^{L-l}, with one more factor B at the inputs. So the gradient of <u, output>, |u| <= 1,
        is at most D = sqrt(sum over l of H_{l-1}^2 B^{2(L-l)}) in theta, and B^L in x.
        """
        norms = [math.hypot(inputs, 1.0)]
        for _ in self.widths[2:]:
            norms.append(math.hypot(radius * norms[-1], 1.0))
        depth = len(norms)
        slopes = [norm * radius ** (depth - 1 - layer) for layer, norm in enumerate(norms)]
        return radius * norms[-1], math.hypot(*slopes), radius**depth


@dataclass(frozen=True, eq=False)
class AUCMLP(Defaults):
    """Build it with :meth:`from_data`.

    records : (n, k + 1) float64, rows (x, y), |x| <= 1, y in {-1, 1}
    weights : (3,) s+, s-, s0;  hidden : widths of the hidden layers;  slope : in (0, 1]
    radius : B > 0, inf for none;  seed : of the start, which is public
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
        """From features X : (n, k), |x| <= 1, and labels y : (n,) in {-1, 1}; see :meth:`AUC.from_data`."""
        linear = AUC.from_data(X, y, positive_share=positive_share)
        return cls(linear.records, linear.params, tuple(hidden), slope, radius, seed)

    @classmethod
    def example(cls, rng: np.random.Generator) -> AUCMLP:
        """The 200 records of the linear problem's example, 8 hidden units, B = 3."""
        linear = AUC.example(rng)
        return cls(linear.records, linear.params, (8,), radius=3.0)

    gradient: ClassVar[Callable[..., Any]] = staticmethod(gradient)
    value: ClassVar[Callable[..., Any]] = staticmethod(value)
    mean: ClassVar[Callable[..., Any]] = staticmethod(mean)
    difference: ClassVar[Callable[..., Any]] = staticmethod(difference)

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
        """h of the rows of X : (n, k) at w."""
        return self.network.outputs(w[:-2], X)[:, 0]

    @property
    def _bounds(self) -> tuple[float, float, float]:
        return self.network.bounds(1.0, self.radius)
