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
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array, Constants, Defaults
from dpcheck.algorithms.records import as_records
from dpcheck.errors import require, require_count
from dpcheck.problems import wgan_kernels as kernels
from dpcheck.problems.network import Network


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

    gradient = staticmethod(kernels.gradient)
    value = staticmethod(kernels.value)
    mean = staticmethod(kernels.mean)
    difference = staticmethod(kernels.difference)
    convex = concave = False

    def __post_init__(self) -> None:
        records = as_records(self.records, "records")
        require_count(self.latent, "latent")
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
        require_count(latent, "latent")
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
    def dim_w(self) -> int:
        return self.networks[0].size

    @property
    def dim_v(self) -> int:
        return self.networks[1].size

    @property
    def start(self) -> Array:
        made, judged = self.networks
        return np.concatenate([made.begin(self.seed, self.radius), judged.begin(self.seed + 1, self.radius)])

    def constants(self) -> Constants:
        made, judged = self.networks
        _, slope_made, _ = made.bounds(2 * math.sqrt(self.latent), self.radius)
        _, slope_judged, back = judged.bounds(math.sqrt(judged.widths[0]), self.radius)
        own = 2 * self.penalty * self.radius if self.penalty > 0 else 0.0
        return Constants(lipschitz_w=back * slope_made, lipschitz_v=2 * slope_judged + own)

    def images(self, w: Array, z: Array) -> Array:
        """Return G(z) of the rows of z : (n, m), pixels in [0, 1]."""
        return (np.tanh(self.networks[0].outputs(w, z)) + 1) / 2

    def estimate(self, w: Array, v: Array) -> float:
        """Return the Wasserstein estimate that the paper plots: mean D(x) - mean D(G(z)) over the records."""
        k = self.networks[1].widths[0]
        x, z = self.records[:, :k], self.records[:, k:]
        fake = np.tanh(self.networks[0].outputs(w, z))
        return float((self.networks[1].outputs(v, x) - self.networks[1].outputs(v, fake)).mean())
