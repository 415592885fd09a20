"""DPTD: private temporal-difference learning by averaged gradients on boxes.

Zhao et al. 2023, the baseline of Zhang et al. 2025 in reinforcement learning. Reconstructed from its step
sizes and noise: with nu_t = a/sqrt(t + b), P the projection onto the domains, p and q running averages,

    w <- w + nu_t (P(w - chi p) - w),   v <- v + nu_t (P(v + eta q) - v),
    p <- (1 - alpha nu_t) p + alpha nu_t (grad_w on a minibatch) + N(0, sigma^2),   q likewise with beta.

Neighbours replace one record, log is natural.

========  ==============================================  ===================================
          as_printed                                      repaired
========  ==============================================  ===================================
noise     sigma^2 = 14 G^2 T alpha'/(n^2 beta' epsilon),  one multiplier for all releases,
          alpha' = log(1/delta)/((1 - beta') epsilon)     from the accountant
          + 1, beta' = 1/2, added to p and q
========  ==============================================  ===================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from dpcheck.algorithms.kernels.jit import Numbers, kernel, named
from dpcheck.algorithms.kernels.parts import Draw, copy, project, scale
from dpcheck.algorithms.kernels.tape import mark, release, sample
from dpcheck.algorithms.layout import pairs
from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.run import fill, pack
from dpcheck.algorithms.schedule import Schedule, fixed, gaussian, moves, norm, number, positive, records, whole
from dpcheck.algorithms.solver import Solver
from dpcheck.errors import require
from dpcheck.events import Event, Repeated, Sampled

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry


class Printed(Schedule):
    """The noise of the appendix, of order alpha' with beta' = 1/2.

    Attributes
    ----------
    steps : int
        T; n by default.
    batch : int
        Minibatch m, at most n.
    clip_w, clip_v : float
        Clipping norms (l2) of one record's gradients, > 0, inf where the problem is Lipschitz.
    chi, eta, alpha, beta : float
        Factors of the steps and of the averages, > 0.
    a, b : float
        Factor and offset of nu_t, > 0.

    References
    ----------
    R. Zhang et al. Improved rates of differentially private nonconvex-strongly-concave minimax optimization. AAAI
    2025, appendix (DPTD of Zhao et al. 2023).
    """

    def require(self) -> None:
        require(math.isfinite(sum(self.bounds)), "problem", "be Lipschitz, or clipped", self.problem.name)
        most = max(self.alpha, self.beta) * float(self.nu[0])
        require(most <= 1, "a", "keep alpha nu_1 and beta nu_1 at most 1", self.a)

    @number(whole)
    def steps(self) -> int:
        return self.sizes.n

    batch = fixed(1, records)
    clip_w, clip_v = fixed(math.inf, norm), fixed(math.inf, norm)
    chi, eta = fixed(2.0, positive), fixed(2.0, positive)
    alpha, beta = fixed(3.0, positive), fixed(3.0, positive)
    a, b = fixed(0.25, positive), fixed(3.0, positive)

    @cached_property
    def nu(self) -> Array:
        """Step sizes, (T,)."""
        nu: Array = self.a / np.sqrt(np.arange(1, self.steps + 1) + self.b)
        return nu

    @cached_property
    def noise(self) -> Sequence[Array]:
        """sigma_w and sigma_v, (T,) each."""
        n, steps, epsilon = self.sizes.n, self.steps, self.sizes.epsilon
        order = math.log(1 / self.sizes.delta) / (0.5 * epsilon) + 1
        return [np.full(steps, G * math.sqrt(14 * steps * order / (0.5 * epsilon)) / n) for G in self.bounds]

    @property
    def sigma_w(self) -> Array:
        """Standard deviations of the noise on the average in w, (T,)."""
        return self.noise[0] if self.private else np.zeros(self.steps)

    @property
    def sigma_v(self) -> Array:
        """Standard deviations of the noise on the average in v, (T,)."""
        return self.noise[1] if self.private else np.zeros(self.steps)


class Repaired(Printed):
    """One multiplier for all releases, from the accountant."""

    repaired = True

    @cached_property
    def noise(self) -> Sequence[Array]:
        z = self.certified_pair("without_replacement", self.batch, self.steps)
        rates = (self.alpha, self.beta)
        return [z * rate * self.nu * 2 * G / self.batch for rate, G in zip(rates, self.bounds, strict=True)]


class Reals(NamedTuple):
    """Factors of the steps and of the averages, sensitivities of the minibatch means and clipping norms."""

    chi: float
    eta: float
    alpha: float
    beta: float
    sensitivity_w: float
    sensitivity_v: float
    clip_w: float
    clip_v: float


class Counts(NamedTuple):
    """The minibatch."""

    batch: int


@kernel("run")
def run(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """Run averaged descent ascent; ``steps`` (3, T) holds nu and the noise on p and on q."""
    data, steps = objective.data, numbers.steps
    reals, batch = named(Reals, numbers.reals), named(Counts, numbers.counts).batch
    chi, eta, alpha, beta = reals.chi, reals.eta, reals.alpha, reals.beta
    n, size, d = data.records.shape[0], data.start.size, data.dim_w
    x, moved, average, g = data.start.copy(), np.empty(size), np.zeros(size), np.empty(size)
    g_w, g_v, clip = g[:d], g[d:], np.array([reals.clip_w, reals.clip_v])
    deck, index = np.arange(n), np.empty(batch, np.int64)
    for t in range(steps.shape[1]):  # at t = 0 the averages are 0 and nothing moves
        if mark(t, x, tape):
            return
        nu = steps[0, t]
        for i in range(size):
            moved[i] = x[i] - chi * average[i] if i < d else x[i] + eta * average[i]
        project(moved[:d], data.domain_w)
        project(moved[d:], data.domain_v)
        for i in range(size):
            x[i] += nu * (moved[i] - x[i])
        sample(Draw.WITHOUT_REPLACEMENT, n, batch, deck, rng, index, tape)
        objective.mean(objective.gradient, data, index, batch, x, clip, g)
        scale(g_w, alpha * nu)
        scale(g_v, beta * nu)
        release(g_w, steps[1, t], alpha * nu * reals.sensitivity_w, rng, tape)
        release(g_v, steps[2, t], beta * nu * reals.sensitivity_v, rng, tape)
        for i in range(size):
            average[i] = (1 - (alpha if i < d else beta) * nu) * average[i] + g[i]
    copy(x, out)


@dataclass(frozen=True, eq=False)
class DPTD(Solver):
    """DPTD, private temporal-difference learning by averaged gradients, of Zhao et al. 2023.

    Parameters
    ----------
    nu : ndarray, (T,)
        Step sizes.
    sigma_w, sigma_v : ndarray, (T,)
        Standard deviations of the noise on the averages.
    batch : int
        Minibatch m.
    clip_w, clip_v : float
        Clipping norms (l2) of one record's gradients, inf for none.
    chi, eta, alpha, beta : float
        Factors of the steps and of the averages.
    notes : tuple of str
        What a run should say about the configuration.
    """

    nu: Array
    sigma_w: Array
    sigma_v: Array
    batch: int
    clip_w: float
    clip_v: float
    chi: float = 2.0
    eta: float = 2.0
    alpha: float = 3.0
    beta: float = 3.0
    notes: tuple[str, ...] = ()

    name = "dptd"
    paper = "zhang2025"
    source = "Zhao et al. 2023, the baseline of Zhang et al. 2025's appendix"
    reconstructed = "the update, from the step sizes and the noise that are printed"
    example = "quadratic"
    differences = False
    tiny: ClassVar[dict[str, Any]] = {"steps": 8}
    layout = pairs
    kernel = staticmethod(run)
    schedules: ClassVar[dict[str, type[Schedule]]] = {"as_printed": Printed, "repaired": Repaired}

    def quiet(self) -> Self:
        """Return the same configuration without noise."""
        zero = np.zeros_like(self.nu)
        return replace(self, sigma_w=zero, sigma_v=zero, notes=())

    def iterations(self, problem: Problem) -> int:
        """Return T."""
        return self.nu.size

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """A minibatch a step; as printed the first steps, with the largest nu, are the least private."""
        n, T = len(problem.records), self.nu.size if iterations is None else iterations
        in_w, in_v = moves(problem, (self.clip_w, self.clip_v), self.batch)
        steps = [
            Sampled(
                (gaussian(float(self.sigma_w[t]), self.alpha * float(self.nu[t]) * in_w),
                 gaussian(float(self.sigma_v[t]), self.beta * float(self.nu[t]) * in_v)),
                "without_replacement", n, self.batch,
            )
            for t in range(T)
        ]  # fmt: skip
        if T and np.ptp(self.sigma_w / self.nu) <= 1e-12 * self.sigma_w[0] / self.nu[0]:
            return (Repeated(steps[0], T),)
        return tuple(steps)

    def packed(self, problem: Problem) -> Numbers:
        """Pack what :func:`run` reads."""
        n = len(problem.records)
        require(self.batch <= n, "batch", f"be at most the number of records, {n}", self.batch)
        in_w, in_v = moves(problem, (self.clip_w, self.clip_v), self.batch)
        reals = fill(Reals, self, sensitivity_w=in_w, sensitivity_v=in_v)
        return pack(reals, fill(Counts, self), np.stack([self.nu, self.sigma_w, self.sigma_v]))

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield a game of each variant, as printed with T = n and minibatches of one, as by default."""
        from dpcheck.checks.games import BATCH, BOTH, CLIPS, FAR, PAIR, STEPS, blank, entry

        yield entry(cls.name, "repaired", blank(**FAR), PAIR, BOTH, CLIPS | {"steps": STEPS, "batch": BATCH})
        yield entry(cls.name, "as_printed", blank(STEPS, **FAR), PAIR, BOTH, CLIPS)
