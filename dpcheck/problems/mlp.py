"""Multilayer perceptrons: many records at once by matrix products, and one record in plain loops.

A network has widths (w_0, ..., w_L), linear layers with biases, leaky ReLU between them (slope > 0 for
negative arguments, 1 for the others) and a linear last layer. Its parameters are one vector,
layer after layer the matrix W_l : (w_{l-1} + 1, w_l) row by row, whose last row are the biases: a layer
is z_l = (a_{l-1}, 1) W_l, a_l = leaky(z_l).

The gradient of one record in W_l is the outer product of the layer's input (a_{l-1}, 1) and the signal
s_l that comes back to z_l, so its square norm is |input|^2 |signal|^2, and a weighted sum of per-record
gradients is inputs' diag(weights) signals: clipping one record at a time takes a forward and a backward
pass and one more product a layer, and no per-record gradient is ever formed.

For a difference of gradients the identity |a b' - c d'|^2 = |a|^2|b|^2 + |c|^2|d|^2 - 2<a,c><b,d>
cancels when the two are close, which is what variance reduction is about: at relative distance r it loses
all digits from r = 1e-8 on. Here a b' - c d' is first written as e t' + s f' with e = a - c, s = (a + c)/2,
t = (b + d)/2, f = b - d, where nothing cancels that did not cancel in e and f.

``work`` vectors hold the inputs and signals of ``rows`` records, layer after layer. In single precision, products are
too; sums of squares are in double all the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array
from dpcheck.errors import require, require_work

CHUNK = 256  # records that are processed at once: their inputs and signals stay in the cache


class Layers(NamedTuple):
    """A network at work: its widths, the records that it has rows for, and their inputs and signals."""

    widths: NDArray[np.int64]
    rows: int
    work: NDArray[np.float64]


SINGLE_LAYERS = types.NamedTuple((types.int64[::1], types.int64, types.float32[::1]), Layers)


@kernel("indices(vector)")
def widths_of(numbers):  # type: ignore[no-untyped-def]
    """Return the widths, kept among a problem's float parameters, as integers."""
    widths = np.empty(numbers.size, np.int64)
    for i in range(numbers.size):
        widths[i] = np.int64(numbers[i])
    return widths


@kernel("int64(indices)")
def parameters(widths):  # type: ignore[no-untyped-def]
    """Count the parameters of a network."""
    count = 0
    for layer in range(1, widths.size):
        count += (widths[layer - 1] + 1) * widths[layer]
    return count


@kernel("int64(indices)")
def room(widths):  # type: ignore[no-untyped-def]
    """Count the numbers that a record takes in ``work``."""
    count = widths[-1]
    for layer in range(widths.size - 1):
        count += widths[layer] + 1
        if layer > 0:
            count += widths[layer]
    return count


@kernel("matrix(vector, indices, int64)", "single_matrix(single_vector, indices, int64)")
def weights(theta, widths, layer):  # type: ignore[no-untyped-def]
    """Return W_l, l = 1..L, a view."""
    start = 0
    for below in range(1, layer):
        start += (widths[below - 1] + 1) * widths[below]
    rows, columns = widths[layer - 1] + 1, widths[layer]
    return theta[start : start + rows * columns].reshape((rows, columns))


@kernel("matrix(vector, indices, int64, int64)", "single_matrix(single_vector, indices, int64, int64)")
def inputs(work, widths, rows, layer):  # type: ignore[no-untyped-def]
    """Return (a_l, 1) of all records, l = 0..L-1, (rows, w_l + 1), a view."""
    start = 0
    for below in range(layer):
        start += rows * (widths[below] + 1)
    columns = widths[layer] + 1
    return work[start : start + rows * columns].reshape((rows, columns))


@kernel("matrix(vector, indices, int64, int64)", "single_matrix(single_vector, indices, int64, int64)")
def signals(work, widths, rows, layer):  # type: ignore[no-untyped-def]
    """Return z_l after the forward pass, s_l after the backward pass, l = 1..L, (rows, w_l), a view."""
    start = 0
    for below in range(widths.size - 1):
        start += rows * (widths[below] + 1)
    for below in range(1, layer):
        start += rows * widths[below]
    columns = widths[layer]
    return work[start : start + rows * columns].reshape((rows, columns))


@kernel("void(matrix, indices, matrix)", "void(matrix, indices, single_matrix)")
def gather(records, index, out):  # type: ignore[no-untyped-def]
    """Fill the inputs of the first layer: the leading columns of the records ``index``, and 1."""
    last = out.shape[1] - 1
    for j in range(index.size):
        i = index[j]
        for k in range(last):
            out[j, k] = records[i, k]
        out[j, last] = 1.0


