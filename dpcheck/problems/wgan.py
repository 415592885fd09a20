"""Wasserstein GAN with multilayer perceptrons: Zhang et al. 2025, Eq. (65).

min over the generator w, max over the discriminator v of the mean of f = D_v(x) - D_v(G_w(z)) - lambda |v|^2.
A record is one image x and one latent vector z, drawn once with the problem: f is then a function of the record,
replacing a record replaces both, and the mean over the records is a fixed objective. (The paper draws z anew.)
D is a leaky-ReLU perceptron with one output, G one with tanh after its last layer, so pixels lie in [-1, 1].
The paper prints the hidden widths, 512-256 for D and 128-256-512-1024 for G; the 100 latent dimensions, the slope
0.2, the biases, lambda = 1e-3 and the start (:meth:`Network.begin`) are chosen here.

Gradients: grad D_v(x) - grad D_v(G_w(z)) - 2 lambda v in v, which is a difference of outer products a layer less
a part that is the same for all records, and in w G's gradient for the signal -(grad_x D) tanh' at its outputs.

Bounds for k pixels, m latent dimensions, |z| <= Z = 2 sqrt(m) (longer draws are shortened), |w|, |v| <= B, from
:meth:`Network.bounds` with inputs sqrt(k) for D and Z for G: G_v = 2 D_D + 2 lambda B, G_w = B^(L of D) D_G.
f is not smooth, and neither convex nor concave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dpcheck.algorithms.kernels.jit import Place, kernel
from dpcheck.algorithms.problem import Array, Constants, Defaults
from dpcheck.errors import require, require_work
from dpcheck.problems import as_records, mlp
from dpcheck.problems.mlp import Network

# params: lambda, slope, number of G's widths, G's widths, D's widths; a record: x, z


@kernel("indices(vector)")
def generator_widths(params):  # type: ignore[no-untyped-def]
    """Widths of G."""
    return mlp.widths_of(params[3 : 3 + np.int64(params[2])])


@kernel("indices(vector)")
def discriminator_widths(params):  # type: ignore[no-untyped-def]
    """Widths of D."""
    return mlp.widths_of(params[3 + np.int64(params[2]) :])


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record, in plain loops."""
    g_widths, d_widths = generator_widths(params), discriminator_widths(params)
    k, penalty, slope = d_widths[0], params[0], params[1]
    a, b, top = np.empty(g_widths.sum()), np.empty(d_widths.sum()), np.ones(1)
    fake, back, part = np.empty(k), np.empty(k), np.empty(v.size)
    mlp.activate(v, d_widths, slope, record, b)
    mlp.propagate(v, d_widths, slope, b, top, out_v, back)
    start = mlp.activate(w, g_widths, slope, record[k:], a)
    for i in range(k):
        fake[i] = np.tanh(a[start + i])
    mlp.activate(v, d_widths, slope, fake, b)
    mlp.propagate(v, d_widths, slope, b, top, part, back)
    for i in range(v.size):
        out_v[i] -= part[i] + 2.0 * penalty * v[i]
    for i in range(k):
        back[i] *= fake[i] * fake[i] - 1.0
    mlp.propagate(w, g_widths, slope, a, back, out_w, np.empty(g_widths[0]))


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record."""
    g_widths, d_widths = generator_widths(params), discriminator_widths(params)
    k = d_widths[0]
    a, b, fake = np.empty(g_widths.sum()), np.empty(d_widths.sum()), np.empty(k)
    real = b[mlp.activate(v, d_widths, params[1], record, b)]
    start = mlp.activate(w, g_widths, params[1], record[k:], a)
    for i in range(k):
        fake[i] = np.tanh(a[start + i])
    return real - b[mlp.activate(v, d_widths, params[1], fake, b)] - params[0] * mlp.inner(v, v)


class Networks(NamedTuple):
    """G and D at work, and the first rows of a place: in G, and in D of the real and of the fake images."""

    g: mlp.Layers
    d: mlp.Layers
    first: int
    real: int
    fake: int


@kernel("void(data, place, Networks)")
def produced(data, place, networks):  # type: ignore[no-untyped-def]
    """Forward passes of the records of a place: D's outputs at the real and the fake images are its last z."""
    params, records, index = data.params, data.records, place.chosen
    w, v = place.x[: data.dim_w], place.x[data.dim_w :]
    g, d, g_first, real, fake = networks
    g_widths, g_rows, g_work = g
    d_widths, d_rows, d_work = d
    k, m, slope = d_widths[0], index.size, params[1]
    images, latent = mlp.inputs(d_work, d_widths, d_rows, 0), mlp.inputs(g_work, g_widths, g_rows, 0)
    mlp.gather(records, index, images[real : real + m])
    for j in range(m):
        for i in range(g_widths[0]):
            latent[g_first + j, i] = records[index[j], k + i]
        latent[g_first + j, g_widths[0]] = 1.0
    mlp.forward(w, g_widths, slope, g_rows, g_first, g_first + m, g_work)
    made = mlp.signals(g_work, g_widths, g_rows, g_widths.size - 1)
    for j in range(m):
        for i in range(k):
            images[fake + j, i] = np.tanh(made[g_first + j, i])
        images[fake + j, k] = 1.0
    mlp.forward(v, d_widths, slope, d_rows, real, real + m, d_work)
    mlp.forward(v, d_widths, slope, d_rows, fake, fake + m, d_work)


