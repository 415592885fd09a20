"""The schedule of PrivateDiff Minimax by Theorem 6 of Zhang et al. 2025 with every constant 1, and its repair.

The head of ``dpcheck.catalogue.zhang2025.privatediff`` has the table of what differs; a = sqrt(d log(1/delta))/(n
epsilon).
"""

import math
from functools import cached_property
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.schedule import (
    Schedule,
    fixed,
    length,
    level,
    modulus,
    noise_share,
    number,
    positive,
    private_modulus,
    records,
    share,
    whole,
)
from dpcheck.errors import require
from dpcheck.events import Event, Gaussian, Repeated, Sampled


class Printed(Schedule):
    """Theorem 6 with the noise of Remark 2.

    Attributes
    ----------
    rounds, restart, inner, batch : int
        R, T, T2 and m of the paper; a^(-4/3), a^(2/3) R, a^(-4/3) and a^(-4/3) by default.
    eta_x : float
        Step size in w, > 0.
    eta_y : float
        One step size > 0 for the whole ascent, in place of 1/(mu i).
    C0, C1, C2, C3 : float
        Clipping thresholds > 0; the problem's G_v and G_w, (1 + kappa) l, and Theorem 6's by default.
    sensitivity_y : float
        Sensitivity (l2) of the maximiser in place of Lemma 9's; as printed only.
    failure : float
        theta of C3, a probability in (0, 1).
    M : float
        Bound on f, > 0, in Lemma 9.

    References
    ----------
    R. Zhang et al. Improved rates of differentially private nonconvex-strongly-concave minimax optimization. AAAI
    2025, Algorithms 3 and 4, Theorems 5 and 6, Remark 2.
    """

    fields = {"eta_y": "ascent"}  # noqa: RUF012

    def require(self) -> None:
        given = {"eta_y", "C2", "C3"} <= self.given.keys() and (self.repaired or "sensitivity_y" in self.given)
        problem, taken = self.problem, self.given.get("sensitivity_y")
        require(given or modulus(problem) > 0, "problem", "be strongly concave in v", problem.name)
        require(given or math.isfinite(problem.smoothness), "problem", "be smooth", problem.name)
        require(not self.repaired or taken is None, "sensitivity_y", "be left to the analysis", taken)

    @number(whole)
    def rounds(self) -> int:
        return max(2, self.published("zhang2025.theorem_6", "R"))

    @number(length)
    def restart(self) -> int:
        return max(1, self.published("zhang2025.theorem_6", "T", R=self.rounds))

    @number(length)
    def inner(self) -> int:
        return max(2, self.published("zhang2025.theorem_6", "T_2"))

    @number(records)
    def batch(self) -> int:
        return min(self.sizes.n, max(1, self.published("zhang2025.theorem_6", "m")))

    @number(positive)
    def eta_x(self) -> float:
        noise = max(self.noise[1], 1e-300) * math.sqrt(2 * self.restart * self.sizes.d)
        return min(1.0, 1 / noise) / (2 * self.C2)

    @number(positive, checked=False)
    def eta_y(self) -> Any:
        return ascent_steps(self.problem, self.inner, self.repaired)

    @number(positive)
    def C0(self) -> float:
        return self.problem.lipschitz_v

    @number(positive)
    def C1(self) -> float:
        return self.problem.lipschitz_w

    @number(positive)
    def C2(self) -> float:
        l, mu = self.problem.smoothness, modulus(self.problem)
        return (1 + (l / mu if mu > 0 else math.inf)) * l

    @number(positive)
    def C3(self) -> float:
        return threshold_C3(self.problem, self.rounds, self.inner, self.failure, self.repaired)

    @number(positive)
    def sensitivity_y(self) -> float:
        return (2 * self.C0**2 + self.problem.smoothness * self.M) / (modulus(self.problem) * self.sizes.n)  # Lemma 9

    failure = fixed(0.05, share)
    M = fixed(1.0, positive)

    @cached_property
    def ascent(self) -> Array:
        """Step sizes of the ascent, (T2,)."""
        return np.full(self.inner, self.eta_y) if "eta_y" in self.given else np.asarray(self.eta_y)

    @cached_property
    def noise(self) -> tuple[float, float, float]:
        """sigma_1, sigma_2 and sigma_y, also where none is added: the default step depends on it."""
        n, delta = self.sizes.n, self.sizes.delta
        share = 4 * math.sqrt(self.rounds * math.log(1 / delta)) / (n * self.sizes.epsilon)  # Remark 2
        return share / math.sqrt(self.restart), share, share * self.sensitivity_y * n

    sigma_1 = level(0, "Noise over the threshold on a gradient.")
    sigma_2 = level(1, "Noise over the threshold on a difference.")
    sigma_y = level(2, "Standard deviation of the noise on the maximiser.")

    @property
    def notes(self) -> tuple[str, ...]:
        taken = f"Assumption 1 bounds f by M; {self.M:g} is taken, not derived"
        return (*private_modulus(self.problem), taken, self.algorithm.understated)


