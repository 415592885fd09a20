r"""Theorem 3.4: phased output perturbation for smooth convex problems.

Problem. Minimise F(x) = E f(x; xi) over a convex X in R^d with |x*| <= D; each f is convex, L-Lipschitz and ell-smooth.

Algorithm 2. K = floor(log2 n) phases on disjoint blocks of nbar = floor(n/K) records, from x_0 = 0 (in the
paper K = log n, nbar = n/K). Phase k minimises the mean of f plus (mu_k/2)|x - x~_{k-1}|^2, mu_k = mu 2^k, to within
L/(mu_k nbar) with probability 1 - delta/4, by a mean gap of delta^2 L^2/(32 mu_k nbar^2), and releases
x~_k = x_k + N(0, sigma_k^2 I), projected unless f is as assumed everywhere, with

    sigma_k = 4 L sqrt(2 log(2.5/delta))/(mu_k nbar epsilon),
    mu = (L/D) max{ 1/sqrt n, 14 log2(n) sqrt(d log(2.5/delta))/(n epsilon) }.

Guarantee. (epsilon, delta)-DP, and by [1, Theorem 3.4]

    E[F(x~_K) - F(x*)] <= 4 L D log2(n) ( 1/sqrt n + 7 sqrt(d log(2.5/delta))/(n epsilon) ).

The paper does not give the base of its logarithm; it is 2 here, since the paper has mu_K = mu n (claim Z17).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("zhang2022.theorem_3_4")
>>> problem = dict(n=10_000, d=50, epsilon=0.5, delta=1e-6, L=1, D=1)
>>> thm.schedule(**problem)["K"]
13
>>> round(thm.bound(**problem), 3)
2.551
"""

from sympy import Max, floor, log, sqrt, symbols

from dpcheck.bounds.symbols import D, K, L, d, delta, epsilon, k, mu, n, sigma
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.zhang2022 import theorem_3_3
from dpcheck.bounds.zhang2022.theorem_3_3 import LOG

BITS = log(n) / log(2)
BLOCK = floor(n / K)  # records in a block
PHASES = (
    Assumption("phases", "n >= 2", "at least one phase", n >= 2),
    Assumption("k", "k <= K", "the phases are k = 1, ..., K", k <= K),
)

energy = symbols("energy", positive=True)
SHARE = sqrt(d * LOG) / (n * epsilon)
REGULARISER = L / D * Max(1 / sqrt(n), 14 * BITS * SHARE)
BOUND = 4 * L * D * BITS * (1 / sqrt(n) + 7 * SHARE)

THEOREMS = (
    Theorem(
        id="zhang2022.theorem_3_4",
        title="Phased output perturbation, smooth convex case",
        location="Theorem 3.4 and its proof, Appendix A.3, logarithms to base 2",
        quantity="expected excess population risk of the last released point",
        quantity_latex=r"\mathbb{E}[F(\tilde{x}_K) - F(x^*)]",
        parameters=(*theorem_3_3.sizes(), Parameter(D, "radius of X about 0"), Parameter(k, "phase", default=1)),
        assumptions=(
            Assumption("f", "f is convex, L-Lipschitz and ell-smooth for every record", "Theorem 3.4"),
            Assumption("bounded", "|x*| <= D and x_0 = 0", "proof of Theorem 3.4"),
            theorem_3_3.RECORDS,
            Assumption(
                "solver", "x_k is within L/(mu_k nbar) of its minimiser with probability 1 - delta/4", "Algorithm 2"
            ),
            Assumption("released", "x~ is projected onto X, or f is as assumed everywhere", "claim Z18"),
            *PHASES,
            *theorem_3_3.SMALL,
        ),
        schedule_formulas=((K, floor(BITS)), (mu, REGULARISER), (energy, L**2 / (mu * 2**k * BLOCK**2))),
        noise_formulas=((sigma, 4 * L * sqrt(2 * LOG) / (mu * 2**k * BLOCK * epsilon)),),
        bound_formula=BOUND,
        regimes=(
            ("statistical", L * D * log(n) / sqrt(n)),
            ("privacy", L * D * log(n) * sqrt(d * log(1 / delta)) / (n * epsilon)),
        ),
    ),
)
