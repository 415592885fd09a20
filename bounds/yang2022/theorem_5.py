r"""Theorem 5: the excess primal population risk of DP-SGDA, PL-strongly concave case; and what this case assumes.

Setting as in ``theorem_3`` and ``theorem_4``; T is of order n, the minibatch m is constant, and the noise is that
of Remark 1, which limits epsilon and delta. By [1, Theorem 5], with constants that depend on G_w, G_v and L,

    E[R(w_T)] - min R = O( kappa^{2.75}/mu^{1.75} ( n^{-1/3} + sqrt(d log(1/delta))/(n^{5/6} epsilon) ) ),

the square root of Theorem 3's error, times (1 + kappa)/sqrt mu: the error itself must be below its root (claim Y40).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> theorem("yang2022.theorem_5").rate_exponents()["statistical"]
{'kappa': 2.75, 'mu': -1.75, 'n': -0.3333333333333333}
"""

from sympy import Rational, log, sqrt

from dpcheck.bounds.symbols import T, d, delta, epsilon, kappa, mu, n
from dpcheck.bounds.theorem import BUDGET, Assumption, Theorem
from dpcheck.bounds.yang2022 import theorem_1, theorem_2, theorem_3

THIRD = Rational(1, 3)
FRONT = kappa ** Rational(11, 4) / mu ** Rational(7, 4)

THEOREMS = (
    Theorem(
        id="yang2022.theorem_5",
        title="Excess primal risk of DP-SGDA, PL-strongly concave case",
        location="Theorem 5 and Theorem 12, Appendix D.3",
        quantity="expected excess primal population risk of the last iterate, in order",
        quantity_latex=r"\mathbb{E}[R(w_T) - R^*]",
        parameters=(*BUDGET, theorem_2.DIMENSION, *theorem_3.SHAPE, *theorem_1.SLOPES),
        assumptions=(
            Assumption("A1", "f is G_w-Lipschitz in w and G_v-Lipschitz in v for every record", "Theorems 4 and 5"),
            Assumption("A2", "the records' gradients have standard deviation at most B; not named there", "Theorem 8"),
            Assumption("A3", "f is L-smooth", "Theorems 4 and 5"),
            Assumption("A4", "the projections of w_T on the solutions of S and S' agree", "Theorems 4 and 5"),
            Assumption("PL-SC", "every f is rho-strongly concave in v and F_S mu-PL in w", "Theorem 5"),
            Assumption(
                "W",
                "W = R^{d1}, so that w is not projected; not stated in the paper, without it the rate fails",
                "proofs of Lemmas 9, 10 and 13; claims Y34, Y38",
            ),
            *theorem_3.SETTING,
            theorem_2.RECORDS,
            Assumption(
                "m",
                "m^2 > n epsilon/c_1, as Theorem 1 asks with T = n; the printed constant m fails for a large n",
                "Theorem 1; claim Y12",
            ),
            *theorem_3.GENTLE,
            *theorem_1.REMARK_1,
        ),
        schedule_formulas=((T, n), *theorem_3.STEPS),
        noise_formulas=theorem_1.NOISE,
        regimes=(
            ("statistical", FRONT * n**-THIRD),
            ("privacy", FRONT * sqrt(d * log(1 / delta)) / (n ** Rational(5, 6) * epsilon)),
        ),
    ),
)
