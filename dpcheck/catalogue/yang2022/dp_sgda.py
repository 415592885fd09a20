"""DP-SGDA: differentially private stochastic gradient descent ascent.

Yang, Hu, Lei, Varshney, Lyu, Ying: "Differentially Private SGDA for Minimax Problems", UAI 2022,
Algorithm 1 (and Algorithm 2, which is Algorithm 1 on :class:`dpcheck.problems.auc.AUC`).

Neighbours replace one record. Where the paper as published cannot stand there are two variants:

============  ==========================================  =====================================
              as_printed                                  repaired
============  ==========================================  =====================================
minibatch     drawn with replacement (line 4), whose      without replacement, as the proof's
              record may come k times: sensitivity 2kG/m  Lemma 2 and its 2G/m need
noise         8 G sqrt(T log(1/delta)) / (n epsilon),     the least that the accountant
              Remark 1                                    certifies at (epsilon, delta)
Theorem 3     steps from t = 1 on, beyond the proof's     from t_0 + 1 on, where they are
              own limits at first (claim Y32)             within them
============  ==========================================  =====================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.kernels import sgda as kernels
from dpcheck.algorithms.kernels.named import Numbers
from dpcheck.algorithms.kernels.parts import AVERAGE, LAST, UNIFORM
from dpcheck.algorithms.noise import gaussian
from dpcheck.algorithms.packing import SCHEMES, fill, pack
from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.solver import Solver
from dpcheck.catalogue.yang2022.dp_sgda_schedule import SCHEDULES, moves
from dpcheck.errors import require, require_count
from dpcheck.events import Event, Repeated, Sampled, Scheme

OUTPUTS = {"average": AVERAGE, "last": LAST, "uniform": UNIFORM}


@dataclass(frozen=True, eq=False)
class GradientDescentAscent(Solver):
    """One configuration of private stochastic gradient descent ascent.

    Parameters
    ----------
    eta_w, eta_v : array_like, (T,)
        Step sizes, finite and >= 0.
    sigma_w, sigma_v : float
        Standard deviation of the noise on the minibatch's mean gradient, >= 0.
    batch : int
        Minibatch m, the expected one under Poisson sampling.
    sampling : {"without_replacement", "with_replacement", "poisson"}
        How minibatches are drawn.
    clip_w, clip_v : float
        Clipping norms (l2) of one record's gradients, inf for none.
    output : {"average", "last", "uniform"}
        The average of the iterates 1, ..., T, the last, w_T, or one of them drawn uniformly.
    notes : tuple of str
        What a run should say about the configuration.
    """

    eta_w: Array
    eta_v: Array
    sigma_w: float
    sigma_v: float
    batch: int
    sampling: Scheme = "without_replacement"
    clip_w: float = math.inf
    clip_v: float = math.inf
    output: str = "average"
    notes: tuple[str, ...] = field(default=())

    example = "quadratic"
    differences = False
    tiny: ClassVar[dict[str, Any]] = {"steps": 10}
    kernel = staticmethod(kernels.sgda)

    def __post_init__(self) -> None:
        for name in ("eta_w", "eta_v"):
            eta = np.ascontiguousarray(getattr(self, name), dtype=float)
            require(eta.ndim == 1 and eta.size > 0, name, "be a vector of T step sizes", eta.shape)
            require(bool(np.isfinite(eta).all() and (eta >= 0).all()), name, "be finite and >= 0", eta)
            object.__setattr__(self, name, eta)
        require(self.eta_w.size == self.eta_v.size, "eta_v", "have as many steps as eta_w", self.eta_v.size)
        for name in ("sigma_w", "sigma_v"):
            sigma = getattr(self, name)
            require(0 <= sigma < math.inf, name, "be finite and >= 0", sigma)
        for name in ("clip_w", "clip_v"):
            require(getattr(self, name) > 0, name, "be > 0", getattr(self, name))
        require_count(self.batch, "batch")
        require(self.sampling in SCHEMES, "sampling", f"be one of {', '.join(SCHEMES)}", self.sampling)
        require(self.output in OUTPUTS, "output", f"be one of {', '.join(OUTPUTS)}", self.output)

    @property
    def steps(self) -> int:
        """T, the number of updates."""
        return self.eta_w.size

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """The privacy events of a run: T times, one minibatch mean, two Gaussians."""
        self._fits(problem)
        in_w, in_v = moves(problem, (self.clip_w, self.clip_v), self.batch)
        mechanisms = (gaussian(self.sigma_w, in_w), gaussian(self.sigma_v, in_v))
        step = Sampled(mechanisms, self.sampling, len(problem.records), self.batch, "replace_one")
        return (Repeated(step, self.steps if iterations is None else iterations),)

    def packed(self, problem: Problem) -> Numbers:
        """Pack noise and clipping; sampling and output; step sizes."""
        self._fits(problem)
        in_w, in_v = moves(problem, (self.clip_w, self.clip_v), self.batch)
        return pack(
            fill(kernels.Reals, self, sensitivity_w=in_w, sensitivity_v=in_v),
            fill(kernels.Counts, self, scheme=SCHEMES[self.sampling], output=OUTPUTS[self.output]),
            np.stack([self.eta_w, self.eta_v]),
        )

    def _fits(self, problem: Problem) -> None:
        n = len(problem.records)
        require(self.batch <= n, "batch", f"be at most the number of records, {n}", self.batch)


class DPSGDA(GradientDescentAscent):
    """DP-SGDA, Algorithm 1 of Yang et al. 2022; :meth:`configure` takes its numbers from Theorem 2a, 2b or 3."""

    name = "dp_sgda"
    paper = "yang2022"
    source = "Algorithm 1, Theorem 1, Remark 1, Theorems 2 and 3"
    understated = (
        "a record drawn twice moves the mean twice as far: certificates count it, Theorem 1 does not (claim Y04)"
    )

    @property
    def eta(self) -> Array:
        """The step sizes in w, which Theorem 2 has in v too."""
        return self.eta_w

    theorems = ("2a", "2b", "3")
    schedules = SCHEDULES
