"""NISPP: noisy inexact stochastic proximal point, the double-loop baseline for convex-concave problems.

Boob, Guzman: "Optimal Algorithms for Differentially Private Stochastic Monotone Variational Inequalities
and Saddle-Point Problems", Mathematical Programming 2024. Reconstructed: phase k takes a batch of B = ceil(sqrt n)
records, solves

    min over w, max over v of f on the batch + lam/2 |w - w_k|^2 - lam/2 |v - v_k|^2

to within L/(lam B), adds noise to the solution and starts from there; the output is the mean of what was
released. Replacing a record of the batch moves the exact solution by 2L/(lam B), so the inexact one moves
by 4L/(lam B). The noise is the least that is (epsilon, delta)-private.

Boob and Guzman have a single-pass variant and one that samples with replacement; Table 1 of Yang et al. lists the
latter, with n^(3/2) log n gradients. ``sampling`` chooses:

=========  ==========================================  ==========================================
           single_pass                                 with_replacement
=========  ==========================================  ==========================================
phases     n/B, each record in one of them             n, each on B draws from all records
lam        (L/D) max{1, a sqrt n}/sqrt(n/B)            (L/D) max{sqrt n, a n}
privacy    the phases are disjoint: as one of them     n minibatches; a record that is drawn k
                                                       times moves a solution k times as far
=========  ==========================================  ==========================================

with a = sqrt(d log(1/delta))/(n epsilon). Single-pass phases travel a distance of order D; with replacement 1/lam is of
the order of DP-SGDA's step, at which n phases cost L D/sqrt n in optimisation, noise and stability alike. A phase
takes B log n gradients times its condition number 1 + l/lam.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.schedule import Schedule, fixed, number, one_of, positive, records
from dpcheck.catalogue.yang2022 import unmet_in_table_1
from dpcheck.catalogue.zhang2022 import SLOPE, game_of_a_solution
from dpcheck.catalogue.zhang2022.output_perturbation import InPhases, Phase, Phased, phase, radius_of
from dpcheck.errors import require
from dpcheck.events import Event, Gaussian, Repeated, Sampled

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry

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
        self.require_convex()
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

    @property
    def planned(self) -> list[Phase]:
        n, batch, lam, many, L = self.sizes.n, self.batch, self.lam, self.many, self.L
        # released in the units sqrt(lam) z, in which the phase certifies its energy
        sensitivity = 4 * L / (math.sqrt(lam) * batch)
        phases = n if many else n // batch

        def events(z: float) -> tuple[Event, ...]:
            return sampled(z, n, batch, phases) if many else (Gaussian(z),)

        sigma = sensitivity * self.certified(events) if self.private else 0.0
        row = phase(
            (0, batch), r_w=lam, r_v=lam, mu_w=lam, mu_v=lam, energy=L**2 / (lam * batch**2), joint=1,
            sigma_w=sigma, sensitivity_w=sensitivity, sigma_v=sigma, sensitivity_v=sensitivity,
        )  # fmt: skip
        return [row if many else row | {"first": k * batch, "last": (k + 1) * batch} for k in range(phases)]

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.many else (TABLE,)


def sampled(multiplier: float, n: int, batch: int, phases: int) -> tuple[Event, ...]:
    """Return the events of so many phases on minibatches drawn with replacement.

    k copies of a record in a minibatch move its exact solution by 2kL/(lam B) and the two inexact ones by
    2L/(lam B) more, so that all is within k times the sensitivity 4L/(lam B).
    """
    return (Repeated(Sampled((Gaussian(multiplier),), "with_replacement", n, batch), phases),)


class NISPP(Phased):
    """Noisy inexact stochastic proximal point, the double-loop baseline of Boob and Guzman 2024.

    It is :class:`Phased` with equal weights on both sides, released as one vector, and averaged.
    """

    name = "nispp"
    paper = "yang2022"
    source = "Boob and Guzman 2024, Algorithm 2; Yang et al. 2022, Section 4"
    reconstructed = "the size of a batch, the weight of the proximal term, the noise of a phase"
    variants = ("repaired",)
    example = "bilinear"
    average = True
    tiny: ClassVar[dict[str, Any]] = {"batch": 40}
    small_runs: ClassVar[dict[str, tuple[str, dict[str, Any]]]] = {
        "repaired.with_replacement": ("repaired", {"sampling": "with_replacement", "batch": 5, "lam": 10.0}),
    }
    schedules: ClassVar[dict[str, type[Schedule]]] = {"repaired": ProximalPoint}

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """A Gaussian a phase, on disjoint records or on a minibatch drawn with replacement."""
        if self.sampling == "single_pass":
            return super().events(problem, iterations)
        phase = self.named_phases[0]
        done = len(self.phases) if iterations is None else iterations
        multiplier = phase["sigma_w"] / phase["sensitivity_w"]
        return sampled(multiplier, len(problem.records), int(phase["last"]), done)

    def unmet(self, problem: Problem) -> Iterator[str]:
        """Yield what Table 1 of Yang et al. assumes and this run does not meet."""
        return unmet_in_table_1(self, problem)

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield games of one side each, and a coupled one; ``lam`` is large enough for the solutions to lie inside."""
        from dpcheck.checks.games import blank

        chosen: dict[str, Any] = {"variant": "repaired", "settings": {"lam": 4.0}}
        for part, flat, slope in (("", "lipschitz_v", "b"), ("v", "lipschitz_w", "c")):
            problem = blank(9, smoothness=0.0, **{flat: 0.0})
            yield game_of_a_solution(cls.name, problem, 3, "all", {slope: 1.0}, part=part, **chosen)
        a = 0.05
        problem = blank(9, smoothness=a, lipschitz_w=SLOPE + a, lipschitz_v=SLOPE + a)
        slopes = {"b": SLOPE, "c": SLOPE}
        yield game_of_a_solution(cls.name, problem, 3, "both blocks", slopes, a=a, part="coupled", place=3, **chosen)
