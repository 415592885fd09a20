r"""The claims about Theorem 1 and the settings after it, setting in ``theorem_1``.

In the claim on Theorem 1 [2] is M. Bun, C. Dwork, G. Rothblum, T. Steinke, Composable and Versatile Privacy via
Truncated CDP, STOC 2018, privacy amplification by subsampling: for q <= 1/10 of the records, rho <= 1/10 and log(1/q)
>= 3 rho (2 + log2(1/rho)), a (rho, omega')-tCDP mechanism with omega' >= log(1/q)/(2 rho) >= 3 becomes (13 q^2 rho,
log(1/q)/(4 rho))-tCDP.

In the claim on the settings x is the squared ratio of sensitivity and noise of the two gradients of a step as one
release, Y = 2 log(1/delta)/epsilon, P = (1 - q) N(0) + q N(1), Q = N(0), variance 1/x. With w = P/Q = 1 + q (r - 1),
r = N(1)/N(0), the moment of an integer order a = 1 + lambda of a step is at most, expectations under Q,

    1 + E[w^a - 1 - a (w - 1); w > 1] + E[w^{1-a} - 1 + (a - 1)(w - 1); w > 1]
      <= E w^a + a (a - 1)/2 q^2 E[(r - 1)^2; r > 1],

and E w^a is E exp(x K (K - 1)/2), K the sum of a bits that are one with chance q. There [2] is B. Balle, G. Barthe, M.
Gaboardi, Privacy Amplification by Subsampling, NeurIPS 2018, and [3] C. Canonne, G. Kamath, T. Steinke, The Discrete
Gaussian for Differential Privacy, NeurIPS 2020.
"""

from typing import Any

from sympy import Derivative, Max, Rational, ceiling, diff, exp, log, sqrt, summation, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Identity, Inequality, over
from dpcheck.bounds.symbols import T, c, c_2, c_3, delta, epsilon, m, n, sigma_x, sigma_y
from dpcheck.bounds.zhang2025.preliminaries import above, upper_normal
from dpcheck.bounds.zhang2025.theorem_1 import EQUATION_3, MINIBATCH, NOISE, SPREAD

C_1, C_2 = symbols("C_1 C_2", positive=True)
q, ell, rho, a, b, j, Y, i, k, lam, s, v, w, x, z = symbols("q ell rho a b j Y i k lambda s v w x z", positive=True)
CONSTANT = 49
LOSS = 4 * epsilon**2 / (c**2 * q**2 * T * ell)  # rho of one step
ORDER = 1 + 2 * ell / epsilon
SIGMA_X, SIGMA_Y = dict(EQUATION_3).values()


def _inside(expression: Any) -> Any:
    """Write an expression with c = 49 on the region: ell = epsilon (1 + a), q^2 T = epsilon (1 + b)."""
    return expression.subs(c, CONSTANT).subs(T, epsilon * (1 + b) / q**2).subs(ell, epsilon * (1 + a))


