"""DP-RGDA's answers to the assumptions of Theorems 1 and 2 of Xu et al. 2026."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from dpcheck.algorithms.budget import modulus
from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.promises import Given, Promise, at_zero, bounded, lipschitz, smooth, strongly_concave


def dp_rgda(solver: Any, problem: Problem, given: Given) -> Iterator[Promise]:
    """Answer for Theorem 1 (empirical risk) or Theorem 2 (population risk)."""
    theorem, failure = str(given.option(solver, "theorem")), given.option(solver, "failure")
    L, rho = problem.smoothness, problem.hessian_lipschitz
    values = given.letters(problem) | {
        "L": L, "delta_1": failure, "delta_2": failure, "T": solver.steps, "q": solver.period, "S_2": solver.S2,
    }  # fmt: skip
    given_here = [name for name in ("eta_H", "r", "t_thres", "D_bar", "C") if name in given.overrides]
    found = {
        "A1": lipschitz(problem, C_v=(solver.C_v, max(problem.lipschitz_w, problem.lipschitz_v))),
        "A2": smooth(problem),
        "A3": "the primal function has no Lipschitz Hessian" if math.isinf(rho) else "",
        "A4": strongly_concave(problem),
        "start": at_zero(problem),
        "F_0": bounded(problem, "v"),
        "escape": f"{' and '.join(given_here)} {'are' if len(given_here) > 1 else 'is'} given" if given_here else "",
    }
    if theorem == "2":
        values |= {"mu": modulus(problem)}
        found["noise"] = "" if given.variant == "repaired" else "it is that of Algorithm 3"
    yield Promise(f"xu2026.theorem_{theorem}", f"Theorem {theorem}", values, found)


PROMISES = {"dp_rgda": dp_rgda}
