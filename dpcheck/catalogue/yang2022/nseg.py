"""NSEG: noisy stochastic extragradient, the single-loop baseline for convex-concave problems.

Boob, Guzman: "Optimal Algorithms for Differentially Private Stochastic Monotone Variational Inequalities
and Saddle-Point Problems", Mathematical Programming 2024, as Yang et al. 2022, Section 4, compare with it.
Reconstructed: with F = (grad_w, -grad_v) and projection P,

    z_t = P(u_t - eta (F_B(u_t) + noise)),  u_{t+1} = P(u_t - eta (F_B'(z_t) + noise)),  output: the mean of z_t,

two fresh minibatches a step and one noise for both blocks, calibrated to their joint sensitivity by the
accountant. Neighbours replace one record, log is natural.

``sampling`` chooses the schedule too. Boob and Guzman have a single-pass variant and one that samples with
replacement; Table 1 of Yang et al. lists the latter, with n^2 gradients.

================  =========================  ===============================================
                  without_replacement,       with_replacement
                  poisson
================  =========================  ===============================================
T, m              n, n sqrt(epsilon/(8 n))   n^2, 1
eta               1/(L N)                    1/(L n N)
gradients, 2 T m  about n^(3/2)              2 n^2
================  =========================  ===============================================

with N = max(sqrt n, sqrt(d log(1/delta))/epsilon). The first column takes the iterations and the minibatch of
DP-SGDA, to be compared with it at the same cost. The second has the orders of the table, its numbers are reconstructed:
a step that falls with n as T grows with n^2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dpcheck.algorithms.kernels.jit import Numbers, kernel, named
from dpcheck.algorithms.kernels.parts import Draw, copy, project
from dpcheck.algorithms.kernels.tape import mark, release, sample
from dpcheck.algorithms.layout import JOINT, Release
from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.run import SCHEMES, History, fill, pack
from dpcheck.algorithms.schedule import (
    Number,
    Schedule,
    fixed,
    gaussian,
    norm,
    number,
    one_of,
    positive,
    records,
    smoothness_for_eta,
    whole,
)
from dpcheck.algorithms.solver import Solver
from dpcheck.catalogue.yang2022 import printed_batch, unmet_in_table_1
from dpcheck.errors import require
from dpcheck.events import Event, Gaussian, Repeated, Sampled, Scheme

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry


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
        return sensitivity_of(self.problem, self.batch, self.clip_w, self.clip_v)

    @cached_property
    def sigma(self) -> float:
        """Standard deviation of the noise on both blocks."""
        if not self.private:
            return 0.0

        def events(z: float) -> tuple[Event, ...]:
            step = Sampled((Gaussian(z),), self.sampling, self.sizes.n, self.batch, "replace_one")
            return (Repeated(step, 2 * self.steps),)

        return self.sensitivity * self.certified(events)

    @property
    def notes(self) -> tuple[str, ...]:
        taken = f"{2 * self.steps * self.batch} {self.sampling.replace('_', ' ')}"
        note = f"Table 1 of Yang et al. counts n^2 gradients, with replacement; this run takes {taken}"
        return () if self.many else (note,)


def sensitivity_of(problem: Problem, batch: int, clip_w: float, clip_v: float) -> float:
    """Return the sensitivity (l2) of the minibatch mean of both blocks as one vector."""
    return 2 * math.hypot(min(problem.lipschitz_w, clip_w), min(problem.lipschitz_v, clip_v)) / batch


class Reals(NamedTuple):
    """Step size, noise and sensitivity of both blocks, clipping norms."""

    eta: float
    sigma: float
    sensitivity: float
    clip_w: float
    clip_v: float


class Counts(NamedTuple):
    """T, how minibatches are drawn and how large they are."""

    steps: int
    scheme: int
    batch: int


@kernel("run")
def run(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """The two half steps; ``out`` receives the mean of z_1, ..., z_T."""
    reals, counts, data = named(Reals, numbers.reals), named(Counts, numbers.counts), objective.data
    T, scheme, batch = counts.steps, counts.scheme, counts.batch
    n, size, d = data.records.shape[0], data.start.size, data.dim_w
    u, z, g, clip = data.start.copy(), data.start.copy(), np.empty(size), np.array([reals.clip_w, reals.clip_v])
    deck, index = np.arange(n), np.empty(n if scheme == Draw.POISSON else batch, np.int64)
    out[:] = 0.0
    for t in range(T):
        for half in range(2):
            count = sample(scheme, n, batch, deck, rng, index, tape)
            objective.mean(objective.gradient, data, index[:count], batch, u if half == 0 else z, clip, g)
            release(g, reals.sigma, reals.sensitivity, rng, tape)
            copy(u, z)
            for i in range(d):
                z[i] -= reals.eta * g[i]
            for i in range(d, size):
                z[i] += reals.eta * g[i]
            project(z[:d], data.domain_w)
            project(z[d:], data.domain_v)
            if half == 0:
                if mark(t, z, tape):
                    return
                for i in range(size):
                    out[i] += z[i] / T
        copy(z, u)


def halves(solver: Any, problem: Problem, history: History) -> tuple[Release, ...]:
    """Return two minibatches for each step, both blocks as one vector on each."""
    rows, which = range(len(history.clean)), ("first", "second")
    return tuple(Release(row, JOINT, f"in the {which[row % 2]} half of step {row // 2 + 1}", row) for row in rows)


@dataclass(frozen=True, eq=False)
class NSEG(Solver):
    """Noisy stochastic extragradient, the single-loop baseline of Boob and Guzman 2024.

    Parameters
    ----------
    steps : int
        Iterations T.
    batch : int
        Minibatch m.
    eta : float
        Step size.
    sigma : float
        Standard deviation of the noise on both blocks.
    sampling : {"without_replacement", "with_replacement", "poisson"}
        How minibatches are drawn.
    clip_w, clip_v : float
        Clipping norms (l2) of one record's gradients, inf for none.
    notes : tuple of str
        What a run should say about the configuration.
    """

    steps: int
    batch: int
    eta: float
    sigma: float
    sampling: Scheme
    clip_w: float
    clip_v: float
    notes: tuple[str, ...] = ()

    name = "nseg"
    paper = "yang2022"
    source = "Boob and Guzman 2024, Algorithm 1; Yang et al. 2022, Section 4"
    reconstructed = "two minibatches a step, and one noise for both blocks, from the accountant"
    variants = ("repaired",)
    example = "bilinear"
    differences = False
    tiny: ClassVar[dict[str, Any]] = {"steps": 5}
    small_runs: ClassVar[dict[str, tuple[str, dict[str, Any]]]] = {
        "repaired.poisson": ("repaired", tiny | {"sampling": "poisson"}),
        "repaired.with_replacement": ("repaired", tiny | {"sampling": "with_replacement"}),
    }
    layout = halves
    kernel = staticmethod(run)
    schedules: ClassVar[dict[str, type[Schedule]]] = {"repaired": Extragradient}

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """Return two minibatches a step, one joint Gaussian each; iterate t is z_t, which saw 2t + 1 of them."""
        multiplier = gaussian(self.sigma, sensitivity_of(problem, self.batch, self.clip_w, self.clip_v))
        step = Sampled((multiplier,), self.sampling, len(problem.records), self.batch, "replace_one")
        seen = self.steps if iterations is None else iterations
        return (Repeated(step, min(2 * seen + 1, 2 * self.steps)),)

    def packed(self, problem: Problem) -> Numbers:
        """Pack what :func:`run` reads."""
        n = len(problem.records)
        require(self.batch <= n, "batch", f"be at most the number of records, {n}", self.batch)
        sensitivity = sensitivity_of(problem, self.batch, self.clip_w, self.clip_v)
        return pack(fill(Reals, self, sensitivity=sensitivity), fill(Counts, self, scheme=SCHEMES[self.sampling]))

    def unmet(self, problem: Problem) -> Iterator[str]:
        """Yield what Table 1 of Yang et al. assumes and this run does not meet."""
        return unmet_in_table_1(self, problem)

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield games of two minibatches a step."""
        from dpcheck.checks.games import BATCH, CLIPS, FAR, ONE, PAIR, STEPS, blank, entry

        settings = CLIPS | {"steps": STEPS // 2, "batch": BATCH, "eta": 0.05}
        yield entry(cls.name, "repaired", blank(**FAR), PAIR, ONE, settings)
