"""The schedule of DP-SPIDER by the orders of Arora et al. 2023, with the printed noise and with the accountant's."""

from __future__ import annotations

import math
from functools import cached_property

from dpcheck.algorithms.domains import whole
from dpcheck.algorithms.schedule import number
from dpcheck.catalogue.xu2026.spider_schedule import Spider


class Printed(Spider):
    """The noise as printed, c = 1.

    Attributes
    ----------
    period : int
        q, iterations between refreshes; 1/(T a^2) by default.

    References
    ----------
    R. Arora et al. Faster rates of convergence to stationary points in differentially private optimization. ICML
    2023, Algorithm 1.

    D. Xu et al. Finding differentially private second order stationary points in stochastic minimax optimization.
    2026, Table 1.
    """

    @number(whole)
    def period(self) -> int:
        return self.usual_period

    @property
    def refreshes(self) -> int:
        """How many refreshes one every q iterations makes."""
        return math.ceil(self.steps / self.period)

    @cached_property
    def noise(self) -> tuple[float, float]:
        return self.shares(self.refreshes)

    @property
    def notes(self) -> tuple[str, ...]:
        constant = ("the constant c of the noise is not printed; 1 is taken",) if self.private else ()
        return (*constant, *self.clipped)


class Repaired(Printed):
    """The least noise in the printed proportion that the accountant certifies."""

    repaired = True

    @cached_property
    def noise(self) -> tuple[float, float]:
        return self.calibrated(self.refreshes, self.steps - self.refreshes)

    @property
    def notes(self) -> tuple[str, ...]:
        return self.clipped
