"""The numbers of output perturbation in Theorems 3.3, 3.4, 4.3 and 4.5 and Corollary B.6 of Zhang et al. 2022."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

from dpcheck.catalogue.zhang2022.output_perturbation import FIELDS
from dpcheck.solvers import algorithm
from reference.schedules import Binding, Declared, Number, Unbound, numbers

# n, d_w, d_v, epsilon, delta, Lipschitz constants in w and v, radii, moduli in w and v: among them the least n, one
# phase and many, equal and unequal moduli, and both sides of each maximum
CASES = (
    (100, 3, 1, 1.0, 1e-5, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5),
    (3, 1, 1, 1.0, 0.2, 2.0, 0.5, 0.3, 0.2, 3.9, 4.0),
    (1000, 60, 90, 0.1, 1e-9, 0.7, 3.1, 4.0, 2.0, 0.9, 0.7),
    (9_000_011, 1, 2, 0.9, 4e-9, 1.3, 0.2, 1.7, 9.0, 0.03, 0.4),
    (2**16, 2, 1, 0.5, 1e-7, 0.1, 0.1, 0.01, 0.02, 1.0, 0.2),
)
SMOOTHNESS = 5.0


def _configured(name: str, case: tuple[Any, ...], **constants: Any) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Return the phases of the schedule, and the theorems' letters but for the moduli and D."""
    n, dim_w, dim_v, epsilon, delta, L_w, L_v, R_w, R_v = case[:9]
    dims = {"dim_w": dim_w, "dim_v": dim_v} | constants
    problem = Declared(
        n, lipschitz_w=L_w, lipschitz_v=L_v if dims["dim_v"] else 0.0, smoothness=SMOOTHNESS, radius_w=R_w,
        radius_v=R_v, **dims,
    )  # fmt: skip
    run: Any = algorithm(name).configure(problem, epsilon=epsilon, delta=delta, variant="as_printed")
    letters = {
        "n": n, "d": max(problem.dim_w, problem.dim_v), "epsilon": epsilon, "delta": delta,
        "L": math.hypot(problem.lipschitz_w, problem.lipschitz_v), "ell": SMOOTHNESS,
    }  # fmt: skip
    return [dict(zip(FIELDS, row.tolist(), strict=True)) for row in run.phases], letters


def _phases(
    theorem: str, letters: dict[str, float], rows: list[dict[str, float]], part: str, other: bool = False
) -> Iterator[Number]:
    """Yield K, mu by the regulariser mu 2^k of the part, and its noise, in the first two phases and the last."""
    label = {"w": "x", "v": "y"}[part]
    for k in sorted({1, min(2, len(rows)), len(rows)}):
        row = rows[k - 1]
        yield from numbers(
            theorem, letters | {"k": k}, K=("phases", len(rows)),
            mu=(f"the regulariser in {label} over 2^k", row[f"r_{part}"] / 2**k),
            sigma=(f"sigma_{label}", row[f"sigma_{part}"]), energy=("the solver's accuracy", row["energy"]),
        )  # fmt: skip
        if other:
            opposite, side = ("v", "y") if part == "w" else ("w", "x")
            yield from numbers(theorem, letters | {"k": k}, mu=(f"the regulariser in {side}", row[f"r_{opposite}"]))


def _strongly_convex() -> Iterator[Number]:
    for case in CASES:
        (row,), letters = _configured("output_perturbation", case, dim_v=0, convexity=case[9])
        yield from numbers(
            "zhang2022.theorem_3_3",
            letters | {"mu": case[9]},
            sigma=row["sigma_w"],
            energy=("the solver's accuracy", row["energy"]),
        )


def _convex() -> Iterator[Number]:
    for case in CASES:
        rows, letters = _configured("phased_output_perturbation", case, dim_v=0)
        yield from _phases("zhang2022.theorem_3_4", letters | {"D": case[7]}, rows, "w")


def _saddle() -> Iterator[Number]:
    for case in CASES:
        moduli = {"convexity": case[9], "concavity": case[10]}
        (row,), letters = _configured("minimax_output_perturbation", case, **moduli)
        letters |= {"mu_x": case[9], "mu_y": case[10]}
        yield from numbers(
            "zhang2022.theorem_4_3", letters, sigma_x=row["sigma_w"], sigma_y=row["sigma_v"],
            energy=("the solver's accuracy", row["energy"]),
        )  # fmt: skip


def _half(name: str, parts: str) -> Iterator[Number]:
    """Yield the numbers of Algorithm 4, 5, or both."""
    for case in CASES:
        rows, letters = _configured(name, case)
        each = len(rows) // len(parts)
        for number, part in enumerate(parts):
            half = rows[number * each : (number + 1) * each]
            yield from _phases("zhang2022.theorem_4_5", letters | {"D": max(case[7:9])}, half, part, other=True)


def _one_sided(name: str, part: str) -> Iterator[Number]:
    """Yield the numbers of Corollary B.6, or its mirror image: d and D are those of the part, mu_y the modulus of
    the other.
    """
    place = "wv".index(part)
    for case in CASES:
        n, L, D = case[0], math.hypot(*case[5:7]), case[7 + place]
        modulus = max(case[10 - place], 1.01 * L / (D * math.sqrt(n)))  # as large as the corollary asks
        rows, letters = _configured(name, case, **{("concavity", "convexity")[place]: modulus})
        letters |= {"d": case[1 + place], "D": D, "mu_y": modulus}
        yield from _phases("zhang2022.corollary_b_6", letters, rows, part)


PRINTED = "as_printed"

BINDINGS: dict[tuple[str, str], Binding | Unbound] = {
    ("output_perturbation", PRINTED): Binding(_strongly_convex),
    ("phased_output_perturbation", PRINTED): Binding(_convex),
    ("minimax_output_perturbation", PRINTED): Binding(_saddle),
    ("minimax_output_perturbation_joint", PRINTED): Unbound(
        "The catalogue has no theorem with its numbers: it is not in the paper, whose inequality (12) alone it uses."
    ),
    ("phased_primal", PRINTED): Binding(partial(_half, "phased_primal", "w")),
    ("phased_dual", PRINTED): Binding(partial(_half, "phased_dual", "v")),
    ("phased_minimax_output_perturbation", PRINTED): Binding(
        partial(_half, "phased_minimax_output_perturbation", "wv")
    ),
    ("phased_convex_strongly_concave", PRINTED): Binding(partial(_one_sided, "phased_convex_strongly_concave", "w")),
    ("phased_strongly_convex_concave", PRINTED): Binding(partial(_one_sided, "phased_strongly_convex_concave", "v")),
}
