r"""Corollary B.6: phased output perturbation for smooth convex-strongly concave problems.

Setting as in ``theorem_4_5``, with f mu_y-strongly concave in y, mu_y >= L/(D sqrt n), and no regulariser
in y. Let m_k = min{mu_k, mu_y}. Phase k solves to an energy of L^2/(nbar^2 m_k) with probability
1 - delta/4 and releases x~_k = x_k + N(0, sigma_k^2 I), projected unless f is as assumed everywhere,

    sigma_k = (4 L/(nbar epsilon)) sqrt(2 log(2.5/delta)/(mu_k m_k)),
    mu = 3 (L/D) max{ 1/sqrt n, 4 log2(n) sqrt(d log(2.5/delta))/(n epsilon) },   d = d_x.

Guarantee. (epsilon, delta)-DP, and by [1, Corollary B.6] max_y E F(x~_K, y) - F(x*, y*) is at most

    6 L D log(n) (1/sqrt n + 4 sqrt(d log(2.5/delta))/(n epsilon))
    + L^2 log^2(n) (8/(mu_y n) + 65 d log(2.5 n/delta)/(mu_y n^2 epsilon^2)).

``bound`` is what the proof supports: the first line with log2 n (claim Z47), and for the second the sum over the
phases itself (claim Z48).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("zhang2022.corollary_b_6")
>>> problem = dict(n=10_000, d=50, epsilon=0.5, delta=1e-6, L=1, D=1, mu_y=0.5)
>>> round(thm.schedule(**problem)["mu"], 3)
0.866
>>> round(thm.bound(**problem), 2)
10.57
"""

from sympy import Max, Min, floor, log, sqrt, symbols

from dpcheck.bounds.symbols import D, K, L, d, delta, epsilon, k, mu, mu_y, n, sigma
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.zhang2022 import theorem_3_3, theorem_3_4
from dpcheck.bounds.zhang2022.theorem_3_3 import LOG
from dpcheck.bounds.zhang2022.theorem_3_4 import BITS, BLOCK, SHARE

energy = symbols("energy", positive=True)
REGULARISER = 3 * L / D * Max(1 / sqrt(n), 4 * BITS * SHARE)
FIRST = 6 * L * D * BITS * (1 / sqrt(n) + 4 * SHARE)
SECOND = L**2 / mu_y * (8 * K / BLOCK + 65 * (K - 1) * d * LOG / (BLOCK * epsilon) ** 2)

THEOREMS = (
    Theorem(
        id="zhang2022.corollary_b_6",
        title="Phased output perturbation, smooth convex-strongly concave case",
        location="Corollary B.6, Appendix B.4, with the sum that its proof supports",
        quantity="largest expected population value of the last released x, less the saddle value",
        quantity_latex=r"\max_y \mathbb{E}[F(\tilde{x}_K, y)] - F(x^*, y^*)",
        parameters=(
            *theorem_3_3.sizes(),
            Parameter(D, "radius of X and of Y about 0"),
            Parameter(mu_y, "strong concavity of f in y"),
            Parameter(k, "phase", default=1),
        ),
        assumptions=(
            Assumption(
                "f", "every f is convex in x, mu_y-strongly concave in y, L-Lipschitz, ell-smooth", "Corollary B.6"
            ),
            Assumption("bounded", "|x| <= D and |y| <= D on X and Y, and x_0 = 0", "Corollary B.6"),
            Assumption("mu_y", "mu_y >= L/(D sqrt(n))", "Corollary B.6", mu_y >= L / (D * sqrt(n))),
            theorem_3_3.RECORDS,
            Assumption(
                "solver",
                "mu_k |x_k - x_k*|^2 + mu_y |y_k - y_k*|^2 <= L^2/(nbar^2 min{mu_k, mu_y}) with probability "
                "1 - delta/4",
                "Appendix B.4",
            ),
            Assumption("released", "x~ is projected onto X, or f is as assumed everywhere", "claim Z47"),
            *theorem_3_4.PHASES,
            *theorem_3_3.SMALL,
        ),
        schedule_formulas=((K, floor(BITS)), (mu, REGULARISER), (energy, L**2 / (BLOCK**2 * Min(mu * 2**k, mu_y)))),
        noise_formulas=((sigma, 4 * L * sqrt(2 * LOG / (mu * 2**k * Min(mu * 2**k, mu_y))) / (BLOCK * epsilon)),),
        bound_formula=FIRST + SECOND,
        regimes=(
            ("statistical", L * D * log(n) / sqrt(n)),
            ("privacy", L * D * log(n) * sqrt(d * log(1 / delta)) / (n * epsilon)),
            ("strong concavity", L**2 * log(n) ** 2 / (mu_y * n)),
            ("its noise", L**2 * log(n) ** 3 * d * log(1 / delta) / (mu_y * n**2 * epsilon**2)),
        ),
    ),
)
