"""What the schedules share that refresh the SPIDER estimator by drift and test for second-order points.

The head of ``dpcheck.catalogue.xu2026.ada_dp_spider`` has the formulas.
"""

from __future__ import annotations

import math

from dpcheck.algorithms.domains import positive, share, whole
from dpcheck.algorithms.schedule import fixed, number
from dpcheck.catalogue.xu2026.spider_schedule import Spider
from dpcheck.errors import require


class Drifting(Spider):
    """Drift, noise level and escape, from the sizes of DP-SPIDER.

    Attributes
    ----------
    refreshes : int
        Refreshes at most, which bounds the privacy; T/q by default, or what a descent of F0 asks for.
    kappa : float
        The drift that calls for a refresh, > 0.
    Gamma : int
        Steps of an escape.
    rho : float
        Lipschitz constant of the Hessian; the problem's by default.
    failure : float
        omega of the paper, a probability in (0, 1).
    """

    repaired = True
    alpha: float  # accuracy of the second-order point

    @number(whole)
    def refreshes(self) -> int:
        """Count what drift calls for: at least T/q, and what a descent of F0 takes.

        Steps eta of a descent of F0 drift by 2 eta F0 in all. A refresh each (L0/Ls)^2 m/T, as its noise
        and that of full differences are balanced with m refreshes, makes m = sqrt(2 eta F0 T) Ls/L0.
        """
        regular = math.ceil(self.steps / self.usual_period)
        if self.Ls == math.inf:
            return regular
        return max(regular, 1 + math.ceil(math.sqrt(2 * self.eta * self.F0 * self.steps) * self.Ls / self.L0))

    @number(positive)
    def kappa(self) -> float:
        """The drift at which the noise of the differences, Ls^2 sigma_2^2 kappa, equals that of a refresh."""
        require(self.Ls < math.inf, "kappa", "be given where there is no finite Ls", None)
        sigma_1, sigma_2 = self.noise
        return (self.L0 * sigma_1 / (self.Ls * sigma_2)) ** 2

    @number(whole)
    def Gamma(self) -> int:
        """The iterations by which a direction of curvature -sqrt(rho alpha) has grown e^iota times."""
        iota = math.log(self.sizes.d * self.steps / self.failure)
        return max(1, math.ceil(iota / (self.eta * math.sqrt(self.rho * self.alpha))))

    @number(positive)
    def rho(self) -> float:
        rho = self.problem.hessian_lipschitz
        known = 0 < rho < math.inf
        require(known, "problem", "have a Lipschitz Hessian that is not constant", self.problem.name)
        return rho

    failure = fixed(0.1, share)

    @property
    def noise_level(self) -> float:
        """What noise and sampling bring to an estimate of drift kappa."""
        require(self.Ls < math.inf, "chi", "be given where there is no finite Ls", None)
        d, n, (sigma_1, sigma_2), kappa = self.sizes.d, self.sizes.n, self.noise, self.kappa
        noise = d * ((self.L0 * sigma_1) ** 2 + (self.Ls * sigma_2) ** 2 * kappa)
        sampling = self.L0**2 * (1 / self.b1 - 1 / n) + self.Ls**2 * kappa * (1 / self.b2 - 1 / n)
        return math.sqrt(noise + sampling)

    @property
    def notes(self) -> tuple[str, ...]:
        root = math.sqrt(self.rho * self.alpha)
        empty = {
            f"alpha = {self.alpha:.4g} is no smaller than L0 = {self.L0:.4g}: every point is stationary to it":
                self.alpha >= self.L0,
            f"sqrt(rho alpha) = {root:.4g} is no smaller than Ls = {self.Ls:.4g}: no curvature is ruled "
            "out": root >= self.Ls,
        }  # fmt: skip
        return (*self.clipped, *(sentence for sentence, is_true in empty.items() if is_true))