@kernel(
    "void(vector, indices, float64, int64, int64, int64, vector)",
    "void(single_vector, indices, float64, int64, int64, int64, single_vector)",
)
def forward(theta, widths, slope, rows, first, stop, work):  # type: ignore[no-untyped-def]
    """Fill inputs and z of the rows first..stop-1 from the first layer's inputs; the last z is the output."""
    top = widths.size - 1
    for layer in range(1, top + 1):
        z = signals(work, widths, rows, layer)[first:stop]
        np.dot(inputs(work, widths, rows, layer - 1)[first:stop], weights(theta, widths, layer), z)
        if layer < top:
            width, one, less = widths[layer], z.dtype.type(1.0), z.dtype.type(slope)
            a = inputs(work, widths, rows, layer)[first:stop]
            for j in range(z.shape[0]):
                for k in range(width):
                    a[j, k] = z[j, k] * (one if z[j, k] >= 0.0 else less)
                a[j, width] = 1.0


@kernel(
    "void(vector, indices, float64, int64, int64, int64, vector)",
    "void(single_vector, indices, float64, int64, int64, int64, single_vector)",
)
def backward(theta, widths, slope, rows, first, stop, work):  # type: ignore[no-untyped-def]
    """Fill the signals of the rows first..stop-1, layers L-1 down to 1, from those of layer L."""
    for layer in range(widths.size - 2, 0, -1):
        width = widths[layer]
        s = signals(work, widths, rows, layer)[first:stop]
        np.dot(
            signals(work, widths, rows, layer + 1)[first:stop],
            np.transpose(weights(theta, widths, layer + 1)[:width]),
            s,
        )
        a, one, less = inputs(work, widths, rows, layer)[first:stop], s.dtype.type(1.0), s.dtype.type(slope)
        for j in range(s.shape[0]):
            for k in range(width):
                s[j, k] *= one if a[j, k] >= 0.0 else less


@kernel("float64(vector, vector)", "float64(single_vector, single_vector)")
def inner(a, b):  # type: ignore[no-untyped-def]
    """Return the inner product <a, b>."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel("void(indices, int64, vector, vector)", "void(indices, int64, single_vector, vector)")
def squares(widths, rows, work, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with square norms of the gradients of its rows: the sum over layers of |input|^2 |signal|^2."""
    out[:] = 0.0
    for layer in range(1, widths.size):
        a, s = inputs(work, widths, rows, layer - 1), signals(work, widths, rows, layer)
        for j in range(out.size):
            out[j] += inner(a[j], a[j]) * inner(s[j], s[j])


@kernel("float64(matrix, matrix)")
def outer_square(left, right):  # type: ignore[no-untyped-def]
    """Return |sum_i left_i right_i'|^2 = sum over i and j of <left_i, left_j> <right_i, right_j>, at least 0."""
    total = 0.0
    for i in range(left.shape[0]):
        total += inner(left[i], left[i]) * inner(right[i], right[i])
        for j in range(i):
            total += 2.0 * inner(left[i], left[j]) * inner(right[i], right[j])
    return max(total, 0.0)


class Outer(NamedTuple):
    """An outer product: an input times a signal."""

    a: NDArray[np.float64]
    s: NDArray[np.float64]


@kernel("void(Outer, Outer, float64, matrix, matrix, int64)")
def split(new, old, sign, left, right, at):  # type: ignore[no-untyped-def]
    """Write sign (new - old) as the outer products ``at`` and ``at`` + 1 of rows of ``left`` and ``right``."""
    a, b, c, d = new.a, new.s, old.a, old.s
    for i in range(a.size):
        left[at, i] = a[i] - c[i]
        left[at + 1, i] = 0.5 * (a[i] + c[i])
    for i in range(b.size):
        right[at, i] = 0.5 * sign * (b[i] + d[i])
        right[at + 1, i] = sign * (b[i] - d[i])


@kernel("void(matrix, matrix, int64, vector)")
def add_difference_squares(a, s, pairs, out):  # type: ignore[no-untyped-def]
    """Add square norms of differences of outer products a_i s_i' to ``out``.

    The rows are 2 ``pairs`` blocks of m = ``out.size``: row j of block 0 minus row j of block 1, and with two
    pairs from that row j of block 2 minus row j of block 3.
    """
    m = out.size
    left, right = np.empty((2 * pairs, a.shape[1])), np.empty((2 * pairs, s.shape[1]))
    for j in range(m):
        for pair in range(pairs):
            new = 2 * pair * m + j
            one, other = Outer(a[new], s[new]), Outer(a[new + m], s[new + m])
            split(one, other, 1.0 - 2.0 * pair, left, right, 2 * pair)
        out[j] += outer_square(left, right)


@kernel("void(indices, int64, vector, int64, vector)")
def difference_squares(widths, rows, work, pairs, out):  # type: ignore[no-untyped-def]
    """Fill square norms of differences of gradients, the rows in blocks as in :func:`add_difference_squares`."""
    out[:] = 0.0
    for layer in range(1, widths.size):
        a, s = inputs(work, widths, rows, layer - 1), signals(work, widths, rows, layer)
        add_difference_squares(a, s, pairs, out)


