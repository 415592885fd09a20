r"""Theorem 1 with the settings that follow it: the noise of DP-SGDA with clipping.

Problem. min over x in R^{d_1}, max over y in Y of (1/n) sum_i f(x, y; z_i); the output is to be (epsilon, delta)-DP for
datasets that differ in one record (replace-one).

Algorithm. DP-SGDA [1, Algorithm 1]. For t = 0, ..., T draw m of the n records without replacement, xi_t ~
N(0, sigma_x^2 I), zeta_t ~ N(0, sigma_y^2 I), and set, with gradients clipped per record to C_1 and C_2,

    x_{t+1} = x_t - eta_x ( mean clip(grad_x f(x_t, y_t; z), C_1) + xi_t )
    y_{t+1} = P_Y( y_t + eta_y ( mean clip(grad_y f(x_t, y_t; z), C_2) + zeta_t ) ).

and return (x_t, y_t) for a uniform t in 0, ..., T, which uses T releases. ``zhang2025.theorem_1_existential`` has the
noise of (3); ``zhang2025.theorem_1`` has the settings after it, with the factors C_1 and C_2, which the paper leaves
out and which are needed, and with m rounded up.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm, sizes = theorem("zhang2025.theorem_1"), dict(n=10_000, T=100, epsilon=1.0, delta=1e-8)
>>> thm.schedule(**sizes)
{'m': 500}
>>> {name: round(sigma, 6) for name, sigma in thm.noise(**sizes, C_1=1.0, C_2=0.5).items()}
{'sigma_x': 0.034335, 'sigma_y': 0.017168}
"""

from sympy import Max, ceiling, log, sqrt, symbols

from dpcheck.bounds.symbols import T, c_1, c_2, c_3, delta, epsilon, m, n, sigma_x, sigma_y
from dpcheck.bounds.theorem import BUDGET, Assumption, Parameter, Theorem

C_1, C_2 = symbols("C_1 C_2", positive=True)
SIZES = (*BUDGET, Parameter(T, "iterations"))
CLIPPING = (
    Parameter(C_1, "clipping threshold of the gradients in x"),
    Parameter(C_2, "clipping threshold of the gradients in y"),
)
SPREAD = sqrt(T * log(1 / delta)) / (n * epsilon)
NOISE = ((sigma_x, 8 * C_1 * SPREAD), (sigma_y, 8 * C_2 * SPREAD))
EQUATION_3 = ((sigma_x, c_2 * C_1 * SPREAD), (sigma_y, c_3 * C_2 * SPREAD))
MINIBATCH = n * sqrt(epsilon / (4 * T))
SAMPLING = Assumption("sampling", "each minibatch is drawn uniformly without replacement", "Algorithm 1, line 2")
CLIPPED = Assumption("clipping", "each record's gradients are clipped, to C_1 in x and C_2 in y", "Algorithm 1")
MOST = Assumption("most", "m <= n", "Algorithm 1, drawn without replacement", m <= n)
SETTINGS = (
    SAMPLING,
    CLIPPED,
    Assumption("epsilon", "epsilon <= 1", "after Theorem 1", epsilon <= 1),
    Assumption("delta", "delta <= 1/n^2", "after Theorem 1", delta <= 1 / n**2),
    Assumption("n", "n >= 2", "claim 003:Thm1-remark: false for n = 1; not stated in the paper", n >= 2),
    Assumption("m", "m >= n sqrt(epsilon/(4 T))", "after Theorem 1", m >= MINIBATCH),
    MOST,
)

THEOREMS = (
    Theorem(
        id="zhang2025.theorem_1",
        title="Privacy of DP-SGDA with clipping, with explicit constants",
        location="Theorem 1, equation (3) and the settings after it",
        quantity="(epsilon, delta)-differential privacy",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(*SIZES, *CLIPPING),
        assumptions=SETTINGS,
        schedule_formulas=((m, ceiling(Max(1, MINIBATCH))),),
        noise_formulas=NOISE,
    ),
    Theorem(
        id="zhang2025.theorem_1_existential",
        title="Privacy of DP-SGDA with clipping, for constants that the paper leaves open",
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
            MOST,
            Assumption("log(1/delta)", "epsilon <= log(1/delta)", "needed, claim 003:Thm1", epsilon <= log(1 / delta)),
        ),
        noise_formulas=EQUATION_3,
    ),
)
