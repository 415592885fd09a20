r"""Sizes and noise of the population algorithm: the schedule of Lemma 8, and whether its noise is within the rate.

Write a = sqrt(d log(1/delta))/(n epsilon), so that n a = sqrt(d log(1/delta))/epsilon, and alpha for the rate
n^{-1/3} + a^{1/2}. The proof of [1, Lemma 8] sets, with K = O(kappa) and everything up to constants,

    T = a^{-2/3},  q = S_2 = a^{-1/3},  S_1 = n^{2/3},  eta, r, sqrt D <= a^{1/2}/(L log(4/delta_1) C_1),

where the statement has q = a^{1/3} and S_1 = n. Other sizes are consistent (``T_REPAIRED`` and so on): orders only, K a
constant, F_0 = L = M = sigma = 1. With steps of length eta = alpha, thresholds C_u = L eta = alpha and

    T = F_0/(eta alpha) = 1/alpha^2,   S_2 = n/T = n alpha^2,   S_1 = q n/T = q n alpha^2,

all samples are used once, and the errors of an estimator are

    refresh:     noise a n/S_1 = a/(q alpha^2),                    sampling 1/sqrt(S_1),
    increments:  noise C_u a n/S_2 = a/alpha for each of q steps,  sampling sqrt(q) C_u/sqrt(S_2) = sqrt(q/n) together.

Added along a tree the q noises count once, up to logarithms, and q = a/alpha^3 + 1/(n alpha^4) keeps everything within
alpha. Independent noises count sqrt q times. This compares orders and proves no theorem.
"""

from typing import Any

from sympy import Integer, Le, Max, Rational, Subs, ceiling, floor, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, refuted
from dpcheck.bounds.evidence import AtMost, Counterexample, Identity, Step
from dpcheck.bounds.symbols import K, L, d, delta, epsilon, mu, n
from dpcheck.bounds.xu2026.theorem_1_proof import ERROR, attained

a, u, C_u, C_v, k, alpha = symbols("a u C_u C_v k alpha", positive=True)
q, S_1, S_2, T, p = symbols("q S_1 S_2 T p", positive=True)  # as the formulas have them, not rounded

T_PRINTED, Q_PRINTED, S_1_PRINTED = a ** Rational(-2, 3), a ** Rational(-1, 3), n ** Rational(2, 3)
RATE = n ** Rational(-1, 3) + sqrt(a)
SPENT = T / q * S_1 + T * K * S_2
SIZES = {T: T_PRINTED, q: Q_PRINTED, S_1: S_1_PRINTED, S_2: Q_PRINTED}
PERIOD, REFRESHES = a ** Rational(1, 3), T / q * S_1  # of the statement of Lemma 8; the samples that refreshes take
LOGS = log(4 / symbols("delta_1", positive=True))
HALF = Rational(1, 2)
ALL = Region(a <= 1, Le(1, n * a))  # sqrt(d log(1/delta)) >= epsilon
LARGE = (n, Integer(10**6))


def sized(formula: Any, **more: Any) -> Subs:
    """Return ``formula`` at the sizes of Lemma 8's proof; kept as it is written until it is evaluated."""
    values = [size.subs(a, more.get("a", a)) for size in SIZES.values()]
    return Subs(formula, tuple(SIZES), tuple(values))


PLACE = "proof of Lemma 8, Appendix B.2"


