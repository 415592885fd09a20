"""The schedules of noisy inexact stochastic proximal point, one a way of sampling.

The head of ``dpcheck.catalogue.yang2022.nispp`` has the table of both.
"""

from __future__ import annotations

import math
from functools import cached_property

from dpcheck.algorithms.domains import one_of, positive, records
from dpcheck.algorithms.noise import certified
from dpcheck.algorithms.problem import Array
from dpcheck.algorithms.schedule import fixed, number
from dpcheck.catalogue.zhang2022.phases import InPhases, phase, radius_of, require_convex, table
from dpcheck.errors import require
from dpcheck.events import Event, Gaussian, Repeated, Sampled

TABLE = "Table 1 of Yang et al. counts n^(3/2) log n gradients, with replacement; this run passes the records once"
SAMPLINGS = ("single_pass", "with_replacement")


class ProximalPoint(InPhases):
    """Phases on batches of equal size, in one pass or drawn with replacement.

    Attributes
    ----------
    batch : int
        Records B of a phase, at most n; sqrt n by default.
    lam : float
        Weight of the proximal term, > 0; by default as the head of ``dpcheck.catalogue.yang2022.nispp`` says.
    sampling : {"single_pass", "with_replacement"}
        Each record in one phase, or each phase on B draws from all records.

    References
    ----------
    D. Boob, C. Guzman. Optimal algorithms for differentially private stochastic monotone variational inequalities
    and saddle-point problems. Mathematical Programming 2024, Algorithm 2.

    Z. Yang et al. Differentially private SGDA for minimax problems. UAI 2022, Section 4.
    """

    choices = (*InPhases.choices, "sampling")
    repaired = True

    def require(self) -> None:
        from dpcheck.catalogue.bases import require_base

        problem = self.problem
        require_base(self.base, minimisation=False)
        require(problem.dim_v > 0, "problem", "have a v", problem.name)
        require_convex(problem)
        good = math.isfinite(self.L) and math.isfinite(problem.smoothness)
        require(good, "problem", "be Lipschitz and smooth", problem.name)
        require(math.inf > self.D, "problem", "be bounded", problem.name)

    @number(records)
    def batch(self) -> int:
        return math.ceil(math.sqrt(self.sizes.n))

    @number(positive)
    def lam(self) -> float:
        n = self.sizes.n
        lam = self.L / self.D * max(1.0, self.sizes.privacy_error * math.sqrt(n))
        return lam * math.sqrt(n) if self.many else lam / math.sqrt(n // self.batch)

    sampling = fixed("single_pass", one_of(*SAMPLINGS))

    @property
    def many(self) -> bool:
        """Whether a record can be in more than one phase."""
        return self.sampling == "with_replacement"

    @property
    def D(self) -> float:
        """Radius of the domains; InputError where one is unbounded."""
        problem = self.problem
        return math.hypot(radius_of(problem.domain_w, "w"), radius_of(problem.domain_v, "v"))

    @cached_property
    def phases(self) -> Array:
        """A row for each phase, (phases, len(FIELDS))."""
        n, batch, lam, many, L = self.sizes.n, self.batch, self.lam, self.many, self.L
        # released in the units sqrt(lam) z, in which the phase certifies its energy
        sensitivity = 4 * L / (math.sqrt(lam) * batch)
        phases = n if many else n // batch

        def events(z: float) -> tuple[Event, ...]:
            return sampled(z, n, batch, phases) if many else (Gaussian(z),)

        sigma = sensitivity * certified(self.sizes, events) if self.private else 0.0
        row = phase(
            (0, batch), r_w=lam, r_v=lam, mu_w=lam, mu_v=lam, energy=L**2 / (lam * batch**2), joint=1,
            sigma_w=sigma, sensitivity_w=sensitivity, sigma_v=sigma, sensitivity_v=sensitivity,
        )  # fmt: skip
        return table([row if many else row | {"first": k * batch, "last": (k + 1) * batch} for k in range(phases)])

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.many else (TABLE,)


def sampled(multiplier: float, n: int, batch: int, phases: int) -> tuple[Event, ...]:
    """Return the events of so many phases on minibatches drawn with replacement.

    k copies of a record in a minibatch move its exact solution by 2kL/(lam B) and the two inexact ones by
    2L/(lam B) more, so that all is within k times the sensitivity 4L/(lam B).
    """
    return (Repeated(Sampled((Gaussian(multiplier),), "with_replacement", n, batch), phases),)
