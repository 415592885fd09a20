"""The answers of clipped DP-SGDA and PrivateDiff Minimax to the assumptions of Zhang et al. 2025."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpcheck.algorithms.budget import modulus
from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.promises import (
    Given,
    Promise,
    any_of,
    bounded,
    lipschitz,
    projected,
    smooth,
    strongly_concave,
)
from dpcheck.catalogue.zhang2025.privatediff_schedule import ascent_steps, threshold_C3


def _setting(problem: Problem, given: Given) -> tuple[dict[str, float], dict[str, str]]:
    """Answer what Theorems 2 and 6 both ask for; no problem has a number for the bound M on f."""
    values = given.letters(problem) | {"l": problem.smoothness, "mu": modulus(problem)}
    found = {
        "A1": any_of(strongly_concave(problem), projected(problem), bounded(problem, "v")), "A2": lipschitz(problem),
        "A3": smooth(problem), "smooth": smooth(problem), "every": smooth(problem), "beta": smooth(problem),
        "sampling": "", "clipping": "",
    }  # fmt: skip
    return values, found


def dp_sgda_clipped(solver: Any, problem: Problem, given: Given) -> Iterator[Promise]:
    """Answer for Theorem 2, and as printed also for the settings after Theorem 1."""
    values, found = _setting(problem, given)
    found["thresholds"] = _below(
        clip_w=(solver.clip_w, problem.lipschitz_w), clip_v=(solver.clip_v, problem.lipschitz_v)
    )
    yield Promise("zhang2025.theorem_2", "Theorem 2", values, found)
    if given.variant == "as_printed":
        values = {name: values[name] for name in ("n", "epsilon", "delta")} | {"T": solver.steps, "m": solver.batch}
        yield Promise("zhang2025.theorem_1", "Theorem 1", values, found)


def privatediff(solver: Any, problem: Problem, given: Given) -> Iterator[Promise]:
    """Answer for Theorem 6, and as printed also for Theorem 5 with Remark 2."""
    values, found = _setting(problem, given)
    values |= {
        "theta": given.option(solver, "failure"), "R": solver.rounds, "T": solver.restart, "m": solver.batch,
        "T_2": solver.eta_y.size,
    }  # fmt: skip
    l, mu = problem.smoothness, modulus(problem)
    if mu > 0 and math.isfinite(l):
        least_C3 = threshold_C3(problem, solver.rounds, solver.eta_y.size, values["theta"], solver.repaired)
        least_C2 = (1 + l / mu) * l
        own = ascent_steps(problem, solver.eta_y.size, solver.repaired)
        found["steps"] = "" if np.allclose(solver.eta_y, own) else f"the first is {solver.eta_y[0]:.4g}"
    else:
        least_C2 = least_C3 = math.inf
        found["steps"] = "there is no mu"
    found["thresholds"] = _below(
        C0=(solver.C0, problem.lipschitz_v), C1=(solver.C1, problem.lipschitz_w), C2=(solver.C2, least_C2),
        C3=(solver.C3, least_C3),
    )  # fmt: skip
    yield Promise("zhang2025.theorem_6", "Theorem 6", values, found)
    if given.variant == "as_printed":
        values = {name: values[name] for name in ("n", "epsilon", "delta", "R", "T", "m")}
        yield Promise("zhang2025.theorem_5", "Theorem 5", values, found)


def _below(**pairs: tuple[float, float]) -> str:
    """Name the thresholds that are below what they are to bound."""
    return ", ".join(
        f"{name} = {clip:.6g} is below {least:.6g}"
        for name, (clip, least) in pairs.items()
        if clip < least * (1 - 1e-12)
    )


PROMISES = {"dp_sgda_clipped": dp_sgda_clipped, "privatediff": privatediff}
