r"""The schedule of Theorem 3.4, its cost, and the sum of its terms. Setting and reference as in ``theorem_3_4``.

In the letters here b = sqrt(d log(2.5/delta))/(n epsilon), p = 1/sqrt n and ``phases`` = K = n/nbar, so
that the proof's terms are

    9 L D K b,  65 L^2 K^2 b^2/mu,  2 L^2 K p^2/mu,  mu D^2,  with mu = (L/D) max{p, 14 K b}.
"""

from __future__ import annotations

from sympy import Eq, Integer, Max, Rational, floor, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional
from dpcheck.bounds.evidence import Below, Cited, Counterexample, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import D, L, c, d, delta, ell, epsilon, k, mu, n
from dpcheck.bounds.zhang2022 import accuracy, outside
from dpcheck.bounds.zhang2022.phases import BITS, COUNT, P, b, bits, letters, p, phases, rates, rounded, share_of, sums
from dpcheck.bounds.zhang2022.theorem_3_3 import LOG
from dpcheck.bounds.zhang2022.theorem_3_4 import BOUND, MEAN_GAP, nbar

r, gap, many = symbols("r gap many", positive=True)  # ell D/L, log(n/delta) and K
VARIANCE_REDUCED = n + sqrt(n) * r
KATYUSHA = n + n ** Rational(3, 4) * sqrt(r)
FULL = Eq(Integer(2) ** COUNT, n)
STEEP, HALVED = mu * 2 ** (3 * k), n / 2**k  # mu_k and n_k of phased ERM


@claim("Z17", Kind.SCHEDULE, location="Algorithms 2, 4 and 5", count=COUNT, full=FULL)
@carries("zhang2022.theorem_3_4", {"K": floor(log(n) / log(2))})
@carries("zhang2022.theorem_4_5", {"K": floor(log(n) / log(2))})
@carries("zhang2022.corollary_b_6", {"K": floor(log(n) / log(2))})
def base_two() -> Decision:
    """With K = {count} phases 2^K is n, that is {full}, so that mu_K = mu n."""
    return conditional(
        Counterexample("with natural logarithms n = 8 gives 2^{log 8} = 8^{log 2} < 5, not 8", FULL, {n: 8}),
        Identity("to base 2 it is n", lambda: Integer(2) ** BITS, n),
        Counterexample(
            "and K = log n is no integer unless n is a power of the base: n = 10, to base 2",
            Eq(floor(BITS), BITS),
            {n: 10},
        ),
        Identity("rounded down K is above log2 n - 1, and 2^K above n/2", Integer(2) ** (BITS - 1), n / 2),
        readings={"natural logarithm": "refuted", "base 2, n a power of two": "proved"},
        condition="the logarithm has base 2 and n is a power of two",
        repaired="K = floor(log2 n): then mu n/2 < mu_K <= mu n. Algorithm 2 has a factor sqrt n to spare (Z16); in "
        "equation (26) the factor 2 turns 17/2 into 17 sqrt 2/2 (Z36), for which Theorem 4.5 has room (Z37)",
        note="mu 2^K = mu n needs base 2; elsewhere in the paper log is natural.",
        method=Method.ARITHMETIC,
    )


@claim(
    "Z19",
    Kind.COMPLEXITY,
    location="proof of Theorem 3.4, gradient complexity",
    variance_reduced=VARIANCE_REDUCED,
    katyusha=KATYUSHA,
    logarithm=accuracy.LOG,
)
def gradients() -> Decision:
    """With r = ell D/L, SVRG and SARAH take of the order of {variance_reduced} gradients, times {logarithm}, and
    Katyusha {katyusha}, times the same.
    """
    region = Region(gap >= 1, many >= 1)
    given = accuracy.given("SVRG, SARAH and Katyusha")
    return conditional(
        *accuracy.CONVEX,
        Cited("sum_k 1/mu_k <= 1/mu <= sqrt n D/L and sum_k 1/sqrt(mu_k) <= (1 + sqrt 2)/sqrt mu", "geometric series"),
        Identity("K blocks of n/K records", lambda: phases * (n / phases), n),
        Dominated(
            "SVRG, SARAH: n + sqrt n ell D/L, times log(n/delta)",
            (n + sqrt(n) * r + many) * gap,
            VARIANCE_REDUCED * gap,
            Region(gap >= 1, many <= n),
        ),
        Dominated(
            "Katyusha: sum_k sqrt(nbar ell/mu_k) and sum_k sqrt(nbar), K <= n",
            (n + n ** Rational(3, 4) * sqrt(r) + sqrt(n) * sqrt(many)) * gap,
            KATYUSHA * gap,
            Region(gap >= 1, many >= 1, many <= n),
        ),
        Exceeds(
            "the displayed sqrt(n ell) D/L in place of sqrt n ell D/L loses a factor sqrt ell",
            sqrt(n) * ell,
            sqrt(n) * sqrt(ell) + n,
            Region(ell >= 1, *region.relations),
            {n: s**2, ell: s**2},
        ),
        readings={
            "sqrt n ell D/L, as Theorem 3.4 and Table 1 have it": "conditional",
            "sqrt(n ell) D/L, as a display of the appendix has it": "refuted",
        },
        condition=given,
        note="The sums over the phases are as published, and the logarithm of the first gap over gamma is "
        "O(log(n/delta)) in every phase.",
        method=(Method.EXPONENTS, Method.PUBLISHED, Method.PROVER),
    )


