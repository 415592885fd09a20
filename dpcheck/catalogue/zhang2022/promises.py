"""The answers of output perturbation to the assumptions of Zhang et al. 2022."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.promises import Given, Promise, any_of, at_zero, curved, lipschitz, smooth
from dpcheck.catalogue.zhang2022.output_perturbation import radius_of


def _answers(solver: Any, problem: Problem, given: Given) -> tuple[dict[str, float], dict[str, str]]:
    """Answer what all theorems of the paper ask for.

    The solver's accuracy is certified and sure, where the paper has it with a probability; what is released is
    projected.
    """
    L = math.hypot(problem.lipschitz_w, problem.lipschitz_v)
    values = given.letters(problem) | {"L": L, "ell": problem.smoothness}
    found = {
        "f": any_of(lipschitz(problem), smooth(problem), curved(problem, convex=True)), "solver": "", "released": "",
    }  # fmt: skip
    return values, found


def strongly_convex(solver: Any, problem: Problem, given: Given) -> Iterator[Promise]:
    """Answer for Algorithm 1."""
    values, found = _answers(solver, problem, given)
    yield Promise("zhang2022.theorem_3_3", "Theorem 3.3", values | {"mu": problem.convexity}, found)


def convex(solver: Any, problem: Problem, given: Given) -> Iterator[Promise]:
    """Answer for Algorithm 2."""
    values, found = _answers(solver, problem, given)
    del values["ell"]
    values |= {"D": radius_of(problem.domain_w, "w"), "k": len(solver.phases)}
    yield Promise("zhang2022.theorem_3_4", "Theorem 3.4", values, found | {"bounded": at_zero(problem)})


def saddle(solver: Any, problem: Problem, given: Given) -> Iterator[Promise]:
    """Answer for Algorithm 3."""
    values, found = _answers(solver, problem, given)
    values |= {"mu_x": problem.convexity, "mu_y": problem.concavity}
    yield Promise("zhang2022.theorem_4_3", "Theorem 4.3", values, found)


def convex_concave(solver: Any, problem: Problem, given: Given) -> Iterator[Promise]:
    """Answer for Algorithms 4 and 5; one after the other they have twice as many phases."""
    values, found = _answers(solver, problem, given)
    del values["ell"]
    radius = max(radius_of(problem.domain_w, "w"), radius_of(problem.domain_v, "v"))
    phases = len(solver.phases) // (2 if solver.name == "phased_minimax_output_perturbation" else 1)
    yield Promise(
        "zhang2022.theorem_4_5", "Theorem 4.5", values | {"D": radius, "k": phases},
        found | {"bounded": at_zero(problem)},
    )  # fmt: skip


def one_sided(part: str) -> Callable[[Any, Problem, Given], Iterator[Promise]]:
    """Answer for Appendix B.4 for the part w, and its mirror image for v."""

    def answer(solver: Any, problem: Problem, given: Given) -> Iterator[Promise]:
        values, found = _answers(solver, problem, given)
        del values["ell"]
        dimension, domain, modulus = (
            (problem.dim_w, problem.domain_w, problem.concavity)
            if part == "w"
            else (problem.dim_v, problem.domain_v, problem.convexity)
        )
        values |= {"d": dimension, "D": radius_of(domain, part), "mu_y": modulus, "k": len(solver.phases)}
        label = "Corollary B.6" if part == "w" else "Corollary B.6, mirrored,"
        yield Promise("zhang2022.corollary_b_6", label, values, found | {"bounded": at_zero(problem, part)})

    return answer


PROMISES = {
    "output_perturbation": strongly_convex,
    "phased_output_perturbation": convex,
    "minimax_output_perturbation": saddle,
    "minimax_output_perturbation_joint": saddle,
    "phased_primal": convex_concave,
    "phased_dual": convex_concave,
    "phased_minimax_output_perturbation": convex_concave,
    "phased_convex_strongly_concave": one_sided("w"),
    "phased_strongly_convex_concave": one_sided("v"),
}
