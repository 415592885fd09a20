"""DP-SGDA's numbers in Theorems 1 (with Remark 1), 2, 3 and 5 of Yang et al. 2022."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from dpcheck.solvers import algorithm
from reference.schedules import Binding, Declared, Number, Unbound, numbers

# n, d_w, d_v, epsilon, delta, G_w, G_v, L: among them the least n, the largest delta, and both sides of the maximum
SMOOTH = (
    (100, 3, 1, 1.0, 1e-5, 1.0, 1.0, 1.0),
    (2, 1, 1, 1.0, 0.25, 2.0, 0.5, 0.3),
    (1000, 60, 90, 0.1, 1e-9, 0.7, 3.1, 40.0),
    (5003, 1, 2, 0.9, 4e-9, 1.3, 0.2, 1.7),
)
LIPSCHITZ = tuple((n, *rest) for n, (_, *rest) in zip((90, 2, 301, 250), SMOOTH, strict=True))  # n^2 steps
CURVED = ((100, 0.5, 0.8), (7, 0.3, 0.3), (1000, 2.0, 11.0), (503, 1.7, 0.1))  # n, rho = L/kappa and mu of PL


def _problem(case: tuple[Any, ...], **constants: Any) -> Declared:
    n, dim_w, dim_v, _, _, G_w, G_v, L = case
    return Declared(n, dim_w, dim_v, lipschitz_w=G_w, lipschitz_v=G_v, smoothness=L, **constants)


def _letters(case: tuple[Any, ...]) -> dict[str, float]:
    n, dim_w, dim_v, epsilon, delta, G_w, G_v, L = case
    return {
        "n": n, "d": max(dim_w, dim_v), "epsilon": epsilon, "delta": delta, "G_w": G_w, "G_v": G_v, "L": L,
        "D_w": 1.0, "D_v": 1.0,
    }  # fmt: skip


def _convex(variant: str, theorem: str, cases: tuple[tuple[Any, ...], ...]) -> Iterator[Number]:
    """Yield T, m, eta, and as printed the noise."""
    printed = variant == "as_printed"
    for case in cases:
        run: Any = algorithm("dp_sgda").configure(
            _problem(case), epsilon=case[3], delta=case[4], variant=variant, theorem=theorem,
            private=printed,
        )  # fmt: skip
        letters, noise = _letters(case), {"sigma_w": run.sigma_w, "sigma_v": run.sigma_v} if printed else {}
        steps = {"T": run.steps, "m": run.batch}
        for place in (0, run.steps - 1):
            eta = numbers(f"yang2022.theorem_{theorem}", letters, eta=("eta_w", run.eta_w[place]))
            yield from (*eta, *numbers(f"yang2022.theorem_{theorem}", letters, eta=("eta_v", run.eta_v[place])))
        yield from numbers(f"yang2022.theorem_{theorem}", letters, **steps, **noise)
        if printed:
            yield from numbers("yang2022.theorem_1", letters | {"T": run.steps}, m=run.batch, **noise)


def _strongly_concave(variant: str) -> Iterator[Number]:
    """Yield T, m, and as printed the noise and the first, second and last step."""
    printed = variant == "as_printed"
    for (n, rho, pl), (_, *rest) in zip(CURVED, SMOOTH, strict=True):
        case = (n, *rest[:-1], max(rest[-1], rho, pl**0.5))
        run: Any = algorithm("dp_sgda").configure(
            _problem(case, concavity=rho), epsilon=case[3], delta=min(case[4], n**-2), variant=variant,
            theorem="3", pl=pl, private=printed,
        )  # fmt: skip
        letters = _letters(case) | {"delta": min(case[4], n**-2), "kappa": case[-1] / rho, "mu": pl}
        yield from numbers("yang2022.theorem_1", letters | {"T": n}, m=run.batch)
        yield from numbers("yang2022.theorem_5", letters, T=run.steps)
        if not printed:
            continue
        yield from numbers("yang2022.theorem_5", letters, sigma_w=run.sigma_w, sigma_v=run.sigma_v)
        for t in (1, 2, n):
            falling = {"eta_w": run.eta_w[t - 1], "eta_v": run.eta_v[t - 1]}
            yield from numbers("yang2022.theorem_3", letters | {"t": t}, **falling)


def _dp_sgda(variant: str) -> Iterator[Number]:
    yield from _convex(variant, "2a", SMOOTH)
    yield from _convex(variant, "2b", LIPSCHITZ)
    yield from _strongly_concave(variant)


TABLE_1 = (
    "The catalogue has no theorem with its numbers: Table 1 of Yang et al. compares with it by its rate and its count "
    "of gradients alone, and {what} are reconstructed."
)

BINDINGS: dict[tuple[str, str], Binding | Unbound] = {
    ("dp_sgda", "as_printed"): Binding(partial(_dp_sgda, "as_printed")),
    ("dp_sgda", "repaired"): Binding(
        partial(_dp_sgda, "repaired"), "the accountant's noise and the late start of Theorem 3's steps"
    ),
    ("nseg", "repaired"): Unbound(TABLE_1.format(what="its T, m, eta and noise")),
    ("nispp", "repaired"): Unbound(TABLE_1.format(what="its batch, proximal weight and noise")),
}
