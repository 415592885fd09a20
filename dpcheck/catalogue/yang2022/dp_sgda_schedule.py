"""The schedules of DP-SGDA by Theorems 2a, 2b and 3 of Yang et al. 2022, as published and repaired.

The head of ``dpcheck.catalogue.yang2022.dp_sgda`` has the table of what differs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dpcheck.algorithms.budget import Sizes, gradient_bounds, modulus, private_modulus, smoothness_for_eta
from dpcheck.algorithms.domains import SCHEMES, anything, norm, one_of, positive, records, whole
from dpcheck.algorithms.noise import certified_pair
from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.schedule import Number, Schedule, fixed, level, number
from dpcheck.errors import require, require_positive
from dpcheck.events import Scheme


class Theorem2a(Schedule):
    """Theorem 2a with Remark 1, for smooth convex-concave problems.

    Attributes
    ----------
    steps : int
        T; n by default, n^2 for Theorem 2b.
    batch : int
        Minibatch m, at most n; by default Remark 1's max(1, n sqrt(epsilon/(4T))).
    eta : float
        Step size > 0 in w and v. By default, with N = max(sqrt n, sqrt(d log(1/delta))/epsilon), 1/(L N) where the
        proof has L, the smoothness, as unit; 1/(n N) for Theorem 2b; for Theorem 3 its proof's steps, which fall
        with t.
    sampling : {"with_replacement", "without_replacement", "poisson"}
        By default with replacement as printed, and without in the repaired variant.
    clip_w, clip_v : float
        Clipping norms (l2) of one record's gradients, > 0, inf for none.
    output : {"average", "last", "uniform"}
        The average by default, for Theorem 3 the last iterate.
    theorem : {"2a", "2b", "3"}
        2a for smooth convex-concave problems, 2b for those that are not smooth, 3 (and 5) for problems strongly
        concave in v whose mean obeys the Polyak-Lojasiewicz inequality in w.
    pl : float
        Modulus of that inequality, > 0; given with Theorem 3 and only there.

    References
    ----------
    Z. Yang et al. Differentially private SGDA for minimax problems. UAI 2022, Algorithm 1, Remark 1, Theorems 2 and
    3.
    """

    def require(self) -> None:
        require(self.pl is None, "pl", "be given with theorem 3, and not without", self.pl)

    @number(whole)
    def steps(self) -> int:
        return self.sizes.n

    @number(records)
    def batch(self) -> int:
        return printed_batch(self.sizes.n, self.steps, self.sizes.epsilon)

    @number(positive, checked=False)
    def eta(self) -> Any:
        return 1 / (smoothness_for_eta(self.problem) * self.slowest)

    @number(one_of(*SCHEMES))
    def sampling(self) -> Scheme:
        return "with_replacement"

    clip_w, clip_v = fixed(math.inf, norm), fixed(math.inf, norm)

    @number(anything)
    def output(self) -> str:
        return "average"

    theorem = fixed("2a")
    pl: Number[Any] = fixed(None)

    @cached_property
    def slowest(self) -> float:
        """N = max(sqrt n, sqrt(d log(1/delta))/epsilon)."""
        return max(math.sqrt(self.sizes.n), self.sizes.privacy_error * self.sizes.n)

    @cached_property
    def eta_w(self) -> Array:
        """Step sizes in w, (T,)."""
        return np.full(self.steps, self.eta)

    @cached_property
    def eta_v(self) -> Array:
        """Step sizes in v, (T,)."""
        return self.eta_w

    bounds = cached_property(gradient_bounds)

    @cached_property
    def noise(self) -> Sequence[float]:
        """sigma_w and sigma_v."""
        sizes = self.sizes
        return [printed_noise(G, sizes.n, self.steps, sizes.epsilon, sizes.delta) for G in self.bounds]

    sigma_w = level(0, "Standard deviation of the noise on the mean gradient in w.")
    sigma_v = level(1, "Standard deviation of the noise on the mean gradient in v.")

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.algorithm.understated,) if self.sampling == "with_replacement" else ()


class Theorem2b(Theorem2a):
    """Theorem 2b with Remark 1, for convex-concave problems that are not smooth."""

    @number(whole)
    def steps(self) -> int:
        return self.sizes.n**2

    @number(positive, checked=False)
    def eta(self) -> Any:
        return 1 / (self.sizes.n * self.slowest)


class Theorem3(Theorem2a):
    """Theorem 3 with Remark 1, for problems with a Polyak-Lojasiewicz inequality in w."""

    late = False  # whether the steps begin at t_0

    def require(self) -> None:
        require(self.pl is not None, "pl", "be given with theorem 3, and not without", self.pl)

    @number(positive, checked=False)
    def eta(self) -> Any:
        return self.falling[0]

    @number(anything)
    def output(self) -> str:
        return "last"

    @cached_property
    def eta_v(self) -> Array:
        return self.eta_w if "eta" in self.given else self.falling[1]

    @cached_property
    def falling(self) -> tuple[Array, Array]:
        """The steps of the proof, in w and in v."""
        return falling(self.problem, self.pl, self.steps, late=self.late)

    @property
    def notes(self) -> tuple[str, ...]:
        return (*private_modulus(self.problem), *super().notes)


class Theorem2aRepaired(Theorem2a):
    """Theorem 2a with minibatches drawn without replacement and the accountant's noise."""

    repaired = True

    @number(one_of(*SCHEMES))
    def sampling(self) -> Scheme:
        return "without_replacement"

    @cached_property
    def noise(self) -> Sequence[float]:
        return certified_noise(self.bounds, self.sizes, self.sampling, self.batch, self.steps)

    @property
    def notes(self) -> tuple[str, ...]:
        return ()


