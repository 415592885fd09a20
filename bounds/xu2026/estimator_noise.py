r"""The estimators' noise between two refreshes, in the population algorithm: does it stay within the rate?

Letters and sizes as in ``lemma_8``: a = sqrt(d log(1/delta))/(n epsilon), the rate n^{-1/3} + a^{1/2}. Algorithm 3
adds

    sigma_omega = C_v (sqrt(log(1/delta))/epsilon) max{1/S_1, sqrt(T/q)/n} in each coordinate at a refresh,
    sigma_zeta = C_u (sqrt(log(1/delta))/epsilon) max{1/S_2, sqrt T/n} at each of the q K increments after it,

of norm sqrt d sigma_omega >= C_v a n/S_1 and, together, sqrt(q K d) sigma_zeta >= sqrt(q K) C_u a n/S_2. The noise of
the refresh stays within the rate for a <= n^{-2/3} and that of the increments for a <= n^{-4/5}, where the
statistical term of the rate is the larger one.
"""

from __future__ import annotations

from sympy import Rational, Subs, log, sqrt

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional
from dpcheck.bounds.evidence import Counterexample, Identity
from dpcheck.bounds.symbols import K, d, delta, epsilon, n
from dpcheck.bounds.xu2026.lemma_5 import ERROR, attained
from dpcheck.bounds.xu2026.lemma_8 import (
    ALL,
    HALF,
    LARGE,
    PLACE,
    Q_PRINTED,
    RATE,
    REPAIR,
    S_1,
    S_1_PRINTED,
    S_2,
    SIZES,
    C_u,
    C_v,
    T,
    a,
    independent,
    q,
)  # fmt: skip

REFRESH = C_v * a * n / S_1  # sqrt d sigma_omega, by the first part of the maximum
NORM = C_v * a * n ** Rational(1, 3)
TOGETHER = n * a ** Rational(5, 3) * sqrt(K)


REFRESH_UNIT = REFRESH / C_v
REFRESH_PRINTED = REFRESH_UNIT.subs(SIZES)


@claim(
    "002:refresh noise",
    Kind.UTILITY,
    location=PLACE + "; Algorithm 3, line 1",
    batch=S_1_PRINTED,
    refresh=REFRESH,
    norm=NORM,
    error=ERROR,
    rate=RATE,
)
def refresh() -> Decision:
    """With S_1 = {batch} the norm of the refresh noise, of sigma_omega in each of d coordinates, is {refresh} = {norm},
    a = {error}, and within the order {rate}, as the induction of Lemma 8 needs.
    """
    second = (a * sqrt(T / q)).subs(SIZES)
    at = ((a, Rational(1, 100)), LARGE)
    return conditional(
        # The norm of the noise is a n/S_1, the other part of the maximum being smaller.
        Identity(
            "the first part of the maximum in each of d coordinates",
            lambda: sqrt(d) * (sqrt(log(1 / delta)) / epsilon * (1 / S_1)),
            lambda: ERROR * n / S_1,
        ),
        Identity("with S_1 = n^{2/3} the norm of the noise", Subs(REFRESH, S_1, S_1_PRINTED), NORM),
        Dominated(
            "the first part of the maximum is the larger, constant 1, so that a n/S_1 is the norm",
            second,
            REFRESH_PRINTED,
            ALL,
        ),
        # The norm is within the rate for a <= n^{-2/3}, and above it beyond.
        Counterexample("n = 10^6, a = 1/100: 1 against 0.11", REFRESH_PRINTED <= RATE, at),
        attained(Rational(1, 100), 10**6, 10**6, HALF, 25),
        Exceeds("whatever the constant, for a above n^{-2/3}", REFRESH_PRINTED, RATE, ALL, {a: 1 / s, n: s**3}),
        Dominated(
            "for a <= n^{-2/3} it is within the rate, whose privacy term is then the smaller",
            REFRESH_PRINTED,
            n ** Rational(-1, 3),
            Region(a <= n ** Rational(-2, 3)),
        ),
        Exceeds(
            "and beyond it is not, however little: a = n^{-2/3 + 1/100}",
            REFRESH_PRINTED,
            RATE,
            Region(n ** Rational(-2, 3) <= a, a <= 1),
            {n: s**300, a: s**-197},
        ),
        # Batches that would be large enough take more records than there are.
        Identity("a batch S_1 = n a^{1/2} gives a^{1/2}", Subs(REFRESH_UNIT, S_1, n * sqrt(a)), sqrt(a)),
        Exceeds(
            "but with the T = 1/a steps of claim 002:T pop and q = a^{-1/3} such batches take a^{-1/6} n samples",
            (1 / a) * a ** Rational(1, 3) * n * sqrt(a),
            n,
            ALL,
            {a: 1 / s, n: s**3},
        ),
        readings={
            "the noise has norm C_v a n/S_1 = C_v a n^{1/3}": "proved",
            "it is within order n^{-1/3} + a^{1/2}, for a <= n^{-2/3}": "proved",
            "it is within order n^{-1/3} + a^{1/2} for all n, d, epsilon, delta, as (45) needs": "refuted",
        },
        condition="for (45): a <= n^{-2/3}, that is d log(1/delta) <= n^{2/3} epsilon^2, where the rate is n^{-1/3} "
        "alone",
        repaired="(45) beyond a = n^{-2/3} asks for S_1 >= n a^{1/2} and then for other T and q: " + REPAIR,
        note="sqrt d sigma_omega is C_v a n/S_1 = C_v a n^{1/3}, as computed; that is within the rate for a <= "
        "n^{-2/3} and above it for a > n^{-2/3}, where (45) and (46) cannot hold.",
        method=(Method.ARITHMETIC, Method.EXPONENTS),
    )


