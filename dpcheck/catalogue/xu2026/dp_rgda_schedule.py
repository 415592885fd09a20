"""The schedules of DP-RGDA by Theorem 1 of Xu et al. 2026, as published and repaired.

The head of ``dpcheck.catalogue.xu2026.dp_rgda`` has the table of what differs.
"""

import math
from functools import cached_property
from typing import Any, ClassVar

from dpcheck.algorithms.schedule import (
    finite_norm,
    fixed,
    level,
    modulus,
    noise_share,
    number,
    positive,
    private_modulus,
    whole,
)
from dpcheck.catalogue.xu2026.dp_rgda_escape import Escape, RepairedEscape
from dpcheck.catalogue.xu2026.rgda import levels
from dpcheck.errors import require, require_count
from dpcheck.events import Event, Gaussian, Repeated, Sampled


def not_negative(value: Any, name: str, schedule: Any) -> None:
    """A whole number of at least zero."""
    require_count(value, name, least=0)


class EmpiricalPrinted(Escape):
    """Theorem 1 with the numbers of Lemma 5.

    Attributes
    ----------
    alpha : float
        Accuracy > 0; with a = sqrt(d log(1/delta))/(n epsilon), a^(2/3) for Theorem 1 and n^(-1/3) + a^(1/2) for
        Theorem 2.
    steps, period : int
        T and q, as Lemma 5 or Lemma 8 has them.
    S1, S2 : int
        Minibatches of a refresh and of a difference, at most n.
    K : int
        Steps of an inner ascent; at least 2 in the repaired variant, of the order of kappa.
    eta, lam : float
        Step sizes > 0 of descent and of ascent (1/(6 L)).
    C_v, C_u : float
        Clipping norms (l2) of a gradient and of a difference, > 0.
    F0 : float
        Bound on Phi(x_0) - min Phi, > 0.
    escapes : int
        Perturbations at most, >= 0, after which a repaired run ends uncertified.
    theorem : {"1", "2"}
        1 for the empirical risk, 2 for that of the population which the records are drawn from.

    References
    ----------
    D. Xu et al. Finding differentially private second order stationary points in stochastic minimax optimization.
    2026, Algorithms 2 and 3, Lemmas 5 to 8, Theorems 1 and 2.
    """

    once = False
    population = False
    falsified: ClassVar[tuple[str, ...]] = ()

    def require(self) -> None:
        problem, n, given = self.problem, self.sizes.n, self.given.keys()
        escape_given = {"r", "t_thres", "D_bar"} <= given
        all_given = escape_given and not self.population and {"steps", "K", "eta", "eta_H", "lam", "C_u"} <= given
        require(all_given or modulus(problem) > 0, "problem", "be strongly concave in v", problem.name)
        require(all_given or math.isfinite(self.L), "problem", "be smooth", problem.name)
        known = escape_given or math.isfinite(problem.hessian_lipschitz)
        require(known, "problem", "have a primal function with a Lipschitz Hessian", problem.name)
        largest = max(self.S1, self.S2)
        require(largest <= n, "S1 and S2", f"be at most the number of records, {n}", largest)

    @number(positive, checked=False)
    def alpha(self) -> float:
        return float(self.a ** (2 / 3))

    @number(whole, checked=False)
    def steps(self) -> int:
        least = float(((self.L * self.F0) ** 0.25 / (math.sqrt(self.M("steps")) * self.a)) ** (4 / 3))
        return math.ceil(max(least, 1 / (self.a * math.sqrt(-math.log(self.sizes.delta)))))

    @number(whole, checked=False)
    def period(self) -> int:
        return max(1, math.floor(1 / (self.L**2 * self.steps * self.a**2)))

    @number(whole, checked=False)
    def S1(self) -> int:
        return self.sizes.n

    @number(whole, checked=False)
    def S2(self) -> int:
        n, M, root = self.sizes.n, self.M("S2"), math.sqrt(self.F0 * self.L)
        shares = M / (root * self.a), M * n * self.sizes.d * -math.log(self.sizes.delta) / root
        return min(n, max(1, math.ceil(max(float(shares[0] ** (2 / 3)), float(shares[1] ** (1 / 3))))))

    @number(whole, checked=False)
    def K(self) -> int:
        return 1

    @number(positive, checked=False)
    def eta(self) -> float:
        return 1 / (2 * self.L)

    @number(positive, checked=False)
    def lam(self) -> float:
        return 1 / (6 * self.L)

    @number(finite_norm)
    def C_v(self) -> float:
        return max(self.problem.lipschitz_w, self.problem.lipschitz_v)

    @number(positive, checked=False)
    def C_u(self) -> float:
        return self.L * self.eta

    F0 = fixed(1.0, positive)

    @number(not_negative)
    def escapes(self) -> int:
        return max(1, math.ceil(self.steps / self.period))

    theorem = fixed("1")

    @property
    def a(self) -> float:
        """sqrt(d log(1/delta))/(n epsilon)."""
        return self.sizes.privacy_error

    @property
    def L(self) -> float:
        """Smoothness of the objective."""
        return self.problem.smoothness

    def M(self, name: str) -> float:
        """Return M of Assumption 1 and Lemma 5, a bound on the gradients of f whatever they are clipped to.

        Assumption 1 bounds each coordinate; the norms of the two blocks bound every coordinate of theirs. ``name`` is
        the number that needs it.
        """
        M = max(self.problem.lipschitz_w, self.problem.lipschitz_v)
        require(math.isfinite(M), name, "be given (Lemma 5 has it from M, and the problem has no such M)", None)
        return M

    @cached_property
    def noise(self) -> tuple[float, float]:
        """sigma_v and sigma_u as Algorithm 3 has them in its lines 1 and 2."""
        n, steps, factor = self.sizes.n, self.steps, math.sqrt(math.log(1 / self.sizes.delta)) / self.sizes.epsilon
        sigma_v = self.C_v * factor * max(1 / self.S1, math.sqrt(steps / self.period) / n)
        sigma_u = self.C_u * factor * max(1 / self.S2, math.sqrt(steps) / n)
        return sigma_v, sigma_u

    sigma_v = level(0, "Standard deviation of the noise on a gradient.")
    sigma_u = level(1, "Standard deviation of the noise on a difference.")

    @property
    def notes(self) -> tuple[str, ...]:
        return (*private_modulus(self.problem), *self.outside, *self.falsified, self.algorithm.understated)