class Repaired(Printed):
    """Theorem 6 with a released maximiser, a mended threshold, and the accountant's noise in Remark 2's proportion."""

    repaired = True

    @number(positive, checked=False)
    def sensitivity_y(self) -> float:
        return moved(self.problem, self.C0, self.ascent)

    @cached_property
    def noise(self) -> tuple[float, float, float]:
        """sigma_1, sigma_2 and sigma_y, also where none is added: the default step depends on it."""
        n, batch, rounds = self.sizes.n, self.batch, self.rounds
        refreshes = math.ceil((rounds + 1) / self.restart)
        share_1, share_2 = noise_share(batch, n, refreshes), noise_share(batch, n, rounds + 1 - refreshes)
        share_y = math.sqrt(rounds + 1)

        def events(z: float) -> tuple[Event, ...]:
            return releases(z * share_1, z * share_2, z * share_y, n, batch, rounds, refreshes)

        z = self.certified(events)
        return 2 * z * share_1 / batch, 2 * z * share_2 / batch, z * share_y * self.sensitivity_y

    @property
    def notes(self) -> tuple[str, ...]:
        return private_modulus(self.problem)


SCHEDULES: dict[str, type[Schedule]] = {"as_printed": Printed, "repaired": Repaired}


def moved(problem: Problem, C0: float, eta_y: Array) -> float:
    """Return how far replacing a record moves the end of an ascent by full passes with these steps.

    Where a step moves no two points apart, by what the steps differ in, 2 C0/n times their sum; with strong
    concavity by 2 C0/(mu n) at most; and without either by no more than two ascents are long.
    """
    n = len(problem.records)
    if eta_y.max() <= problem.ascent_limit:
        return float(2 * C0 * eta_y.sum() / n)
    if problem.concavity > 0 and math.isfinite(problem.smoothness):
        require(problem.lipschitz_v <= C0, "C0", f"be at least G_y = {problem.lipschitz_v:.6g}", C0)
        require(eta_y.max() * problem.smoothness <= 1 + 1e-12, "eta_y", "be at most 1/l", eta_y.max())
        return 2 * C0 / (problem.concavity * n)
    return float(2 * C0 * eta_y.sum())


def releases(z_1: float, z_2: float, z_y: float, n: int, batch: int, rounds: int, refreshes: int) -> tuple[Event, ...]:
    """Return the events of rounds 0 to ``rounds``."""
    parts = ((z_1, refreshes), (z_2, rounds + 1 - refreshes))
    sampled = tuple(Repeated(Sampled((Gaussian(z),), "without_replacement", n, batch), count) for z, count in parts)
    return (*sampled, Repeated(Gaussian(z_y), rounds + 1))


def threshold_C3(problem: Problem, rounds: int, inner: int, failure: float, repaired: bool) -> float:
    """50 kappa G sqrt((logs + 1)/T2), the proof of Theorem 6; log(T2), below 1 for T2 = 2, is taken as 1 there."""
    kappa, G = problem.smoothness / modulus(problem), max(problem.lipschitz_w, problem.lipschitz_v)
    often = rounds * max(math.log(inner), 1.0)
    logs = math.log(often / failure) if repaired else math.log(often) / failure
    return 50 * kappa * G * math.sqrt((logs + 1) / inner)


def ascent_steps(problem: Problem, inner: int, repaired: bool) -> Array:
    """Return 1/(mu i), i = 1, ..., T2; repaired at most 1/l."""
    steps = 1 / (modulus(problem) * np.arange(1, inner + 1))
    return np.minimum(steps, 1 / problem.smoothness) if repaired else steps
