r"""Theorem 4.5: phased output perturbation for smooth convex-concave problems.

Problem. min over x, max over y of F(x, y) = E f(x, y; xi); each f is convex-concave, L-Lipschitz and
ell-smooth; |x| <= D and |y| <= D at the points compared with. d = max{d_x, d_y}.

Algorithms 4 and 5. K = floor(log2 n) phases on disjoint blocks of nbar = floor(n/K) records (in the paper K = log n,
nbar = n/K), mu_k = mu 2^k. Phase k of Algorithm 4 solves the empirical problem plus mu_k|x - x~_{k-1}|^2/2 - mu|y|^2/2
to an energy of L^2/(mu nbar^2) with probability 1 - delta/8, by a mean gap of delta L^2/(16 mu nbar^2), and releases
x~_k = x_k + N(0, sigma_k^2 I), projected unless f is as assumed everywhere, with

    sigma_k = (8 L/(nbar epsilon)) sqrt(2 log(5/delta)/(mu_k mu)),
    mu = (L/D) max{ 2/sqrt n, 13 log2(n) sqrt(d log(5/delta))/(n epsilon) }.

Algorithm 5 is the same with x and y exchanged. The output is (x~_K, y~_K).

Guarantee. (epsilon, delta)-DP, and by [1, Theorem 4.5] the weak population gap is at most

    16 L D log2(n)^2 ( 1/sqrt n + 5 sqrt(d log(5/delta))/(n epsilon) ),

which is ``bound``: claims Z37 and Z38 prove it for this schedule, and refute the natural logarithm.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("zhang2022.theorem_4_5")
>>> problem = dict(n=10_000, d=50, epsilon=0.5, delta=1e-6, L=1, D=1)
>>> round(thm.schedule(**problem)["mu"], 3)
0.959
>>> round(thm.bound(**problem), 1)
106.7
"""

from sympy import Max, floor, log, sqrt, symbols

from dpcheck.bounds.symbols import D, K, L, d, delta, epsilon, k, mu, n, sigma
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.zhang2022 import theorem_3_3, theorem_3_4
from dpcheck.bounds.zhang2022.theorem_3_4 import BITS, BLOCK
from dpcheck.bounds.zhang2022.theorem_4_3 import LOG

energy = symbols("energy", positive=True)
NOISE = sqrt(d * LOG) / (n * epsilon)
REGULARISER = L / D * Max(2 / sqrt(n), 13 * BITS * NOISE)
BOUND = 16 * L * D * BITS**2 * (1 / sqrt(n) + 5 * NOISE)

THEOREMS = (
    Theorem(
        id="zhang2022.theorem_4_5",
        title="Phased output perturbation, smooth convex-concave case",
        location="Theorem 4.5 and its proof, Appendix B.3, logarithms to base 2",
        quantity="weak population gap of the last released points",
        quantity_latex=r"\max_y \mathbb{E}[F(\tilde{x}_K, y)] - \min_x \mathbb{E}[F(x, \tilde{y}_K)]",
        parameters=(
            *theorem_3_3.sizes("larger of the dimensions of x and y"),
            Parameter(D, "radius of X and of Y about 0"),
            Parameter(k, "phase", default=1),
        ),
        assumptions=(
            Assumption("f", "every f is convex-concave, L-Lipschitz and ell-smooth", "Theorem 4.5"),
            Assumption("bounded", "|x| <= D and |y| <= D on X and Y, and x_0 = y_0 = 0", "Theorem 4.5"),
            theorem_3_3.RECORDS,
            Assumption(
                "solver",
                "mu_k |x_k - x_k*|^2 + mu |y_k - y_k*|^2 <= L^2/(mu nbar^2) with probability 1 - delta/8, and with "
                "the roles exchanged",
                "Algorithms 4 and 5",
            ),
            Assumption("released", "x~ and y~ are projected, or f is as assumed everywhere", "claim Z37"),
            *theorem_3_4.PHASES,
            *theorem_3_3.SMALL,
        ),
        schedule_formulas=((K, floor(BITS)), (mu, REGULARISER), (energy, L**2 / (mu * BLOCK**2))),
        noise_formulas=((sigma, 8 * L / (BLOCK * epsilon) * sqrt(2 * LOG / (2**k)) / mu),),
        bound_formula=BOUND,
        regimes=(
            ("statistical", L * D * log(n) ** 2 / sqrt(n)),
            ("privacy", L * D * log(n) ** 2 * sqrt(d * log(1 / delta)) / (n * epsilon)),
        ),
    ),
)
