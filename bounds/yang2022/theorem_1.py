r"""Theorem 1 with Remark 1: the noise with which DP-SGDA is said to be private.

Problem. Minimise over w in W and maximise over v in V the empirical objective
F_S(w, v) = (1/n) sum_i f(w, v; z_i), of n records, where f(., v; z) is G_w-Lipschitz and
f(w, .; z) is G_v-Lipschitz (A1). The output is to be (epsilon, delta)-differentially private for
datasets that differ in one record (replace-one).

Algorithm. DP-SGDA [1, Algorithm 1]. For t = 1, ..., T draw a minibatch I_t of m records uniformly
with replacement, xi_t ~ N(0, sigma_w^2 I), zeta_t ~ N(0, sigma_v^2 I), and set

    w_{t+1} = P_W( w_t - eta ( (1/m) sum_{i in I_t} grad_w f(w_t, v_t; z_i) + xi_t   ) )
    v_{t+1} = P_V( v_t + eta ( (1/m) sum_{i in I_t} grad_v f(w_t, v_t; z_i) + zeta_t ) ).

Guarantee.
- [1, Theorem 1]: there are constants c_1, c_2, c_3 such that for epsilon < c_1 m^2 T / n^2 and any
  delta > 0 the algorithm is (epsilon, delta)-DP with

      sigma_w = c_2 G_w sqrt(T log(1/delta)) / (n epsilon),  sigma_v with c_3 and G_v.        (3)

  The constants are not given. This is ``yang2022.theorem_1_existential``; its constants are
  parameters without defaults.
- [1, Remark 1]: for epsilon <= 1, delta <= 1/n^2 and m = max(1, n sqrt(epsilon/(4T))), the
  constants c_2 = c_3 = 8 will do. This is ``yang2022.theorem_1``. The paper does not round m; here
  it is rounded up.

Both state what the paper states, with a condition that is needed. Remark 1 allows n = 1 and is false there
(claim Y10). Theorem 1 is false, whatever its constants, for epsilon far above log(1/delta) (claim Y09). For n >= 2 the
noise of Remark 1 is enough with m rounded up and minibatches without replacement; with replacement this is open in
general, and certified where the check tries it. The proof's own last condition, lambda <= s^2 log(n/(m s)) for the
normalised noise s, needs T >= e^2 log(1/delta) at these settings when m exceeds 1. Remark 1 does not say so, and the
region below is that of the paper.

References.
[1] Z. Yang, S. Hu, Y. Lei, K. R. Varshney, S. Lyu, Y. Ying. Differentially Private SGDA for Minimax
    Problems. UAI 2022.

Arguments. n records, T iterations, epsilon and delta, G_w and G_v; for the existential form also
m, c_1, c_2 and c_3.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> sizes = dict(n=10_000, T=10_000, epsilon=1.0, delta=1e-8)
>>> theorem("yang2022.theorem_1").schedule(**sizes)
{'m': 50}
>>> noise = theorem("yang2022.theorem_1").noise(**sizes, G_w=1.0, G_v=0.5)
>>> {name: round(sigma, 6) for name, sigma in noise.items()}
{'sigma_w': 0.343355, 'sigma_v': 0.171677}
"""

from __future__ import annotations

from sympy import Max, ceiling, log, sqrt

from dpcheck.bounds.symbols import G_v, G_w, T, c_1, c_2, c_3, delta, epsilon, m, n, sigma_v, sigma_w
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem

PRIVACY = (
    Parameter(n, "records in the dataset"),
    Parameter(epsilon, "privacy loss, natural log"),
    Parameter(delta, "probability of a larger loss"),
)
LIPSCHITZ = (Parameter(G_w, "Lipschitz constant of f in w"), Parameter(G_v, "Lipschitz constant of f in v"))
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
        paper="yang2022",
        location="Theorem 1, equation (3) and Remark 1",
        quantity="(epsilon, delta)-differential privacy",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(*PRIVACY, Parameter(T, "iterations"), *LIPSCHITZ),
        assumptions=(A1, SAMPLING, *REMARK_1, BATCH),
        schedule_formulas=(MINIBATCH,),
        noise_formulas=NOISE,
    ),
    Theorem(
        id="yang2022.theorem_1_existential",
        title="Privacy of DP-SGDA, for constants that exist and are not given",
        paper="yang2022",
        location="Theorem 1 and equation (3)",
        quantity="(epsilon, delta)-differential privacy for some c_1, c_2, c_3",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(
            *PRIVACY,
            Parameter(T, "iterations"),
            Parameter(m, "records in a minibatch"),
            *LIPSCHITZ,
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