@claim("003:Thm1", Kind.CALIBRATION, location="Theorem 1")
@carries(("zhang2025.theorem_1_existential", "zhang2025.theorem_2"), {"sigma_x": SIGMA_X, "sigma_y": SIGMA_Y})
def theorem() -> Decision:
    """There are absolute constants c_1, c_2, c_3 such that Algorithm 1 with sigma_x = {SIGMA_X} and sigma_y = {SIGMA_Y}
    is (epsilon, delta)-DP for all epsilon < c_1 m^2 T/n^2 and 0 < delta < 1.
    """
    multiplier = m * sqrt(T * log(1 / delta)) / (2 * n * epsilon)
    here = (c * multiplier).subs(delta, exp(-ell)).subs(m, q * n)
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
        AtMost("the order is within the range of [2]: 4 rho (1 + 2 ell/epsilon) <= 1", _inside(4 * LOSS * ORDER), 1),
        Below("which is below log(10) <= log(1/q), so that log(1/q)/(2 rho) is above 1/(2 rho) and 3", 1, log(10)),
        AtMost(
            "q <= 1/10: the divergence of T steps at this order is at most epsilon/2",
            _inside(13 * q**2 * LOSS * T * ORDER),
            epsilon / 2,
        ),
        AtMost(
            "q > 1/10: so it is without the gain from sampling",
            _inside(LOSS * T * ORDER).subs(q, (1 + j) / 10),
            epsilon / 2,
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
            5 * sqrt(2) * c / 4,
        ),
        Counterexample(
            "c_2 = 49, delta = 1/e, epsilon = 5 c_2^2, any T with epsilon < c_1 T: P'(event) <= e^epsilon P(event) + "
            "delta",
            upper_normal(5 * sqrt(2) * c / 4) / 2 <= exp(epsilon - 25 * c**2 / 2) / 2 + delta,
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


order = symbols("a", integer=True, positive=True)
SLOPE, FEW, MANY = Rational(8, 5), Rational(6, 5), Rational(5, 8)  # c, and b for Y <= 40 and for Y >= 40
TOP = Rational(4, 5) * SLOPE * Rational(2, 3)  # of v: x lambda <= 4/5 and q <= 2/3
SIGMA = 8 * SPREAD  # sigma_x and sigma_y as printed
SQUARED_RATIO = epsilon**2 / (8 * q**2 * T * ell)  # x of the two gradients of a step as one release


def _spent(constant: Any, orders: Any, ratio: Any) -> Any:
    """Return the epsilon, in its units, spent by T steps and by delta, at lambda = ``orders`` and Y = ``ratio``."""
    return constant * (orders + 1) / (8 * ratio) + ratio / (2 * orders)


@claim("003:Thm1-remark", Kind.CALIBRATION, location="after Theorem 1")
@carries("zhang2025.theorem_1", {"m": ceiling(Max(1, MINIBATCH)), "sigma_x": C_1 * SIGMA, "sigma_y": C_2 * SIGMA})
def settings() -> Decision:
    """For epsilon <= 1, delta <= 1/n^2 and m the larger of 1 and {MINIBATCH}, Algorithm 1 with sigma_x = sigma_y =
    {SIGMA} is (epsilon, delta)-DP, whatever the thresholds.
    """
    chance = upper_normal(C_1 / m / SIGMA)  # at half the distance 2 C_1/m of the two means, in noises
    at = {n: 10, m: 5, T: 1, epsilon: 1, delta: Rational(1, 100), C_1: 100}
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
            m / n * chance / (T + 1) <= exp(epsilon) * (1 - chance) / (T + 1) + delta,
            at,
        ),
        # The repair. Take the two gradients of a step as one release: the squared ratio x, and where x and q lie.
        Identity("sigma_x with C_1 put back is this", dict(NOISE)[sigma_x], lambda: C_1 * SIGMA),
        Identity("and sigma_y with C_2", dict(NOISE)[sigma_y], lambda: C_2 * SIGMA),
        Identity(
            "the two gradients of a step as one release have x, q = m/n and ell = log(1/delta)",
            lambda: (
                (2 / (m * SIGMA)).subs(m, q * n).subs(delta, exp(-ell)) ** 2
                + (2 / (m * SIGMA)).subs(m, q * n).subs(delta, exp(-ell)) ** 2
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
            Derivative(above(s), s),
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
        differs="symbol",
        condition="the factors C_1 and C_2 of equation (3), which are left out, are put back; n >= 2 and m rounded up",
        repaired="sigma_x = 8 C_1 sqrt(T log(1/delta))/(n epsilon) and sigma_y with C_2",
        note="The printed noise does not grow with the clipping thresholds: with C_1 = 100 one step tells the "
        "datasets apart. With the thresholds of equation (3) the constant 8 is enough at all n >= 2, T, epsilon <= 1 "
        "and delta <= 1/n^2.",
        method=(Method.EVENT, Method.CITED, Method.PROVER),
    )
