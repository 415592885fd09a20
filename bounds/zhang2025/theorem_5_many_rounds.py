r"""Theorem 5 and Remark 2 with R = T large: sigma_x1 is too small even if Lemmas 8 and 9 are taken for true.

The noise of a restart is sigma_x1 C_1 on a query of sensitivity 2 C_1/m, a multiplier of m sigma_x1/2. With R = T it
is c_5 q sqrt(log(1/delta))/(2 epsilon), q = m/n, whatever T is, and epsilon < c_4 q^2 T allows a small q: the one
restart has hardly any noise, and a record is in it with chance q, which may be far above delta. An instance is

    f(x, y; z) = z h(x) - y^2/2,  h(x) = x/(1 + x^2),  one record 1 or -1, the others 0,  x_0 = y_0 = 0,  C_1 = 1.

No y depends on the data, and v_1 moves by 2 C_1/m: both lemmas hold there. As C_2, C_3 -> 0 every vtilde_r is
vtilde_1, and x_r = -eta r vtilde_1. vtilde_1 has the mean 1/m or -1/m if the record is drawn, else 0, and H = 1/(m
sigma_x1) is how many noises that is. Event: the output x_r is above (4/5) eta R/m.

- Record -1: at least a tenth of the rounds have r >= 9R/10, and there vtilde_1 <= -(8/9)/m is enough, so that the
  event has a chance of at least q Phi(H/9)/10.
- Record 1: it needs vtilde_1 < -(4/5)/m, a chance of at most Phi(-4 H/5).

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, Theorem 5 and Remark 2.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Integer, Rational, exp, log, sqrt, symbols

from dpcheck.bounds.calibration import curve
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Enumerated, Identity, Inequality, Step, over
from dpcheck.bounds.symbols import R, T, delta, epsilon, m, n, sigma
from dpcheck.bounds.yang2022.minibatch_draws import chance_absent
from dpcheck.bounds.zhang2025.theorem_1_proof import upper_normal
from dpcheck.bounds.zhang2025.theorem_5 import REMARK_2, X_NOISE, c_4, c_5, sigma_x1

q, ell, c, height, k = symbols("q ell c H k", positive=True)
SHARE = 1 / (100 * c**2)  # q
FAILURE = SHARE / 100  # delta


EVENT: tuple[Step, ...] = (
    Enumerated("a record is in the restart's minibatch with chance m/n", chance_absent, (4, 1, False), Fraction(3, 4)),
    Cited(
        "f = z h(x) - y^2/2, one record 1 or -1, the others 0, R = T, C_2 and C_3 small: all releases are vtilde_1, "
        "the output is -eta r vtilde_1 for a uniform r <= R. Event: above (4/5) eta R/m",
        "Algorithm 3; both chances are continuous in C_2 and C_3",
    ),
    AtMost("r = 9R/10 (1 + k): vtilde_1 <= -(8/9)/m is enough for the event", Rational(4, 5),
           Rational(9, 10) * (1 + k) * Rational(8, 9)),
)  # fmt: skip


def _any_constants() -> tuple[Step, ...]:
    noise = dict(X_NOISE)[sigma_x1].subs(R, T).subs(delta, exp(-ell))
    count = (1 / (m * noise)).subs(m, q * n)  # H
    chosen = count.subs({c_5: c, epsilon: 1, ell: log(1 / FAILURE)}).subs(q, SHARE)
    return (
        *EVENT,
        Identity(
            "R = T and epsilon = c_4 q^2 T/2: the multiplier m sigma_x1/2 tends to 0 as T grows, squared",
            lambda: (m * noise / 2).subs(m, q * n).subs(q, sqrt(2 * epsilon / (c_4 * T))) ** 2,
            c_5**2 * ell / (2 * c_4 * epsilon * T),
        ),
        Identity(
            "epsilon = 1, T > 1/(c_4 q^2), c an integer that is at least c_5 and 1, q = 1/(100 c^2), delta = q/100: "
            "H^2 is at least",
            lambda: chosen**2,
            10**4 * c**2 / log(10**4 * c**2),
        ),
        Cited("Phi(-t) <= exp(-t^2/2)/2 and Phi(t) >= 1/2 for t >= 0", "Gaussian tail"),
        Inequality(
            "e exp(-(4 H/5)^2/2)/2 <= q/50 for every c, in logarithms times log(10^4 c^2)",
            (1 + log(2500 * c**2)) * log(10**4 * c**2),
            Rational(16, 50) * 10**4 * c**2,
            over(c >= 1),
        ),
        Counterexample(
            "q/20 <= P'(event) <= e P(event) + delta <= q/50 + q/100 is false for every c",
            q / 20 <= q / 50 + delta,
            {q: SHARE, delta: FAILURE},
        ),
    )


def _remark() -> tuple[Step, ...]:
    at = {n: 1000, T: 1000, R: 1000, epsilon: 1, delta: Rational(1, 10**6)}
    share, batch = Rational(12, 1000), Integer(12)
    noise = dict(REMARK_2)[sigma_x1].subs(at)
    sampled = q * curve(sigma, log(1 + (exp(epsilon) - 1) / q))
    values = ((q, share), (sigma, batch * noise / 2), (epsilon, Integer(1)), (delta, at[delta]))
    return (
        *EVENT,
        Below("n = T = R = 1000, epsilon = 1: n sqrt(epsilon/(8T)) is above 11", Integer(11), 1000 / sqrt(8 * 1000)),
        Below("and below 12, which is m rounded up", 1000 / sqrt(8 * 1000), batch),
        Counterexample(
            "all records 1 against one record -1, no coupling with y: the curve of the first release is that of a "
            "Gaussian release with multiplier m sigma_x1/2, drawn with chance q, and is above delta = 10^-6",
            sampled <= delta,
            values,
        ),
        Below("it is above 0.0119", Rational(119, 10**4), sampled.subs(values)),
        Counterexample(
            "the output itself: P'(event) <= e P(event) + delta fails",
            q / 10 * upper_normal(height / 9) <= exp(epsilon) * upper_normal(-4 * height / 5) + delta,
            {q: share, height: 1 / (batch * noise), epsilon: Integer(1), delta: at[delta]},
        ),
    )


ANY_CONSTANTS = _any_constants()
REMARK = _remark()
