r"""The settings after Theorem 1: epsilon <= 1, delta <= 1/n^2, m = max(1, n sqrt(epsilon/(4T))), constant 8.

As published, the noise does not contain the thresholds, and a large threshold breaks the claim. With the factors
C_1 and C_2 of (3) added, m rounded up and n >= 2, it is private. Proof, with q = m/n, ell = log(1/delta), and x the
squared ratio of sensitivity and noise of the two gradients of a step as one release:

    x = epsilon^2/(8 q^2 T ell),  q^2 T >= epsilon/4,  so that x <= 1/Y with Y = 2 ell/epsilon >= 4 log 2.

By [2, Theorem 9] a step has at every e^t >= 1 at most the hockey-stick divergence of P = (1 - q) N(0) + q N(1) and
Q = N(0), variance 1/x, for both orders of the neighbours. With w = P/Q = 1 + q (r - 1), r = N(1)/N(0), the moment of
an integer order a = 1 + lambda is then at most

    1 + E[w^a - 1 - a (w - 1); w > 1] + E[w^{1-a} - 1 + (a - 1)(w - 1); w > 1]
      <= E w^a + a (a - 1)/2 q^2 E[(r - 1)^2; r > 1],

expectations under Q. The last one is at most b x. The first is E exp(x K (K - 1)/2), K the sum of a bits that are
one with chance q. Averaging over one bit after the other, with e^v - 1 <= c v, it is at most
exp(c^2 q^2 x a (a - 1)/2) as long as v, at most x lambda max(1, q c), is in the range of c = 8/5. So T steps have a
divergence of at most (c^2 + b) q^2 x T a/2, and lambda = floor(4 Y/5) turns it into (epsilon, delta).

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, after Theorem 1.
[2] B. Balle, G. Barthe, M. Gaboardi. Privacy Amplification by Subsampling. NeurIPS 2018.
[3] C. Canonne, G. Kamath, T. Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020.
"""

from __future__ import annotations

from typing import Any

from sympy import Derivative, Max, Rational, ceiling, diff, exp, log, sqrt, summation, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Identity, Inequality, over
from dpcheck.bounds.symbols import T, delta, epsilon, m, n, sigma_x, sigma_y
from dpcheck.bounds.zhang2025.theorem_1 import C_1, C_2, NOISE, upper_normal

q, ell, Y, a, b, c, i, j, k, lam, s, v, w = symbols("q ell Y a b c i j k lambda s v w", positive=True)
x, z = symbols("x z", positive=True)
order = symbols("a", integer=True, positive=True)
SLOPE = Rational(8, 5)  # c
FEW, MANY = Rational(6, 5), Rational(5, 8)  # b for Y <= 40 and for Y >= 40
TOP = Rational(4, 5) * SLOPE * Rational(2, 3)  # of v: x lambda <= 4/5 and q <= 2/3


SPREAD = 8 * sqrt(T * log(1 / delta)) / (n * epsilon)  # sigma_x and sigma_y as printed
MINIBATCH = n * sqrt(epsilon / (4 * T))
SQUARED_RATIO = epsilon**2 / (8 * q**2 * T * ell)  # x of the two gradients of a step as one release


def _half(root: Any) -> Any:
    """Return E[(r - 1)^2; r > 1] at x = ``root``^2."""
    return exp(root**2) * upper_normal(3 * root / 2) - 2 * upper_normal(root / 2) + upper_normal(-root / 2)


def _spent(constant: Any, orders: Any, ratio: Any) -> Any:
    """Return the epsilon spent, in units of epsilon, by T steps and by delta, at lambda = ``orders`` and Y =
    ``ratio``.
    """
    return constant * (orders + 1) / (8 * ratio) + ratio / (2 * orders)


