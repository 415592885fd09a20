r"""The sizes of Lemma 5 as its statement has them; its proof has others.

Setting and reference as in ``theorem_1``. The statement has T with sqrt(d) log(1/delta) in place of
sqrt(d log(1/delta)), q with L^2, and the second part of S_2 without epsilon. The proof, whose sizes Theorem 1 uses, has
none of the three. Algorithm 2 as published runs with the sizes here. The theorem is not in the catalogue, since no
guarantee is shown for it.
"""

from __future__ import annotations

from sympy import Integer, Max, ceiling, floor, log, sqrt

from dpcheck.bounds.symbols import K, L, T, d, delta, epsilon, eta, n
from dpcheck.bounds.theorem import Theorem
from dpcheck.bounds.xu2026.empirical import ASSUMPTIONS, PARAMETERS, REGIMES
from dpcheck.bounds.xu2026.error import ERROR
from dpcheck.bounds.xu2026.lemma_5 import BATCH, LENGTH, LONG, a
from dpcheck.bounds.xu2026.theorem_2 import NOISE, S_1, S_2, q

STATED = Theorem(
    id="xu2026.lemma_5",
    title="Sizes of DP-RGDA for the empirical risk, as Lemma 5 states them",
    paper="xu2026",
    location="Lemma 5, Appendix B.1; Algorithm 3",
    quantity="gradient norm alpha of the output, in order",
    quantity_latex=r"\alpha",
    parameters=PARAMETERS,
    assumptions=tuple(each for each in ASSUMPTIONS if each.name in ("epsilon", "delta_1", "delta_2", "error", "S_2")),
    schedule_formulas=(
        (T, ceiling(Max(LONG.subs(a, ERROR), n * epsilon / (sqrt(d) * log(1 / delta))))),
        (q, Max(1, floor((n * epsilon) ** 2 / (L**2 * T * d * log(1 / delta))))),
        (S_1, n),
        (S_2, ceiling(BATCH)),
        (K, Integer(1)),
        (eta, LENGTH),
    ),
    noise_formulas=NOISE,
    regimes=REGIMES,
)
