"""A multilayer perceptron as the problems see it; its kernels are in ``dpcheck.problems.mlp``."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.errors import require, require_count


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
            require_count(width, "hidden")
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