@claim("002:Lem8 q,S1", Kind.SCHEDULE, location="Lemma 8, Appendix B.2")
def period() -> Decision:
    """A period q of at most the order {PERIOD}, a = {ERROR}, and refresh batches S_1 = n are possible: q >= 1, and the
    {REFRESHES} samples are at most n.
    """
    return refuted(
        Counterexample("a = 1/8: a period of 1/2 outer iteration", PERIOD >= 1, {a: Rational(1, 8)}),
        attained(Rational(1, 8), 32, 1, HALF, 4),
        Exceeds(
            "whatever the constant, a period of at least one is not O(a^{1/3})", 1, PERIOD, Region(a <= 1), {a: 1 / s}
        ),
        Counterexample(
            "S_1 = n with the proof's T = a^{-2/3} = 4 and q = a^{-1/3} = 2: the refreshes alone take 2 n samples of n",
            REFRESHES <= n,
            {T: 4, q: 2, S_1: 32, n: 32},
        ),
        Identity("that is a^{-1/3} n for every a < 1", sized(T / q * n), a ** Rational(-1, 3) * n),
        Dominated("the proof's q = a^{-1/3} is at least one", 1, Q_PRINTED, Region(a <= 1)),
        Identity(
            "and its S_1 = n^{2/3} takes, a = u/n, u = sqrt(d log(1/delta))/epsilon, in units of n",
            sized(REFRESHES / n, a=u / n),
            u ** Rational(-1, 3),
        ),
        AtMost("at most 1 for u = (1 + p)^3", 1 / (1 + p), 1),
        Counterexample(
            "not for u < 1, which takes a delta near 1: u = 1/8",
            REFRESHES.subs(SIZES) <= n,
            ((a, Rational(1, 8) / 10**6), LARGE),
        ),
        attained(Rational(1, 8) / 10**6, 10**6, 1, HALF, Rational(1, 256)),
        readings={
            "q = O(a^{1/3})": "refuted",
            "S_1 = n, each sample used once": "refuted",
            "q = a^{-1/3} and S_1 = n^{2/3}, as in the proof, for sqrt(d log(1/delta)) >= epsilon": "proved",
        },
        repaired="q = O(a^{-1/3}) and S_1 = O(n^{2/3}), which the end of the proof uses",
        note="The statement has the reciprocal of the proof's period, below 1 for a < 1, and a refresh batch that "
        "leaves no sample for a second refresh.",
        method=(Method.ARITHMETIC, Method.ALGEBRA),
    )


@claim("002:budget", Kind.SCHEDULE, location=PLACE)
@carries("xu2026.theorem_2", {"q": Max(1, floor(Q_PRINTED))}, {a: ERROR})
@carries("xu2026.theorem_2", {"S_1": ceiling(S_1_PRINTED)})
@carries("xu2026.theorem_2", {"S_2": ceiling(LOGS**2 * L / mu * Q_PRINTED)}, {a: ERROR})
@carries("xu2026.theorem_2", {"K": ceiling(L / mu)})
def budget() -> Decision:
    """The samples {SPENT} are at most n for T = {T_PRINTED}, S_1 = {S_1_PRINTED}, q = S_2 = {Q_PRINTED}, a =
    {ERROR}.
    """
    spent = SPENT.subs(SIZES)
    return conditional(
        Identity(
            "in units of n, with a = u/n, u = sqrt(d log(1/delta))/epsilon",
            sized(SPENT / n, a=u / n),
            u ** Rational(-1, 3) + K / u,
        ),
        AtMost("u >= 8 makes the first part at most 1/2, u^{1/3} = 2 + k", 1 / (2 + k), HALF),
        AtMost("u >= 2 K the second, u = 2 K + k", K / (2 * K + k), HALF),
        Counterexample(
            "without: d = 1, log(1/delta) = 16, epsilon = 1/2, so u = 8, n = 10^6, K = 10: 1.75 million samples",
            spent <= n,
            ((a, Rational(8, 10**6)), (K, 10), LARGE),
        ),
        attained(Rational(8, 10**6), 10**6, 1, HALF, 16),
        Counterexample("and with K = 1 at u = 1: 2 million", spent <= n, ((a, Rational(1, 10**6)), (K, 1), LARGE)),
        AtMost(
            "for u >= 1, u = (1 + p)^3, the total is at most (1 + K) n: a constant 1/(1 + K) in T would do",
            1 / (1 + p) + K / (1 + p) ** 3,
            1 + K,
        ),
        Dominated(
            "S_1 = n^{2/3}, the others as printed: of the order n, if K is a constant",
            (T / q * S_1 + T * S_2).subs(SIZES),
            n,
            ALL,
        ),
        Identity("with S_1 = n, as in the statement, the first part alone", sized(T / q), a ** Rational(-1, 3)),
        readings={
            "constants 1, every d, delta, epsilon and kappa": "refuted",
            "up to a constant that depends on kappa, for sqrt(d log(1/delta)) >= epsilon": "proved",
            "S_1 = n, as in the statement of Lemma 8": "refuted",
        },
        condition="sqrt(d log(1/delta)) >= max(8, 2 K) epsilon",
        repaired="the same for all sizes with T = c a^{-2/3}, c = 1/(1 + K)",
        note="The samples are n (u^{-1/3} + K/u), u = sqrt(d log(1/delta))/epsilon: n in order for constant kappa, but "
        "not at most n unless u is large against K = O(kappa). Lemma 8 asks for even larger S_2, by kappa "
        "log^2(4/delta_1).",
        method=Method.ALGEBRA,
    )


