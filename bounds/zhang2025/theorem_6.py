r"""Theorem 6: the gradient norm that PrivateDiff Minimax reaches.

Setting as in ``theorem_2``, the algorithm and noise of ``theorem_5`` (whose privacy does not follow), T_2 inner
iterations, a = sqrt(d)/(n epsilon) up to logarithms, C_2 = l + kappa l and

    C_{2,r} = C_2 |x_r - x_{r-1}| + 50 kappa G sqrt((log(R log T_2)/theta + 1)/T_2).

The noise is that of Remark 2, and its limits on epsilon, delta and m apply; m is at most n; and Lemma 12, which C_3
rests on, asks for theta < 1/e and T_2 >= 4. Theorem 6 writes the first of these with epsilon, the letter of the
privacy loss.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> theorem("zhang2025.theorem_6").rate_exponents()["privacy"]
{'d': 0.3333333333333333, 'epsilon': -0.6666666666666666, 'n': -0.6666666666666666}
"""

from sympy import E, Min, Rational, ceiling, log, sqrt, symbols

from dpcheck.bounds.symbols import R, T, d, delta, epsilon, eta_x, m, mu, n
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.zhang2025 import theorem_2, theorem_5
from dpcheck.bounds.zhang2025.theorem_5 import REMARK_2

l, theta, C_0, M, beta, sigma_x2 = symbols("l theta C_0 M beta sigma_x2", positive=True)
ERROR = sqrt(d * log(1 / delta)) / (n * epsilon)
inner = symbols("T_2", integer=True, positive=True)

THEOREMS = (
    Theorem(
        id="zhang2025.theorem_6",
        title="Gradient norm of PrivateDiff Minimax (its privacy does not follow)",
        location="Theorem 6 and its proof",
        quantity="expected gradient norm of the primal function at the output, in order",
        quantity_latex=r"\mathbb{E}\|\nabla\Phi(x^{priv})\|",
        parameters=(
            *theorem_2.PRIVACY,
            Parameter(l, "joint smoothness of the mean loss", default=1),
            Parameter(mu, "strong concavity of the mean loss in y", default=1),
            Parameter(C_0, "clipping threshold of the inner ascent"),
            Parameter(beta, "smoothness of f in y"),
            Parameter(M, "upper bound of f"),
            Parameter(theta, "failure probability of the inner ascent", default=0.1),
        ),
        assumptions=(
            *theorem_2.NONCONVEX,
            Assumption("every", "f is l-smooth jointly in (x, y) for every record", "needed, claims 004:Lem13"),
            Assumption(
                "thresholds",
                "C_0 >= G_y, C_1 >= G_x, C_2 >= l + kappa l and C_3 >= 50 kappa G sqrt((log(R log T_2)/theta + 1)/T_2)",
                "Theorem 6 and Lemma 13",
            ),
            *theorem_5.MECHANISM,
            theorem_2.GENTLE,
            theorem_2.BELOW_ONE,
            *theorem_5.LIMITS,
            Assumption("theta", "theta < 1/e", "Lemma 12; in Theorem 6 with epsilon for theta", theta < 1 / E),
            Assumption("T_2", "T_2 >= 4", "Lemma 12", inner >= 4),
        ),
        schedule_formulas=(
            (R, ceiling(ERROR ** Rational(-4, 3))),
            (T, ceiling(ERROR ** Rational(2, 3) * R)),
            (inner, ceiling(ERROR ** Rational(-4, 3))),
            (m, ceiling(ERROR ** Rational(-4, 3))),
            (eta_x, Min(1, 1 / sqrt(2 * T * d * dict(REMARK_2)[sigma_x2] ** 2)) / (2 * l * (1 + l / mu))),
        ),
        noise_formulas=REMARK_2,
        regimes=(("privacy", (d * log(1 / delta)) ** Rational(1, 3) / (n * epsilon) ** Rational(2, 3)),),
    ),
)
