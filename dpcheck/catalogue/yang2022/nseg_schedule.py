"""The schedules of noisy stochastic extragradient, one a way of sampling.

The head of ``dpcheck.catalogue.yang2022.nseg`` has the table of both.
"""

from __future__ import annotations

import math
from functools import cached_property

from dpcheck.algorithms.budget import smoothness_for_eta
from dpcheck.algorithms.domains import SCHEMES, norm, one_of, positive, records, whole
from dpcheck.algorithms.noise import certified
from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.schedule import Number, Schedule, fixed, number
from dpcheck.catalogue.yang2022.dp_sgda_schedule import printed_batch
from dpcheck.errors import require
from dpcheck.events import Event, Gaussian, Repeated, Sampled, Scheme


class Extragradient(Schedule):
    """Iterations and minibatch of DP-SGDA, or those of Table 1 of Yang et al. with replacement.

    Attributes
    ----------
    steps : int
        T; n by default, n^2 with replacement.
    batch : int
        Minibatch m, at most n; n sqrt(epsilon/(8 n)) by default, 1 with replacement.
    eta : float
        Step size > 0; 1/(L N) by default, 1/(L n N) with replacement, with N = max(sqrt n, sqrt(d
        log(1/delta))/epsilon).
    sampling : {"without_replacement", "with_replacement", "poisson"}
        How minibatches are drawn.
    clip_w, clip_v : float
        Clipping norms (l2) of one record's gradients, > 0, inf where the problem is Lipschitz.

    References
    ----------
    D. Boob, C. Guzman. Optimal algorithms for differentially private stochastic monotone variational inequalities
    and saddle-point problems. Mathematical Programming 2024, Algorithm 1.

    Z. Yang et al. Differentially private SGDA for minimax problems. UAI 2022, Section 4.
    """

    choices = (*Schedule.choices, "sampling")
    repaired = True

    def require(self) -> None:
        require(math.isfinite(self.sensitivity), "problem", "be Lipschitz, or clipped", self.problem.name)

    @property
    def many(self) -> bool:
        """Whether the schedule is the one with n^2 gradients."""
        return self.sampling == "with_replacement"

    @number(whole)
    def steps(self) -> int:
        return self.sizes.n**2 if self.many else self.sizes.n

    @number(records)
    def batch(self) -> int:
        return 1 if self.many else printed_batch(self.sizes.n, 2 * self.steps, self.sizes.epsilon)

    @number(positive)
    def eta(self) -> float:
        n, a, L = self.sizes.n, self.sizes.privacy_error, smoothness_for_eta(self.problem)
        eta = 1 / (L * math.sqrt(n) * max(1, a * math.sqrt(n)))
        return eta / n if self.many else eta

    sampling: Number[Scheme] = fixed("without_replacement", one_of(*SCHEMES))
    clip_w, clip_v = fixed(math.inf, norm), fixed(math.inf, norm)

    @cached_property
    def sensitivity(self) -> float:
        """Sensitivity (l2) of a minibatch mean."""
        return sensitivity(self.problem, self.batch, self.clip_w, self.clip_v)

    @cached_property
    def sigma(self) -> float:
        """Standard deviation of the noise on both blocks."""
        if not self.private:
            return 0.0

        def events(z: float) -> tuple[Event, ...]:
            step = Sampled((Gaussian(z),), self.sampling, self.sizes.n, self.batch, "replace_one")
            return (Repeated(step, 2 * self.steps),)

        return self.sensitivity * certified(self.sizes, events)

    @property
    def notes(self) -> tuple[str, ...]:
        taken = f"{2 * self.steps * self.batch} {self.sampling.replace('_', ' ')}"
        note = f"Table 1 of Yang et al. counts n^2 gradients, with replacement; this run takes {taken}"
        return () if self.many else (note,)


def sensitivity(problem: Problem, batch: int, clip_w: float, clip_v: float) -> float:
    """Return the sensitivity (l2) of the minibatch mean of both blocks as one vector."""
    return 2 * math.hypot(min(problem.lipschitz_w, clip_w), min(problem.lipschitz_v, clip_v)) / batch
