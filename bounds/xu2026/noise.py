r"""The noise of one Gaussian release (Definition 3), of Algorithm 3 and of Lemma 8, against exact privacy curves.

A query of sensitivity D is released with N(0, s^2 D^2 I). By [1, Definition 3]

    s^2 = log(1.25/delta)/epsilon^2

is (epsilon, delta)-DP for 0 < epsilon, delta < 1. The exact curve of one Gaussian release lies above
delta at some of these values; with 2 log(1.25/delta) it does not. The paper uses the form without the factor in its
noise formulas.
"""

from __future__ import annotations

from sympy import Integer, Max, Rational, Subs, erf, exp, log, sqrt, symbols

from dpcheck.bounds.calibration import NotPrivate, Private, curve
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, refuted
from dpcheck.bounds.evidence import Below, Cited, Counterexample, Identity, Inequality, over
from dpcheck.bounds.symbols import D, L, T, delta, epsilon, n, sigma
from dpcheck.bounds.xu2026 import theorem_2

VARIANCE = D**2 * log(Rational(5, 4) / delta) / epsilon**2  # as published
MULTIPLIER = sqrt(log(Rational(5, 4) / delta)) / epsilon
REPAIRED = sqrt(2 * log(Rational(5, 4) / delta)) / epsilon
AT = {epsilon: Rational(1, 2), delta: Rational(1, 10**5)}


@claim("002:Def3", Kind.CALIBRATION, location="Definition 3", variance=VARIANCE)
def mechanism() -> Decision:
    """A query of sensitivity D with noise of variance {variance} in each coordinate is (epsilon, delta)-DP for 0 <
    epsilon < 1 and 0 < delta < 1.
    """
    printed = MULTIPLIER.subs(AT)
    return conditional(
        Cited(
            "q(D) = the number of ones among the records, sensitivity 1, all zeros against one 1: its release is "
            "(epsilon, delta)-DP if and only if the curve is at most delta",
            "B. Balle, Y.-X. Wang, ICML 2018, Theorem 8",
        ),
        Identity("the deviation over the sensitivity", lambda: sqrt(VARIANCE) / D, MULTIPLIER),
        NotPrivate("the printed noise at epsilon = 1/2, delta = 10^-5", printed, *AT.values()),
        Counterexample("the same curve against delta", curve(sigma, epsilon) <= delta, {sigma: printed, **AT}),
        Private(
            "with a factor 2 in the variance the release is private",
            REPAIRED,
            over(epsilon <= 1, delta <= 1),
            epsilon,
            delta,
        ),
        readings={
            "variance D^2 log(1.25/delta)/epsilon^2": "refuted",
            "variance 2 D^2 log(1.25/delta)/epsilon^2, the classical Gaussian mechanism": "proved",
        },
        condition="variance 2 D^2 log(1.25/delta)/epsilon^2, the printed one with the factor 2 of the classical "
        "Gaussian mechanism",
        repaired="2 D^2 log(1.25/delta)/epsilon^2",
        note="A factor 2 is missing under the root: at epsilon = 1/2 and delta = 10^-5 the least delta is about 1.47 "
        "10^-5, and it is worse for smaller delta.",
    )


C, s, q, c_2, p, z, chance, other = symbols("C s q c_2 p z chance other", positive=True)
S, S_2, count, dy = symbols("S S_2 count dy", positive=True)
TINY = Rational(1, 10**5)
DEVIATION = C * sqrt(log(1 / delta)) / epsilon * Max(1 / S, sqrt(count) / n)  # Algorithm 3, lines 1 and 2
REFRESHES = {C: theorem_2.C_v, S: theorem_2.S_1, count: T / theorem_2.q}
DIFFERENCES = {C: theorem_2.C_u, S: theorem_2.S_2, count: T}
SENSITIVITY = 2 * C / S
MOVE = 2 * L * dy / S_2  # of the mean of an increment, when one record is replaced
UNIT = c_2 * q * sqrt(log(Rational(5, 4) / delta)) / epsilon  # the noise of Lemma 8's proof over that move
SAMPLED = MOVE * UNIT


