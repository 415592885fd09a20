"""Output perturbation for minimisation, in one phase and in many.

Zhang, Thekumparampil, Oh, He, NeurIPS 2022: Algorithm 1 (strongly convex, Theorem 3.3) and Algorithm 2
(convex, phased, Theorem 3.4). See ``output_perturbation``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

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


class StronglyConvex(OutputPerturbation):
    """Algorithm 1: minimise, then add noise."""

    name = "output_perturbation"
    source = "Algorithm 1, Theorem 3.3"
    example = "mean_estimation"
    minimisation = True

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Plan one phase on all records, to within L/(mu n)."""
        n, mu = sizes.n, problem.convexity
        require_modulus(mu, "convex in w", problem)
        sensitivity = 4 * L / (mu * n)  # (6): twice the stability 2L/(mu n), for the solver's errors
        sigma = sensitivity * gaussian_factor(2.5, sizes.delta, sizes.epsilon)
        return [phase((0, n), mu_w=mu, energy=L**2 / (mu * n**2), sigma_w=sigma, sensitivity_w=sensitivity)]


class PhasedConvex(OutputPerturbation):
    """Algorithm 2: phases of growing regularisation about the point released last."""

    name = "phased_output_perturbation"
    source = "Algorithm 2, Theorem 3.4"
    example = "linear"
    minimisation = True
    tiny: ClassVar[dict[str, Any]] = {}

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Take mu_k = mu 2^k with mu = (L/D) max{1/sqrt n, 14 log2(n) sqrt(d log(2.5/delta))/(n epsilon)}."""
        n, D = sizes.n, radius_of(problem.domain_w, "w")
        share = math.sqrt(sizes.d * math.log(2.5 / sizes.delta)) / (n * sizes.epsilon)
        mu = L / D * max(1 / math.sqrt(n), 14 * math.log2(n) * share)
        factor, rows = gaussian_factor(2.5, sizes.delta, sizes.epsilon), []
        for k, block in enumerate(blocks(n), 1):
            mu_k, size = mu * 2**k, block[1] - block[0]
            sensitivity = 4 * L / (mu_k * size)
            rows.append(
                phase(
                    block, r_w=mu_k, mu_w=mu_k, energy=L**2 / (mu_k * size**2),
                    sigma_w=sensitivity * factor, sensitivity_w=sensitivity,
                )
            )  # fmt: skip
        return rows
