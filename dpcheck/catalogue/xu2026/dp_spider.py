"""DP-SPIDER: private gradient differences between refreshes, for nonconvex minimisation.

Arora, Bassily, Gonzalez, Guzman, Menart, Ullah: "Faster Rates of Convergence to Stationary Points in
Differentially Private Optimization", ICML 2023, Algorithm 1, which they call Private SpiderBoost, for the empirical
risk (their Algorithm 2, Tree-based Private Spider, is for that of the population); "DP SPIDER" in Xu et al. 2026,
Table 1. Reconstructed from its orders, whose constants are taken as 1; ``as_printed`` means the noise formulas below
with c = 1.

Neighbours replace one record, log is natural, a = sqrt(d log(1/delta))/(n epsilon). T, q and b2 have the
orders of the theorem with constant 1.

=============  =========================================  =========================================
               as_printed                                 repaired
=============  =========================================  =========================================
noise          the formulas' constant c = 1               the least c that the accountant certifies
=============  =========================================  =========================================

with sigma1 = c L0 sqrt(log(1/delta))/epsilon max{1/b1, sqrt(T/q)/n}, sigma2 = c Ls sqrt(log(1/delta))/epsilon
max{1/b2, sqrt(T)/n}, sigma2hat = 2 (L0/Ls) sigma2; T/q is rounded up, since refreshes come whole. The paper assumes
that records' gradients are at most L0 and move by Ls |dw| at most; in both variants clipping sees to it, of gradients
to L0 and of differences to min(Ls |dw|, 2 L0): with the noise min(sigma2 |dw|, sigma2hat) every difference has the same
noise multiplier.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from dpcheck.algorithms.kernels.jit import kernel, named
from dpcheck.algorithms.kernels.parts import below, copy, project
from dpcheck.algorithms.kernels.tape import mark
from dpcheck.algorithms.layout import descent
from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.schedule import Schedule, number, whole
from dpcheck.catalogue.xu2026.spider import Spider, SpiderSchedule
from dpcheck.catalogue.xu2026.spider_kernels import Bounds, estimate, scratch
from dpcheck.events import Event

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry


class Printed(SpiderSchedule):
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


class Reals(NamedTuple):
    """Step size, clipping norms and noise."""

    eta: float
    L0: float
    Ls: float
    sigma_1: float
    sigma_2: float


class Counts(NamedTuple):
    """T, q, and the minibatches of a refresh and of a difference."""

    steps: int
    period: int
    b1: int
    b2: int


@kernel("run")
def run(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """Run Algorithm 2; ``out`` receives one of w_1, ..., w_T, drawn uniformly beforehand."""
    reals, counts, data = named(Reals, numbers.reals), named(Counts, numbers.counts), objective.data
    bounds = Bounds(reals.L0, reals.Ls, reals.sigma_1, reals.sigma_2)
    w, T, q = data.start.copy(), counts.steps, counts.period
    room = scratch(data.records.shape[0], counts.b1, counts.b2, w)
    chosen = below(T, rng)
    for t in range(T):
        if mark(t, w, tape):
            return
        estimate(t % q == 0, objective, w, bounds, room, rng, tape)
        copy(w, room.old)
        for i in range(w.size):
            w[i] -= reals.eta * room.v[i]
        project(w, data.domain_w)
        if t == chosen:
            copy(w, out)


@dataclass(frozen=True, eq=False)
class DPSpider(Spider):
    """DP-SPIDER, Algorithm 1 of Arora et al. 2023; :meth:`configure` takes its numbers from their theorem.

    Parameters
    ----------
    steps, period : int
        T iterations, and q of them between refreshes.
    b1, b2 : int
        Minibatches of a refresh and of a difference.
    eta : float
        Step size.
    L0, Ls : float
        Clipping norms (l2) of a gradient, and of a difference for each unit of distance.
    sigma_1, sigma_2 : float
        Noise over the clipping norm on either.
    notes : tuple of str
        What a run should say about the configuration.
    """

    steps: int
    period: int
    b1: int
    b2: int
    eta: float
    L0: float
    Ls: float
    sigma_1: float
    sigma_2: float
    notes: tuple[str, ...] = ()

    name = "dp_spider"
    paper = "xu2026"
    source = "Arora et al. 2023, Algorithm 1 (Private SpiderBoost); Xu et al. 2026, Table 1"
    reconstructed = "T, q and b2, from their orders with constant 1"
    example = "double_well"
    tiny: ClassVar[dict[str, Any]] = {"steps": 6, "period": 3, "b1": 20, "b2": 5}
    small_problem = "sensing"
    layout = descent
    kernel = staticmethod(run)
    reals, counts = Reals, Counts
    schedules: ClassVar[dict[str, type[Schedule]]] = {"as_printed": Printed, "repaired": Repaired}

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """A refresh every q iterations, a difference at the others."""
        iterations = self.steps if iterations is None else iterations
        refreshes = math.ceil(iterations / self.period)
        return self._events(problem, refreshes, iterations - refreshes)

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield a game of two refreshes, repaired, and as printed one of a refresh and a difference.

        As printed the constant that the paper leaves open is 1. The fewer releases the output rests on, the more it
        alone tells; what is printed is too little for any number.
        """
        from dpcheck.checks.games import ONE, RECORDS, STEPS, WHOLE

        yield cls._game("repaired", ONE, {"period": STEPS // 2})
        settings = {"steps": 2, "period": 2, "b1": RECORDS, "b2": RECORDS}
        yield cls._game("as_printed", WHOLE, settings, words="as printed, with c = 1", least=100_000)