@claim(
    "002:Alg3 l.1-2",
    Kind.CALIBRATION,
    location="Algorithm 3, lines 1 and 2",
    deviation=DEVIATION,
    sensitivity=SENSITIVITY,
)
@carries("xu2026.theorem_1", {"sigma_omega": DEVIATION}, REFRESHES)
@carries("xu2026.theorem_1", {"sigma_zeta": DEVIATION}, DIFFERENCES)
@carries("xu2026.theorem_3", {"sigma_omega": DEVIATION}, REFRESHES)
@carries("xu2026.theorem_3", {"sigma_zeta": DEVIATION}, DIFFERENCES)
@carries("xu2026.theorem_2", {"sigma_omega": DEVIATION}, REFRESHES)
@carries("xu2026.theorem_2", {"sigma_zeta": DEVIATION}, DIFFERENCES)
def constant() -> Decision:
    """Noise of deviation {deviation}, with constant 1, makes the count queries of sensitivity {sensitivity} (epsilon,
    delta)-DP.
    """
    ratio = sqrt(log(1 / delta)) / (2 * epsilon)
    half = Rational(1, 2)
    printed = ratio.subs({delta: TINY, epsilon: half})
    return refuted(
        Identity("one refresh of all n records, each clipped to C: sensitivity", Subs(SENSITIVITY, S, n), 2 * C / n),
        Identity("and noise", Subs(DEVIATION, (S, count), (n, 1)), 2 * C / n * ratio),
        NotPrivate(
            "epsilon = 1/2, delta = 1e-5: the exact curve of this one release is above delta", printed, half, TINY
        ),
        Counterexample("the same in numbers", curve(s, epsilon) <= delta, {s: printed, epsilon: half, delta: TINY}),
        Private(
            "sqrt(2 log(1.25/delta))/epsilon times the sensitivity is enough for one release",
            sqrt(2 * log(Rational(5, 4) / delta)) / epsilon,
            over(epsilon <= 1, delta <= half),
            epsilon,
            delta,
        ),
        readings={
            "constant 1, as the formula has it": "refuted",
            "'where c is a universal constant', which the text adds to a formula without c": "unresolved",
        },
        repaired="a constant found by the accountant for the number of refreshes T/q and increments T K",
        note="With the constant 1 of the formula even one release of the full batch needs more noise, within the "
        "epsilon < 1 of Definition 3. The universal constant that the text names is missing from the formula, and is "
        "left open.",
    )


@claim("002:Lem8 privacy", Kind.ACCOUNTING, location="privacy proof of Lemma 8", half=epsilon / 2)
def composition() -> Decision:
    """Since each query is ({half}, delta)-DP, Algorithm 2 is (epsilon, delta)-DP."""
    leak = 1 - (1 - TINY) ** 2
    single = 2 * sqrt(2 * log(Rational(5, 4) / TINY))  # (1/2, 1e-5)-DP for each query
    least, small, rare = Integer(40), Rational(1, 1000), Rational(1, 100)
    return refuted(
        Private(
            "sqrt(2 log(1.25/delta))/(epsilon/2) makes each query (epsilon/2, delta)-DP",
            2 * sqrt(2 * log(Rational(5, 4) / delta)) / epsilon,
            over(epsilon <= 1, delta <= Rational(1, 2)),
            epsilon / 2,
            delta,
        ),
        # Give a record that is in 64 refreshes of a full batch.
        Cited(
            "with S_1 = n, as Lemma 8 has it, one record is in every refresh; 64 Gaussian queries are one with an "
            "eighth of the noise",
            "Gaussian differential privacy",
        ),
        NotPrivate("64 such queries at epsilon = 1, delta = 1e-5", single / 8, 1, TINY),
        Counterexample("the same in numbers", curve(s, epsilon) <= delta, {s: single / 8, epsilon: 1, delta: TINY}),
        # Compose u and v on one batch: what holds with the classic noise need not hold with the least.
        Private(
            "u and v on one batch, each with this noise, are one query with its share sqrt(1/2)",
            2 * sqrt(log(Rational(5, 4) / delta)) / epsilon,
            over(epsilon <= 1, delta <= Rational(1, 2)),
            epsilon,
            delta,
        ),
        Private("noise 40 makes each query (1/2000, 1/100)-DP", least, over(), small / 2, rare),
        NotPrivate("and two of them, with 40 sqrt(1/2), are not (1/1000, 1/100)-DP", least / sqrt(2), small, rare),
        Counterexample(
            "u and v alone, each printing the record with chance delta, which is (0, delta)-DP: an event of chance 1 - "
            "(1 - delta)^2 that has chance 0 without the record",
            chance <= exp(epsilon) * other + delta,
            {chance: leak, other: 0, epsilon: 1, delta: TINY},
        ),
        Cited(
            "u and v on one batch make (epsilon, 2 delta), disjoint batches add nothing",
            "basic and parallel composition",
        ),
        readings={
            "S_1 = n: all T/q refreshes and T K increments see the record": "refuted",
            "a single pass over disjoint batches, (epsilon/2, delta)-DP queries u and v of any kind": "refuted",
            "a single pass, Gaussian queries u and v with no more noise than (epsilon/2, delta) needs": "refuted",
            "a single pass, Gaussian queries u and v with the classic noise for (epsilon/2, delta)": "proved",
            "a single pass, (epsilon, 2 delta)-DP by basic and parallel composition": "proved",
        },
        repaired="compose all 2 (T/q + T K) queries, by the accountant or with noise larger by the root of their "
        "number; for disjoint batches (epsilon/2, delta/2)-DP queries are enough",
        note="Two queries are composed where the algorithm makes 2 (T/q + T K), and the two already add to 2 delta.",
    )