@claim("Z20", Kind.REMARK, location="after the proof of Theorem 3.4", steep=STEEP, halved=HALVED)
def phased_erm() -> Decision:
    """With mu_k = {steep} and n_k = {halved}, as in phased ERM, the logarithmic factor in the risk goes."""
    larger = Max(p, b)  # mu in units of L/D
    level = L**2 * d * LOG / epsilon**2
    before = {k: k - 1}
    return conditional(
        Identity(
            "k blocks hold n - n_k records, within n, by induction; K = log2 n of them exist",
            lambda: (n - HALVED) + n / 2 ** (k + 1),
            n - n / 2 ** (k + 1),
        ),
        Quoted("each phase's difference, with n_k for nbar", "Z12"),
        Quoted("(8), with n_k for nbar", "Z14"),
        Identity(
            "each phase's noise term, (mu_k/2) 65 L^2 d log(2.5/delta)/(mu_{k-1} n_{k-1} epsilon)^2, halves",
            lambda: STEEP / 2 * 65 * level / (STEEP.subs(before) * HALVED.subs(before)) ** 2,
            520 * level / (mu * n**2) / 2**k,
        ),
        Identity(
            "and 2 L^2/(mu_k n_k) falls by a factor 4", lambda: 2 * L**2 / (STEEP * HALVED), 2 * L**2 / (mu * n) / 4**k
        ),
        Quoted("the last step is L times the root of (8)", "Z16"),
        Identity("whose 1/(mu_K n_K) falls by a factor 4 as well", lambda: 1 / (STEEP * HALVED), 1 / (mu * n) / 4**k),
        Cited("sum_{k >= 2} 2^{-k} = 1/2, sum_{k >= 1} 4^{-k} = 1/3", "geometric series"),
        Inequality(
            "at K = log2 n and mu = (L/D) max{p, b} all terms together, without K, in units of L D",
            sqrt(65) * b * p**4 / larger + 260 * b**2 / larger + Rational(2, 3) * p**2 / larger + 4 * larger,
            c * (p + b),
            over(b, p <= 1),
            (c, 300),
        ),
        condition=outside.condition(outside.LIPSCHITZ),
        note="With mu_k = mu 2^{3k} and n_k = n/2^k both sums are geometric, so that the factor log n goes.",
        method=(Method.PROVER, Method.CITED),
    )


mu_last, power, base, two = symbols("mu_last power base two", positive=True)
NINE = 9 * L * D * sqrt(d * LOG) / (nbar * epsilon)
REGULARISER = L / D * Max(p, 14 * phases * b)
RISK = 4 * L * D * phases * (p + c * b)
RATIO = over(b, p <= 1, phases >= Rational(1, 2), L, D)


@claim("Z16", Kind.CONSTANT, location="proof of Theorem 3.4, (a) to (c)", bound=NINE, mean_gap=MEAN_GAP)
def last() -> Decision:
    """E[F(x~_K) - F(x_K^)] is at most {bound} for {mean_gap}."""
    root = sqrt(d * LOG) / (nbar * epsilon)
    instance = {L: 1, D: 1, d: 1, nbar: outside.RECORDS / outside.COUNT, epsilon: outside.EPSILON, delta: outside.DELTA}
    return conditional(
        Cited("F is L-Lipschitz; Jensen", "definition"),
        Quoted("(8) at k = K", "Z14"),
        Inequality(
            "(a) to (c): the root of 65 is below 9, and mu_K >= L/D",
            sqrt(65) * L**2 / mu_last * root,
            c * L * D * root,
            over(L, D, mu_last, nbar >= 1, d, epsilon <= 1, delta <= 1, mu_last * D >= L),
            (c, 9),
        ),
        Inequality(
            "mu_K = mu 2^K = mu n and mu >= L/(D sqrt n) are enough for that, as 2^K >= sqrt n is",
            L / D,
            L / (D * sqrt(n)) * power,
            over(L, D, n, power >= 1, power >= sqrt(n)),
        ),
        Inequality(
            "K = floor(log2 n), 2^K = power > n/2: power >= sqrt n from n = 4 on",
            sqrt(n),
            power,
            over(n >= 4, power >= 1, n <= 2 * power),
        ),
        Below("and at n = 2 and 3, where it is 2", sqrt(3), 2),
        *outside.convex(NINE.subs(instance)),
        readings=outside.readings(outside.LIPSCHITZ),
        condition=outside.condition(outside.LIPSCHITZ),
        note="Even 9 L D/sqrt n would do, since mu_K >= L sqrt n/D; K = floor(log2 n) keeps 2^K >= sqrt n.",
    )


