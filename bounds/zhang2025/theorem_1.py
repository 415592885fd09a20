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

Where Theorem 1 holds, with q = m/n, ell = log(1/delta), and c for c_2 = c_3. The pair of gradients of one
step is one Gaussian release: with 2 C_1/m and 2 C_2/m for its sensitivities it is rho-zCDP,

    rho = ( (2 C_1/(m sigma_x))^2 + (2 C_2/(m sigma_y))^2 )/2 = 4 epsilon^2/(c^2 q^2 T ell),

on a given minibatch, and so is its mixture over minibatches. The order 1 + 2 ell/epsilon turns
T such steps into (epsilon, delta), since a Renyi divergence of epsilon/2 at that order is enough. For
q <= 1/10 sampling divides rho by 1/(13 q^2) [2]; for q > 1/10 no gain from sampling is needed. Both
cases work for epsilon <= ell, epsilon <= q^2 T and c = 49.

Where it fails. With m = n the displacement of x is one Gaussian release of noise multiplier
c sqrt(ell)/(2 epsilon) after T steps: too small for epsilon far above ell.

[2] M. Bun, C. Dwork, G. Rothblum, T. Steinke. Composable and Versatile Privacy via Truncated CDP.
    STOC 2018, privacy amplification by subsampling: for q <= 1/10 of the records, rho <= 1/10 and
    log(1/q) >= 3 rho (2 + log2(1/rho)), a (rho, omega')-tCDP mechanism with
    omega' >= log(1/q)/(2 rho) >= 3 becomes (13 q^2 rho, log(1/q)/(4 rho))-tCDP.
"""

from __future__ import annotations

from typing import Any

from sympy import Max, Rational, ceiling, erf, exp, log, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Identity, Inequality, over
from dpcheck.bounds.symbols import T, c, c_1, c_2, c_3, delta, epsilon, m, n, sigma_x, sigma_y
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


q, ell, rho, a, b, j = symbols("q ell rho a b j", positive=True)
CONSTANT = 49
WITHIN = 5 * sqrt(2) * c / 4
LOSS = 4 * epsilon**2 / (c**2 * q**2 * T * ell)  # rho of one step
ORDER = 1 + 2 * ell / epsilon
SIGMA_X, SIGMA_Y = dict(EQUATION_3)[sigma_x], dict(EQUATION_3)[sigma_y]
SPREAD = {
    "sigma_x": c_2 * C_1 * sqrt(T * log(1 / delta)) / (n * epsilon),
    "sigma_y": c_3 * C_2 * sqrt(T * log(1 / delta)) / (n * epsilon),
}


def _inside(expression: Any) -> Any:
    """Write an expression with c = 49 on the region: ell = epsilon (1 + a), q^2 T = epsilon (1 + b)."""
    return expression.subs(c, CONSTANT).subs(T, epsilon * (1 + b) / q**2).subs(ell, epsilon * (1 + a))


def upper_normal(t: Any) -> Any:
    """Return P(Z <= t) for a standard normal Z."""
    return (1 + erf(t / sqrt(2))) / 2


@claim("003:Thm1", Kind.CALIBRATION, location="Theorem 1", sigma_x=SIGMA_X, sigma_y=SIGMA_Y)
@carries("zhang2025.theorem_1_existential", SPREAD)
@carries("zhang2025.theorem_2", SPREAD)
def theorem() -> Decision:
    """There are absolute constants c_1, c_2, c_3 such that Algorithm 1 with sigma_x = {sigma_x} and sigma_y = {sigma_y}
    is (epsilon, delta)-DP for all epsilon < c_1 m^2 T/n^2 and 0 < delta < 1.
    """
    multiplier = m * sqrt(T * log(1 / delta)) / (2 * n * epsilon)
    here = (c * multiplier).subs(delta, exp(-ell)).subs(m, q * n)
    large = Rational(1, 10) * (1 + j)  # q > 1/10
    at = {c: CONSTANT, epsilon: 5 * CONSTANT**2, delta: exp(-1)}
    return conditional(
        Cited(
            "clipping per record bounds the change of each mean gradient by 2 C/m on a given minibatch; "
            "a Gaussian release is rho-zCDP with rho half the squared ratio of shift and noise; mixing over "
            "minibatches does no harm, adaptive composition adds, and the output is computed from T releases",
            "M. Bun, T. Steinke, TCC 2016",
        ),
        # For epsilon <= log(1/delta) T sampled releases, by [2], leave epsilon/2 for delta.
        Identity(
            "the printed noise in x in units of the sensitivity 2 C_1/m",
            SIGMA_X,
            lambda: 2 * C_1 / m * (c_2 * multiplier),
        ),
        Identity("and in y, in units of 2 C_2/m", SIGMA_Y, lambda: 2 * C_2 / m * (c_3 * multiplier)),
        Identity(
            "the two gradients of a step as one release, c_2 = c_3 = c, ell = log(1/delta), q = m/n",
            lambda: (1 / here**2 + 1 / here**2) / 2,
            LOSS,
        ),
        AtMost("rho is at most 4/2401 on the region", _inside(LOSS), Rational(4, CONSTANT**2)),
        Inequality(
            "q <= 1/10: the condition of [2] on the sampling, for all rho <= 4/2401",
            3 * rho * (2 + log(1 / rho) / log(2)),
            log(10),
            over(rho <= Rational(4, CONSTANT**2)),
        ),
        Below("and log(1/q)/(2 rho) is at least 3", 6 * Rational(4, CONSTANT**2), log(10)),
        AtMost("the order is within the range of [2]: 4 rho (1 + 2 ell/epsilon) <= 1", _inside(4 * LOSS * ORDER), 1),
        Below("which is below log(10) <= log(1/q)", 1, log(10)),
        AtMost(
            "q <= 1/10: the divergence of T steps at this order is at most epsilon/2",
            _inside(13 * q**2 * LOSS * T * ORDER),
            epsilon / 2,
        ),
        AtMost(
            "q > 1/10: so it is without the gain from sampling", _inside(LOSS * T * ORDER).subs(q, large), epsilon / 2
        ),
        Identity("epsilon/2 is left for delta", lambda: ell / (ORDER - 1), epsilon / 2),
        Cited(
            "a Renyi divergence of epsilon' at order r is (epsilon' + log(1/delta)/(r - 1), delta)-DP",
            "I. Mironov, CSF 2017, Proposition 3",
        ),
        # Give a dataset on which no constant is enough without the condition.
        Cited(
            "without the condition: m = n, f(x, y; z) = C_1 z x - y^2/2, one record 1 or -1, the others 0; in units of "
            "eta_x C_1/n the displacement after t steps is N(-+t, t tau^2), tau = n sigma_x/C_1. Event: it is on the "
            "side of -1 and at least T/4. The output has t >= T/2 with chance at least 1/2",
            "Algorithm 1",
        ),
        Identity(
            "tau at delta = 1/e and epsilon = 5 c^2",
            lambda: (SIGMA_X * n / C_1).subs({c_2: c, delta: exp(-1)}).subs(epsilon, 5 * c**2),
            sqrt(T) / (5 * c),
        ),
        Identity(
            "for the record 1 the event is (t + T/4)/(tau sqrt t) >= 5 c noises away, at all t = T j",
            (T * j + T / 4) ** 2 / (T * j * T / (25 * c**2)) - 25 * c**2,
            25 * c**2 * (j - Rational(1, 4)) ** 2 / j,
        ),
        Identity(
            "for the record -1 its edge is 5 sqrt 2 c/4 noises within at t = T/2, and more for larger t",
            lambda: (T / 2 - T / 4) / (sqrt(T) / (5 * c) * sqrt(T / 2)),
            WITHIN,
        ),
        Counterexample(
            "c_2 = 49, delta = 1/e, epsilon = 5 c_2^2, any T with epsilon < c_1 T: P'(event) <= e^epsilon P(event) + "
            "delta",
            upper_normal(WITHIN) / 2 <= exp(epsilon - 25 * c**2 / 2) / 2 + delta,
            at,
        ),
        Inequality(
            "no constant helps: it fails for all c >= 1, with Phi(-t) <= exp(-t^2/2)/2 (and less noise, c < 1, is "
            "worse)",
            exp(5 * c**2 - 25 * c**2 / 2) / 2 + exp(-1),
            (1 - exp(-25 * c**2 / 16) / 2) / 2,
            over(c >= 1),
        ),
        readings={
            "epsilon <= log(1/delta), with c_1 = 1 and c_2 = c_3 = 49": "proved",
            "all epsilon < c_1 m^2 T/n^2 and all 0 < delta < 1": "refuted",
            "delta at most a constant in place of epsilon <= log(1/delta)": "refuted",
        },
        condition="epsilon <= log(1/delta), which epsilon <= 1 and delta <= 1/n^2 imply for n >= 2",
        repaired="sigma = 49 C sqrt(T log(1/delta))/(n epsilon) on epsilon <= m^2 T/n^2 and epsilon <= log(1/delta)",
        note="True with absolute constants once epsilon is at most log(1/delta); the printed range has no such limit, "
        "and for epsilon far above it no constants work. The proof through Lemma 2, which the paper takes over, is "
        "replaced by an amplification theorem for this very sampling.",
        method=(Method.ALGEBRA, Method.CITED, Method.EVENT, Method.PROVER),
    )
