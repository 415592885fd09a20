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
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from dpcheck.accounting import calibrate
from dpcheck.errors import require, require_count, require_positive
from dpcheck.events import Event, Gaussian, Repeated, Sampled
from dpcheck.kernels.jit import RUN_SIGNATURE, kernel
from dpcheck.kernels.named import Bounds, Numbers, named
from dpcheck.kernels.parts import below, copy, project
from dpcheck.kernels.spider import estimate, scratch
from dpcheck.kernels.tape import mark
from dpcheck.problems.problem import Problem
from dpcheck.solvers.solver import Sizes, Solver, fill, pack, require_norm


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


@kernel(RUN_SIGNATURE)
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


@dataclass(frozen=True)
class Plan:
    """What the SPIDER algorithms share: sizes, minibatches, step and clipping norms, checked.

    Parameters
    ----------
    sizes : Sizes
        Records, dimension and budget.
    steps, period : int
        T and q.
    b1, b2 : int
        Minibatches of a refresh and of a difference.
    eta : float
        Step size.
    L0, Ls : float
        Clipping norms (l2) of a gradient, and of a difference for each unit of distance.
    """

    sizes: Sizes
    steps: int
    period: int
    b1: int
    b2: int
    eta: float
    L0: float
    Ls: float

    @classmethod
    def of(
        cls, problem: Problem, sizes: Sizes, F0: float, steps: int | None, period: int | None, b1: int | None,
        b2: int | None, eta: float | None, L0: float | None, Ls: float | None,
    ) -> Plan:  # fmt: skip
        """Take the theorem's orders with constant 1, save what is given.

        b1 = n, T = max{((Ls F0)^{1/4}/(sqrt(L0) a))^{4/3}, 1/a}, q = 1/(T a^2), b2 = max{n/sqrt T, 1/(T a^2)} and
        eta = 1/(2 Ls), where F0 bounds F(w_0) - min F.
        """
        require(problem.dim_v == 0, "problem", "have no v: this algorithm minimises over w alone", problem.name)
        require_positive(F0, "F0")
        n, a = sizes.n, sizes.privacy_error
        L0 = problem.lipschitz_w if L0 is None else L0
        Ls = problem.smoothness if Ls is None else Ls
        require_norm(L0, "L0", finite=True)
        require_norm(Ls, "Ls")
        if steps is None:
            require(Ls < math.inf, "steps", "be given where there is no finite Ls", steps)
            steps = math.ceil(max(((Ls * F0) ** 0.25 / (math.sqrt(L0) * a)) ** (4 / 3), 1 / a))
        require_count(steps, "steps")
        period = max(1, math.floor(1 / (steps * a**2))) if period is None else period
        b1 = n if b1 is None else b1
        b2 = min(n, max(1, math.ceil(n / math.sqrt(steps)), math.ceil(1 / (steps * a**2)))) if b2 is None else b2
        for name, count in (("period", period), ("b1", b1), ("b2", b2)):
            require_count(count, name)
        for name, count in (("b1", b1), ("b2", b2)):
            require(count <= n, name, f"be at most the number of records, {n}", count)
        if eta is None:
            require(Ls < math.inf, "eta", "be given where there is no finite Ls", eta)
            eta = 1 / (2 * Ls)
        require_positive(eta, "eta")
        return cls(sizes, steps, period, b1, b2, eta, L0, Ls)

    @property
    def refreshes(self) -> int:
        """How many refreshes one every q iterations makes."""
        return math.ceil(self.steps / self.period)

    def drifts(self, F0: float) -> int:
        """Count the refreshes that drift calls for: at least T/q, and what a descent of F0 takes.

        Steps eta of a descent of F0 drift by 2 eta F0 in all. A refresh each (L0/Ls)^2 m/T, as its noise
        and that of full differences are balanced with m refreshes, makes m = sqrt(2 eta F0 T) Ls/L0.
        """
        if self.Ls == math.inf:
            return self.refreshes
        return max(self.refreshes, 1 + math.ceil(math.sqrt(2 * self.eta * F0 * self.steps) * self.Ls / self.L0))

    def shares(self, refreshes: int) -> tuple[float, float]:
        """Return sigma_1 and sigma_2 as printed, c = 1, over the clipping norms."""
        root = math.sqrt(math.log(1 / self.sizes.delta)) / self.sizes.epsilon
        return (
            root * max(1 / self.b1, math.sqrt(refreshes) / self.sizes.n),
            root * max(1 / self.b2, math.sqrt(self.steps) / self.sizes.n),
        )

    def events(self, sigma_1: float, sigma_2: float, refreshes: int, differences: int) -> tuple[Event, ...]:
        """Return the events of such a run, as :func:`spider_events` has them."""
        return spider_events(sigma_1, sigma_2, self.sizes.n, self.b1, self.b2, refreshes, differences)

    def calibrated(self, refreshes: int, differences: int, others: tuple[Event, ...] = ()) -> tuple[float, float]:
        """Return sigma_1 and sigma_2 in the printed proportion, with the least c that is certified."""
        one, two = self.shares(refreshes)

        def events(c: float) -> tuple[Event, ...]:
            return (*self.events(c * one, c * two, refreshes, differences), *others)

        c = calibrate(events, epsilon=self.sizes.epsilon, delta=self.sizes.delta)
        return c * one, c * two

    def clipped(self, problem: Problem) -> tuple[str, ...]:
        """A sentence for each clipping norm below the problem's constant."""
        found = {
            f"gradients of norm up to {problem.lipschitz_w:.6g} are clipped to L0 = {self.L0:.6g}":
                problem.lipschitz_w > self.L0,
            f"gradients that move by up to {problem.smoothness:.6g} |dw| are clipped to Ls = {self.Ls:.6g} of it":
                problem.smoothness > self.Ls,
        }  # fmt: skip
        return tuple(sentence for sentence, is_true in found.items() if is_true)