class Theorem2bRepaired(Theorem2aRepaired, Theorem2b):
    """Theorem 2b with minibatches drawn without replacement and the accountant's noise."""


class Theorem3Repaired(Theorem2aRepaired, Theorem3):
    """Theorem 3 with the accountant's noise, and with its steps from t_0 on."""

    late = True

    @property
    def notes(self) -> tuple[str, ...]:
        return private_modulus(self.problem)


SCHEDULES = {
    ("2a", "as_printed"): Theorem2a,
    ("2a", "repaired"): Theorem2aRepaired,
    ("2b", "as_printed"): Theorem2b,
    ("2b", "repaired"): Theorem2bRepaired,
    ("3", "as_printed"): Theorem3,
    ("3", "repaired"): Theorem3Repaired,
}


def printed_batch(n: int, steps: int, epsilon: float) -> int:
    """Return Remark 1's minibatch, max(1, n sqrt(epsilon / (4T))), rounded up and at most n."""
    return min(n, math.ceil(max(1.0, n * math.sqrt(epsilon / (4 * steps)))))


def printed_noise(G: float, n: int, steps: int, epsilon: float, delta: float) -> float:
    """Return Remark 1's standard deviation, 8 G sqrt(T log(1/delta)) / (n epsilon)."""
    return 8 * G * math.sqrt(steps * math.log(1 / delta)) / (n * epsilon)


def moves(problem: Problem, clips: tuple[float, float], batch: int) -> tuple[float, float]:
    """Return how far one record's replacement moves a minibatch mean (l2), in w and in v.

    A record's part of the mean of gradients is at most G/m, so that replacing it moves the mean by at most 2G/m; G is
    the clipping norm or the proved Lipschitz constant, the smaller.
    """
    bounds = (min(problem.lipschitz_w, clips[0]), min(problem.lipschitz_v, clips[1]))
    return 2 * bounds[0] / batch, 2 * bounds[1] / batch


def certified_noise(bounds: Sequence[float], sizes: Sizes, sampling: Scheme, batch: int, steps: int) -> list[float]:
    """Return the noise on minibatch means of blocks with these per-record bounds."""
    multiplier = certified_pair(sizes, sampling, batch, steps)
    return [multiplier * 2 * G / batch for G in bounds]


def falling(problem: Problem, pl: float, steps: int, *, late: bool) -> tuple[Array, Array]:
    """Return eta_w = 2/(mu t) and eta_v = 2 M/(mu t^{2/3}), mu = ``pl``, the steps of Theorem 3's proof, (T,) each.

    ``late`` : t from t_0 on, from where eta_w <= 1/(L + L^2/rho) and eta_v <= 1/L, as the proof needs
    """
    L, rho = problem.smoothness, modulus(problem)
    require_positive(pl, "pl")
    require(math.isfinite(L), "problem", "be smooth", problem.name)
    require(rho > 0, "problem", "be strongly concave in v", problem.name)
    kappa, bend = L / rho, L + L**2 / rho
    M = max(8 * kappa**2 * math.sqrt(bend / pl), 4 * math.sqrt(2) * kappa**2)
    t = np.arange(1, steps + 1) + (max(2 * bend / pl, (2 * L * M / pl) ** 1.5) if late else 0.0)
    return 2 / (pl * t), 2 * M / (pl * t ** (2 / 3))