@claim("003:Thm1-remark", Kind.CALIBRATION, location="after Theorem 1", minibatch=MINIBATCH, sigma=SPREAD)
@carries("zhang2025.theorem_1", {"m": ceiling(Max(1, MINIBATCH)), "sigma_x": C_1 * SPREAD, "sigma_y": C_2 * SPREAD})
def settings() -> Decision:
    """For epsilon <= 1, delta <= 1/n^2 and m the larger of 1 and {minibatch}, Algorithm 1 with sigma_x = sigma_y =
    {sigma} is (epsilon, delta)-DP, whatever the thresholds.
    """
    share = m / n
    half = C_1 / m / SPREAD  # half the distance 2 C_1/m of the two means, in noises
    chance = upper_normal(half)
    at = {n: 10, m: 5, T: 1, epsilon: 1, delta: Rational(1, 100), C_1: 100}
    known = dict(NOISE)
    divergence = (c**2 + b) * q**2 * x * a * (a - 1) / 2 * T / (a - 1)
    ratio = Rational(5, 4) * (lam + j)  # Y, for lambda = floor(4 Y/5) and 0 <= j <= 1
    return conditional(
        Cited(
            "f(x, y; z) = 100 z x/(1 + x^2) - y^2/2, all records 1 against one record -1, start 0, C_1 = 100: the "
            "minibatch mean at x_0 is 100 or, with the record in it, 100 - 200/m. Event: the output is x_1 and the "
            "release lies below 100 - 100/m. All assumptions of the paper hold",
            "Algorithm 1, first step; the output is x_1 with chance 1/2 on either side",
        ),
        Identity(
            "the printed minibatch has m^2 T/n^2 = epsilon/4, and is n/2 at epsilon = T = 1",
            MINIBATCH,
            lambda: n * sqrt(epsilon / 4 / T),
        ),
        Counterexample(
            "as printed, P'(event) <= e^epsilon P(event) + delta fails at n = 10, m = 5, delta = 1/n^2",
            share * chance / (T + 1) <= exp(epsilon) * (1 - chance) / (T + 1) + delta,
            at,
        ),
        # Repair the constants of the settings: T steps without replacement are private for n >= 2.
        # Take the two gradients of a step as one release: the squared ratio x, and where x and q lie.
        Identity("sigma_x with C_1 put back is this", known[sigma_x], lambda: C_1 * SPREAD),
        Identity("and sigma_y with C_2", known[sigma_y], lambda: C_2 * SPREAD),
        Identity(
            "the two gradients of a step as one release have x, q = m/n and ell = log(1/delta)",
            lambda: (
                (2 / (m * SPREAD)).subs(m, q * n).subs(delta, exp(-ell)) ** 2
                + (2 / (m * SPREAD)).subs(m, q * n).subs(delta, exp(-ell)) ** 2
            ),
            SQUARED_RATIO,
        ),
        Identity(
            "with q^2 T = (1 + k) epsilon/4, since m is rounded up",
            lambda: SQUARED_RATIO.subs(T, (1 + k) * epsilon / (4 * q**2)),
            epsilon / (2 * ell * (1 + k)),
        ),
        AtMost("so that x <= 1/Y, Y = 2 ell/epsilon", epsilon / (2 * ell * (1 + k)), epsilon / (2 * ell)),
        Below("Y >= 4 log 2 for n >= 2, and lambda = floor(4 Y/5) is at least 2", Rational(5, 2), 4 * log(2)),
        AtMost(
            "m <= (n + 1)/2, so q = 1/2 for n = 2 and q <= 2/3 for n = 3 + k", (4 + k) / (2 * (3 + k)), Rational(2, 3)
        ),
        # Bound the divergence of one sampled step, two integrals, by b x.
        Cited(
            "a step drawn without replacement, one record replaced: delta'(log(1 + q (e^t - 1))) <= q delta(t), the "
            "curve of P = (1 - q) N(0) + q N(1) against Q = N(0), whatever the past",
            "[2, Theorem 9]",
        ),
        Cited(
            "E_Q (P/Q)^a - 1 is a (a - 1) times the integral over u >= 1 of u^(a - 2) H_u(P, Q) + u^(-a - 1) H_u(Q, P)",
            "second-order Taylor remainder; I. Sason, S. Verdu, IEEE Trans. IT 2016",
        ),
        Identity(
            "the first integral is E[w^a - 1 - a (w - 1); w > 1]: the second derivative",
            diff(w**a - 1 - a * (w - 1), w, 2),
            a * (a - 1) * w ** (a - 2),
        ),
        Identity(
            "the second is E[w^(1 - a) - 1 + (a - 1)(w - 1); w > 1], at most a (a - 1)/2 (w - 1)^2 there",
            diff(w ** (1 - a) - 1 + (a - 1) * (w - 1), w, 2),
            a * (a - 1) * w ** (-a - 1),
        ),
        Identity(
            "E[(r - 1)^2; r > 1] at x = s^2 is 0 at s = 0 and has the derivative",
            Derivative(_half(s), s),
            2 * s * exp(s**2) * upper_normal(3 * s / 2),
        ),
        Below(
            "so that it is at most b x, b = 6/5 for x <= 1/(4 log 2)",
            exp(1 / (4 * log(2))) * upper_normal(3 / (4 * sqrt(log(2)))),
            FEW,
        ),
        Below("and b = 5/8 for x <= 1/40", exp(Rational(1, 40)) * upper_normal(3 / (4 * sqrt(10))), MANY),
        # Average the moment of a sampled step over the bits of its minibatch, one at a time.
        Identity(
            "E r^k = exp(x k (k - 1)/2), in exponents at variance 1/x",
            k * (x * z - x / 2) - x * z**2 / 2,
            -x * (z - k) ** 2 / 2 + x * k * (k - 1) / 2,
        ),
        Cited("w^a = E r^K over the bits, so that E w^a = E exp(x K (K - 1)/2)", "binomial theorem"),
        Identity(
            "one bit averaged out, v = x S + i q c x with S ones before it and i bits after it: the new exponent",
            i * q * c * x * s + q * c * (x * s + i * q * c * x),
            (i + 1) * q * c * x * s + i * q**2 * c**2 * x,
        ),
        Identity("i runs over 0, ..., a - 1", summation(i, (i, 0, order - 1)), order * (order - 1) / 2),
        Below("(e^v - 1)/v grows with v, and is below 8/5 at v = 4/5 max(1, 2/3 8/5)", (exp(TOP) - 1) / TOP, SLOPE),
        # T steps and delta together spend at most epsilon.
        Identity(
            "T steps, as log(e^p + r) <= p + r: their divergence at x = epsilon^2/(8 q^2 T ell), ell = Y epsilon/2",
            lambda: divergence.subs(x, SQUARED_RATIO).subs(ell, Y * epsilon / 2),
            epsilon * (c**2 + b) * a / (8 * Y),
        ),
        Cited(
            "a divergence rho at order 1 + lambda is (rho + (log(1/delta) - log(1 + lambda))/lambda - "
            "log(1 + 1/lambda), delta)-DP",
            "[3, Proposition 12]",
        ),
        Inequality(
            "Y <= 40: enough at epsilon = 1, and the last two terms are worth more at a smaller epsilon",
            _spent(SLOPE**2 + FEW, lam, ratio),
            1 + log(1 + lam) / lam + log(1 + 1 / lam),
            over(lam >= 2, lam <= 32, j <= 1),
        ),
        Inequality("Y >= 40: enough without them", _spent(SLOPE**2 + MANY, lam, ratio), 1, over(lam >= 32, j <= 1)),
        readings={
            "sigma = 8 sqrt(T log(1/delta))/(n epsilon) for any thresholds, as printed": "refuted",
            "the same with factors C_1 and C_2, n >= 2 and m rounded up": "proved",
        },
        condition="the factors C_1 and C_2 of equation (3), which are left out, are put back; n >= 2 and m rounded up",
        repaired="sigma_x = 8 C_1 sqrt(T log(1/delta))/(n epsilon) and sigma_y with C_2",
        note="The printed noise does not grow with the clipping thresholds: with C_1 = 100 one step tells the "
        "datasets apart. With the thresholds of equation (3) the constant 8 is enough at all n >= 2, T, epsilon <= 1 "
        "and delta <= 1/n^2.",
        method=(Method.EVENT, Method.CITED, Method.PROVER),
    )
