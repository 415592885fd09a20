r"""Theorem 2(b): the weak primal-dual risk of DP-SGDA, nonsmooth convex-concave case.

Problem. As in ``theorem_2a`` without smoothness: f is convex-concave and Lipschitz (A1), W and V
are closed, convex, contain 0, and lie within radius D_w and D_v about it.

Algorithm. DP-SGDA [1, Algorithm 1] from w_1 = v_1 = 0, with the noise of [1, Remark 1], for T = n^2
steps of

    eta = c / ( n max{ sqrt n, sqrt(d log(1/delta))/epsilon } );  output: the mean of t = 1, ..., T.

Remark 1's minibatch max(1, n sqrt(epsilon/(4T))) is max(1, sqrt(epsilon)/2) here, so m = 1.

Guarantee. By [1, Theorem 2(b)] the weak primal-dual population risk is
O( max{ 1/sqrt n, sqrt(d log(1/delta))/(n epsilon) } ). With constants it is at most

    4 sqrt 2 eta (G_w + G_v)^2 (sqrt T + T/n)                                      (Lemma 6b)
    + eta (G_w^2 + G_v^2)/2 + (D_w^2 + D_v^2)/(2 eta T)
    + (D_w G_w + D_v G_v)/sqrt(m T) + eta d (sigma_w^2 + sigma_v^2),               (Lemma 3)

which is ``bound``. The start at 0 is needed as in ``theorem_2a``. The formula for the
step lacks its unit, length over gradient: c has this unit, and c = D/G is the natural choice.

References.
[1] Z. Yang, S. Hu, Y. Lei, K. R. Varshney, S. Lyu, Y. Ying. Differentially Private SGDA for Minimax
    Problems. UAI 2022.

Arguments. n records, d dimensions, epsilon, delta, G_w, G_v, D_w, D_v, and c, the constant of the
step size (default 1).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("yang2022.theorem_2b")
>>> problem = dict(n=10_000, d=50, epsilon=1.0, delta=1e-8, G_w=1, G_v=1, D_w=1, D_v=1)
>>> thm.schedule(**problem)
{'T': 100000000, 'm': 1, 'eta': 1e-06}
>>> round(thm.bound(**problem), 4)
0.5806
"""

from __future__ import annotations

from dpcheck.bounds.symbols import T, c, eta, n
from dpcheck.bounds.theorem import Theorem
from dpcheck.bounds.yang2022.lemma_3 import OPTIMISATION_ERROR
from dpcheck.bounds.yang2022.lemma_6 import LIPSCHITZ
from dpcheck.bounds.yang2022.theorem_1 import A1, BATCH, MINIBATCH, NOISE, REMARK_1
from dpcheck.bounds.yang2022.theorem_2a import CONVEX_CONCAVE, LARGER, RADII, REGIMES, RISK, RISK_LATEX, SIZES, STEP

THEOREMS = (
    Theorem(
        id="yang2022.theorem_2b",
        title="Utility of DP-SGDA, nonsmooth convex-concave case",
        paper="yang2022",
        location="Theorem 2(b) and Theorem 7(b)",
        quantity=RISK,
        quantity_latex=RISK_LATEX,
        parameters=(*SIZES, *RADII, STEP),
        assumptions=(A1, *CONVEX_CONCAVE, *REMARK_1, BATCH),
        schedule_formulas=((T, n**2), MINIBATCH, (eta, c / (n * LARGER))),
        noise_formulas=NOISE,
        bound_formula=LIPSCHITZ + OPTIMISATION_ERROR,
        regimes=REGIMES,
    ),
)
