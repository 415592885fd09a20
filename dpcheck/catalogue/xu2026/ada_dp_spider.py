"""Ada-DP-SPIDER: the SPIDER estimator refreshed by drift, and an escape from saddles by its own noise.

Tao, Zhang, Yu, Cheng, Dressler, Wang: "Second-Order Convergence in Private Stochastic Non-Convex
Optimization", 2025, Algorithms 1 (Gauss-PSGD) and 2; a baseline of Xu et al. 2026, Section 5.

Neighbours replace one record, log is natural. Reconstructed: the estimate is made anew when the sum of
|w_i - w_{i-1}|^2 since the last time reaches kappa; a step is w - eta times the estimate. Where its norm is at
most 3 chi, up to Q rounds of Gamma steps start from that point; one that gets R away has escaped and descent
goes on from there, and if none does the point is returned, certified. What is set here:

- chi = psi, psi^2 = d (sigma1^2 + sigma2^2 kappa) + L0^2 (1/b1 - 1/n) + Ls^2 kappa (1/b2 - 1/n): what noise and
  sampling bring to an estimate of drift kappa; the paper's logarithmic factors of chi are left out, as they
  exceed the range of the gradient at any ordinary n; alpha = 4 chi as in the paper;
- kappa = (sigma1/sigma2)^2: the differences bring as much noise as a refresh;
- Gamma = iota/(eta sqrt(rho alpha)), iota = log(d T/omega), R = sqrt(alpha/rho), Q = (26/5) log(1/omega), of
  the paper's orders, whose constants it leaves open;
- minibatches are drawn anew from all records and the noise is the accountant's, in the proportion of DP-SPIDER;
  the paper's schedule for population risk spends every record once.

How often the drift reaches kappa depends on the data, so ``refreshes`` bounds it, and with it the privacy:
where one more is asked for the run ends uncertified.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from dpcheck.algorithms.kernels.jit import kernel, named
from dpcheck.algorithms.kernels.parts import copy, norm, project
from dpcheck.algorithms.kernels.tape import At, Outcome, mark
from dpcheck.algorithms.layout import descent
from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.schedule import Schedule, number, positive, whole
from dpcheck.catalogue.xu2026.spider import Drifting, Spider
from dpcheck.catalogue.xu2026.spider_kernels import Bounds, distance, estimate, scratch
from dpcheck.events import Event

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry


class Adaptive(Drifting):
    """Drift, and an escape by the noise of the estimate itself.

    Attributes
    ----------
    chi : float
        Noise level > 0, which stays where ``private`` is False; the accuracy alpha is 4 chi.
    R, Q : float and int
        Distance > 0 and rounds of the escape.

    References
    ----------
    Y. Tao et al. Second-order convergence in private stochastic non-convex optimization. 2025, Algorithms 1 and 2.

    D. Xu et al. Finding differentially private second order stationary points in stochastic minimax optimization.
    2026, Section 5.
    """

    @number(positive)
    def chi(self) -> float:
        return self.noise_level

    @number(positive)
    def R(self) -> float:
        return math.sqrt(4 * self.chi / self.rho)

    @number(whole)
    def Q(self) -> int:
        return math.ceil(26 / 5 * math.log(1 / self.failure))

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """Accuracy of the second-order point."""
        return 4 * self.chi

    @cached_property
    def noise(self) -> tuple[float, float]:
        return self.calibrated(min(self.refreshes, self.steps), self.steps - 1)

    @property
    def notes(self) -> tuple[str, ...]:
        taken = self.Gamma * self.Q
        short = f"an escape takes {taken} steps and there are {self.steps}: nothing can be certified"
        return (*super().notes, short) if taken >= self.steps else super().notes


class Reals(NamedTuple):
    """Step size, drift, noise level, distance of the escape, clipping norms and noise."""

    eta: float
    kappa: float
    chi: float
    R: float
    L0: float
    Ls: float
    sigma_1: float
    sigma_2: float


class Counts(NamedTuple):
    """T, the minibatches, refreshes at most, steps and rounds of the escape."""

    steps: int
    b1: int
    b2: int
    refreshes: int
    Gamma: int
    Q: int


@kernel("run")
def run(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """Run Algorithm 1 with Algorithm 2 as its oracle; ``out`` receives the certified point, or the last."""
    reals, counts, data = named(Reals, numbers.reals), named(Counts, numbers.counts), objective.data
    bounds = Bounds(reals.L0, reals.Ls, reals.sigma_1, reals.sigma_2)
    w, anchor = data.start.copy(), data.start.copy()
    room = scratch(data.records.shape[0], counts.b1, counts.b2, w)
    v, old = room.v, room.old
    drift, made, escaping, rounds, inside = 0.0, 0, False, 0, 0
    tape.cursor[At.OUTCOME] = Outcome.UNCERTIFIED
    for t in range(counts.steps):
        if mark(t, w, tape):
            return
        drift += distance(w, old) ** 2  # Algorithm 2, step 3
        refresh = t == 0 or drift >= reals.kappa
        if refresh:
            if made == counts.refreshes:
                break
            made += 1
            drift = 0.0
        estimate(refresh, objective, w, bounds, room, rng, tape)
        copy(w, old)
        if not escaping and norm(v) <= 3 * reals.chi:  # Algorithm 1, step 6
            copy(w, anchor)
            escaping, rounds, inside = True, 0, 0
        for i in range(w.size):
            w[i] -= reals.eta * v[i]
        project(w, data.domain_w)
        if escaping:
            inside += 1
            if distance(w, anchor) >= reals.R:  # step 12
                escaping = False
            elif inside == counts.Gamma:
                rounds += 1
                inside = 0
                copy(anchor, w)
                if rounds == counts.Q:
                    tape.cursor[At.OUTCOME] = Outcome.CERTIFIED
                    break
    copy(w, out)


@dataclass(frozen=True, eq=False)
class AdaDPSpider(Spider):
    """Ada-DP-SPIDER, Algorithms 1 and 2 of Tao et al. 2025; :meth:`configure` fills it as the file's head says.

    Parameters
    ----------
    steps : int
        Iterations T at most.
    b1, b2 : int
        Minibatches of a refresh and of a difference.
    refreshes : int
        Refreshes at most.
    eta : float
        Step size.
    kappa : float
        The drift that calls for a refresh.
    chi : float
        Noise level; the accuracy alpha is 4 chi.
    R, Gamma, Q : float, int, int
        Distance, steps and rounds of the escape.
    L0, Ls : float
        Clipping norms (l2) of a gradient, and of a difference for each unit of distance.
    sigma_1, sigma_2 : float
        Noise over the clipping norm on either.
    notes : tuple of str
        What a run should say about the configuration.
    """

    steps: int
    b1: int
    b2: int
    refreshes: int
    eta: float
    kappa: float
    chi: float
    R: float
    Gamma: int
    Q: int
    L0: float
    Ls: float
    sigma_1: float
    sigma_2: float
    notes: tuple[str, ...] = ()

    name = "ada_dp_spider"
    paper = "xu2026"
    source = "Tao et al. 2025, Algorithms 1 and 2; Xu et al. 2026, Section 5"
    reconstructed = "the constants of drift and escape, the bound on refreshes, the minibatches and the noise"
    variants = ("repaired",)
    example = "double_well"
    tiny: ClassVar[dict[str, Any]] = {"steps": 8, "b1": 20, "b2": 5, "Gamma": 2, "Q": 2}
    small_problem = "sensing"
    layout = descent
    kernel = staticmethod(run)
    reals, counts = Reals, Counts
    schedules: ClassVar[dict[str, type[Schedule]]] = {"repaired": Adaptive}

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """The most refreshes that may happen, and a difference at every step but the first."""
        iterations = self.steps if iterations is None else iterations
        return self._events(problem, min(self.refreshes, iterations), max(iterations - 1, 0))

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield a game without an escape within its steps.

        Drift calls for a second refresh in three runs of four, for a third in few.
        """
        from dpcheck.checks.games import ONE

        yield cls._game("repaired", ONE, {"refreshes": 2, "kappa": 300.0, "chi": 1e-9, "R": 1.0})
