r"""Theorem 4 with Lemmas 12 to 14: the generalisation error of DP-SGDA in the PL-strongly concave case.

Setting. A1, A3, A4; f is rho-strongly concave in v for every record, F_S mu-PL in w; kappa = L/rho; the
optimisation error E[R_S(w_T) - min R_S] is at most e. v_S is the v that the saddle points of F_S share, and
pi_S(w) is the minimiser of F_S(., v_S) nearest to w. By [1, Theorems 4 and 11]

    E[R(w_T) - R_S(w_T)] <= (1 + kappa) G_w ( sqrt(e/(2 mu)) + (1/n) sqrt(G_w^2/(4 mu^2) + G_v^2/(rho mu)) ),
    E[R_S(w*) - R(w*)] <= 4 G_v^2/(rho n).

What the proof supports, on W = R^{d1}, is ``bound``, the sum of both parts with the growth of claim Y36, the factor of
Y35, and the distance of either dataset to its solutions:

    (G_w + kappa G_v) (2 sqrt(2 e/mu) + (1/n) sqrt(4 G_w^2/mu^2 + 4 G_v^2/(rho mu))) + 4 G_v^2/(rho n).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("yang2022.theorem_4")
>>> round(thm.bound(n=10_000, e=1e-6, G_w=1, G_v=1, L=1, rho=1, mu=1), 5)
0.00662
"""

from sympy import sqrt, symbols

from dpcheck.bounds.symbols import G_v, G_w, L, mu, n, rho
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.yang2022 import theorem_1, theorem_2

e = symbols("e", positive=True)
FACTOR = G_w + L / rho * G_v
DISTANCES = 2 * sqrt(2 * e / mu) + sqrt(4 * G_w**2 / mu**2 + 4 * G_v**2 / (rho * mu)) / n
BOUND = FACTOR * DISTANCES + 4 * G_v**2 / (rho * n)

THEOREMS = (
    Theorem(
        id="yang2022.theorem_4",
        title="Generalisation error of DP-SGDA, PL-strongly concave case, with the constants its proof supports",
        location="Theorem 4, Theorem 11 and Appendix D.2",
        quantity="sum of the two generalisation errors of the primal risk",
        quantity_latex=r"\mathbb{E}[R(w_T) - R_S(w_T)] + \mathbb{E}[R_S(w^*) - R(w^*)]",
        parameters=(
            Parameter(n, "records in the dataset"),
            Parameter(e, "optimisation error"),
            *theorem_1.SLOPES,
            Parameter(L, "smoothness of f"),
            Parameter(rho, "strong concavity in v"),
            Parameter(mu, "PL constant"),
        ),
        assumptions=(
            Assumption(
                "A1",
                "f is G_w-Lipschitz in w and G_v-Lipschitz in v for every record, where outputs and solutions lie",
                "A1",
            ),
            Assumption("A3", "f is L-smooth", "A3"),
            Assumption("A4", "the projections of w_T on the solutions of S and S' agree", "A4"),
            Assumption("PL-SC", "every f is rho-strongly concave in v and F_S mu-PL in w", "Theorem 4"),
            Assumption(
                "W",
                "W = R^{d1}, so that PL gives quadratic growth; not stated in the paper, without it the bound fails",
                "Lemma 13; claims Y36 to Y38",
            ),
            Assumption("saddle", "F_S has a saddle point", "Section 3.2"),
            theorem_2.RECORDS,
            Assumption("e", "the optimisation error E[R_S(w_T) - min R_S] is at most e", "Theorem 4"),
            Assumption("rho", "rho <= L", "strong concavity is at most smoothness", rho <= L),
        ),
        bound_formula=BOUND,
        regimes=(
            ("optimisation", (1 + L / rho) * sqrt(e / mu)),
            ("statistical", (1 + L / rho) * (1 / (mu * n) + 1 / (n * sqrt(rho * mu)))),
        ),
    ),
)
