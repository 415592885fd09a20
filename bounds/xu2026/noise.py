r"""The privacy of Algorithms 2 and 3: the noise of Definition 3, of Algorithm 3, of Lemma 8 and of the experiments.

A query of sensitivity D is released with N(0, s^2 D^2 I). By [1, Definition 3]

    s^2 = log(1.25/delta)/epsilon^2

is (epsilon, delta)-DP for 0 < epsilon, delta < 1. The exact curve of one Gaussian release lies above delta at some of
these values; with 2 log(1.25/delta) it does not. The paper uses the form without the factor in its noise formulas.
"""

from fractions import Fraction

from sympy import Integer, Max, Rational, Subs, erf, exp, log, sqrt, symbols

from dpcheck.bounds.calibration import NotPrivate, Private, curve
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, misprint, proved, refuted, unresolved
from dpcheck.bounds.evidence import Below, Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.symbols import D, L, T, delta, epsilon, n, sigma
from dpcheck.bounds.xu2026 import theorems_1_to_3 as stated

VARIANCE = D**2 * log(Rational(5, 4) / delta) / epsilon**2  # as published
MULTIPLIER = sqrt(log(Rational(5, 4) / delta)) / epsilon
REPAIRED = sqrt(2 * log(Rational(5, 4) / delta)) / epsilon
AT = {epsilon: Rational(1, 2), delta: Rational(1, 10**5)}


@claim("002:Def3", Kind.CALIBRATION, location="Definition 3")
def mechanism() -> Decision:
    """A query of sensitivity D with noise of variance {VARIANCE} in each coordinate is (epsilon, delta)-DP for 0 <
    epsilon < 1 and 0 < delta < 1.
    """
    printed = MULTIPLIER.subs(AT)
    return misprint(
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
        differs="constant",
        condition="variance 2 D^2 log(1.25/delta)/epsilon^2, the printed one with the factor 2 of the classical "
        "Gaussian mechanism",
        repaired="2 D^2 log(1.25/delta)/epsilon^2, the classical Gaussian mechanism; the noises of Algorithm 3 have a "
        "constant of their own (002:Alg3 l.1-2)",
        note="A factor 2 is missing under the root: at epsilon = 1/2 and delta = 10^-5 the least delta is about 1.47 "
        "10^-5, and it is worse for smaller delta.",
    )


C, s, q, c_2, p, z, chance, other = symbols("C s q c_2 p z chance other", positive=True)
S, S_2, count, dy = symbols("S S_2 count dy", positive=True)
TINY = Rational(1, 10**5)
DEVIATION = C * sqrt(log(1 / delta)) / epsilon * Max(1 / S, sqrt(count) / n)  # Algorithm 3, lines 1 and 2
REFRESHES = {C: stated.C_v, S: stated.S_1, count: T / stated.q}
DIFFERENCES = {C: stated.C_u, S: stated.S_2, count: T}
SENSITIVITY = 2 * C / S
MOVE = 2 * L * dy / S_2  # of the mean of an increment, when one record is replaced
UNIT = c_2 * q * sqrt(log(Rational(5, 4) / delta)) / epsilon  # the noise of Lemma 8's proof over that move
SAMPLED = MOVE * UNIT


@claim("002:Alg3 l.1-2", Kind.CALIBRATION, location="Algorithm 3, lines 1 and 2")
@carries(("xu2026.theorem_1", "xu2026.theorem_3", "xu2026.theorem_2"), {"sigma_omega": DEVIATION}, REFRESHES)
@carries(("xu2026.theorem_1", "xu2026.theorem_3", "xu2026.theorem_2"), {"sigma_zeta": DEVIATION}, DIFFERENCES)
def constant() -> Decision:
    """Noise of deviation {DEVIATION}, with constant 1, makes the count queries of sensitivity {SENSITIVITY} (epsilon,
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


@claim("002:Lem8 sigma_zeta", Kind.ACCOUNTING, location="privacy proof of Lemma 8")
def sampling() -> Decision:
    """Sampling S_2 of n records, q = S_2/n, lets a query have the noise {SAMPLED} only, q times what it would be, with
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
        readings={"each query, with a constant c_2 of any size": "refuted"},
        repaired="a subsampled query at noise s has at best delta of order q times its own; the noise falls by q only "
        "when many steps are composed, each with noise of at least its sensitivity",
        note="Sampling at rate q does not let the noise of one query shrink by q: the record is seen with chance q > "
        "delta, and then stands out. No constant C_2 helps.",
        method=(Method.EVENT, Method.PROVER),
    )


KEPT = Cited(
    "a function of an (epsilon, delta)-DP output, with randomness of its own, is (epsilon, delta)-DP",
    "C. Dwork, A. Roth, 2014, Proposition 2.1",
)


def chosen(start: int, *estimates: int) -> Fraction:
    """Return s of Algorithm 3 on Y = [-1, 1] with lambda = 1/6, from y_{t,0} and u_{t,0}, u_{t,1}, ... alone."""
    path = [Fraction(start)]
    for u in estimates:
        path.append(max(Fraction(-1), min(Fraction(1), path[-1] + Fraction(u, 6))))
    return Fraction(min(range(len(estimates)), key=lambda k: abs(path[k] - path[k + 1])))


