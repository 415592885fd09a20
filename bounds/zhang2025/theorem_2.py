r"""Theorem 2: the gradient norm that DP-SGDA reaches.

The mean loss is mu-strongly concave in y, Y is convex of diameter Lambda, kappa = l/mu; Phi(x) is the maximum over y,
and minibatch gradients have variance B^2/m. DP-SGDA and its noise are those of ``theorem_1``, with T of order
n epsilon/sqrt(d log(1/delta)), m of the same order, and thresholds so large that nothing is clipped. ``bound`` is the
root of [1, (39)] with its constants.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("zhang2025.theorem_2")
>>> thm.schedule(n=10_000, d=10, epsilon=1.0, delta=1e-8)
{'T': 737, 'm': 737, 'kappa': 1.0, 'eta_x': 0.015625, 'eta_y': 1.0}
>>> problem = dict(n=10**9, d=10, epsilon=1.0, delta=1e-9, C_1=1.0, C_2=1.0, B=1.0, Lambda=1.0, Delta_Phi=1.0)
>>> round(thm.bound(**problem), 4)
0.028
"""

from sympy import Rational, ceiling, log, sqrt, symbols

from dpcheck.bounds.symbols import T, c_1, c_2, c_3, d, delta, epsilon, eta_x, eta_y, kappa, m, mu, n, sigma_x, sigma_y
from dpcheck.bounds.theorem import BUDGET, Assumption, Parameter, Theorem
from dpcheck.bounds.zhang2025 import theorem_1
from dpcheck.bounds.zhang2025.theorem_1 import EQUATION_3

l, B, Lambda, Delta_Phi = symbols("l B Lambda Delta_Phi", positive=True)
STEP = 1 / (16 * (kappa + 1) ** 2 * l)
SIZE = n * epsilon / sqrt(d * log(1 / delta))
PRIVACY = (BUDGET[0], Parameter(d, "larger of the dimensions of x and y"), *BUDGET[1:])
# (39), each term of it, divided by 103 eta_x/256; both noises with the larger coefficient
SQUARE = Rational(256, 103) * (
    Delta_Phi / (eta_x * (T + 1))
    + Rational(9, 4) * kappa * l**2 * Lambda**2 / (T + 1)
    + (Rational(27, 4) * kappa + 1 / (16 * kappa)) * B**2 / m
    + (Rational(9, 2) * kappa + 1 / (16 * kappa)) * d * (sigma_x**2 + sigma_y**2)
)
NONCONVEX = (
    Assumption(
        "A1",
        "the mean loss is mu-strongly concave in y, X = R^{d_1}, Y is convex with diameter Lambda, and f <= M",
        "Assumption 1",
    ),
    Assumption("A2", "f is G_x-Lipschitz in x and G_y-Lipschitz in y for every record", "Assumption 2"),
    Assumption("A3", "the mean loss is l-smooth in x and in y", "Assumption 3"),
    Assumption("A4", "the records' gradients have standard deviation at most B, in x and in y", "Assumption 4"),
    Assumption("smooth", "the mean loss is l-smooth jointly in (x, y)", "needed, claim 003:Lem3"),
    Assumption("below", "Phi is bounded below", "needed, claim 003:Thm2"),
)
GENTLE = Assumption("mu", "mu <= l", "needed for A1 and A3 together", mu <= l)
BELOW_ONE = Assumption(
    "error",
    "d log(1/delta) <= (n epsilon)^2",
    "Theorems 2 and 6: iterations of order 1/a, at least one",
    d * log(1 / delta) <= (n * epsilon) ** 2,
)

THEOREMS = (
    Theorem(
        id="zhang2025.theorem_2",
        title="Gradient norm of DP-SGDA, nonconvex-strongly concave case",
        location="Theorem 2 and its proof",
        quantity="expected gradient norm of the primal function at the output",
        quantity_latex=r"\mathbb{E}\|\nabla\Phi(x^{priv})\|",
        parameters=(
            *PRIVACY,
            Parameter(l, "joint smoothness of the mean loss", default=1),
            Parameter(mu, "strong concavity of the mean loss in y", default=1),
            *theorem_1.CLIPPING,
            Parameter(c_1, "constant of Theorem 1's region; 1 will do", default=1),
            Parameter(c_2, "constant of sigma_x; 49 will do", default=49),
            Parameter(c_3, "constant of sigma_y; 49 will do", default=49),
            Parameter(B, "standard deviation of a record's gradient, in x and in y"),
            Parameter(Lambda, "diameter of Y"),
            Parameter(Delta_Phi, "Phi(x_0) - inf Phi"),
        ),
        assumptions=(
            *NONCONVEX,
            Assumption("thresholds", "C_1 >= G_x and C_2 >= G_y", "Theorem 2"),
            theorem_1.SAMPLING,
            theorem_1.CLIPPED,
            GENTLE,
            BELOW_ONE,
            Assumption("epsilon", "epsilon <= sqrt(d log(1/delta))", "m <= n", epsilon <= sqrt(d * log(1 / delta))),
            Assumption(
                "n",
                "(d log(1/delta))^(3/2) < c_1 n epsilon^2",
                "Theorem 1, epsilon < c_1 m^2 T/n^2",
                (d * log(1 / delta)) ** Rational(3, 2) < c_1 * n * epsilon**2,
            ),
            Assumption("log(1/delta)", "epsilon <= log(1/delta)", "needed, claim 003:Thm1", epsilon <= log(1 / delta)),
        ),
        schedule_formulas=((T, ceiling(SIZE)), (m, ceiling(SIZE)), (kappa, l / mu), (eta_x, STEP), (eta_y, 1 / l)),
        noise_formulas=EQUATION_3,
        bound_formula=sqrt(SQUARE),
        regimes=(("privacy", (d * log(1 / delta)) ** Rational(1, 4) / sqrt(n * epsilon)),),
    ),
)
