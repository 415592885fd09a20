r"""The sum of Theorem 3.4's terms (claims Z16 and Z18). Setting and reference as in ``theorem_3_4``.

In the letters here b = sqrt(d log(2.5/delta))/(n epsilon), p = 1/sqrt n and ``phases`` = K = n/nbar, so
that the proof's terms are

    9 L D K b,  65 L^2 K^2 b^2/mu,  2 L^2 K p^2/mu,  mu D^2,  with mu = (L/D) max{p, 14 K b}.
"""

from __future__ import annotations

from sympy import Integer, Max, Rational, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, claim, conditional
from dpcheck.bounds.evidence import Below, Cited, Counterexample, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import D, L, c, d, delta, epsilon, k, mu, n
from dpcheck.bounds.zhang2022 import outside
from dpcheck.bounds.zhang2022.phases import COUNT, P, b, bits, letters, p, phases, rounded, share_of
from dpcheck.bounds.zhang2022.theorem_3_3 import LOG
from dpcheck.bounds.zhang2022.theorem_3_4 import BOUND
from dpcheck.bounds.zhang2022.theorem_3_4_proof import MEAN_GAP, nbar

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
        readings=dict(outside.readings(outside.LIPSCHITZ)),
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
        # Show that the terms of the proof are within the published bound.
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
        # Show that the terms to base 10 are above the published bound at n = 10^16.
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
            **dict(outside.readings(outside.LIPSCHITZ)),
        },
        condition=outside.condition(outside.LIPSCHITZ),
        note="All five terms, with the published mu; 6.91 would do for 7.",
    )