@kernel("void(data, place, Networks)")
def backpropagated(data, place, networks):  # type: ignore[no-untyped-def]
    """Backward passes: signals of D(x) and of D(G(z)) in D, signals of f in G."""
    w, v = place.x[: data.dim_w], place.x[data.dim_w :]
    g, d, g_first, real, fake = networks
    g_widths, g_rows, g_work = g
    d_widths, d_rows, d_work = d
    k, m, slope, top = d_widths[0], place.chosen.size, data.params[1], d_widths.size - 1
    last = mlp.signals(d_work, d_widths, d_rows, top)
    last[real : real + m] = 1.0
    last[fake : fake + m] = 1.0
    mlp.backward(v, d_widths, slope, d_rows, real, real + m, d_work)
    mlp.backward(v, d_widths, slope, d_rows, fake, fake + m, d_work)
    images = mlp.inputs(d_work, d_widths, d_rows, 0)
    made = mlp.signals(g_work, g_widths, g_rows, g_widths.size - 1)[g_first : g_first + m]
    np.dot(
        mlp.signals(d_work, d_widths, d_rows, 1)[fake : fake + m],
        np.transpose(mlp.weights(v, d_widths, 1)[:k]),
        made,
    )
    for j in range(m):
        for i in range(k):
            made[j, i] *= images[fake + j, i] * images[fake + j, i] - 1.0
    mlp.backward(w, g_widths, slope, g_rows, g_first, g_first + m, g_work)


@kernel("void(indices, float64, int64, vector, float64, vector)")
def add_own_products(widths, slope, rows, work, factor, out):  # type: ignore[no-untyped-def]
    """Add factor <V, grad D(x) - grad D(G(z))> to ``out``, but for the last layer, where it is D(x) - D(G(z)).

    <V_l, input signal'> = <z_l, signal>, and z_l is what the leaky ReLU made the next layer's input from.
    """
    m = out.size
    for layer in range(1, widths.size - 1):
        a, s = mlp.inputs(work, widths, rows, layer), mlp.signals(work, widths, rows, layer)
        for j in range(2 * m):
            total = 0.0
            for i in range(s.shape[1]):
                total += s[j, i] * a[j, i] * (1.0 if a[j, i] >= 0.0 else 1.0 / slope)
            if j < m:
                out[j] += factor * total
            else:
                out[j - m] -= factor * total


