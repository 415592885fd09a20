"""The schedules of DP-RGDA by Theorem 2 of Xu et al. 2026, for the risk of the population, and all of them by name."""

from __future__ import annotations

import math
from functools import cached_property

from dpcheck.algorithms.budget import modulus
from dpcheck.algorithms.domains import positive, whole
from dpcheck.algorithms.kernels import tree
from dpcheck.algorithms.noise import certified
from dpcheck.algorithms.schedule import number
from dpcheck.catalogue.xu2026.dp_rgda_schedule import EmpiricalPrinted, EmpiricalRepaired
from dpcheck.errors import require
from dpcheck.events import Disjoint, Event, Gaussian


class PopulationPrinted(EmpiricalPrinted):
    """Theorem 2 with the sizes of Lemma 8's proof, its constants 1."""

    population = True

    @property
    def logs(self) -> float:
        """log(4/delta_1)."""
        return math.log(4 / self.failure)

    @property
    def length(self) -> float:
        """Lemma 8's length of a step, which is also its r and the root of its D."""
        return math.sqrt(self.a) / (self.L * self.logs)

    @number(positive, checked=False)
    def alpha(self) -> float:
        return float(self.sizes.n ** (-1 / 3)) + math.sqrt(self.a)

    @number(whole, checked=False)
    def steps(self) -> int:
        return math.ceil(float(self.a ** (-2 / 3)))

    @number(whole, checked=False)
    def period(self) -> int:
        return max(1, math.floor(float(self.a ** (-1 / 3))))

    @number(whole, checked=False)
    def S1(self) -> int:
        return math.ceil(float(self.sizes.n ** (2 / 3)))

    @number(whole, checked=False)
    def S2(self) -> int:
        shares = self.logs**2 * self.L / modulus(self.problem) * float(self.a ** (-1 / 3))
        return min(self.sizes.n, math.ceil(shares))

    @number(whole, checked=False)
    def K(self) -> int:
        return math.ceil(self.L / modulus(self.problem))

    @number(positive, checked=False)
    def eta(self) -> float:
        return self.length

    @number(positive)
    def r(self) -> float:
        return self.length

    @number(positive, checked=False)
    def D_bar(self) -> float:
        return self.length**2

    @property
    def falsified(self) -> tuple[str, ...]:
        return ("Theorem 2 is false: Lemma 8's steps do not take x far enough (claim 002:Thm2)",)


class PopulationRepaired(EmpiricalRepaired):
    """Theorem 2 with the sizes of claim 002:Thm2: each record is in one minibatch, half of them for refreshes."""

    once = True
    population = True

    def require(self) -> None:
        needed, n = self.S1 * self.refreshes + self.S2 * self.differences, self.sizes.n
        require(
            needed <= n, "problem", f"have {needed} records, of which {self.refreshes} refreshes and "
            f"{self.differences} differences use each once; a larger alpha takes fewer", n,
        )  # fmt: skip
        super().require()

    alpha = PopulationPrinted.alpha

    @number(whole, checked=False)
    def steps(self) -> int:
        return math.ceil(self.F0 / (self.eta * self.alpha))

    @number(whole, checked=False)
    def period(self) -> int:
        return max(1, math.ceil(self.a / self.alpha**3 + 1 / (self.sizes.n * self.alpha**4)))

    @number(whole, checked=False)
    def S1(self) -> int:
        return max(1, self.sizes.n // 2 // self.refreshes)

    @number(whole, checked=False)
    def S2(self) -> int:
        return max(1, self.sizes.n // 2 // self.differences)

    @number(positive, checked=False)
    def eta(self) -> float:
        return self.alpha / self.L

    @number(positive, checked=False)
    def C_u(self) -> float:
        return 2 * self.alpha

    @property
    def differences(self) -> int:
        """Differences at most, where those that are 0 are left out."""
        return self.steps * self.K - math.ceil(self.steps / self.period)

    @property
    def most_sums(self) -> int:
        return int(tree.levels(min(self.steps, self.period) * self.K - 1))

    @cached_property
    def noise(self) -> tuple[float, float]:
        """sigma_v and sigma_u, the latter of a node of the tree."""
        z = certified(self.sizes, lambda z: (Gaussian(z),)) * math.sqrt(2)
        return z * 2 * self.C_v / self.S1, z * math.sqrt(self.most_sums) * 2 * self.C_u / self.S2


SCHEDULES = {
    ("1", "as_printed"): EmpiricalPrinted,
    ("1", "repaired"): EmpiricalRepaired,
    ("2", "as_printed"): PopulationPrinted,
    ("2", "repaired"): PopulationRepaired,
}


def tree_releases(z_v: float, z_u: float, sums: int) -> tuple[Event, ...]:
    """Return the events of a run that takes each record once; its difference is in so many sums."""
    return (Disjoint((Gaussian(z_v), Gaussian(z_u / math.sqrt(sums)))),)
