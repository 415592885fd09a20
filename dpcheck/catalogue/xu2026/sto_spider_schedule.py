"""The schedule of Sto-SPIDER, with the sizes of DP-SPIDER; the head of its solver says what is set how."""

from __future__ import annotations

import math
from functools import cached_property

from dpcheck.algorithms.domains import positive, share
from dpcheck.algorithms.schedule import fixed, number
from dpcheck.catalogue.xu2026.drift import Drifting
from dpcheck.errors import require
from dpcheck.events import Laplace


class Stochastic(Drifting):
    """Drift, extra noise near saddles, and a private choice among the iterates.

    Attributes
    ----------
    alpha : float
        Accuracy of the second-order point, > 0.
    gamma, r : float
        The norm > 0 of an estimate that calls for a refresh too, and the noise added then, > 0; ``Gamma`` steps later
        it may again.
    selection : float
        Share of epsilon that the selection has, in (0, 1).

    References
    ----------
    D. Liu et al. Private (stochastic) non-convex optimization revisited. NeurIPS 2023, Algorithm 1.

    D. Xu et al. Finding differentially private second order stationary points in stochastic minimax optimization.
    2026, Section 5.
    """

    def require(self) -> None:
        super().require()
        require(self.Ls < math.inf, "Ls", "be finite: the selection clips the Hessian's columns to it", self.Ls)

    @number(positive)
    def alpha(self) -> float:
        return 4 * self.noise_level

    @number(positive)
    def gamma(self) -> float:
        return 3 / 4 * self.alpha

    @number(positive)
    def r(self) -> float:
        return self.L0 * self.noise[0]

    selection = fixed(0.25, share)

    @property
    def curvature(self) -> float:
        """sqrt(rho alpha)."""
        return math.sqrt(self.rho * self.alpha)

    @cached_property
    def scale(self) -> float:
        """b of AboveThreshold, also where no noise is added."""
        return scale_of(self.selection * self.sizes.epsilon)

    @property
    def sigma_select(self) -> float:
        """The scale b that the run takes."""
        return self.scale if self.private else 0.0

    @cached_property
    def noise(self) -> tuple[float, float]:
        return self.calibrated(min(self.refreshes, self.steps), self.steps - 1, (pure(self.scale),))

    @property
    def notes(self) -> tuple[str, ...]:
        blur = 4 * self.scale * 2 * self.L0 / self.sizes.n
        more = f"the selection blurs gradient norms by {blur:.4g}, more than alpha = {self.alpha:.4g}"
        return (*super().notes, more) if blur > self.alpha else super().notes


def pure(scale: float) -> Laplace:
    """An event at least as bad as every (1/scale)-DP mechanism.

    Randomised response of epsilon_0 is the worst; its delta at epsilon is 1 - (1 + e^epsilon)/(1 + e^epsilon_0), that
    of the Laplace mechanism of e is 1 - e^{(epsilon - e)/2}. The latter is no less for every epsilon in [0, e] where
    e^{e/2} >= (1 + e^epsilon_0)/(2 cosh(epsilon/2)), which is hardest at epsilon = 0.
    """
    return Laplace(0.0 if scale == 0 else 0.5 / (math.log1p(math.exp(-1 / scale)) + 1 / scale - math.log(2)))


def scale_of(epsilon: float) -> float:
    """The scale b at which :func:`pure` has this epsilon: 1/b = log(2 e^{epsilon/2} - 1)."""
    return 1 / math.log1p(2 * math.expm1(epsilon / 2))
