"""DP-SGDA's answers to the assumptions of Theorems 1, 2 and 3 of Yang et al. 2022."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpcheck.algorithms.budget import modulus
from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.promises import (
    Given,
    Promise,
    any_of,
    at_zero,
    bounded,
    curved,
    lipschitz,
    projected,
    smooth,
    strongly_concave,
)


def dp_sgda(solver: Any, problem: Problem, given: Given) -> Iterator[Promise]:
    """Answer for Theorem 2a, 2b or 3, and as printed also for Remark 1, which sets the noise."""
    theorem = str(given.option(solver, "theorem"))
    L, rho = problem.smoothness, modulus(problem)
    values = given.letters(problem) | {"T": solver.steps, "m": solver.batch}
    values.pop("d")
    found = {
        "A1": lipschitz(
            problem, clip_w=(solver.clip_w, problem.lipschitz_w), clip_v=(solver.clip_v, problem.lipschitz_v)
        ),
        # without replacement is the repair
        "sampling": "each record is drawn by itself" if solver.sampling == "poisson" else "",
    }
    if theorem == "3":
        bend = L + L**2 / rho if rho > 0 else 0.0
        late = f"eta_w is {solver.eta_w.max():.4g} and eta_v {solver.eta_v.max():.4g} at first"
        starts_late = solver.eta_w.max() * bend <= 1 + 1e-12 and solver.eta_v.max() * L <= 1 + 1e-12
        yield Promise(
            "yang2022.theorem_3",
            "Theorem 3",
            {"kappa": L / rho if rho > 0 else 0.0, "mu": given.option(solver, "pl"), "L": L},
            found | {
                "A3": smooth(problem), "PL-SC": strongly_concave(problem), "W": projected(problem),
                "V": bounded(problem, "v"), "late start": "" if starts_late else late,
            },
        )  # fmt: skip
    else:
        yield Promise(
            f"yang2022.theorem_{theorem}",
            f"Theorem {theorem}",
            values,
            found | {
                "A3": smooth(problem), "convex-concave": any_of(curved(problem, convex=True)),
                "bounded": bounded(problem), "start": at_zero(problem),
            },
        )  # fmt: skip
    if given.variant == "as_printed":
        yield Promise("yang2022.theorem_1", "Remark 1", values, found)


def baseline(solver: Any, problem: Problem) -> Iterator[str]:
    """Answer for NSEG and NISPP, which stand in Table 1 for problems that are C-C, Lip and S."""
    clips = {
        f"clip_{side}": (getattr(solver, f"clip_{side}"), getattr(problem, f"lipschitz_{side}"))
        for side in "wv" if hasattr(solver, f"clip_{side}")
    }  # fmt: skip
    conditions = {
        "f convex in w and concave in v": curved(problem, convex=True), "f Lipschitz": lipschitz(problem, **clips),
        "f smooth": smooth(problem),
    }  # fmt: skip
    for condition, found in conditions.items():
        if found:
            yield f"Table 1 of Yang et al. assumes {condition}; here {found}"


PROMISES = {"dp_sgda": dp_sgda}
BASELINES = {"nseg": baseline, "nispp": baseline}
