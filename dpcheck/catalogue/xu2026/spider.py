"""The schedule and the object of algorithms that release gradient differences between refreshes, without a v."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from dpcheck.algorithms.kernels.jit import Numbers
from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.run import fill, pack
from dpcheck.algorithms.schedule import (
    Schedule,
    finite_norm,
    fixed,
    level,
    norm,
    number,
    positive,
    records,
    share,
    whole,
)
from dpcheck.algorithms.solver import Solver
from dpcheck.errors import require
from dpcheck.events import Event, Gaussian, Repeated, Sampled

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry


class SpiderSchedule(Schedule):
    """The theorem's orders with constant 1, where F0 bounds F(w_0) - min F.

    Attributes
    ----------
    steps : int
        Iterations T (at most); max{((Ls F0)^{1/4}/(sqrt(L0) a))^{4/3}, 1/a} by default.
    b1, b2 : int
        Minibatches of a refresh and of a difference, at most n; n and max{n/sqrt T, 1/(T a^2)} by default.
    eta : float
        Step size > 0; 1/(2 Ls) by default.
    L0, Ls : float
        Clipping norms (l2) of a gradient, and of a difference for each unit of distance; the problem's by default.
    F0 : float
        Bound on F(w_0) - min F, > 0.
    """

    def require(self) -> None:
        whole_problem = self.problem.dim_v == 0
        require(whole_problem, "problem", "have no v: this algorithm minimises over w alone", self.problem.name)
        finite_norm(self.L0, "L0", self)  # before all else: no other number that is given makes up for it

    @number(whole)
    def steps(self) -> int:
        require(self.Ls < math.inf, "steps", "be given where there is no finite Ls", None)
        a = self.sizes.privacy_error
        least = float(((self.Ls * self.F0) ** 0.25 / (math.sqrt(self.L0) * a)) ** (4 / 3))
        return math.ceil(max(least, 1 / a))

    @number(records)
    def b1(self) -> int:
        return self.sizes.n

    @number(records)
    def b2(self) -> int:
        n, a = self.sizes.n, self.sizes.privacy_error
        return min(n, max(1, math.ceil(n / math.sqrt(self.steps)), math.ceil(1 / (self.steps * a**2))))

    @number(positive)
    def eta(self) -> float:
        require(self.Ls < math.inf, "eta", "be given where there is no finite Ls", None)
        return 1 / (2 * self.Ls)

    @number(finite_norm)
    def L0(self) -> float:
        return self.problem.lipschitz_w

    @number(norm)
    def Ls(self) -> float:
        return self.problem.smoothness

    F0 = fixed(1.0, positive)

    @cached_property
    def usual_period(self) -> int:
        """q = 1/(T a^2)."""
        return max(1, math.floor(1 / (self.steps * self.sizes.privacy_error**2)))

    def shares(self, refreshes: int) -> tuple[float, float]:
        """Return sigma_1 and sigma_2 as printed, c = 1, over the clipping norms."""
        root, n = math.sqrt(math.log(1 / self.sizes.delta)) / self.sizes.epsilon, self.sizes.n
        return (
            root * max(1 / self.b1, math.sqrt(refreshes) / n),
            root * max(1 / self.b2, math.sqrt(self.steps) / n),
        )

    def calibrated(self, refreshes: int, differences: int, others: tuple[Event, ...] = ()) -> tuple[float, float]:
        """Return sigma_1 and sigma_2 in the printed proportion, with the least c that is certified."""
        one, two = self.shares(refreshes)

        def events(c: float) -> tuple[Event, ...]:
            steps = spider_events(c * one, c * two, self.sizes.n, self.b1, self.b2, refreshes, differences)
            return (*steps, *others)

        c = self.certified(events)
        return c * one, c * two

    @cached_property
    def noise(self) -> tuple[float, float]:
        """sigma_1 and sigma_2."""
        raise NotImplementedError

    sigma_1 = level(0, "Noise over the clipping norm on a gradient.")
    sigma_2 = level(1, "Noise over the clipping norm on a difference.")

    @property
    def clipped(self) -> tuple[str, ...]:
        """A sentence for each clipping norm below the problem's constant."""
        slope, curvature = self.problem.lipschitz_w, self.problem.smoothness
        clipped = {
            f"gradients of norm up to {slope:.6g} are clipped to L0 = {self.L0:.6g}": slope > self.L0,
            f"gradients that move by up to {curvature:.6g} |dw| are clipped to Ls = {self.Ls:.6g} of it":
                curvature > self.Ls,
        }  # fmt: skip
        return tuple(sentence for sentence, is_true in clipped.items() if is_true)


def spider_events(
    sigma_1: float, sigma_2: float, n: int, b1: int, b2: int, refreshes: int, differences: int
) -> tuple[Event, ...]:
    """Return noise sigma C on minibatch means that move by 2 C/b, at most so many, whatever order the run chooses."""
    # What is left of either kind can be thought to follow at the end: the composed bound does not depend on the order.
    return (
        Repeated(Sampled((Gaussian(sigma_1 * b1 / 2),), "without_replacement", n, b1), refreshes),
        Repeated(Sampled((Gaussian(sigma_2 * b2 / 2),), "without_replacement", n, b2), differences),
    )