def broken_at(eta: Fraction, mean_square: Fraction, *estimates: int) -> Fraction:
    """Return the first step at which D of Algorithm 2 exceeds its threshold, from v_{m+1}, ... alone; 0 if none."""
    total = Fraction(0)
    for count, v in enumerate(estimates, start=1):
        total += (eta * v) ** 2
        if total > count * mean_square:
            return Fraction(count)
    return Fraction(0)


@claim("002:Alg3 s_t", Kind.PRIVACY, location="Algorithm 3, line 18")
def selection() -> Decision:
    """For x_0 and y_0 that do not depend on the data, choosing the k with the smallest |y_k - y_{k+1}|/lambda costs no
    privacy once the noisy u are released.
    """
    return proved(
        KEPT,
        Enumerated("the choice computed from y_{t,0} = 0 and released u = 6, 3, -2", chosen, (0, 6, 3, -2), 1),
        Enumerated("and from u = 3, 2, 1", chosen, (0, 3, 2, 1), 2),
        Cited(
            "y_{t,k+1} = P(y_{t,k} + lambda u_{t,k}): all y are functions of y_0 and of released u",
            "Algorithm 3, lines 16 and 18",
        ),
        Enumerated("the same u = 6, 3, -2 from y_{t,0} = 1", chosen, (1, 6, 3, -2), 0),
        Counterexample(
            "a y_0 that reads the data, 0 or 1, shows in the choice, the released u being equal: chance 1 against 0",
            chance <= exp(epsilon) * other + delta,
            {chance: 1, other: 0, epsilon: 1, delta: Rational(1, 10**5)},
        ),
        readings={
            "y_0 fixed without looking at the data, every u_{t,k} accounted for": "proved",
            "the choice is a function of the released u also where y_0 depends on the data": "refuted",
            "Algorithm 2 with y_0 from PiSARAH on the data, as in Lemma 8, whose privacy nobody counts": "unresolved",
        },
        note="The surrogate is computed from iterates alone; no gradient is evaluated for it. The start y_0, an input "
        "of Algorithm 2, must not depend on the data, and all u_{t,k} count as released, also those that are not "
        "chosen.",
        method=(Method.STEPS, Method.CITED),
    )


@claim("002:Alg2 escape test", Kind.PRIVACY, location="Algorithm 2, lines 12 to 19")
def escape() -> Decision:
    """For inputs that do not depend on the data, the movement test D uses released v only and costs no privacy."""
    return proved(
        KEPT,
        Enumerated(
            "D against its threshold from eta_H = 1/2, Dbar = 1 and released v = 1, 1, 4",
            broken_at,
            (Fraction(1, 2), Fraction(1), 1, 1, 4),
            3,
        ),
        Enumerated("v = 1, 1, 1 breaks nothing", broken_at, (Fraction(1, 2), Fraction(1), 1, 1, 1), 0),
        Cited("the tests, steps and the output use D, v and fresh randomness only", "Algorithm 2, lines 4 to 20"),
        note="Provided the released v are private, which is another matter, and neither x_0, y_0 nor the thresholds "
        "and step sizes depend on the data (an F_0 taken from the data would).",
        method=(Method.STEPS, Method.CITED),
    )


# Appendix D.
EPSILON, DELTA = Integer(2), Rational(1, 10**6)
STEPS, INNER, PERIOD, THRESHOLD, REFRESH, SMALL = 400, 5, 10, 1, 200, 50
QUERIES = Fraction(4080)


def queries(outer: int, inner: int, period: int) -> Fraction:
    """Return how often u and v are released, in outer/period refreshes and outer times inner increments of each."""
    return Fraction(2 * (outer // period + outer * inner))


def sensitivity(threshold: int, batch: int) -> Fraction:
    """Return the sensitivity of a mean of ``batch`` gradients clipped one by one, when one is replaced."""
    return Fraction(2 * threshold, batch)


@claim("002:App D noise", Kind.CALIBRATION, location="Appendix D")
def noise() -> Decision:
    """The noise used in the experiments, for the guarantee ({EPSILON}, {DELTA}), C = {THRESHOLD}, batches of {REFRESH}
    and {SMALL}, T = {STEPS}, K = {INNER} and q = {PERIOD}, gives that guarantee.
    """
    return unresolved(
        Enumerated("queries of u and v in 40 refreshes and 2,000 increments", queries, (STEPS, INNER, PERIOD), QUERIES),
        Enumerated("the sensitivity of a refresh", sensitivity, (THRESHOLD, REFRESH), Fraction(1, 100)),
        Enumerated("and of an increment that clips a record once", sensitivity, (THRESHOLD, SMALL), Fraction(1, 25)),
        Private(
            "without a gain from sampling, all of them are private at a noise of 143 times the sensitivity each",
            143 / sqrt(Integer(int(QUERIES))),
            over(),
            EPSILON,
            DELTA,
        ),
        NotPrivate("and not at 142 times", 142 / sqrt(Integer(int(QUERIES))), EPSILON, DELTA),
        Cited(
            "the noise that was used depends on the code, which the paper does not print, and what sampling saves on "
            "how the batches are drawn",
            "Appendix D",
        ),
        note="The per-query noise is not printed (it is computed in code), so that there is no number to check; and "
        "whether differences of gradients are clipped before or after the difference, which matters by a factor 2, is "
        "not said. Without a gain from sampling the noise has to be above 142 times the sensitivity, and 143 times is "
        "enough.",
    )