# One record in n, minibatch of S_2 = q n: with chance q the mean moves by 2 L |dy|/S_2. The printed noise is
# C_2 sqrt(log(1.25/delta)) q/epsilon in units of that move; event: beyond half of it.
HALF = 1 / (2 * UNIT)


@claim("002:Lem8 sigma_zeta", Kind.ACCOUNTING, location="privacy proof of Lemma 8", noise=SAMPLED)
def sampling() -> Decision:
    """Sampling S_2 of n records, q = S_2/n, lets a query have the noise {noise} only, q times what it would be, with
    one constant c_2.
    """
    tail = (1 - erf(HALF / sqrt(2))) / 2
    at = ((epsilon, 1), (delta, TINY), (c_2, 100), (q, Rational(1, 5000)))
    rate = 1 / (100 * c_2**2)  # q for every C_2, with delta = q/1000
    thousandth = Rational(1, 1000)
    return refuted(
        Identity("the noise over the move of the mean", lambda: SAMPLED / MOVE, UNIT),
        Cited(
            "with chance q the minibatch has the record, and the mean is then above the half with chance 1 - tail; "
            "without it, tail",
            "sampling without replacement",
        ),
        Counterexample(
            "C_2 = 100, q = 1/5000, epsilon = 1, delta = 1e-5: P <= e^epsilon P' + delta",
            q * (1 - tail) <= exp(epsilon) * tail + delta,
            at,
        ),
        Cited("tail <= exp(-half^2/2)/2", "Gaussian tail"),
        # No constant C_2 >= 1 helps.
        Identity(
            "every C_2 >= 1 (a smaller one is less noise): epsilon = 1, q = 1/(100 C_2^2), delta = q/1000, z = C_2^2: "
            "half^2/2",
            Subs(
                HALF**2 / 2,
                (epsilon, delta, q, c_2),
                (1, (rate * thousandth).subs(c_2, sqrt(z)), rate.subs(c_2, sqrt(z)), sqrt(z)),
            ),
            1250 * z / log(125000 * z),
        ),
        Inequality("log(1 + p) <= p, at (1 + p)^8 = 125000 z", log(1 + p), p, over(p)),
        Below(
            "so log(125000 z)^2 <= 64 (125000 z)^{1/4} < 1250 z, and half^2/2 > log(125000 z), which makes tail <= "
            "q/1000",
            64 * Rational(125000) ** Rational(1, 4),
            Rational(1250),
        ),
        Below("then e tail + delta < q (1 - tail), divided by q", (exp(1) + 1) * thousandth, 1 - thousandth),
        repaired="a subsampled query at noise s has at best delta of order q times its own; the noise falls by q only "
        "when many steps are composed, each with noise of at least its sensitivity",
        note="Sampling at rate q does not let the noise of one query shrink by q: the record is seen with chance q > "
        "delta, and then stands out. No constant C_2 helps.",
        method=(Method.EVENT, Method.PROVER),
    )