T_REPAIRED, S_2_REPAIRED, S_1_REPAIRED = alpha**-2, n * alpha**2, q * n * alpha**2
REFRESH_NOISE, INCREMENT = a * n / S_1_REPAIRED, alpha * a * n / S_2_REPAIRED
PRIVATE, SAMPLED = a / alpha**3, 1 / (n * alpha**4)  # the periods at which a refresh's noise and sampling reach alpha

REPAIR = (
    "eta = alpha/L, T = F_0/(eta alpha), S_2 = n/(T K), S_1 = q n/T with the increments' noise added along a tree, for "
    "which the orders fit; with independent noise they end at alpha = a^{3/7}"
)


def with_tree() -> tuple[Step, ...]:
    """Show that all errors are of the order alpha, and the samples n."""
    attained = Region(alpha <= 1, n ** Rational(-1, 3) <= alpha, sqrt(a) <= alpha)
    return (
        Identity(
            "tree noise, eta = alpha, T = 1/alpha^2: the samples",
            lambda: T_REPAIRED / q * S_1_REPAIRED + T_REPAIRED * S_2_REPAIRED,
            2 * n,
        ),
        Identity("a refresh's noise is alpha at q = a/alpha^3", Subs(REFRESH_NOISE, q, PRIVATE), alpha),
        Identity(
            "and its sampling error 1/sqrt(S_1) is alpha at q = 1/(n alpha^4)",
            Subs(1 / S_1_REPAIRED, q, SAMPLED),
            alpha**2,
        ),
        Dominated("the increments' noise along a tree, up to logarithms", INCREMENT, alpha, attained),
        Dominated("the increments' sampling error squared, q/n", (PRIVATE + SAMPLED) / n, alpha**2, attained),
        Dominated("q <= T", PRIVATE + SAMPLED, T_REPAIRED, attained),
    )


def independent() -> tuple[Step, ...]:
    """Show that at the least period the increments' noises exceed alpha, unless alpha >= a^{3/7}."""
    together = sqrt(PRIVATE) * INCREMENT
    return (
        Identity(
            "independent noise at the least q that a refresh allows, a/alpha^3: the increments at alpha = a^{3/7}",
            Subs(together, alpha, a ** Rational(3, 7)),
            a ** Rational(3, 7),
        ),
        Exceeds(
            "and at alpha = a^{1/2}, where they outgrow it",
            together.subs(alpha, sqrt(a)),
            sqrt(a),
            Region(a <= 1),
            {a: 1 / s},
        ),
    )


REFRESH = C_v * a * n / S_1  # sqrt d sigma_omega, by the first part of the maximum
NORM = C_v * a * n ** Rational(1, 3)
TOGETHER = n * a ** Rational(5, 3) * sqrt(K)

REFRESH_UNIT = REFRESH / C_v
REFRESH_PRINTED = REFRESH_UNIT.subs(SIZES)


@claim("002:refresh noise", Kind.UTILITY, location=PLACE + "; Algorithm 3, line 1")
def refresh() -> Decision:
    """With S_1 = {S_1_PRINTED} the norm of the refresh noise, of sigma_omega in each of d coordinates, is {REFRESH} =
    {NORM}, a = {ERROR}, and within the order {RATE}, as the induction of Lemma 8 needs.
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


@claim("002:increment noise", Kind.UTILITY, location=PLACE + "; Algorithm 3, line 2", threshold=sqrt(a))
def increments() -> Decision:
    """With q = S_2 = {Q_PRINTED} and C_u = L eta = {threshold} the noises of the q K increments between two refreshes
    have together the norm {TOGETHER}, and are within the order {RATE}, as the induction of Lemma 8 needs, a = {ERROR}.
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
