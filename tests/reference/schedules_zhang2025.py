"""The numbers of clipped DP-SGDA and PrivateDiff in Theorems 1, 2, 5 and 6 of Zhang et al. 2025."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from dpcheck.solvers import algorithm
from reference.schedules import Binding, Declared, Number, Unbound, numbers

# n, d_w, d_v, epsilon, delta, G_x, G_y, l, mu: within the region of Theorem 2, large n; kappa = 1 among them
LARGE = (
    (20_000, 2, 1, 1.0, 2e-9, 1.0, 1.0, 1.0, 1.0),
    (30_011, 1, 1, 0.9, 1e-9, 2.0, 0.5, 0.3, 0.1),
    (500_000, 3, 5, 0.5, 1e-12, 0.7, 3.1, 4.0, 0.7),
    (200_003, 1, 4, 0.7, 2e-11, 1.3, 0.2, 1.7, 0.03),
)
# the same of Theorem 6, whose minibatch is to be large enough for Remark 2 and at most n
MIDDLE = (
    (300, 9, 2, 1.0, 1e-5, 1.0, 1.0, 1.0, 1.0),
    (1000, 20, 9, 0.9, 1e-9, 2.0, 0.5, 0.3, 0.1),
    (50, 1, 1, 0.9, 4e-4, 0.7, 3.1, 4.0, 0.7),
    (5003, 3, 60, 0.7, 4e-9, 1.3, 0.2, 1.7, 0.03),
)


def _problem(case: tuple[Any, ...]) -> Declared:
    n, dim_w, dim_v, _, _, G_x, G_y, l, mu = case
    return Declared(n, dim_w, dim_v, lipschitz_w=G_x, lipschitz_v=G_y, smoothness=l, concavity=mu)


def _letters(case: tuple[Any, ...]) -> dict[str, float]:
    n, dim_w, dim_v, epsilon, delta, G_x, G_y, l, mu = case
    return {
        "n": n, "d": max(dim_w, dim_v), "epsilon": epsilon, "delta": delta, "C_1": G_x, "C_2": G_y, "l": l, "mu": mu,
        "B": 1.0, "Lambda": 1.0, "Delta_Phi": 1.0, "C_0": G_y, "beta": l, "M": 1.0,
    }  # fmt: skip


def _clipped(variant: str) -> Iterator[Number]:
    """Yield T and steps of Theorem 2; as printed the minibatch and noise of Theorem 1, repaired the larger
    minibatch.
    """
    printed = variant == "as_printed"
    for case in LARGE:
        run: Any = algorithm("dp_sgda_clipped").configure(
            _problem(case), epsilon=case[3], delta=case[4], variant=variant, private=printed
        )
        letters = _letters(case)
        first, last = {"eta_x": run.eta_w[0], "eta_y": run.eta_v[0]}, {"eta_x": run.eta_w[-1], "eta_y": run.eta_v[-1]}
        yield from numbers("zhang2025.theorem_2", letters, T=run.steps, **first)
        yield from numbers("zhang2025.theorem_2", letters, **last)
        first_order = letters | {"T": run.steps}
        if printed:
            noise = {"sigma_x": run.sigma_w, "sigma_y": run.sigma_v}
            yield from numbers("zhang2025.theorem_1", first_order, m=run.batch, **noise)
        else:
            (theorem_2,) = numbers("zhang2025.theorem_2", letters, m=run.batch)
            (remark,) = numbers("zhang2025.theorem_1", first_order, m=run.batch)
            yield theorem_2 if theorem_2.promised >= remark.promised else remark


def _privatediff(variant: str) -> Iterator[Number]:
    """Yield R, T, T_2, m of Theorem 6; as printed also eta_x and the noise of Remark 2."""
    printed = variant == "as_printed"
    for case in MIDDLE:
        noiseless = {} if printed else {"private": False, "eta_x": 1.0}
        run: Any = algorithm("privatediff").configure(
            _problem(case), epsilon=case[3], delta=case[4], variant=variant, **noiseless
        )
        letters = _letters(case)
        yield from numbers("zhang2025.theorem_6", letters, R=run.rounds, T=run.restart, T_2=run.eta_y.size, m=run.batch)
        if not printed:
            continue
        noise = {"sigma_x1": run.sigma_1, "sigma_x2": run.sigma_2, "sigma_y": run.sigma_y}
        yield from numbers("zhang2025.theorem_6", letters, eta_x=run.eta_x, **noise)
        yield from numbers("zhang2025.theorem_5", letters | {"T": run.restart, "R": run.rounds}, **noise)


THRESHOLDS = "the thresholds C_0 to C_3 and the ascent's steps 1/(mu i), which it states in words"
BASELINE = (
    "The catalogue has no theorem with its numbers: it is another paper's algorithm, whose steps and noise the "
    "appendix of Zhang et al. 2025 quotes."
)

BINDINGS: dict[tuple[str, str], Binding | Unbound] = {
    ("dp_sgda_clipped", "as_printed"): Binding(partial(_clipped, "as_printed")),
    ("dp_sgda_clipped", "repaired"): Binding(partial(_clipped, "repaired"), "the accountant's noise"),
    ("privatediff", "as_printed"): Binding(partial(_privatediff, "as_printed"), THRESHOLDS),
    ("privatediff", "repaired"): Binding(
        partial(_privatediff, "repaired"), f"the accountant's noise, the step that depends on it, {THRESHOLDS}"
    ),
    ("dptd", "as_printed"): Unbound(BASELINE),
    ("dptd", "repaired"): Unbound(BASELINE),
}