@claim(
    "Z18",
    Kind.UTILITY,
    location="Theorem 3.4",
    mu=REGULARISER,
    bound=RISK.subs(c, 7),
    count=COUNT,
    p=P,
    b=share_of(LOG),
    mean_gap=MEAN_GAP,
)
@carries("zhang2022.theorem_3_4", {"mu": REGULARISER, "bound": RISK.subs(c, 7)}, sums(log(5 / (2 * delta))))
@carries("zhang2022.theorem_3_4", rates(1))
def final() -> Decision:
    """With mu = {mu} the excess risk is at most {bound}, where phases is {count}, p is {p} and b is
    {b}, for {mean_gap}.
    """
    low = Max(p, 14 * bits * b)
    instance = {n: outside.RECORDS, d: 1, epsilon: outside.EPSILON, delta: outside.DELTA, L: 1, D: 1}
    terms = (
        9 * L * D * phases * b
        + 65 * L**2 * phases**2 * b**2 / REGULARISER
        + 2 * L**2 * phases * p**2 / REGULARISER
        + REGULARISER * D**2
    )
    many, small = Integer(16), Rational(1, 10**8)
    share = small / (14 * many)
    tenth = (
        sqrt(65) * many * share / (small * 2**many)
        + 65 * many**2 * share**2 / small * (1 - 2 ** (1 - many))
        + 2 * many * small * (1 - 2**-many)
        + small
    )
    derived, allowed = symbols("derived allowed", positive=True)
    return conditional(
        Quoted("the decomposition (9)", "Z15"),
        Quoted("the last step", "Z16"),
        Quoted("each phase's difference", "Z12"),
        Quoted("(8) at k - 1", "Z14"),
        *letters(LOG),
        # The terms of the proof are within the published bound.
        Identity(
            "the sum over k >= 2 of 65 mu_k/(2 mu_{k-1}^2), mu_k = mu 2^k",
            65 * mu * 2**k / (2 * (mu * 2 ** (k - 1)) ** 2),
            65 / (mu * 2 ** (k - 1)),
        ),
        Cited("the geometric sums are at most 65/mu and, over k >= 1, 1/mu", "geometric series"),
        Identity(
            "the regulariser of the first phase, (mu_1/2) |x* - x_0|^2, mu_1 = 2 mu",
            lambda: 2 * REGULARISER / 2 * D**2,
            L * D * Max(p, 14 * phases * b),
        ),
        Inequality("the five terms are within the published bound", terms, RISK, RATIO, (c, 7)),
        Inequality(
            "K = log n, unrounded: 2^K = n^{log 2/log base} >= sqrt n to a base of at most 4, with two = log 2",
            Rational(1, 2),
            two / base,
            over(two, base, base <= 2 * two),
        ),
        *rounded(
            "K = floor(log2 n), log2 in mu and in the bound, with mu_K >= mu n/2",
            lambda ratio: (
                2 * sqrt(65) * ratio * b * p**2 / low + 65 * ratio**2 * b**2 / low + 2 * ratio * p**2 / low + low
            ),
            4 * bits * (p + c * b),
            (c, 7),
        ),
        # The terms to base 10 are above the published bound at n = 10^16.
        Counterexample(
            "base 10, n = 10^16, 14 K b = p: the proof's terms against the published bound",
            derived <= allowed,
            {derived: tenth, allowed: 4 * many * (small + 7 * share)},
        ),
        *outside.convex(BOUND.subs(instance)),
        readings={
            "K = log n without rounding, natural or any base up to 4": "conditional",
            "K = floor(log2 n), log2 throughout, n/K or floor(n/K) records in a block": "conditional",
            "the proof's terms, logarithms to base 10": "refuted",
            **outside.readings(outside.LIPSCHITZ),
        },
        condition=outside.condition(outside.LIPSCHITZ),
        note="All five terms, with the published mu; 6.91 would do for 7.",
    )