class Drifting(SpiderSchedule):
    """Drift, noise level and escape, from the sizes of DP-SPIDER.

    Attributes
    ----------
    refreshes : int
        Refreshes at most, which bounds the privacy; T/q by default, or what a descent of F0 asks for.
    kappa : float
        The drift that calls for a refresh, > 0.
    Gamma : int
        Steps of an escape.
    rho : float
        Lipschitz constant of the Hessian; the problem's by default.
    failure : float
        omega of the paper, a probability in (0, 1).
    """

    repaired = True
    alpha: float  # accuracy of the second-order point

    @number(whole)
    def refreshes(self) -> int:
        """Count what drift calls for: at least T/q, and what a descent of F0 takes.

        Steps eta of a descent of F0 drift by 2 eta F0 in all. A refresh each (L0/Ls)^2 m/T, as its noise
        and that of full differences are balanced with m refreshes, makes m = sqrt(2 eta F0 T) Ls/L0.
        """
        regular = math.ceil(self.steps / self.usual_period)
        if self.Ls == math.inf:
            return regular
        return max(regular, 1 + math.ceil(math.sqrt(2 * self.eta * self.F0 * self.steps) * self.Ls / self.L0))

    @number(positive)
    def kappa(self) -> float:
        """The drift at which the noise of the differences, Ls^2 sigma_2^2 kappa, equals that of a refresh."""
        require(self.Ls < math.inf, "kappa", "be given where there is no finite Ls", None)
        sigma_1, sigma_2 = self.noise
        return (self.L0 * sigma_1 / (self.Ls * sigma_2)) ** 2

    @number(whole)
    def Gamma(self) -> int:
        """The iterations by which a direction of curvature -sqrt(rho alpha) has grown e^iota times."""
        iota = math.log(self.sizes.d * self.steps / self.failure)
        return max(1, math.ceil(iota / (self.eta * math.sqrt(self.rho * self.alpha))))

    @number(positive)
    def rho(self) -> float:
        rho = self.problem.hessian_lipschitz
        known = 0 < rho < math.inf
        require(known, "problem", "have a Lipschitz Hessian that is not constant", self.problem.name)
        return rho

    failure = fixed(0.1, share)

    @property
    def noise_level(self) -> float:
        """The error that noise and sampling bring to an estimate of drift kappa."""
        require(self.Ls < math.inf, "chi", "be given where there is no finite Ls", None)
        d, n, (sigma_1, sigma_2), kappa = self.sizes.d, self.sizes.n, self.noise, self.kappa
        noise = d * ((self.L0 * sigma_1) ** 2 + (self.Ls * sigma_2) ** 2 * kappa)
        sampling = self.L0**2 * (1 / self.b1 - 1 / n) + self.Ls**2 * kappa * (1 / self.b2 - 1 / n)
        return math.sqrt(noise + sampling)

    @property
    def notes(self) -> tuple[str, ...]:
        root = math.sqrt(self.rho * self.alpha)
        empty = {
            f"alpha = {self.alpha:.4g} is no smaller than L0 = {self.L0:.4g}: every point is stationary to it":
                self.alpha >= self.L0,
            f"sqrt(rho alpha) = {root:.4g} is no smaller than Ls = {self.Ls:.4g}: no curvature is ruled "
            "out": root >= self.Ls,
        }  # fmt: skip
        return (*self.clipped, *(sentence for sentence, is_true in empty.items() if is_true))


class Spider(Solver):
    """An algorithm with minibatches of two sizes, whose kernel reads its fields and nothing else.

    Attributes
    ----------
    b1, b2 : int
        Minibatch of a refresh and of a difference.
    sigma_1, sigma_2 : float
        Noise over the clipping norm on either.
    reals, counts : type
        The real and the whole numbers that the kernel reads, as named tuples.
    """

    b1: int
    b2: int
    sigma_1: float
    sigma_2: float
    reals: ClassVar[type[Any]]
    counts: ClassVar[type[Any]]

    def packed(self, problem: Problem) -> Numbers:
        """Pack the fields, for a problem that has no v, and records enough."""
        require(problem.dim_v == 0, "problem", "have no v: this algorithm minimises over w alone", problem.name)
        n, largest = len(problem.records), max(self.b1, self.b2)
        require(largest <= n, "b1 and b2", f"be at most the number of records, {n}", largest)
        return pack(fill(self.reals, self), fill(self.counts, self))

    def _events(self, problem: Problem, refreshes: int, differences: int) -> tuple[Event, ...]:
        """Return the events of at most so many refreshes and differences."""
        sizes = len(problem.records), self.b1, self.b2
        return spider_events(self.sigma_1, self.sigma_2, *sizes, refreshes, differences)

    @classmethod
    def _game(cls, variant: str, pattern: tuple[int, ...], settings: Mapping[str, Any], **more: Any) -> Entry:
        """Return a game in which every gradient and every difference is clipped, wherever a run goes."""
        from dpcheck.checks.games import BATCH, RADIUS, STEPS, blank, entry, record

        # The slopes put gradients beyond L0 = 1 all over. Curvatures of opposite sign make differences of the canary,
        # and of what replaces it, twice as long as Ls = 1 allows.
        bent = record(b=4 * RADIUS, p=2.0)
        norms = {"steps": STEPS, "eta": 0.1, "L0": 1.0, "Ls": 1.0, "b1": BATCH, "b2": BATCH}
        problem = blank(dim_v=0, radius_w=RADIUS)
        return entry(cls.name, variant, problem, (bent, -bent, -bent), pattern, {**norms, **settings}, **more)
