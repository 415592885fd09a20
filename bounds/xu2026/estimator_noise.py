r"""The estimators' noise between two refreshes, in the population algorithm: does it stay within the rate?

Letters and sizes as in ``schedule``: a = sqrt(d log(1/delta))/(n epsilon), the rate n^{-1/3} + a^{1/2}. Algorithm 3
adds

    sigma_omega = C_v (sqrt(log(1/delta))/epsilon) max{1/S_1, sqrt(T/q)/n} in each coordinate at a refresh,
    sigma_zeta = C_u (sqrt(log(1/delta))/epsilon) max{1/S_2, sqrt T/n} at each of the q K increments after it,

of norm sqrt d sigma_omega >= C_v a n/S_1 and, together, sqrt(q K d) sigma_zeta >= sqrt(q K) C_u a n/S_2. The refresh
stays within the rate for a <= n^{-2/3} and the increments for a <= n^{-4/5}; there the statistical term is the larger
one or the privacy term is not the one that binds.

[1] DP-RGDA, second-order stationary points of private minimax optimisation, 2026, Appendix B.2 and Algorithm 3.
"""

from __future__ import annotations

from sympy import Le, Rational, sqrt

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import Counterexample, Identity
from dpcheck.bounds.symbols import K, n
from dpcheck.bounds.xu2026.schedule import ALL, LARGE, PLACE, Q_PRINTED, RATE, S_1, S_2, SIZES, C_u, T, a, q


def _refresh() -> Decision:
    total = a * n / S_1  # sqrt d sigma_omega/C_v by the first part of the maximum
    at = ((a, Rational(1, 100)), LARGE)
    steps = (
        Identity("with S_1 = n^{2/3} this is a n^{1/3}", total.subs(SIZES), a * n ** Rational(1, 3)),
        Counterexample("n = 10^6, a = 1/100: 1 against 0.11", Le(total.subs(SIZES), RATE), at),
        Exceeds("whatever the constant, for a above n^{-2/3}", total.subs(SIZES), RATE, ALL, {a: 1 / s, n: s**3}),
        Dominated(
            "for a <= n^{-2/3} it is within the rate, whose privacy term is then the smaller",
            total.subs(SIZES),
            n ** Rational(-1, 3),
            Region(Le(a, n ** Rational(-2, 3))),
        ),
        Dominated("the second part, a sqrt(T/q), always is", (a * sqrt(T / q)).subs(SIZES), sqrt(a), ALL),
        Identity("S_1 = n a^{1/2} gives a^{1/2}", total.subs(S_1, n * sqrt(a)), sqrt(a)),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("within order n^{-1/3} + a^{1/2} for all n, d, epsilon, delta", "refuted"),
            ("for a <= n^{-2/3}, where the rate is n^{-1/3} alone", "proved"),
            ("the noise has norm C_v a n/S_1 = C_v a n^{1/3}", "proved"),
        ),
        repaired="a refresh batch of at least max(n^{2/3}, n a^{1/2})",
    )
    return Decision(
        "refuted",
        "exact numbers; orders by exponents",
        evidence,
        "sqrt d sigma_omega is at least C_v a n/S_1 = C_v a n^{1/3}, more than a^{1/2} as soon as a > n^{-2/3}, and "
        "then more than the rate: (45) and (46) cannot hold.",
    )


def _increments() -> Decision:
    total = sqrt(q * K) * C_u * a * n / S_2  # q K increments, each C_u sqrt(d log(1/delta))/(epsilon S_2)
    printed = total.subs(SIZES).subs({C_u: sqrt(a), K: 1})
    at = ((a, Rational(1, 1000)), LARGE)
    steps = (
        Identity(
            "with q = S_2 = a^{-1/3} and C_u = L eta = a^{1/2} this is n a^{5/3} sqrt K",
            total.subs(SIZES).subs(C_u, sqrt(a)),
            n * a ** Rational(5, 3) * sqrt(K),
        ),
        Counterexample("n = 10^6, a = 1/1000, K = 1, q = S_2 = 10: 10 against 0.042", Le(printed, RATE), at),
        Exceeds("whatever the constant", printed, RATE, ALL, {a: 1 / s, n: s**2}),
        Dominated(
            "for a <= n^{-4/5} it is within the rate",
            printed,
            n ** Rational(-1, 3),
            Region(Le(a, n ** Rational(-4, 5))),
        ),
        Dominated(
            "the second part of the maximum, sqrt(q) C_u a sqrt(T), always is within the rate",
            (sqrt(q) * C_u * a * sqrt(T)).subs(SIZES).subs(C_u, sqrt(a)),
            sqrt(a),
            ALL,
        ),
        Dominated(
            "so is noise 1/n for 1/S_2, as the proof of Lemma 8 has it by amplification in a single query",
            (sqrt(q) * C_u * a).subs(SIZES).subs(C_u, sqrt(a)),
            sqrt(a),
            ALL,
        ),
        Identity(
            "S_2 = n a^{5/6} gives a^{1/2}",
            total.subs({q: Q_PRINTED, C_u: sqrt(a), K: 1, S_2: n * a ** Rational(5, 6)}),
            sqrt(a),
        ),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("Algorithm 3's noise, for all n, d, epsilon, delta", "refuted"),
            ("Algorithm 3's noise, for a <= n^{-4/5}", "proved"),
            ("the noise of Lemma 8's proof, with 1/n for 1/S_2", "proved"),
        ),
        repaired="batches S_2 of at least n a^{5/6}, at which the q noises together are a^{1/2} for K = 1, or tree "
        "noise",
    )
    return Decision(
        "refuted",
        "exact numbers; orders by exponents",
        evidence,
        "The q K noises between two refreshes add up to n a^{5/3} sqrt K, more than the rate for a above n^{-4/5}. The "
        "smaller noise of the proof rests on an amplification that one query does not have (claim 002:Lem8 "
        "sigma_zeta).",
    )


CLAIMS = (
    Claim(
        "002:refresh noise", "xu2026", "utility",
        "With S_1 = n^{2/3} the norm of the refresh noise, sqrt d sigma_omega = C_v a n/S_1, is O(n^{-1/3} + a^{1/2}), "
        "as (45) needs.",
        PLACE + "; Algorithm 3, line 1", _refresh,
    ),
    Claim(
        "002:increment noise", "xu2026", "utility",
        "With q = S_2 = a^{-1/3}, C_u = L eta = a^{1/2} the increments' noise between two refreshes, sqrt(q K d) "
        "sigma_zeta, is O(n^{-1/3} + a^{1/2}), as (45) needs.",
        PLACE + "; Algorithm 3, line 2", _increments,
    ),
)  # fmt: skip
