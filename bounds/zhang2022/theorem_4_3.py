r"""Theorem 4.3: output perturbation for smooth strongly convex-strongly concave problems.

Problem. min over x, max over y of F(x, y) = E f(x, y; xi); each f is mu_x-strongly convex and mu_y-strongly
concave, L-Lipschitz and ell-smooth; saddle points interior. mu = min{mu_x, mu_y}, d = max{d_x, d_y},
kappa = ell/mu, kappa_x = ell/mu_x, kappa_y = ell/mu_y.

Algorithm 3. Run any solver A until mu_x |A_x - x_S|^2 + mu_y |A_y - y_S|^2 <= L^2/(mu n^2) with
probability 1 - delta/8; add N(0, sigma_x^2 I) to A_x and N(0, sigma_y^2 I) to A_y with

    sigma_x = (8 L/(n epsilon)) sqrt(2 log(5/delta)/(mu_x mu)),  sigma_y likewise with mu_y.

Guarantee. For epsilon <= 1 and delta < 1/n it is (epsilon, delta)-DP, and by [1, Theorem 4.3] the expected
empirical gap is at most 257 L^2 (kappa_x kappa_y + kappa) d log(5/delta)/(mu n^2 epsilon^2) and the expected
(strong) population gap at most ``bound``,

    3 L^2 (kappa_x kappa_y + kappa) (3/(mu n) + 128 d log(5/delta)/(mu n^2 epsilon^2)).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("zhang2022.theorem_4_3")
>>> problem = dict(n=10_000, d=50, epsilon=0.5, delta=1e-6, L=1, ell=1, mu_x=0.5, mu_y=1)
>>> round(thm.noise(**problem)["sigma_x"], 5)
0.01777
>>> round(thm.bound(**problem), 4)
0.102
"""

from sympy import Min, log, sqrt, symbols

from dpcheck.bounds.symbols import L, d, delta, ell, epsilon, mu, mu_x, mu_y, n, sigma_x, sigma_y
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.zhang2022 import theorem_3_3

LOG = log(5 / delta)
LEAST = Min(mu_x, mu_y)
CONDITION = (ell**2 / (mu_x * mu_y) + ell / mu).subs(mu, LEAST)  # kappa_x kappa_y + kappa
NOISE_X, NOISE_Y = (8 * L / (n * epsilon) * sqrt(2 * LOG / (block * mu)) for block in (mu_x, mu_y))
POPULATION = 3 * L**2 * CONDITION * (3 / (LEAST * n) + 128 * d * LOG / (LEAST * n**2 * epsilon**2))
energy = symbols("energy", positive=True)

THEOREMS = (
    Theorem(
        id="zhang2022.theorem_4_3",
        title="Output perturbation, smooth strongly convex-strongly concave case",
        location="Theorem 4.3 and its proof, Appendix B.2",
        quantity="expected strong duality gap of the released point on the population",
        quantity_latex=r"\mathbb{E}[\max_y F(\tilde{x}, y) - \min_x F(x, \tilde{y})]",
        parameters=(
            *theorem_3_3.sizes("larger of the dimensions of x and y"),
            Parameter(ell, "smoothness of f"),
            Parameter(mu_x, "strong convexity"),
            Parameter(mu_y, "strong concavity"),
        ),
        assumptions=(
            Assumption(
                "f", "every f is L-Lipschitz, ell-smooth, mu_x-strongly convex and mu_y-strongly concave", "Theorem 4.3"
            ),
            Assumption("interior", "the saddle points of F_S and F lie in the interior of X x Y", "Theorem 4.3"),
            Assumption(
                "released",
                "x~ and y~ are projected, or f is smooth, strongly convex and strongly concave everywhere",
                "claim Z30",
            ),
            theorem_3_3.RECORDS,
            Assumption(
                "solver",
                "mu_x |A_x - x_S|^2 + mu_y |A_y - y_S|^2 <= L^2/(mu n^2) with probability 1 - delta/8",
                "Algorithm 3",
            ),
            Assumption("mu_x", "mu_x <= ell", "strong convexity is at most smoothness", mu_x <= ell),
            Assumption("mu_y", "mu_y <= ell", "strong concavity is at most smoothness", mu_y <= ell),
            *theorem_3_3.SMALL,
        ),
        schedule_formulas=((energy, L**2 / (LEAST * n**2)),),
        noise_formulas=((sigma_x, NOISE_X.subs(mu, LEAST)), (sigma_y, NOISE_Y.subs(mu, LEAST))),
        bound_formula=POPULATION,
        regimes=(
            ("statistical", L**2 * CONDITION / (LEAST * n)),
            ("privacy", L**2 * CONDITION * d * log(1 / delta) / (LEAST * n**2 * epsilon**2)),
        ),
    ),
)