class EmpiricalRepaired(RepairedEscape, EmpiricalPrinted):
    """Theorem 1 as its proof has it."""

    repaired = True

    def require(self) -> None:
        super().require()
        require(self.K >= 2, "K", "be at least 2", self.K)

    @number(whole, checked=False)
    def steps(self) -> int:
        L = self.L
        return math.ceil(L * (1 + L / modulus(self.problem)) * self.F0 / self.alpha**2)

    @number(whole, checked=False)
    def period(self) -> int:
        return max(1, math.floor(1 / (self.steps * self.a**2)))

    @number(whole, checked=False)
    def S2(self) -> int:
        n, steps = self.sizes.n, self.steps
        return min(n, max(1, math.ceil(max(n / math.sqrt(steps), 1 / (steps * self.a**2)))))

    @number(whole, checked=False)
    def K(self) -> int:
        return max(2, math.ceil(self.L / modulus(self.problem)))

    @number(positive, checked=False)
    def eta(self) -> float:
        return self.alpha / (2 * self.L)

    @number(positive, checked=False)
    def C_u(self) -> float:
        return self.alpha

    @property
    def refreshes(self) -> int:
        """Refreshes at most."""
        return refreshes(self.steps, self.period, self.escapes)

    @property
    def most_sums(self) -> int:
        """How many noises an estimate holds at most beside that of its refresh."""
        return min(self.steps, self.period) * self.K

    @property
    def noise_at_most(self) -> float:
        return math.sqrt(self.problem.dim_w * (self.sigma_v**2 + self.most_sums * self.sigma_u**2))

    @cached_property
    def noise(self) -> tuple[float, float]:
        """sigma_v and sigma_u in the printed proportion, the least that the accountant certifies."""
        n, S1, S2, differences = self.sizes.n, self.S1, self.S2, self.steps * self.K
        share_v, share_u = noise_share(S1, n, self.refreshes), noise_share(S2, n, differences)

        def events(z: float) -> tuple[Event, ...]:
            return releases(z * share_v, z * share_u, n, S1, S2, self.refreshes, differences)

        z = self.certified(events) * math.sqrt(2)
        return z * share_v * 2 * self.C_v / S1, z * share_u * 2 * self.C_u / S2

    @property
    def notes(self) -> tuple[str, ...]:
        return (*private_modulus(self.problem), *self.outside, *self.unproved)


def refreshes(iterations: int, period: int, escapes: int) -> int:
    """Count the refreshes at most: one an iteration; each period begins with one, and so does an escape."""
    return min(iterations, math.ceil(iterations / period) + escapes)