@kernel("float64(float64, float64)")
def clip_weight(square, bound):  # type: ignore[no-untyped-def]
    """Return the factor min(1, bound / |g|) from |g|^2."""
    return 1.0 if bound == np.inf or square <= bound * bound else bound / np.sqrt(square)


@kernel(
    "void(indices, int64, vector, vector, boolean, vector)",
    "void(indices, int64, single_vector, vector, boolean, single_vector)",
)
def weighted_sum(widths, rows, work, scale, add, out):  # type: ignore[no-untyped-def]
    """Write or ``add`` the first rows' gradients, weighted by ``scale``, to ``out``; the signals are overwritten."""
    for layer in range(1, widths.size):
        a = inputs(work, widths, rows, layer - 1)[: scale.size]
        s = signals(work, widths, rows, layer)[: scale.size]
        for j in range(scale.size):
            factor = s.dtype.type(scale[j])
            for k in range(s.shape[1]):
                s[j, k] *= factor
        g = weights(out, widths, layer)
        if add:
            part = np.empty((a.shape[1], s.shape[1]), a.dtype)
            np.dot(np.transpose(a), s, part)
            for i in range(part.shape[0]):
                for k in range(part.shape[1]):
                    g[i, k] += part[i, k]
        else:
            np.dot(np.transpose(a), s, g)


@kernel("int64(vector, indices, float64, vector, vector)")
def activate(theta, widths, slope, x, a):  # type: ignore[no-untyped-def]
    """Compute one record's layers one after another in ``a``, in plain loops; returns where the output begins."""
    for i in range(widths[0]):
        a[i] = x[i]
    start, at = 0, 0
    for layer in range(1, widths.size):
        below, width = widths[layer - 1], widths[layer]
        for k in range(width):
            z = theta[at + below * width + k]
            for i in range(below):
                z += a[start + i] * theta[at + i * width + k]
            a[start + below + k] = z if layer == widths.size - 1 or z >= 0.0 else slope * z
        start += below
        at += (below + 1) * width
    return start


@kernel("void(vector, indices, float64, vector, vector, vector, vector)")
def propagate(theta, widths, slope, a, top, out, out_x):  # type: ignore[no-untyped-def]
    """Compute gradients of <top, output> in the parameters and in x of one record, from :func:`activate`."""
    start, at = 0, theta.size
    for layer in range(widths.size - 1):
        start += widths[layer]
    signal = top.copy()
    for layer in range(widths.size - 1, 0, -1):
        below, width = widths[layer - 1], widths[layer]
        start -= below
        at -= (below + 1) * width
        back = np.zeros(below)
        for i in range(below):
            for k in range(width):
                out[at + i * width + k] = a[start + i] * signal[k]
                back[i] += theta[at + i * width + k] * signal[k]
            if layer > 1 and a[start + i] < 0.0:
                back[i] *= slope
        for k in range(width):
            out[at + below * width + k] = signal[k]
        signal = back
    for i in range(signal.size):
        out_x[i] = signal[i]


@dataclass(frozen=True)
class Network:
    """Widths and slope of a multilayer perceptron, and what follows from them.

    Parameters
    ----------
    widths : tuple of int
        Of inputs, hidden layers and outputs.
    slope : float
        Slope of the leaky ReLU for negative arguments.
    """

    widths: tuple[int, ...]
    slope: float

    def __post_init__(self) -> None:
        for width in self.widths:
            require_work(width, "hidden")
        require(0 < self.slope <= 1, "slope", "lie in (0, 1]", self.slope)

    @property
    def size(self) -> int:
        """Number of parameters, biases included."""
        return sum((below + 1) * width for below, width in zip(self.widths, self.widths[1:], strict=False))

    def layers(self, theta: Array) -> list[Array]:
        """The matrices W_l : (w_{l-1} + 1, w_l), biases last, views of ``theta``."""
        matrices, start = [], 0
        for below, width in zip(self.widths, self.widths[1:], strict=False):
            stop = start + (below + 1) * width
            matrices.append(theta[start:stop].reshape(below + 1, width))
            start = stop
        return matrices

    def begin(self, seed: int, radius: float = math.inf) -> Array:
        """Draw parameters uniformly from +-1/sqrt(w_{l-1}) in layer l, scaled into the ball of this radius.

        Parameters
        ----------
        seed : int
            Seed of the draw.
        radius : float
            Radius of the ball, inf for none.

        Returns
        -------
        ndarray, (size,)
            The parameters.
        """
        rng = np.random.default_rng(seed)
        theta = np.empty(self.size)
        for matrix in self.layers(theta):
            matrix[:] = rng.uniform(-1.0, 1.0, matrix.shape) / math.sqrt(len(matrix) - 1)
        norm = float(np.linalg.norm(theta))
        return theta if norm <= radius else theta * (radius * (1 - 1e-12) / norm)

    def outputs(self, theta: Array, X: Array) -> Array:
        """Compute the outputs (n, w_L) at the rows of X (n, w_0), with parameters theta (size,)."""
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
