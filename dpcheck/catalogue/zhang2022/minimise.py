"""Output perturbation for minimisation, in one phase and in many.

Zhang, Thekumparampil, Oh, He, NeurIPS 2022: Algorithm 1 (strongly convex, Theorem 3.3) and Algorithm 2
(convex, phased, Theorem 3.4). See ``output_perturbation``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.promises import Given, Promise, at_zero
from dpcheck.algorithms.schedule import Sizes
from dpcheck.catalogue.zhang2022 import ROOM, answers, game_of_a_solution, near
from dpcheck.catalogue.zhang2022.output_perturbation import (
    OutputPerturbation,
    Phase,
    blocks,
    gaussian_factor,
    phase,
    radius_of,
    require_modulus,
)

if TYPE_CHECKING:
    from dpcheck.checks.privacy.entry import Entry


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

    def promises(self, problem: Problem, given: Given) -> Iterator[Promise]:
        """Answer for Theorem 3.3."""
        values, conditions = answers(problem, given)
        yield Promise("zhang2022.theorem_3_3", "Theorem 3.3", values | {"mu": problem.convexity}, conditions)

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield a game in a ball of radius 3/n, which costs that share of the Lipschitz constant."""
        from dpcheck.checks.privacy.entry import blank

        n = 40
        constants: dict[str, Any] = {"convexity": 1.0, "radius_w": 3 / n, "lipschitz_w": 1 + 3 / n}
        problem = blank(n, **constants, lipschitz_v=0.0, dim_v=0)
        yield game_of_a_solution(cls.name, problem, near(n, b=1.0), ROOM)


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

    def promises(self, problem: Problem, given: Given) -> Iterator[Promise]:
        """Answer for Theorem 3.4."""
        values, conditions = answers(problem, given)
        del values["ell"]
        values |= {"D": radius_of(problem.domain_w, "w"), "k": len(self.phases)}
        yield Promise("zhang2022.theorem_3_4", "Theorem 3.4", values, conditions | {"bounded": at_zero(problem)})

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield games of phases on three records each."""
        from dpcheck.checks.privacy.entry import blank

        n, size = 9, blocks(9)[0][1]
        problem = blank(n, smoothness=0.0, lipschitz_v=0.0, dim_v=0)
        yield game_of_a_solution(cls.name, problem, near(size, b=1.0), ROOM)
        yield game_of_a_solution(cls.name, problem, near(size, b=1.0), ROOM, place=size, part="later")