INCREMENTS = sqrt(q * K) * C_u * a * n / S_2  # q K increments, each C_u sqrt(d log(1/delta))/(epsilon S_2)
INCREMENTS_PRINTED = INCREMENTS.subs(SIZES).subs({C_u: sqrt(a), K: 1})


@claim(
    "002:increment noise",
    Kind.UTILITY,
    location=PLACE + "; Algorithm 3, line 2",
    period=Q_PRINTED,
    threshold=sqrt(a),
    norm=TOGETHER,
    rate=RATE,
    error=ERROR,
)
def increments() -> Decision:
    """With q = S_2 = {period} and C_u = L eta = {threshold} the noises of the q K increments between two refreshes have
    together the norm {norm}, and are within the order {rate}, as the induction of Lemma 8 needs, a = {error}.
    """
    second = (sqrt(q) * C_u * a * sqrt(T)).subs(SIZES).subs(C_u, sqrt(a))
    at = ((a, Rational(1, 1000)), LARGE)
    return conditional(
        # The noises have together the norm n a^{5/3} sqrt K, the other part of the maximum being smaller.
        Identity(
            "with q = S_2 = a^{-1/3} and C_u = L eta = a^{1/2} this is n a^{5/3} sqrt K",
            Subs(INCREMENTS, (q, S_2, C_u), (Q_PRINTED, Q_PRINTED, sqrt(a))),
            TOGETHER,
        ),
        Dominated(
            "the second part of the maximum, sqrt(q) C_u a sqrt(T), is below it, constant 1",
            second,
            INCREMENTS_PRINTED,
            ALL,
        ),
        # The norm is within the rate for a <= n^{-4/5}, and above it beyond.
        Counterexample("n = 10^6, a = 1/1000, K = 1, q = S_2 = 10: 10 against 0.042", INCREMENTS_PRINTED <= RATE, at),
        attained(Rational(1, 1000), 10**6, 10**4, HALF, 25),
        Exceeds("whatever the constant", INCREMENTS_PRINTED, RATE, ALL, {a: 1 / s, n: s**2}),
        Dominated(
            "for a <= n^{-4/5} it is within the rate",
            INCREMENTS_PRINTED,
            n ** Rational(-1, 3),
            Region(a <= n ** Rational(-4, 5)),
        ),
        Exceeds(
            "and beyond it is not, however little: a = n^{-4/5 + 1/100}",
            INCREMENTS_PRINTED,
            RATE,
            Region(n ** Rational(-4, 5) <= a, a <= 1),
            {n: s**100, a: s**-79},
        ),
        Dominated(
            "noise 1/n for 1/S_2, as the proof of Lemma 8 has it by amplification in a single query, is within the "
            "rate",
            (sqrt(q) * C_u * a).subs(SIZES).subs(C_u, sqrt(a)),
            sqrt(a),
            ALL,
        ),
        *independent(),
        readings={
            "the noises together have norm n a^{5/3} sqrt K": "proved",
            "they are within order n^{-1/3} + a^{1/2}, K a constant, for a <= n^{-4/5}": "proved",
            "they are within order n^{-1/3} + a^{1/2} for all n, d, epsilon, delta, as (45) needs": "refuted",
            "the noise of Lemma 8's proof, with 1/n for 1/S_2, is within the rate": "proved",
        },
        condition="for (45): a <= n^{-4/5}, K a constant",
        repaired="(45) beyond a = n^{-4/5}: larger batches S_2 alone do not fit into n once T is long enough (claim "
        "002:T pop); " + REPAIR,
        note="The q K noises between two refreshes add up to n a^{5/3} sqrt K, as computed; that is within the rate "
        "for a <= n^{-4/5} and above it beyond. The smaller noise of the proof rests on an amplification that one "
        "query does not have (claim 002:Lem8 sigma_zeta).",
        method=(Method.ARITHMETIC, Method.EXPONENTS),
    )
