"""The schedule of Ada-DP-SPIDER, with the sizes of DP-SPIDER; the head of its solver says what is set how."""

from __future__ import annotations

import math
from functools import cached_property

from dpcheck.algorithms.domains import positive, whole
from dpcheck.algorithms.schedule import number
from dpcheck.catalogue.xu2026.drift import Drifting


class Adaptive(Drifting):
    """Drift, and an escape by the noise of the estimate itself.

    Attributes
    ----------
    chi : float
        Noise level > 0, which stays where ``private`` is False; the accuracy alpha is 4 chi.
    R, Q : float and int
        Distance > 0 and rounds of the escape.

    References
    ----------
    Y. Tao et al. Second-order convergence in private stochastic non-convex optimization. 2025, Algorithms 1 and 2.

    D. Xu et al. Finding differentially private second order stationary points in stochastic minimax optimization.
    2026, Section 5.
    """

    @number(positive)
    def chi(self) -> float:
        return self.noise_level

    @number(positive)
    def R(self) -> float:
        return math.sqrt(4 * self.chi / self.rho)

    @number(whole)
    def Q(self) -> int:
        return math.ceil(26 / 5 * math.log(1 / self.failure))

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """Accuracy of the second-order point."""
        return 4 * self.chi

    @cached_property
    def noise(self) -> tuple[float, float]:
        return self.calibrated(min(self.refreshes, self.steps), self.steps - 1)

    @property
    def notes(self) -> tuple[str, ...]:
        taken = self.Gamma * self.Q
        short = f"an escape takes {taken} steps and there are {self.steps}: nothing can be certified"
        return (*super().notes, short) if taken >= self.steps else super().notes
