r"""Theorem 1 with the settings that follow it: the noise of DP-SGDA with clipping.

Problem. min over x in R^{d_1}, max over y in Y of (1/n) sum_i f(x, y; z_i); the output is to be
(epsilon, delta)-DP for datasets that differ in one record (replace-one).

Algorithm. DP-SGDA [1, Algorithm 1]. For t = 0, ..., T draw m of the n records without replacement,
xi_t ~ N(0, sigma_x^2 I), zeta_t ~ N(0, sigma_y^2 I), and set, with gradients clipped per record to C_1
and C_2,

    x_{t+1} = x_t - eta_x ( mean clip(grad_x f(x_t, y_t; z), C_1) + xi_t )
    y_{t+1} = P_Y( y_t + eta_y ( mean clip(grad_y f(x_t, y_t; z), C_2) + zeta_t ) ).

The output is (x_t, y_t) for a uniform t in 0, ..., T, which uses T releases.

Guarantee.
- [1, Theorem 1]: there are constants c_1, c_2, c_3 such that for epsilon < c_1 m^2 T/n^2 and
  0 < delta < 1 the algorithm is (epsilon, delta)-DP with

      sigma_x = c_2 C_1 sqrt(T log(1/delta))/(n epsilon),  sigma_y with c_3 and C_2.           (3)

  This is ``zhang2025.theorem_1_existential``. It holds where epsilon <= log(1/delta), with c_1 = 1 and
  c_2 = c_3 = 49 (claim 003:Thm1), and not otherwise.
- The settings after it: epsilon <= 1, delta <= 1/n^2, m = max(1, n sqrt(epsilon/(4T))) and the constant
  8. This is ``zhang2025.theorem_1``. The paper has these noises without the factors C_1 and C_2, which
  are needed and are added here; m is rounded up. In this form it holds for n >= 2, and is false for n = 1, which
  the paper does not exclude (claim 003:Thm1-remark).

References.
[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025.

Arguments. n records, T iterations, epsilon and delta, clipping thresholds C_1 and C_2; for the
existential form also m, c_1, c_2 and c_3.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> sizes = dict(n=10_000, T=100, epsilon=1.0, delta=1e-8)
>>> theorem("zhang2025.theorem_1").schedule(**sizes)
{'m': 500}
>>> noise = theorem("zhang2025.theorem_1").noise(**sizes, C_1=1.0, C_2=0.5)
>>> {name: round(sigma, 6) for name, sigma in noise.items()}
{'sigma_x': 0.034335, 'sigma_y': 0.017168}
"""

from __future__ import annotations

from sympy import Max, ceiling, log, sqrt, symbols

from dpcheck.bounds.symbols import T, c_1, c_2, c_3, delta, epsilon, m, n, sigma_x, sigma_y
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem

C_1, C_2 = symbols("C_1 C_2", positive=True)

BUDGET = (
    Parameter(n, "records in the dataset"),
    Parameter(epsilon, "privacy loss, natural log"),
    Parameter(delta, "probability of a larger loss"),
)
SIZES = (*BUDGET, Parameter(T, "iterations"))
CLIPPING = (
    Parameter(C_1, "clipping threshold of the gradients in x"),
    Parameter(C_2, "clipping threshold of the gradients in y"),
)
SAMPLING = Assumption("sampling", "each minibatch is drawn uniformly without replacement", "Algorithm 1, line 2")
CLIPPED = Assumption("clipping", "each record's gradients are clipped, to C_1 in x and C_2 in y", "Algorithm 1")
SETTINGS = (
    SAMPLING,
    CLIPPED,
    Assumption("epsilon", "epsilon <= 1", "after Theorem 1", epsilon <= 1),
    Assumption("delta", "delta <= 1/n^2", "after Theorem 1", delta <= 1 / n**2),
    Assumption("n", "n >= 2", "claim 003:Thm1-remark: false for n = 1; not stated in the paper", n >= 2),
    Assumption("m", "m >= n sqrt(epsilon/(4 T))", "after Theorem 1", m >= n * sqrt(epsilon / (4 * T))),
    Assumption("most", "m <= n", "Algorithm 1, drawn without replacement", m <= n),
)
NOISE = (
    (sigma_x, 8 * C_1 * sqrt(T * log(1 / delta)) / (n * epsilon)),
    (sigma_y, 8 * C_2 * sqrt(T * log(1 / delta)) / (n * epsilon)),
)
EQUATION_3 = (
    (sigma_x, c_2 * C_1 * sqrt(T * log(1 / delta)) / (n * epsilon)),
    (sigma_y, c_3 * C_2 * sqrt(T * log(1 / delta)) / (n * epsilon)),
)

THEOREMS = (
    Theorem(
        id="zhang2025.theorem_1",
        title="Privacy of DP-SGDA with clipping, with explicit constants",
        paper="zhang2025",
        location="Theorem 1, equation (3) and the settings after it",
        quantity="(epsilon, delta)-differential privacy",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(*SIZES, *CLIPPING),
        assumptions=SETTINGS,
        schedule_formulas=((m, ceiling(Max(1, n * sqrt(epsilon / (4 * T))))),),
        noise_formulas=NOISE,
    ),
    Theorem(
        id="zhang2025.theorem_1_existential",
        title="Privacy of DP-SGDA with clipping, for constants that the paper leaves open",
        paper="zhang2025",
        location="Theorem 1 and equation (3)",
        quantity="(epsilon, delta)-differential privacy for some c_1, c_2, c_3",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(
            *SIZES,
            Parameter(m, "records in a minibatch"),
            *CLIPPING,
            Parameter(c_1, "constant of the region; 1 will do"),
            Parameter(c_2, "constant of sigma_x; 49 will do"),
            Parameter(c_3, "constant of sigma_y; 49 will do"),
        ),
        assumptions=(
            SAMPLING,
            CLIPPED,
            Assumption("epsilon", "epsilon < c_1 m^2 T/n^2", "Theorem 1", epsilon < c_1 * m**2 * T / n**2),
            Assumption("most", "m <= n", "Algorithm 1, drawn without replacement", m <= n),
            Assumption("log(1/delta)", "epsilon <= log(1/delta)", "needed, claim 003:Thm1", epsilon <= log(1 / delta)),
        ),
        noise_formulas=EQUATION_3,
    ),
)
