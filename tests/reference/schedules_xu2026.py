"""DP-RGDA's numbers in Lemma 5 and in Theorems 1 and 2 of Xu et al. 2026."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sympy import Integer, Max, Rational, ceiling, floor, log, sqrt

from dpcheck.bounds.symbols import K, L, T, d, delta, epsilon, eta, n
from dpcheck.bounds.theorem import Theorem
from dpcheck.bounds.xu2026 import theorems_1_to_3 as stated
from dpcheck.solvers import algorithm
from reference.schedules import Binding, Declared, Number, Unbound, numbers

# n, d_w, d_v, epsilon, delta, M, L, mu, F_0: either side of both maxima, kappa = 1 among them
EMPIRICAL = (
    (10_000, 2, 1, 0.9, 1e-5, 1.0, 1.0, 1.0, 1.0),
    (20_011, 1, 1, 0.99, 1e-9, 0.2, 0.7, 0.1, 0.3),
    (3_001, 3, 5, 0.5, 1e-2, 2.0, 0.9, 0.5, 2.0),
    (700, 1, 1, 0.8, 0.5, 0.7, 0.3, 0.03, 0.4),
)
POPULATION = (
    (10_007, 2, 1, 0.9, 1e-5, 1.0, 1.0, 1.0, 1.0),
    (500_000, 1, 1, 0.99, 1e-9, 0.2, 0.7, 0.1, 0.3),
    (90_001, 3, 5, 0.5, 1e-2, 2.0, 6.0, 0.5, 2.0),
    (3_000, 1, 1, 0.8, 0.5, 0.7, 0.3, 0.03, 0.4),
)
FAILURE = 0.1
M, F_0, RATIO = stated.M, stated.F_0, stated.RATIO
# The sizes that Lemma 5 states and its proof does not: with these Algorithm 2 as published runs.
STATED = Theorem(
    id="xu2026.lemma_5",
    title="Sizes of DP-RGDA for the empirical risk, as Lemma 5 states them",
    location="Lemma 5, Appendix B.1; Algorithm 3",
    quantity="gradient norm alpha of the output, in order",
    quantity_latex=r"\alpha",
    parameters=stated.EMPIRICAL.parameters,
    assumptions=tuple(
        each for each in stated.EMPIRICAL.assumptions if each.name in ("epsilon", "delta_1", "delta_2", "error", "S_2")
    ),
    schedule_formulas=(
        (
            T,
            ceiling(
                Max(
                    ((L * F_0) ** Rational(1, 4) / (sqrt(M) * RATIO)) ** Rational(4, 3),
                    n * epsilon / (sqrt(d) * log(1 / delta)),
                )
            ),
        ),
        (stated.q, Max(1, floor((n * epsilon) ** 2 / (L**2 * T * d * log(1 / delta))))),
        (stated.S_1, n),
        (
            stated.S_2,
            ceiling(
                Max(
                    (M * n * epsilon / sqrt(F_0 * L * d * log(1 / delta))) ** Rational(2, 3),
                    (M * n * d * log(1 / delta)) ** Rational(1, 3) / (L * F_0) ** Rational(1, 6),
                )
            ),
        ),
        (K, Integer(1)),
        (eta, 1 / (2 * L)),
    ),
    noise_formulas=stated.NOISE,
    regimes=stated.EMPIRICAL.regimes,
)


def _configured(variant: str, theorem: str, case: tuple[Any, ...]) -> tuple[Any, dict[str, float]]:
    n, dim_w, dim_v, epsilon, delta, M, L, mu, F_0 = case
    problem = Declared(n, dim_w, dim_v, lipschitz_w=M, lipschitz_v=M / 2, smoothness=L, concavity=mu)
    run = algorithm("dp_rgda").configure(
        problem, epsilon=epsilon, delta=delta, variant=variant, theorem=theorem, F0=F_0, failure=FAILURE,
        private=variant == "as_printed",
    )  # fmt: skip
    letters = {
        "n": n, "d": max(dim_w, dim_v), "epsilon": epsilon, "delta": delta, "M": M, "L": L, "mu": mu, "F_0": F_0,
        "delta_1": FAILURE, "C_v": M,
    }  # fmt: skip
    return run, letters


def _printed() -> Iterator[Number]:
    """Yield the sizes that Lemma 5 states, and those of Lemma 8's proof; the noise of Algorithm 3."""
    for case in EMPIRICAL:
        run, letters = _configured("as_printed", "1", case)
        yield from numbers(
            STATED, letters | {"C_u": letters["L"] * run.eta}, T=run.steps, q=run.period, S_1=run.S1,
            S_2=run.S2, K=run.K, eta=run.eta, sigma_omega=("sigma_v", run.sigma_v),
            sigma_zeta=("sigma_u", run.sigma_u), order=("alpha", run.alpha),
        )  # fmt: skip
    for case in POPULATION:
        run, letters = _configured("as_printed", "2", case)
        yield from numbers(
            "xu2026.theorem_2", letters | {"C_u": letters["L"] * run.eta}, T=run.steps, q=run.period, S_1=run.S1,
            S_2=run.S2, K=run.K, eta=run.eta, r=run.r, D=("D_bar", run.D_bar), sigma_omega=("sigma_v", run.sigma_v),
            sigma_zeta=("sigma_u", run.sigma_u), **{"lambda": run.lam},
        )  # fmt: skip


def _repaired() -> Iterator[Number]:
    """Yield what the repair keeps: refreshes on all records, and the accuracy."""
    for case in EMPIRICAL:
        run, letters = _configured("repaired", "1", case)
        yield from numbers(STATED, letters | {"C_u": letters["L"] * run.eta}, S_1=run.S1, order=("alpha", run.alpha))


BASELINE = (
    "The catalogue has no theorem with its numbers: it is another paper's algorithm, with which Xu et al. compare, and "
    "its schedule is reconstructed from orders."
)
ESCAPE = "the escape's eta_H, r, t_thres and D_bar of the empirical case, for which Lemmas 6 and 7 give bounds"

BINDINGS: dict[tuple[str, str], Binding | Unbound] = {
    ("dp_rgda", "as_printed"): Binding(_printed, ESCAPE),
    ("dp_rgda", "repaired"): Binding(
        _repaired, f"the repaired T, q, S_2, K, eta and C_u, the accountant's noise, and {ESCAPE}"
    ),
    **{
        (name, variant): Unbound(BASELINE)
        for name, variant in (
            ("dp_spider", "as_printed"),
            ("dp_spider", "repaired"),
            ("ada_dp_spider", "repaired"),
            ("sto_spider", "repaired"),
        )
    },
}