def releases(z_v: float, z_u: float, n: int, S1: int, S2: int, refreshes: int, differences: int) -> tuple[Event, ...]:
    """Return the events of refreshes and differences whose joint multipliers are z_v and z_u."""

    def pair(z: float, batch: int, count: int) -> Event:
        both = (Gaussian(z * math.sqrt(2)),) * 2
        return Repeated(Sampled(both, "without_replacement", n, batch), count)

    return pair(z_v, S1, refreshes), pair(z_u, S2, differences)


class PopulationPrinted(EmpiricalPrinted):
    """Theorem 2 with the sizes of Lemma 8's proof, its constants 1."""

    population = True
    falsified = ("Theorem 2 is false: Lemma 8's steps do not take x far enough (claim 002:Thm2)",)

    @property
    def logs(self) -> float:
        """log(4/delta_1)."""
        return math.log(4 / self.failure)

    @property
    def length(self) -> float:
        """Lemma 8's length of a step, which is also its r and the root of its D."""
        return math.sqrt(self.a) / (self.L * self.logs)

    @number(positive, checked=False)
    def alpha(self) -> float:
        return float(self.sizes.n ** (-1 / 3)) + math.sqrt(self.a)

    @number(whole, checked=False)
    def steps(self) -> int:
        return self.published("xu2026.theorem_2", "T")

    @number(whole, checked=False)
    def period(self) -> int:
        return self.published("xu2026.theorem_2", "q")

    @number(whole, checked=False)
    def S1(self) -> int:
        return self.published("xu2026.theorem_2", "S_1")

    @number(whole, checked=False)
    def S2(self) -> int:
        shares = self.logs**2 * self.L / modulus(self.problem) * float(self.a ** (-1 / 3))
        return min(self.sizes.n, math.ceil(shares))

    @number(whole, checked=False)
    def K(self) -> int:
        return math.ceil(self.L / modulus(self.problem))

    @number(positive, checked=False)
    def eta(self) -> float:
        return self.length

    @number(positive)
    def r(self) -> float:
        return self.length

    @number(positive, checked=False)
    def D_bar(self) -> float:
        return self.length**2


class PopulationRepaired(EmpiricalRepaired):
    """Theorem 2 with the sizes of claim 002:Thm2: each record is in one minibatch, half of them for refreshes."""

    once = True
    population = True

    def require(self) -> None:
        needed, n = self.S1 * self.refreshes + self.S2 * self.differences, self.sizes.n
        require(
            needed <= n, "problem", f"have {needed} records, of which {self.refreshes} refreshes and "
            f"{self.differences} differences use each once; a larger alpha takes fewer", n,
        )  # fmt: skip
        super().require()

    alpha = PopulationPrinted.alpha

    @number(whole, checked=False)
    def steps(self) -> int:
        return math.ceil(self.F0 / (self.eta * self.alpha))

    @number(whole, checked=False)
    def period(self) -> int:
        return max(1, math.ceil(self.a / self.alpha**3 + 1 / (self.sizes.n * self.alpha**4)))

    @number(whole, checked=False)
    def S1(self) -> int:
        return max(1, self.sizes.n // 2 // self.refreshes)

    @number(whole, checked=False)
    def S2(self) -> int:
        return max(1, self.sizes.n // 2 // self.differences)

    @number(positive, checked=False)
    def eta(self) -> float:
        return self.alpha / self.L

    @number(positive, checked=False)
    def C_u(self) -> float:
        return 2 * self.alpha

    @property
    def differences(self) -> int:
        """Differences at most, where those that are 0 are left out."""
        return self.steps * self.K - math.ceil(self.steps / self.period)

    @property
    def most_sums(self) -> int:
        return int(levels(min(self.steps, self.period) * self.K - 1))

    @cached_property
    def noise(self) -> tuple[float, float]:
        """sigma_v and sigma_u, the latter of a node of the tree."""
        z = self.certified(lambda z: (Gaussian(z),)) * math.sqrt(2)
        return z * 2 * self.C_v / self.S1, z * math.sqrt(self.most_sums) * 2 * self.C_u / self.S2


SCHEDULES = {
    ("1", "as_printed"): EmpiricalPrinted,
    ("1", "repaired"): EmpiricalRepaired,
    ("2", "as_printed"): PopulationPrinted,
    ("2", "repaired"): PopulationRepaired,
}
