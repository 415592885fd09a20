"""DP-SGDA with per-record clipping, the nonconvex-strongly concave schedule.

Zhang, Lei, Ding, Xiang, Xu, Wang: "Improved Rates of Differentially Private Nonconvex-Strongly-Concave
Minimax Optimization", AAAI 2025, Algorithm 1, Theorems 1 and 2: the loop of ``dp_sgda`` with both blocks
clipped, its own step sizes, and a uniformly drawn iterate returned (one of T; the paper counts t = 0, ..., T).
Both blocks are projected, of which the paper projects y alone.

Neighbours replace one record, log is natural. The published noise lacks the clipping thresholds (claim
003:Thm1-remark); with them, at its own minibatch n sqrt(epsilon/(4T)), ``as_printed`` is what is meant.
``repaired`` takes the noise that the accountant certifies and the minibatch of Theorem 2.

Clipping bounds what a record does whatever the problem is: one that is not smooth, or not strongly concave, runs where
eta_w and eta_v are given, and one without a bound on its gradients where clip_w and clip_v are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.promises import Promise
from dpcheck.algorithms.schedule import (
    Schedule,
    finite_norm,
    fixed,
    length,
    level,
    modulus,
    number,
    positive,
    private_modulus,
    records,
)
from dpcheck.catalogue.yang2022 import printed_batch, printed_noise
from dpcheck.catalogue.yang2022.dp_sgda import GradientDescentAscent, Theorem2a
from dpcheck.catalogue.zhang2025 import answers, too_small
from dpcheck.errors import require
from dpcheck.events import Scheme

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry


class Printed(Schedule):
    """Theorem 2 with the noise of Theorem 1's remark, to which the clipping thresholds are added.

    Attributes
    ----------
    steps : int
        T; n epsilon/sqrt(d log(1/delta)) by default.
    batch : int
        Minibatch m, at most n; by default Remark 1's of Yang et al. 2022, and repaired at least T.
    eta_w, eta_v : float
        Step sizes > 0; 1/(16 (kappa + 1)^2 l) and 1/l by default.
    clip_w, clip_v : float
        Clipping norms C1, C2 (l2), finite and > 0; the problem's G_w and G_v by default.
    output : {"uniform", "average", "last"}
        A uniformly drawn iterate, the average, or the last.

    References
    ----------
    R. Zhang et al. Improved rates of differentially private nonconvex-strongly-concave minimax optimization. AAAI
    2025, Algorithm 1, Theorems 1 and 2.
    """

    fields = {"eta_w": "steps_w", "eta_v": "steps_v"}  # noqa: RUF012
    sampling: ClassVar[Scheme] = "without_replacement"

    def require(self) -> None:
        given, name = {"eta_w", "eta_v"} & self.given.keys(), self.problem.name
        curved = "eta_w" in given or modulus(self.problem) > 0
        require(curved, "problem", "be strongly concave in v, or eta_w given", name)
        smooth = len(given) == 2 or math.isfinite(self.problem.smoothness)
        require(smooth, "problem", "be smooth, or eta_w and eta_v given", name)

    @number(length)
    def steps(self) -> int:
        return self.published("zhang2025.theorem_2", "T")

    batch = Theorem2a.batch

    @number(positive)
    def eta_w(self) -> float:
        l, mu = self.problem.smoothness, modulus(self.problem)
        return 1 / (16 * (l / mu + 1) ** 2 * l)

    @number(positive)
    def eta_v(self) -> float:
        return 1 / self.problem.smoothness

    @number(finite_norm)
    def clip_w(self) -> float:
        return self.problem.lipschitz_w

    @number(finite_norm)
    def clip_v(self) -> float:
        return self.problem.lipschitz_v

    output = fixed("uniform")

    @property
    def steps_w(self) -> Array:
        """Step sizes in w, (T,)."""
        return np.full(self.steps, self.eta_w)

    @property
    def steps_v(self) -> Array:
        """Step sizes in v, (T,)."""
        return np.full(self.steps, self.eta_v)

    @cached_property
    def noise(self) -> Sequence[float]:
        """sigma_w and sigma_v."""
        sizes = self.sizes
        return [printed_noise(C, sizes.n, self.steps, sizes.epsilon, sizes.delta) for C in (self.clip_w, self.clip_v)]

    sigma_w = level(0, "Standard deviation of the noise on the mean gradient in w.")
    sigma_v = level(1, "Standard deviation of the noise on the mean gradient in v.")

    @property
    def notes(self) -> tuple[str, ...]:
        return private_modulus(self.problem)


class Repaired(Printed):
    """Theorem 2 with its own minibatch and the accountant's noise."""

    repaired = True

    @number(records)
    def batch(self) -> int:
        sizes = self.sizes
        least = printed_batch(sizes.n, self.steps, sizes.epsilon)
        return min(sizes.n, max(least, self.published("zhang2025.theorem_2", "m")))

    @cached_property
    def noise(self) -> Sequence[float]:
        clips = (self.clip_w, self.clip_v)
        return self.certified_noise(clips, self.sampling, self.batch, self.steps)


class DPSGDAClipped(GradientDescentAscent):
    """DP-SGDA with clipping, Algorithm 1 of Zhang et al. 2025; :meth:`configure` takes its numbers from Theorem 2."""

    name = "dp_sgda_clipped"
    paper = "zhang2025"
    source = "Algorithm 1, Theorem 1 with its remark, Theorem 2"
    schedules: ClassVar[dict[str, type[Schedule]]] = {"as_printed": Printed, "repaired": Repaired}

    def promises(self, problem: Problem, schedule: Schedule) -> Iterator[Promise]:
        """Answer for Theorem 2, and as printed also for the settings after Theorem 1."""
        values, conditions = answers(problem, schedule)
        conditions["thresholds"] = too_small(
            clip_w=(self.clip_w, problem.lipschitz_w), clip_v=(self.clip_v, problem.lipschitz_v)
        )
        yield Promise("zhang2025.theorem_2", "Theorem 2", values, conditions)
        if not schedule.repaired:
            values = {name: values[name] for name in ("n", "epsilon", "delta")} | {"T": self.steps, "m": self.batch}
            yield Promise("zhang2025.theorem_1", "Theorem 1", values, conditions)

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield a game of each variant, as printed with the minibatch of Theorem 1's remark."""
        from dpcheck.checks.games import BATCH, BOTH, CLIPS, FAR, PAIR, STEPS, blank, entry

        settings = CLIPS | {"steps": STEPS, "eta_w": 0.05, "eta_v": 0.05}
        yield entry(cls.name, "repaired", blank(concavity=1.0, **FAR), PAIR, BOTH, settings | {"batch": BATCH})
        yield entry(cls.name, "as_printed", blank(17, concavity=1.0, **FAR), PAIR, BOTH, settings)
