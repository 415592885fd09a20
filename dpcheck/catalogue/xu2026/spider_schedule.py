"""What the schedules of the SPIDER algorithms share: sizes, minibatches, step, clipping norms and noise.

The head of ``dpcheck.catalogue.xu2026.dp_spider`` has the formulas; a = sqrt(d log(1/delta))/(n epsilon).
"""

from __future__ import annotations

import math
from functools import cached_property

from dpcheck.algorithms.domains import finite_norm, norm, positive, records, whole
from dpcheck.algorithms.noise import certified
from dpcheck.algorithms.schedule import Schedule, fixed, level, number
from dpcheck.errors import require
from dpcheck.events import Event, Gaussian, Repeated, Sampled


class Spider(Schedule):
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

        c = certified(self.sizes, events)
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
        found = {
            f"gradients of norm up to {slope:.6g} are clipped to L0 = {self.L0:.6g}": slope > self.L0,
            f"gradients that move by up to {curvature:.6g} |dw| are clipped to Ls = {self.Ls:.6g} of it":
                curvature > self.Ls,
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
