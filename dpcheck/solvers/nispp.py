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
from typing import Any, ClassVar, Self

import numpy as np

from dpcheck.accounting import calibrate
from dpcheck.errors import require, require_count, require_positive
from dpcheck.events import Event, Gaussian, Repeated, Sampled
from dpcheck.problems.problem import Problem
from dpcheck.solvers.output_perturbation import FIELDS, SADDLE_BASE, Phased, phase, radius_of, require_convex
from dpcheck.solvers.solver import Sizes

TABLE = "Table 1 of Yang et al. counts n^(3/2) log n gradients, with replacement; this run passes the records once"
SAMPLINGS = ("single_pass", "with_replacement")


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

    @classmethod
    def configure(
        cls, problem: Problem, *, epsilon: float, delta: float, variant: str = "repaired",
        batch: int | None = None, lam: float | None = None, sampling: str = "single_pass",
        base: str = SADDLE_BASE, most: int = 100_000_000, private: bool = True,
    ) -> Self:  # fmt: skip
        """Set up noisy inexact stochastic proximal point by the schedule of its sampling, save what is given.

        Parameters
        ----------
        problem : Problem
            The objective with its n records, convex-concave on bounded domains; neighbours replace one record.
        epsilon, delta : float
            Claimed privacy: epsilon > 0 (natural log), delta in (0, 1).
        variant : {"repaired"}
            The one variant that there is.
        batch : int, optional
            Records B of a phase, at most n; sqrt n by default.
        lam : float, optional
            Weight of the proximal term, > 0; by default as the file's head says.
        sampling : {"single_pass", "with_replacement"}
            Each record in one phase, or each phase on B draws from all records.
        base : str
            Base solver of a phase, one of :data:`dpcheck.bases.BASES`.
        most : int
            Gradient evaluations that a phase may take.
        private : bool
            False switches the noise off, for a baseline without privacy.

        Returns
        -------
        NISPP
            The configuration.

        Raises
        ------
        InputError
            For values outside their domain, and for a problem that the algorithm is not made for.

        References
        ----------
        D. Boob, C. Guzman. Optimal algorithms for differentially private stochastic monotone variational inequalities
        and saddle-point problems. Mathematical Programming 2024, Algorithm 2.

        Z. Yang et al. Differentially private SGDA for minimax problems. UAI 2022, Section 4.
        """
        from dpcheck.bases import require_base

        sizes = Sizes.of(problem, epsilon, delta, variant, cls.variants)
        require_count(most, "most")
        require(sampling in SAMPLINGS, "sampling", f"be one of {', '.join(SAMPLINGS)}", sampling)
        many = sampling == "with_replacement"
        n = sizes.n
        batch = math.ceil(math.sqrt(n)) if batch is None else batch
        require_count(batch, "batch")
        require(batch <= n, "batch", f"be at most the number of records, {n}", batch)
        require_base(base, minimisation=False)
        require(problem.dim_v > 0, "problem", "have a v", problem.name)
        require_convex(problem)
        L = math.hypot(problem.lipschitz_w, problem.lipschitz_v)
        good = math.isfinite(L) and math.isfinite(problem.smoothness)
        require(good, "problem", "be Lipschitz and smooth", problem.name)
        D = math.hypot(radius_of(problem.domain_w, "w"), radius_of(problem.domain_v, "v"))
        if lam is None:
            lam = L / D * max(1.0, sizes.privacy_error * math.sqrt(n))
            lam = lam * math.sqrt(n) if many else lam / math.sqrt(n // batch)
        require_positive(lam, "lam")
        # released in the units sqrt(lam) z, in which the phase certifies its energy
        sensitivity = 4 * L / (math.sqrt(lam) * batch)
        phases = n if many else n // batch

        def events(z: float) -> tuple[Event, ...]:
            return _sampled(z, n, batch, phases) if many else (Gaussian(z),)

        sigma = sensitivity * calibrate(events, epsilon=epsilon, delta=delta) if private else 0.0
        row = phase(
            (0, batch), r_w=lam, r_v=lam, mu_w=lam, mu_v=lam, energy=L**2 / (lam * batch**2), joint=1,
            sigma_w=sigma, sensitivity_w=sensitivity, sigma_v=sigma, sensitivity_v=sensitivity,
        )  # fmt: skip
        rows = [row if many else row | {"first": k * batch, "last": (k + 1) * batch} for k in range(phases)]
        schedule = np.array([[float(each[name]) for name in FIELDS] for each in rows])
        return cls(schedule, max(problem.smoothness, 1e-12), base, most, () if many else (TABLE,), sampling)

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """A Gaussian a phase, on disjoint records or on a minibatch drawn with replacement."""
        if self.sampling == "single_pass":
            return super().events(problem, iterations)
        phase = dict(zip(FIELDS, self.phases[0].tolist(), strict=True))
        done = len(self.phases) if iterations is None else iterations
        multiplier = phase["sigma_w"] / phase["sensitivity_w"]
        return _sampled(multiplier, len(problem.records), int(phase["last"]), done)

    kept = ("batch", "lam")
    choices = (*Phased.choices, "sampling")

    def setting(self, option: str, problem: Problem) -> Any:
        """Read the batch and lam off the first phase, since all have the same."""
        first = dict(zip(FIELDS, self.phases[0].tolist(), strict=True))
        read = {"batch": first["last"] - first["first"], "lam": first["r_w"]}
        return read[option] if option in read else super().setting(option, problem)


def _sampled(multiplier: float, n: int, batch: int, phases: int) -> tuple[Event, ...]:
    """Return the events of so many phases on minibatches drawn with replacement.

    k copies of a record in a minibatch move its exact solution by 2kL/(lam B) and the two inexact ones by
    2L/(lam B) more, so that all is within k times the sensitivity 4L/(lam B).
    """
    return (Repeated(Sampled((Gaussian(multiplier),), "with_replacement", n, batch), phases),)
