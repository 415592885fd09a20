"""Sto-SPIDER: drift-triggered SPIDER with extra noise near saddles, then a private choice among all iterates.

Liu, Ganesh, Oh, Thakurta: "Private (Stochastic) Non-Convex Optimization Revisited: Second-Order Stationary Points
and Excess Risks", NeurIPS 2023, Algorithm 1, and its selection by AboveThreshold; a baseline of Xu et al.
2026, Section 5.

Neighbours replace one record, log is natural. Reconstructed: the estimate is made anew when the drift, the sum of
|w_i - w_{i-1}|^2 since the last time, reaches kappa, and also where its norm is at most gamma, unless that
happened within the last Gamma steps ("frozen"); in the latter case noise N(0, r^2 I) is added to the new estimate.
The selection returns the first iterate that AboveThreshold finds to be an alpha second-order point. Set here:

- kappa, chi, alpha = 4 chi and Gamma as for Ada-DP-SPIDER, gamma = 3 chi, r = sigma1, the noise of a refresh;
- ``refreshes`` bounds how often the estimate is made anew; where one more is asked for the descent ends;
- one test an iterate, of q = min{(alpha - |grad F|)/D1, (lambda_min + sqrt(rho alpha))/D2} >= 0 over all records:
  the gradient, clipped to L0 per record, moves by D1 = 2 L0/n. The Hessian is taken by central differences, each
  column clipped per record to Ls, so that the matrix moves by 2 Ls sqrt(d)/n (Frobenius) and, by Weyl's
  inequality, lambda_min by no more: D2. So q has sensitivity 1;
- AboveThreshold adds Laplace noise of scale 2b to the threshold and 4b to every q, and is (1/b)-DP however many
  iterates it passes over (Dwork and Roth 2014, Theorem 3.23). A pure epsilon_0 does not make it as private as the
  Laplace mechanism of that epsilon: randomised response is worse below. Laplace noise of multiplier
  1/(2 log((1 + e^epsilon_0)/2)) is at least as bad as any epsilon_0-DP mechanism, and this is the event declared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dpcheck.algorithms.kernels.jit import Objective, Place, kernel, named
from dpcheck.algorithms.kernels.parts import copy, norm, project
from dpcheck.algorithms.kernels.tape import At, Mode, Outcome, mark
from dpcheck.algorithms.layout import Release, descent
from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.run import History, fill
from dpcheck.algorithms.schedule import Schedule, fixed, number, positive, share
from dpcheck.catalogue.xu2026.spider import Drifting, Spider
from dpcheck.catalogue.xu2026.spider_kernels import Bounds, distance, estimate, scratch
from dpcheck.errors import require
from dpcheck.events import Event, Laplace

if TYPE_CHECKING:
    from dpcheck.checks.context import Context, Stage
    from dpcheck.checks.games import Entry


class Stochastic(Drifting):
    """Drift, extra noise near saddles, and a private choice among the iterates.

    Attributes
    ----------
    alpha : float
        Accuracy of the second-order point, > 0.
    gamma, r : float
        The norm > 0 of an estimate that calls for a refresh too, and the noise added then, > 0; ``Gamma`` steps later
        it may again.
    selection : float
        Share of epsilon that the selection has, in (0, 1).

    References
    ----------
    D. Liu et al. Private (stochastic) non-convex optimization revisited. NeurIPS 2023, Algorithm 1.

    D. Xu et al. Finding differentially private second order stationary points in stochastic minimax optimization.
    2026, Section 5.
    """

    def require(self) -> None:
        super().require()
        require(self.Ls < math.inf, "Ls", "be finite: the selection clips the Hessian's columns to it", self.Ls)

    @number(positive)
    def alpha(self) -> float:
        return 4 * self.noise_level

    @number(positive)
    def gamma(self) -> float:
        return 3 / 4 * self.alpha

    @number(positive)
    def r(self) -> float:
        return self.L0 * self.noise[0]

    selection = fixed(0.25, share)

    @property
    def curvature(self) -> float:
        """sqrt(rho alpha)."""
        return math.sqrt(self.rho * self.alpha)

    @cached_property
    def scale(self) -> float:
        """b of AboveThreshold, also where no noise is added."""
        return scale_of(self.selection * self.sizes.epsilon)

    @property
    def sigma_select(self) -> float:
        """The scale b that the run takes."""
        return self.scale if self.private else 0.0

    @cached_property
    def noise(self) -> tuple[float, float]:
        return self.calibrated(min(self.refreshes, self.steps), self.steps - 1, (pure(self.scale),))

    @property
    def notes(self) -> tuple[str, ...]:
        blur = 4 * self.scale * 2 * self.L0 / self.sizes.n
        more = f"the selection blurs gradient norms by {blur:.4g}, more than alpha = {self.alpha:.4g}"
        return (*super().notes, more) if blur > self.alpha else super().notes


def pure(scale: float) -> Laplace:
    """An event at least as bad as every (1/scale)-DP mechanism.

    Randomised response of epsilon_0 is the worst; its delta at epsilon is 1 - (1 + e^epsilon)/(1 + e^epsilon_0), that
    of the Laplace mechanism of e is 1 - e^{(epsilon - e)/2}. The latter is no less for every epsilon in [0, e] where
    e^{e/2} >= (1 + e^epsilon_0)/(2 cosh(epsilon/2)), which is hardest at epsilon = 0.
    """
    return Laplace(0.0 if scale == 0 else 0.5 / (math.log1p(math.exp(-1 / scale)) + 1 / scale - math.log(2)))


def scale_of(epsilon: float) -> float:
    """The scale b at which :func:`pure` has this epsilon: 1/b = log(2 e^{epsilon/2} - 1)."""
    return 1 / math.log1p(2 * math.expm1(epsilon / 2))


_STEP = 1e-4  # of the central differences; only the accuracy of the test depends on it, not its privacy


class Limits(NamedTuple):
    """The numbers that the selection tests with: clipping norms L0 and Ls, alpha, and the curvature sqrt(rho alpha)."""

    L0: float
    Ls: float
    alpha: float
    curvature: float


class Reals(NamedTuple):
    """Step size, drift, norm that calls for a refresh, noise added then, scale b; what is tested; noise."""

    eta: float
    kappa: float
    gamma: float
    r: float
    sigma_select: float
    L0: float
    Ls: float
    alpha: float
    curvature: float
    sigma_1: float
    sigma_2: float


class Counts(NamedTuple):
    """T, the minibatches, refreshes at most, steps between those near saddles."""

    steps: int
    b1: int
    b2: int
    refreshes: int
    Gamma: int


@kernel("float64(objective, vector, Limits)")
def score(objective, w, limits):  # type: ignore[no-untyped-def]
    """Return q at ``w``, of sensitivity 1."""
    gradient, data = objective.gradient, objective.data
    L0, Ls, alpha, curvature = limits.L0, limits.Ls, limits.alpha, limits.curvature
    n, size = data.records.shape[0], w.size
    everyone, clip = np.arange(n), np.full(2, np.inf)
    g, hessian = np.empty(size), np.empty((size, size))
    ahead, behind = w.copy(), w.copy()
    clip[0] = L0
    objective.mean(gradient, data, everyone, n, w, clip, g)
    slope = norm(g)
    clip[0] = 2 * _STEP * Ls
    for i in range(size):
        ahead[i], behind[i] = w[i] + _STEP, w[i] - _STEP
        objective.difference(gradient, data, Place(everyone, ahead), Place(everyone, behind), n, clip, g)
        ahead[i], behind[i] = w[i], w[i]
        for j in range(size):
            hessian[i, j] = g[j] / (2 * _STEP)
    for i in range(size):
        for j in range(i):
            half = 0.5 * (hessian[i, j] + hessian[j, i])
            hessian[i, j], hessian[j, i] = half, half
    least = np.linalg.eigvalsh(hessian)[0]
    return min((alpha - slope) * n / (2 * L0), (least + curvature) * n / (2 * Ls * np.sqrt(size)))


@kernel("void(parts, matrix, Limits, vector)")
def score_all(parts, points, limits, out):  # type: ignore[no-untyped-def]
    """Score of every row of ``points`` : (rows,)."""
    for i in range(out.size):
        out[i] = score(Objective(*parts), points[i], limits)


@kernel("int64(objective, matrix, Limits, float64, stream, tape)")
def above_threshold(objective, path, limits, scale, rng, tape):  # type: ignore[no-untyped-def]
    """Return the number of the first row of ``path`` whose noisy score passes, -1 if none does.

    One release on the tape: the number is released, its score (the last one's if none passes) is the private
    quantity; a replay takes the number from the tape.  scale : b
    """
    cursor, clean, released = tape.cursor, tape.clean, tape.released
    row, mode = cursor[At.RELEASES], cursor[At.MODE]
    cursor[At.RELEASES] += 1
    threshold = 2 * scale * (rng.standard_exponential() - rng.standard_exponential())
    chosen = -1
    for t in range(path.shape[0]):
        blur = 4 * scale * (rng.standard_exponential() - rng.standard_exponential())
        # drawn also after the choice: a replay draws as often as its run
        if chosen < 0 and score(objective, path[t], limits) + blur >= threshold:
            chosen = t
    if mode in (Mode.RECORD, Mode.REPLAY) and row < clean.shape[0]:
        if mode == Mode.REPLAY:
            chosen = int(released[row, 0])
        shown = chosen if chosen >= 0 else path.shape[0] - 1
        clean[row, 0] = score(objective, path[shown], limits)
        released[row, 0] = chosen
        tape.noise[row, 0], tape.noise[row, 1] = scale, 1.0
    return chosen


@kernel("run")
def run(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """Run Algorithm 1, then the selection; ``out`` receives the chosen iterate, or the last."""
    reals, counts, data = named(Reals, numbers.reals), named(Counts, numbers.counts), objective.data
    limits = Limits(reals.L0, reals.Ls, reals.alpha, reals.curvature)
    bounds = Bounds(reals.L0, reals.Ls, reals.sigma_1, reals.sigma_2)
    w, path = data.start.copy(), np.empty((counts.steps, data.start.size))
    room = scratch(data.records.shape[0], counts.b1, counts.b2, w)
    v, old = room.v, room.old
    drift, made, frozen, seen = 0.0, 0, 0, 0
    for t in range(counts.steps):
        if mark(t, w, tape):
            return
        drift += distance(w, old) ** 2
        saddle = t > 0 and frozen <= 0 and norm(v) <= reals.gamma
        refresh = t == 0 or saddle or drift >= reals.kappa
        if refresh:
            if made == counts.refreshes:
                break
            made += 1
            drift = 0.0
        estimate(refresh, objective, w, bounds, room, rng, tape)
        if saddle:
            frozen = counts.Gamma
            for i in range(v.size):
                v[i] += reals.r * rng.standard_normal()
        else:
            frozen -= 1
        copy(w, old)
        for i in range(w.size):
            w[i] -= reals.eta * v[i]
        project(w, data.domain_w)
        copy(w, path[t])
        seen = t + 1
    chosen = above_threshold(objective, path[:seen], limits, reals.sigma_select, rng, tape)
    tape.cursor[At.OUTCOME] = Outcome.CERTIFIED if chosen >= 0 else Outcome.UNCERTIFIED
    copy(path[chosen if chosen >= 0 else seen - 1], out)


def with_choice(solver: Any, problem: Problem, history: History) -> tuple[Release, ...]:
    """Describe a descent, and at the end a choice by all records."""
    *steps, last = descent(solver, problem, history)
    return (*steps, Release(last.row, "the choice", "at the end"))


@dataclass(frozen=True, eq=False)
class StoSpider(Spider):
    """Sto-SPIDER, Algorithm 1 of Liu et al. 2023 with its selection; the file's head says how it is set up.

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
    gamma, Gamma, r : float, int, float
        The norm of an estimate that calls for one too, the steps after which it may again, and the noise added then.
    alpha, curvature : float
        Accuracy of the second-order point, and sqrt(rho alpha).
    L0, Ls : float
        Clipping norms (l2) of a gradient, and of a difference for each unit of distance.
    sigma_1, sigma_2 : float
        Noise over the clipping norm on either.
    sigma_select : float
        Scale b of AboveThreshold.
    notes : tuple of str
        What a run should say about the configuration.
    """

    steps: int
    b1: int
    b2: int
    refreshes: int
    eta: float
    kappa: float
    gamma: float
    Gamma: int
    r: float
    alpha: float
    curvature: float
    L0: float
    Ls: float
    sigma_1: float
    sigma_2: float
    sigma_select: float
    notes: tuple[str, ...] = ()

    name = "sto_spider"
    paper = "xu2026"
    source = "Liu et al. 2023, Algorithm 1 and its selection; Xu et al. 2026, Section 5"
    reconstructed = "the constants of drift and escape, the bound on refreshes, what the selection tests"
    variants = ("repaired",)
    example = "double_well"
    tiny: ClassVar[dict[str, Any]] = {"steps": 3, "b1": 20, "b2": 5, "Gamma": 2}
    layout = with_choice
    kernel = staticmethod(run)
    reals, counts = Reals, Counts
    schedules: ClassVar[dict[str, type[Schedule]]] = {"repaired": Stochastic}

    def _scores(self, problem: Problem, points: Array) -> Array:
        """Return what the selection sees of points (rows, d), without its noise : (rows,)."""
        scores = np.empty(len(points))
        score_all(self.parts(problem), points, fill(Limits, self), scores)
        return scores

    def as_laplace(self, multiplier: float) -> float:
        """Return that of :func:`pure`."""
        return pure(multiplier).noise_multiplier

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """The most refreshes there may be, a difference at every step but the first, and at the end the selection."""
        done = self.steps if iterations is None else iterations
        steps = self._events(problem, min(self.refreshes, done), max(done - 1, 0))
        return steps if done < self.steps else (*steps, pure(self.sigma_select))

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield a game that leaves nearly all of epsilon to the descent.

        Its second estimate is a refresh too, as its norm asks for.
        """
        from dpcheck.checks.games import ONE, STEPS

        settings = {"refreshes": 2, "kappa": 1e9, "gamma": 1e9, "Gamma": STEPS, "r": 1e-9}
        settings |= {"alpha": 1.0, "selection": 0.001}
        remark = "the private choice at the end, 0.1 % of epsilon, is not looked at"
        # the canary moves either coordinate of the choice's score by as much, and its norm by sqrt(1/2) of what is
        # declared
        yield cls._game("repaired", ONE, settings, remark=remark, least_share=0.7)

    @classmethod
    def further(cls, context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterable[Stage]:
        """Return the stage about the private choice."""
        from dpcheck.catalogue.xu2026.choice import stages

        return stages(context, tables)
