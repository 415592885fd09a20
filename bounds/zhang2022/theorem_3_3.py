r"""Theorem 3.3: output perturbation for smooth strongly convex problems.

Problem. Minimise F(x) = E f(x; xi) over a convex X in R^d; each f is mu-strongly convex, L-Lipschitz and
ell-smooth; kappa = ell/mu; minimisers lie in the interior of X.

Algorithm 1. Run any solver A until |A(S) - x_S| <= L/(mu n) with probability 1 - delta/4, release
A(S) + N(0, sigma^2 I) with

    sigma = 4 L sqrt(2 log(2.5/delta))/(mu n epsilon).

Guarantee. For epsilon <= 1 and delta < 1/n it is (epsilon, delta)-DP, and by [1, Theorem 3.3]

    E[F_S(x) - F_S(x_S)] < 33 L^2 kappa d log(2.5/delta)/(mu n^2 epsilon^2),
    E[F(x) - min F] < L^2 kappa (7/(mu n) + 48 d log(2.5/delta)/(mu n^2 epsilon^2)),

the second of which is ``bound``.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("zhang2022.theorem_3_3")
>>> problem = dict(n=10_000, d=50, epsilon=0.5, delta=1e-6, L=1, ell=1, mu=0.5)
>>> round(thm.noise(**problem)["sigma"], 5)
0.00868
>>> round(thm.bound(**problem), 5)
0.00846
"""

from sympy import Rational, log, sqrt, symbols

from dpcheck.bounds.symbols import L, d, delta, ell, epsilon, mu, n, sigma
from dpcheck.bounds.theorem import BUDGET, Assumption, Parameter, Theorem

HALF = Rational(5, 2)  # the printed 2.5
energy = symbols("energy", positive=True)  # the solver's accuracy: squared distances, each times its modulus
LOG = log(HALF / delta)
SENSITIVITY = 4 * L / (mu * n)
NOISE = SENSITIVITY * sqrt(2 * LOG) / epsilon
SMALL = (
    Assumption("epsilon", "epsilon <= 1", "proof of Theorem 3.3, after (7), which has < for <=", epsilon <= 1),
    Assumption("delta", "delta < 1/n", "proof of Theorem 3.3, after (7)", delta < 1 / n),
)
RECORDS = Assumption("records", "the records are independent draws from one distribution", "Lemmas A.2 and B.2")
BOUND = L**2 * ell / mu * (7 / (mu * n) + 48 * d * LOG / (mu * n**2 * epsilon**2))


def sizes(dimension: str = "dimension of x") -> tuple[Parameter, ...]:
    """Return the parameters that every theorem of the paper has, d with this meaning."""
    return (*BUDGET, Parameter(d, dimension), Parameter(L, "Lipschitz constant of f"))


THEOREMS = (
    Theorem(
        id="zhang2022.theorem_3_3",
        title="Output perturbation, smooth strongly convex case",
        location="Theorem 3.3 and its proof, Appendix A.2",
        quantity="expected excess population risk of the released point",
        quantity_latex=r"\mathbb{E}[F(\tilde{x}) - F(x^*)]",
        parameters=(*sizes(), Parameter(ell, "smoothness of f"), Parameter(mu, "strong convexity of f")),
        assumptions=(
            Assumption("f", "every f is L-Lipschitz, ell-smooth and mu-strongly convex", "Theorem 3.3"),
            Assumption("interior", "the minimisers of F_S and F lie in the interior of X", "Theorem 3.3"),
            Assumption("released", "x~ is projected onto X, or f is ell-smooth everywhere", "claim Z09"),
            RECORDS,
            Assumption(
                "solver", "A(S) is within L/(mu n) of the minimiser with probability 1 - delta/4", "Algorithm 1"
            ),
            Assumption("mu", "mu <= ell", "strong convexity is at most smoothness", mu <= ell),
            *SMALL,
        ),
        schedule_formulas=((energy, L**2 / (mu * n**2)),),
        noise_formulas=((sigma, NOISE),),
        bound_formula=BOUND,
        regimes=(
            ("statistical", L**2 * ell / (mu**2 * n)),
            ("privacy", L**2 * ell * d * log(1 / delta) / (mu**2 * n**2 * epsilon**2)),
        ),
    ),
)
