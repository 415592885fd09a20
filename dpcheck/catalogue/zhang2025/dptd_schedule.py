"""The schedule of DPTD with steps nu_t = a/sqrt(t + b), and its repair.

The head of ``dpcheck.catalogue.zhang2025.dptd`` has the table of what differs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from dpcheck.algorithms.budget import gradient_bounds
from dpcheck.algorithms.domains import norm, positive, records, whole
from dpcheck.algorithms.noise import certified_pair
from dpcheck.algorithms.problem import Array
from dpcheck.algorithms.schedule import Schedule, fixed, number
from dpcheck.errors import require


class Printed(Schedule):
    """The noise of the appendix, of order alpha' with beta' = 1/2.

    Attributes
    ----------
    steps : int
        T; n by default.
    batch : int
        Minibatch m, at most n.
    clip_w, clip_v : float
        Clipping norms (l2) of one record's gradients, > 0, inf where the problem is Lipschitz.
    chi, eta, alpha, beta : float
        Factors of the steps and of the averages, > 0.
    a, b : float
        Factor and offset of nu_t, > 0.

    References
    ----------
    R. Zhang et al. Improved rates of differentially private nonconvex-strongly-concave minimax optimization. AAAI
    2025, appendix (DPTD of Zhao et al. 2023).
    """

    def require(self) -> None:
        require(math.isfinite(sum(self.bounds)), "problem", "be Lipschitz, or clipped", self.problem.name)
        most = max(self.alpha, self.beta) * float(self.nu[0])
        require(most <= 1, "a", "keep alpha nu_1 and beta nu_1 at most 1", self.a)

    @number(whole)
    def steps(self) -> int:
        return self.sizes.n

    batch = fixed(1, records)
    clip_w, clip_v = fixed(math.inf, norm), fixed(math.inf, norm)
    chi, eta = fixed(2.0, positive), fixed(2.0, positive)
    alpha, beta = fixed(3.0, positive), fixed(3.0, positive)
    a, b = fixed(0.25, positive), fixed(3.0, positive)

    @cached_property
    def nu(self) -> Array:
        """Step sizes, (T,)."""
        nu: Array = self.a / np.sqrt(np.arange(1, self.steps + 1) + self.b)
        return nu

    bounds = cached_property(gradient_bounds)

    @cached_property
    def noise(self) -> Sequence[Array]:
        """sigma_w and sigma_v, (T,) each."""
        n, steps, epsilon = self.sizes.n, self.steps, self.sizes.epsilon
        order = math.log(1 / self.sizes.delta) / (0.5 * epsilon) + 1
        return [np.full(steps, G * math.sqrt(14 * steps * order / (0.5 * epsilon)) / n) for G in self.bounds]

    @property
    def sigma_w(self) -> Array:
        """Standard deviations of the noise on the average in w, (T,)."""
        return self.noise[0] if self.private else np.zeros(self.steps)

    @property
    def sigma_v(self) -> Array:
        """Standard deviations of the noise on the average in v, (T,)."""
        return self.noise[1] if self.private else np.zeros(self.steps)


class Repaired(Printed):
    """One multiplier for all releases, from the accountant."""

    repaired = True

    @cached_property
    def noise(self) -> Sequence[Array]:
        z = certified_pair(self.sizes, "without_replacement", self.batch, self.steps)
        rates = (self.alpha, self.beta)
        return [z * rate * self.nu * 2 * G / self.batch for rate, G in zip(rates, self.bounds, strict=True)]
