"""Output perturbation for saddle points, in one phase and in many.

Zhang, Thekumparampil, Oh, He, NeurIPS 2022: Algorithm 3 (strongly convex-strongly concave, Theorem 4.3)
with its joint variant, Algorithms 4 and 5 (convex-concave, phased, Theorem 4.5), apart and together, and
their forms for one strongly curved side (Appendix B.4, Corollary B.6). See ``output_perturbation``.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from dpcheck.algorithms.budget import Sizes
from dpcheck.algorithms.problem import Problem
from dpcheck.catalogue.zhang2022.output_perturbation import (
    OutputPerturbation,
    Phase,
    blocks,
    gaussian_factor,
    phase,
    radius_of,
    require_modulus,
)


class Saddle(OutputPerturbation):
    """Algorithm 3: solve, then add noise to w and to v, at (epsilon/2, delta/2) each."""

    name = "minimax_output_perturbation"
    source = "Algorithm 3, Theorem 4.3"
    example = "quadratic"

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Plan one phase with sigma_w = (8 L/(n epsilon)) sqrt(2 log(5/delta)/(mu_w mu)), and with mu_v for v."""
        row, sensitivity = _whole(problem, sizes, L)
        factor = 2 * gaussian_factor(5, sizes.delta, sizes.epsilon)
        for part in ("w", "v"):
            row[f"sensitivity_{part}"] = sensitivity / math.sqrt(row[f"mu_{part}"])
            row[f"sigma_{part}"] = row[f"sensitivity_{part}"] * factor
        return [row]


class SaddleJoint(OutputPerturbation):
    """Algorithm 3 with one Gaussian for (sqrt(mu_w) w, sqrt(mu_v) v).

    Not in the paper: its inequality (12) bounds the joint move, so that epsilon and delta need not be split.
    """

    name = "minimax_output_perturbation_joint"
    source = "Algorithm 3 with one joint Gaussian, by inequality (12)"
    example = "quadratic"

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Plan one phase with sigma_w = (4 L/(n epsilon)) sqrt(2 log(2.5/delta)/(mu_w mu)), and with mu_v for v."""
        row, sensitivity = _whole(problem, sizes, L)
        sigma = sensitivity * gaussian_factor(2.5, sizes.delta, sizes.epsilon)
        for part in ("w", "v"):
            row |= {f"sigma_{part}": sigma, f"sensitivity_{part}": sensitivity}
        return [row | {"joint": 1.0}]


class Half(OutputPerturbation):
    """Algorithm 4 (part w) or 5 (part v), (epsilon/2, delta/2)."""

    part: ClassVar[Literal["w", "v"]]
    example = "bilinear"
    promised = 0.5

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Add mu_k/2 |x - x_{k-1}|^2 on the part x, mu_k = mu 2^k, and mu/2 |.|^2 on the other; noise on x."""
        n, part = sizes.n, cls.part
        D = max(radius_of(problem.domain_w, "w"), radius_of(problem.domain_v, "v"))
        share = math.sqrt(sizes.d * math.log(5 / sizes.delta)) / (n * sizes.epsilon)
        mu = L / D * max(2 / math.sqrt(n), 13 * math.log2(n) * share)
        factor, rows = 2 * gaussian_factor(5, sizes.delta, sizes.epsilon), []
        for k, block in enumerate(blocks(n), 1):
            mu_k, size = mu * 2**k, block[1] - block[0]
            row = phase(block, energy=L**2 / (mu * size**2))
            for side in ("w", "v"):
                row[f"r_{side}"] = row[f"mu_{side}"] = mu_k if side == part else mu
            row[f"sensitivity_{part}"] = 4 * L / (size * math.sqrt(mu_k * mu))
            row[f"sigma_{part}"] = row[f"sensitivity_{part}"] * factor
            rows.append(row)
        return rows


class PhasedPrimal(Half):
    """Algorithm 4: the primal half, (epsilon/2, delta/2)."""

    name = "phased_primal"
    source = "Algorithm 4, Theorem 4.5"
    part = "w"


class PhasedDual(Half):
    """Algorithm 5: the dual half, (epsilon/2, delta/2)."""

    name = "phased_dual"
    source = "Algorithm 5, Theorem 4.5"
    part = "v"


class PhasedSaddle(OutputPerturbation):
    """Algorithms 4 and 5 one after the other: (w, v) at (epsilon, delta)."""

    name = "phased_minimax_output_perturbation"
    source = "Algorithms 4 and 5, Theorem 4.5"
    example = "bilinear"

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Plan Algorithm 4, then Algorithm 5 from the start."""
        primal, dual = (half.schedule(problem, sizes, L) for half in (PhasedPrimal, PhasedDual))
        dual[0]["fresh"] = 1
        return [*primal, *dual]


class OneSided(OutputPerturbation):
    """Algorithm 4 or 5 that regularises one part alone (D, d: its own); the other is strongly curved by itself."""

    part: ClassVar[Literal["w", "v"]]

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Take mu = 3 (L/D) max{1/sqrt n, 4 log2(n) sqrt(d log(2.5/delta))/(n epsilon)} and mu_k = mu 2^k."""
        n, part = sizes.n, cls.part
        curved, name, domain, d, other = (
            (problem.concavity, "concave in v", problem.domain_w, problem.dim_w, "v")
            if part == "w"
            else (problem.convexity, "convex in w", problem.domain_v, problem.dim_v, "w")
        )
        require_modulus(curved, name, problem)
        share = math.sqrt(d * math.log(2.5 / sizes.delta)) / (n * sizes.epsilon)
        mu = 3 * L / radius_of(domain, part) * max(1 / math.sqrt(n), 4 * math.log2(n) * share)
        factor, rows = gaussian_factor(2.5, sizes.delta, sizes.epsilon), []
        for k, block in enumerate(blocks(n), 1):
            mu_k, size = mu * 2**k, block[1] - block[0]
            least = min(mu_k, curved)
            row = phase(block, energy=L**2 / (size**2 * least))
            row |= {f"r_{part}": mu_k, f"mu_{part}": mu_k, f"mu_{other}": curved}
            row[f"sensitivity_{part}"] = 4 * L / (size * math.sqrt(mu_k * least))
            row[f"sigma_{part}"] = row[f"sensitivity_{part}"] * factor
            rows.append(row)
        return rows


class PhasedConvexStronglyConcave(OneSided):
    """Algorithm 4 without regularising v, for f strongly concave in v; releases w at (epsilon, delta)."""

    name = "phased_convex_strongly_concave"
    source = "Appendix B.4, Corollary B.6"
    example = "product"
    part = "w"


class PhasedStronglyConvexConcave(OneSided):
    """Algorithm 5 without regularising w, for f strongly convex in w; releases v at (epsilon, delta)."""

    name = "phased_strongly_convex_concave"
    source = "Appendix B.4, the mirror image of Corollary B.6"
    example = "product_mirror"
    part = "v"


def _whole(problem: Problem, sizes: Sizes, L: float) -> tuple[Phase, float]:
    """The one phase of Algorithm 3, and the sensitivity 4L/(n sqrt(mu)) of its weighted solution."""
    for modulus, name in ((problem.convexity, "convex in w"), (problem.concavity, "concave in v")):
        require_modulus(modulus, name, problem)
    n, mu = sizes.n, min(problem.convexity, problem.concavity)
    row = phase((0, n), mu_w=problem.convexity, mu_v=problem.concavity, energy=L**2 / (mu * n**2))
    return row, 4 * L / (n * math.sqrt(mu))