@kernel("mean")
def mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean by matrix products, see ``dpcheck.problems.mlp``; ``gradient`` is not called."""
    params, d = data.params, data.dim_w
    g_widths, d_widths = generator_widths(params), discriminator_widths(params)
    v, penalty, slope, top = x[d:], params[0], params[1], d_widths.size - 1
    chunk = min(index.size, mlp.CHUNK)
    g_work, d_work = np.empty(chunk * mlp.room(g_widths)), np.empty(2 * chunk * mlp.room(d_widths))
    g_layers, d_layers = mlp.Layers(g_widths, chunk, g_work), mlp.Layers(d_widths, 2 * chunk, d_work)
    square, scale, apart, pull = np.empty(chunk), np.empty(2 * chunk), np.empty(chunk), 0.0
    if index.size == 0:
        out[:] = 0.0
    for start in range(0, index.size, mlp.CHUNK):
        part = index[start : start + mlp.CHUNK]
        m = part.size
        networks, place = Networks(g_layers, d_layers, 0, 0, m), Place(part, x)
        produced(data, place, networks)
        score = mlp.signals(d_work, d_widths, 2 * chunk, top)
        for j in range(m):
            apart[j] = score[j, 0] - score[m + j, 0]
        backpropagated(data, place, networks)
        mlp.squares(g_widths, chunk, g_work, square[:m])
        for j in range(m):
            scale[j] = mlp.clip_weight(square[j], clip[0]) / batch
        mlp.weighted_sum(g_widths, chunk, g_work, scale[:m], start > 0, out[:d])
        mlp.difference_squares(d_widths, 2 * chunk, d_work, 1, square[:m])
        if penalty > 0.0:  # |grad D(x) - grad D(G(z)) - 2 lambda v|^2
            add_own_products(d_widths, slope, 2 * chunk, d_work, -4.0 * penalty, square[:m])
            penalty_square = 4.0 * penalty * penalty * mlp.inner(v, v)
            for j in range(m):
                square[j] = max(square[j] + penalty_square - 4.0 * penalty * apart[j], 0.0)
        for j in range(m):
            scale[j] = mlp.clip_weight(square[j], clip[1]) / batch
            scale[m + j] = -scale[j]
            pull += 2.0 * penalty * scale[j]
        mlp.weighted_sum(d_widths, 2 * chunk, d_work, scale[: 2 * m], start > 0, out[d:])
    for i in range(v.size):
        out[d + i] -= pull * v[i]


@kernel("void(indices, int64, vector, vector, vector)")
def add_products(widths, rows, work, shift, out):  # type: ignore[no-untyped-def]
    """Add -2 <shift, difference of gradients>, four blocks of rows with signs +, -, -, +, and |shift|^2."""
    m, shift_square = out.size, mlp.inner(shift, shift)
    for j in range(m):
        out[j] += shift_square
    for layer in range(1, widths.size):
        a, s = mlp.inputs(work, widths, rows, layer - 1)[: 4 * m], mlp.signals(work, widths, rows, layer)[: 4 * m]
        u = np.empty(s.shape)
        np.dot(a, mlp.weights(shift, widths, layer), u)
        for j in range(4 * m):
            block = j // m
            sign = 1.0 if block == 0 or block == 3 else -1.0
            out[j % m] -= 2.0 * sign * mlp.inner(u[j], s[j])


@kernel("difference")
def difference(gradient, data, new, old, batch, clip, out):  # type: ignore[no-untyped-def]
    """Clipped mean of gradient differences by matrix products; ``gradient`` is not called."""
    params, d, index, x = data.params, data.dim_w, new.chosen, new.x
    g_widths, d_widths = generator_widths(params), discriminator_widths(params)
    penalty, chunk = params[0], min(index.size, mlp.CHUNK)
    # blocks of rows: of G at x and at old_x; of D x at v, x at old v, G(z) at v, G(z) at old v
    g_rows, d_rows = 2 * chunk, 4 * chunk
    g_work, d_work = np.empty(g_rows * mlp.room(g_widths)), np.empty(d_rows * mlp.room(d_widths))
    g_layers, d_layers = mlp.Layers(g_widths, g_rows, g_work), mlp.Layers(d_widths, d_rows, d_work)
    square, scale, shift, pull = np.empty(chunk), np.empty(d_rows), np.empty(x.size - d), 0.0
    for i in range(shift.size):
        shift[i] = 2.0 * penalty * (x[d + i] - old.x[d + i])
    if index.size == 0:
        out[:] = 0.0
    for start in range(0, index.size, mlp.CHUNK):
        m = min(index.size - start, mlp.CHUNK)
        for side in range(2):
            at = new if side == 0 else old
            place = Place(at.chosen[start : start + m], at.x)
            networks = Networks(g_layers, d_layers, side * m, side * m, (2 + side) * m)
            produced(data, place, networks)
            backpropagated(data, place, networks)
        mlp.difference_squares(g_widths, g_rows, g_work, 1, square[:m])
        for j in range(m):
            scale[j] = mlp.clip_weight(square[j], clip[0]) / batch
            scale[m + j] = -scale[j]
        mlp.weighted_sum(g_widths, g_rows, g_work, scale[: 2 * m], start > 0, out[:d])
        mlp.difference_squares(d_widths, d_rows, d_work, 2, square[:m])
        if penalty > 0.0:
            add_products(d_widths, d_rows, d_work, shift, square[:m])
        for j in range(m):
            scale[j] = mlp.clip_weight(max(square[j], 0.0), clip[1]) / batch
            scale[m + j], scale[2 * m + j], scale[3 * m + j] = -scale[j], -scale[j], scale[j]
            pull += scale[j]
        mlp.weighted_sum(d_widths, d_rows, d_work, scale[: 4 * m], start > 0, out[d:])
    for i in range(shift.size):
        out[d + i] -= pull * shift[i]


@dataclass(frozen=True, eq=False)
class WGAN(Defaults):
    """A Wasserstein generative network with a penalty; build it with :meth:`from_images`.

    Parameters
    ----------
    records : ndarray, (n, k + m) float64
        Rows (x, z), pixels in [-1, 1], |z| <= 2 sqrt(m).
    latent : int
        Dimension m of z.
    generator, discriminator : tuple of int
        Widths of their hidden layers.
    penalty : float
        lambda >= 0.
    slope : float
        Slope of the leaky ReLU.
    radius : float
        B > 0 for w and for v, inf for none.
    seed : int
        Seed of the start, which is public.
    """

    records: Array
    latent: int = 100
    generator: tuple[int, ...] = (128, 256, 512, 1024)
    discriminator: tuple[int, ...] = (512, 256)
    penalty: float = 1e-3
    slope: float = 0.2
    radius: float = math.inf
    seed: int = 0
    name: str = "wgan"
    networks: tuple[Network, Network] = field(init=False)

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    mean = staticmethod(mean)
    difference = staticmethod(difference)
    convex = concave = False
    dim_w = property(lambda problem: problem.networks[0].size)
    dim_v = property(lambda problem: problem.networks[1].size)

    def __post_init__(self) -> None:
        records = as_records(self.records, "records")
        require_work(self.latent, "latent")
        k = records.shape[1] - self.latent
        require(k >= 1, "latent", f"be less than the columns of records, {records.shape[1]}", self.latent)
        largest = float(np.abs(records[:, :k]).max())
        require(largest <= 1, "records", "have pixels in [-1, 1]", largest)
        largest, longest = float(np.linalg.norm(records[:, k:], axis=1).max()), 2 * math.sqrt(self.latent)
        require(largest <= longest * (1 + 1e-9), "records", f"have |z| <= {longest:.6g}", largest)
        require(0 <= self.penalty < math.inf, "penalty", "be finite and >= 0", self.penalty)
        require(self.radius > 0, "radius", "be > 0", self.radius)
        made = Network((self.latent, *self.generator, k), self.slope)
        judged = Network((k, *self.discriminator, 1), self.slope)
        self._set(records=records, networks=(made, judged))

    @classmethod
    def from_images(
        cls, X: object, *, latent: int = 100, seed: int = 0, generator: Sequence[int] = (128, 256, 512, 1024),
        discriminator: Sequence[int] = (512, 256), **settings: Any,
    ) -> WGAN:  # fmt: skip
        """Make the problem of images.

        Parameters
        ----------
        X : array_like, (n, k)
            Pixels in [0, 1].
        latent : int
            Dimension of z ~ N(0, I), shortened to 2 sqrt(latent) where longer.
        seed : int
            Seed of z and of the start.
        generator, discriminator : sequence of int
            Widths of their hidden layers.
        **settings : object
            Fields of the problem.

        Returns
        -------
        WGAN
            The problem.
        """
        images = as_records(X, "X")
        require(bool((images >= 0).all() and (images <= 1).all()), "X", "have pixels in [0, 1]", images)
        require_work(latent, "latent")
        z = np.random.default_rng(seed).standard_normal((len(images), latent))
        z /= np.maximum(1.0, np.linalg.norm(z, axis=1, keepdims=True) / (2 * math.sqrt(latent)))
        return cls(
            np.column_stack([2 * images - 1, z]), latent, tuple(generator), tuple(discriminator), seed=seed, **settings
        )

    @classmethod
    def example(cls, rng: np.random.Generator) -> WGAN:
        """Draw the example: 200 images of 6 pixels, two kinds with noise; 2 latent, 5 and 4 hidden units, B = 3."""
        kinds = np.array([[0.9, 0.9, 0.9, 0.1, 0.1, 0.1], [0.1, 0.9, 0.1, 0.9, 0.1, 0.9]])
        X = np.clip(kinds[rng.integers(0, 2, 200)] + 0.1 * rng.standard_normal((200, 6)), 0, 1)
        return cls.from_images(X, latent=2, generator=(5,), discriminator=(4,), radius=3.0)

    @property
    def params(self) -> Array:
        """(lambda, slope, number of G's widths, G's widths, D's widths)."""
        made, judged = self.networks
        return np.array([self.penalty, self.slope, len(made.widths), *made.widths, *judged.widths], float)

    @property
    def start(self) -> Array:
        made, judged = self.networks
        return np.concatenate([made.begin(self.seed, self.radius), judged.begin(self.seed + 1, self.radius)])

    def constants(self) -> Constants:
        made, judged = self.networks
        _, slope_made, _ = made.bounds(2 * math.sqrt(self.latent), self.radius)
        _, slope_judged, back = judged.bounds(math.sqrt(judged.widths[0]), self.radius)
        pull = 2 * self.penalty * self.radius if self.penalty > 0 else 0.0
        return Constants(lipschitz_w=back * slope_made, lipschitz_v=2 * slope_judged + pull)

    def estimate(self, w: Array, v: Array) -> float:
        """Return the Wasserstein estimate that the paper plots: mean D(x) - mean D(G(z)) over the records."""
        k = self.networks[1].widths[0]
        x, z = self.records[:, :k], self.records[:, k:]
        fake = np.tanh(self.networks[0].outputs(w, z))
        return float((self.networks[1].outputs(v, x) - self.networks[1].outputs(v, fake)).mean())
