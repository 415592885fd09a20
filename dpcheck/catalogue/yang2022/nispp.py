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

from typing import Any, ClassVar

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.schedule import Schedule
from dpcheck.catalogue.yang2022.nispp_schedule import ProximalPoint, sampled
from dpcheck.catalogue.zhang2022.output_perturbation import Phased
from dpcheck.catalogue.zhang2022.phases import FIELDS
from dpcheck.events import Event


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
    schedules: ClassVar[dict[str, type[Schedule]]] = {"repaired": ProximalPoint}

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """A Gaussian a phase, on disjoint records or on a minibatch drawn with replacement."""
        if self.sampling == "single_pass":
            return super().events(problem, iterations)
        phase = dict(zip(FIELDS, self.phases[0].tolist(), strict=True))
        done = len(self.phases) if iterations is None else iterations
        multiplier = phase["sigma_w"] / phase["sensitivity_w"]
        return sampled(multiplier, len(problem.records), int(phase["last"]), done)