def spider_events(
    sigma_1: float, sigma_2: float, n: int, b1: int, b2: int, refreshes: int, differences: int
) -> tuple[Event, ...]:
    """Noise sigma C on minibatch means that move by 2 C/b.

    They cover every run of at most so many of each kind, in whatever order the run itself chooses from its
    earlier releases: what is left of either kind can be thought to follow at the end, and the composed bound
    does not depend on the order.
    """
    return (
        Repeated(Sampled((Gaussian(sigma_1 * b1 / 2),), "without_replacement", n, b1), refreshes),
        Repeated(Sampled((Gaussian(sigma_2 * b2 / 2),), "without_replacement", n, b2), differences),
    )


@dataclass(frozen=True, eq=False)
class DPSpider(Solver):
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
    kernel = staticmethod(run)

    @classmethod
    def configure(
        cls, problem: Problem, *, epsilon: float, delta: float, variant: str = "repaired",
        steps: int | None = None, period: int | None = None, b1: int | None = None, b2: int | None = None,
        eta: float | None = None, L0: float | None = None, Ls: float | None = None, F0: float = 1.0,
        private: bool = True,
    ) -> Self:  # fmt: skip
        """Set up DP-SPIDER by the orders of its theorem with constant 1, save what is given.

        Parameters
        ----------
        problem : Problem
            The objective with its n records and no v; neighbours replace one record.
        epsilon, delta : float
            Claimed privacy: epsilon > 0 (natural log), delta in (0, 1).
        variant : {"repaired", "as_printed"}
            ``"as_printed"`` follows the paper as published, ``"repaired"`` mends what cannot stand there.
        steps, period : int, optional
            T and q, as :meth:`Plan.of` has them.
        b1, b2 : int, optional
            Minibatches of a refresh and of a difference, at most n; n and max{n/sqrt T, 1/(T a^2)} by default.
        eta : float, optional
            Step size > 0; 1/(2 Ls) by default.
        L0, Ls : float, optional
            Clipping norms (l2) of a gradient, and of a difference for each unit of distance; the problem's by default.
        F0 : float
            Bound on F(w_0) - min F, > 0.
        private : bool
            False switches the noise off, for a baseline without privacy.

        Returns
        -------
        DPSpider
            The configuration.

        Raises
        ------
        InputError
            For values outside their domain, and for a problem that the algorithm is not made for.

        References
        ----------
        R. Arora et al. Faster rates of convergence to stationary points in differentially private optimization. ICML
        2023, Algorithm 1.

        D. Xu et al. Finding differentially private second order stationary points in stochastic minimax optimization.
        2026, Table 1.
        """
        sizes = Sizes.of(problem, epsilon, delta, variant, cls.variants)
        plan = Plan.of(problem, sizes, F0, steps, period, b1, b2, eta, L0, Ls)
        notes = plan.clipped(problem)
        if not private:
            sigma_1 = sigma_2 = 0.0
        elif variant == "repaired":
            sigma_1, sigma_2 = plan.calibrated(plan.refreshes, plan.steps - plan.refreshes)
        else:
            sigma_1, sigma_2 = plan.shares(plan.refreshes)
            notes = ("the constant c of the noise is not printed; 1 is taken", *notes)
        return cls(
            plan.steps, plan.period, plan.b1, plan.b2, plan.eta, plan.L0, plan.Ls, sigma_1, sigma_2, notes
        )  # fmt: skip

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """A refresh every q iterations, a difference at the others."""
        iterations = self.steps if iterations is None else iterations
        refreshes = math.ceil(iterations / self.period)
        return spider_events(
            self.sigma_1, self.sigma_2, len(problem.records), self.b1, self.b2, refreshes, iterations - refreshes
        )

    def packed(self, problem: Problem) -> Numbers:
        """Pack what :func:`run` reads."""
        fits(problem, self.b1, self.b2)
        return pack(fill(Reals, self), fill(Counts, self))


def fits(problem: Problem, b1: int, b2: int) -> None:
    """The problem has no v, and records enough."""
    require(problem.dim_v == 0, "problem", "have no v: this algorithm minimises over w alone", problem.name)
    n = len(problem.records)
    require(max(b1, b2) <= n, "b1 and b2", f"be at most the number of records, {n}", max(b1, b2))
