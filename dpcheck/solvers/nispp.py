"""NISPP: noisy inexact stochastic proximal point, the double-loop baseline for convex-concave problems.

Boob, Guzman: "Optimal Algorithms for Differentially Private Stochastic Monotone Variational Inequalities
and Saddle-Point Problems", Mathematical Programming 2024. Reconstructed: phase k takes a fresh batch of
B = ceil(sqrt n) records, solves

    min over w, max over v of f on the batch + lam/2 |w - w_k|^2 - lam/2 |v - v_k|^2

to within L/(lam B), adds noise to the solution and starts from there; the output is the mean of what was
released. Replacing a record of the batch moves the exact solution by 2L/(lam B), so the inexact one moves
by 4L/(lam B); the batches are disjoint. The noise is the least that is (epsilon, delta)-private.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np

from dpcheck.accounting import calibrate
from dpcheck.errors import require, require_count, require_positive
from dpcheck.events import Gaussian
from dpcheck.problems.problem import Problem
from dpcheck.solvers.output_perturbation import FIELDS, Phased, phase, radius_of, require_convex
from dpcheck.solvers.solver import Packed, Sizes


class NISPP(Phased):
    """:class:`Phased` with equal weights on both sides, both released as one vector, and averaged."""

    name = "nispp"
    paper = "yang2022"
    source = "Boob and Guzman 2024, Algorithm 2; Yang et al. 2022, Section 4"
    reconstructed = "the size of a batch, the weight of the proximal term, the noise of a phase"
    variants = ("repaired",)
    example = "bilinear"
    tiny: ClassVar[dict[str, Any]] = {"batch": 40}

    @classmethod
    def configure(
        cls, problem: Problem, *, epsilon: float, delta: float, variant: str = "repaired",
        batch: int | None = None, lam: float | None = None, base: str = "extragradient",
        most: int = 100_000_000, private: bool = True,
    ) -> Self:  # fmt: skip
        """batch : B;  lam : weight of the proximal term;  base, most : see ``output_perturbation``.

        lam defaults to (L/D) max{1, sqrt(d log(1/delta))/(sqrt(n) epsilon)} / sqrt(n/B): n/B phases then
        travel a distance of order D.
        """
        from dpcheck.bases import require_base

        sizes = Sizes.of(problem, epsilon, delta, variant, cls.variants)
        require_count(most, "most")
        n = sizes.n
        batch = math.ceil(math.sqrt(n)) if batch is None else batch
        require_count(batch, "batch")
        require(batch <= n, "batch", f"be at most the number of records, {n}", batch)
        require_base(base, minimisation=False)
        require(problem.dim_v > 0, "problem", "have a v", problem.name)
        require_convex(problem)
        L = math.hypot(problem.lipschitz_w, problem.lipschitz_v)
        good = math.isfinite(L) and math.isfinite(problem.smoothness)
        require(good, "problem", "be Lipschitz and smooth", problem.name)
        D = math.hypot(radius_of(problem.domain_w, "w"), radius_of(problem.domain_v, "v"))
        if lam is None:
            lam = L / D * max(1.0, sizes.privacy_error * math.sqrt(n)) / math.sqrt(n // batch)
        require_positive(lam, "lam")
        # released in the units sqrt(lam) z, in which the phase certifies its energy
        sensitivity = 4 * L / (math.sqrt(lam) * batch)
        sigma = sensitivity * calibrate(lambda z: (Gaussian(z),), epsilon=epsilon, delta=delta) if private else 0.0
        row = phase(
            (0, batch), r_w=lam, r_v=lam, mu_w=lam, mu_v=lam, energy=L**2 / (lam * batch**2), joint=1,
            sigma_w=sigma, sensitivity_w=sensitivity, sigma_v=sigma, sensitivity_v=sensitivity,
        )  # fmt: skip
        rows = [row | {"first": k * batch, "last": (k + 1) * batch} for k in range(n // batch)]
        phases = np.array([[float(each[name]) for name in FIELDS] for each in rows])
        return cls(phases, max(problem.smoothness, 1e-12), base, most)

    kept = ("batch", "lam")

    def setting(self, option: str, problem: Problem) -> Any:
        """The first phase has what all of them have."""
        first = dict(zip(FIELDS, self.phases[0].tolist(), strict=True))
        read = {"batch": first["last"] - first["first"], "lam": first["r_w"]}
        return read[option] if option in read else super().setting(option, problem)

    def packed(self, problem: Problem) -> Packed:
        """As elsewhere, and the output averaged."""
        reals, counts, phases = super().packed(problem)
        return reals, np.array([counts[0], 1]), phases
