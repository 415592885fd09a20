r"""Theorem 1 with Remark 1: the noise with which DP-SGDA is said to be private.

Problem. Minimise over w in W and maximise over v in V the empirical objective F_S(w, v) = (1/n) sum_i f(w, v; z_i), of
n records, where f(., v; z) is G_w-Lipschitz and f(w, .; z) is G_v-Lipschitz (A1). The output is to be
(epsilon, delta)-differentially private for datasets that differ in one record (replace-one).

Algorithm. DP-SGDA [1, Algorithm 1]. For t = 1, ..., T draw a minibatch I_t of m records uniformly
with replacement, xi_t ~ N(0, sigma_w^2 I), zeta_t ~ N(0, sigma_v^2 I), and set

    w_{t+1} = P_W( w_t - eta ( (1/m) sum_{i in I_t} grad_w f(w_t, v_t; z_i) + xi_t   ) )
    v_{t+1} = P_V( v_t + eta ( (1/m) sum_{i in I_t} grad_v f(w_t, v_t; z_i) + zeta_t ) ).

Guarantee.
- [1, Theorem 1]: there are constants c_1, c_2, c_3 such that for epsilon < c_1 m^2 T / n^2 and any
  delta > 0 the algorithm is (epsilon, delta)-DP with

      sigma_w = c_2 G_w sqrt(T log(1/delta)) / (n epsilon),  sigma_v with c_3 and G_v.        (3)

  This is ``yang2022.theorem_1_existential``. It is false for epsilon far above log(1/delta) (claim Y09).
- [1, Remark 1]: for epsilon <= 1, delta <= 1/n^2 and m = max(1, n sqrt(epsilon/(4T))), the constants c_2 = c_3 = 8 will
  do. This is ``yang2022.theorem_1``, with m rounded up. It is false for n = 1; for n >= 2 it is proved without
  replacement, as for the settings of [2], and open with replacement where m >= 2 (claim Y10).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> sizes = dict(n=10_000, T=10_000, epsilon=1.0, delta=1e-8)
>>> theorem("yang2022.theorem_1").schedule(**sizes)
{'m': 50}
>>> noise = theorem("yang2022.theorem_1").noise(**sizes, G_w=1.0, G_v=0.5)
>>> {name: round(sigma, 6) for name, sigma in noise.items()}
{'sigma_w': 0.343355, 'sigma_v': 0.171677}

[2] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, after Theorem 1.
"""

from sympy import Max, ceiling, log, sqrt

from dpcheck.bounds.symbols import G_v, G_w, T, c_1, c_2, c_3, delta, epsilon, m, n, sigma_v, sigma_w
from dpcheck.bounds.theorem import BUDGET, Assumption, Parameter, Theorem

SLOPES = (Parameter(G_w, "Lipschitz constant of f in w"), Parameter(G_v, "Lipschitz constant of f in v"))
A1 = Assumption("A1", "f is G_w-Lipschitz in w and G_v-Lipschitz in v for every record", "A1")
SAMPLING = Assumption("sampling", "each minibatch is drawn uniformly with replacement", "Algorithm 1, line 4")
REMARK_1 = (
    Assumption("epsilon", "epsilon <= 1", "Remark 1", epsilon <= 1),
    Assumption("delta", "delta <= 1/n^2", "Remark 1", delta <= 1 / n**2),
    Assumption("n", "n >= 2", "claim Y10: false for n = 1; not stated in the paper", n >= 2),
)
BATCH = Assumption("m", "m >= n sqrt(epsilon/(4 T))", "Remark 1", m >= n * sqrt(epsilon / (4 * T)))

# Remark 1: the minibatch, and equation (3) with c_2 = c_3 = 8.
MINIBATCH = (m, ceiling(Max(1, n * sqrt(epsilon / (4 * T)))))
NOISE = (
    (sigma_w, 8 * G_w * sqrt(T * log(1 / delta)) / (n * epsilon)),
    (sigma_v, 8 * G_v * sqrt(T * log(1 / delta)) / (n * epsilon)),
)

THEOREMS = (
    Theorem(
        id="yang2022.theorem_1",
        title="Privacy of DP-SGDA, with the constants of Remark 1",
        location="Theorem 1, equation (3) and Remark 1",
        quantity="(epsilon, delta)-differential privacy",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(*BUDGET, Parameter(T, "iterations"), *SLOPES),
        assumptions=(A1, SAMPLING, *REMARK_1, BATCH),
        schedule_formulas=(MINIBATCH,),
        noise_formulas=NOISE,
    ),
    Theorem(
        id="yang2022.theorem_1_existential",
        title="Privacy of DP-SGDA, for constants that exist and are not given",
        location="Theorem 1 and equation (3)",
        quantity="(epsilon, delta)-differential privacy for some c_1, c_2, c_3",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(
            *BUDGET,
            Parameter(T, "iterations"),
            Parameter(m, "records in a minibatch"),
            *SLOPES,
            Parameter(c_1, "constant of the region, which the paper leaves open"),
            Parameter(c_2, "constant of sigma_w, which the paper leaves open"),
            Parameter(c_3, "constant of sigma_v, which the paper leaves open"),
        ),
        assumptions=(
            A1,
            SAMPLING,
            Assumption("epsilon", "epsilon < c_1 m^2 T/n^2", "Theorem 1", epsilon < c_1 * m**2 * T / n**2),
            Assumption("log(1/delta)", "epsilon <= log(1/delta)", "needed, claim Y09", epsilon <= log(1 / delta)),
        ),
        noise_formulas=(
            (sigma_w, c_2 * G_w * sqrt(T * log(1 / delta)) / (n * epsilon)),
            (sigma_v, c_3 * G_v * sqrt(T * log(1 / delta)) / (n * epsilon)),
        ),
    ),
)
