r"""What the paper says about its experiments and its priority.

[1] D. Xu et al. Finding Differentially Private Second Order Stationary Points in Stochastic Minimax
    Optimization. 2026, Table 2, Section 5.2, Remark 3, Appendix D.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Integer, Rational, sqrt

from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.claim import Decision, Kind, claim, unresolved
from dpcheck.bounds.evidence import Below, Cited, Enumerated, over

# Appendix D.
EPSILON, DELTA = Integer(2), Rational(1, 10**6)
STEPS, INNER, PERIOD, THRESHOLD, REFRESH, SMALL = 400, 5, 10, 1, 200, 50
QUERIES = Fraction(4080)

# Phi, |grad Phi| and minus lambda_min at t = 399, each better when smaller.
TABLE_2 = {
    "DP-RGDA": (Fraction(9119, 10000), Fraction(4251, 10000), Fraction(48504, 10**6)),
    "PrivateDiff": (Fraction(6546, 10000), Fraction(3344, 10000), Fraction(43622, 10**6)),
    "Sto-SPIDER": (Fraction(137046, 10000), Fraction(34505, 10000), Fraction(21862, 10**5)),
    "Ada-DP-SPIDER": (Fraction(80751, 10000), Fraction(22753, 10000), Fraction(14378, 10**5)),
}


def wins(other: int) -> Fraction:
    """Count in how many of the three diagnostics DP-RGDA beats PrivateDiff (1), Sto-SPIDER (2), Ada-DP-SPIDER (3)."""
    ours, theirs = TABLE_2["DP-RGDA"], list(TABLE_2.values())[other]
    return Fraction(sum(a < b for a, b in zip(ours, theirs, strict=True)))


def curvature(first: str, second: str) -> Rational:
    """Return the ratio of two methods' curvatures."""
    return Rational(TABLE_2[first][2]) / Rational(TABLE_2[second][2])


@claim("002:Table 2", Kind.REMARK, location="Table 2 and Section 5.2")
def table() -> Decision:
    """Table 2: PrivateDiff has a slightly smaller objective and gradient, DP-RGDA a comparable curvature, and both are
    well ahead of the two methods for minimisation.
    """
    twice = Rational(2)
    return unresolved(
        Enumerated("diagnostics in which DP-RGDA is ahead of PrivateDiff", wins, (1,), Fraction(0)),
        Below(
            "'comparable' curvature: DP-RGDA's is less than 6/5 of PrivateDiff's",
            curvature("DP-RGDA", "PrivateDiff"),
            Rational(6, 5),
        ),
        Enumerated("ahead of Sto-SPIDER in all", wins, (2,), Fraction(3)),
        Enumerated("ahead of Ada-DP-SPIDER in all", wins, (3,), Fraction(3)),
        Below("by a factor above 2 in curvature: Sto-SPIDER", twice, curvature("Sto-SPIDER", "DP-RGDA")),
        Below("Ada-DP-SPIDER", twice, curvature("Ada-DP-SPIDER", "DP-RGDA")),
        readings={
            "what the text says of the table agrees with the table": "proved",
            "DP-RGDA ahead of PrivateDiff in some diagnostic, which the text does not say": "refuted",
            "the numbers can be had at (2, 1e-6), and in more than one run": "unresolved",
        },
        repaired="the text grants PrivateDiff the smaller objective and gradient and calls the curvatures comparable; "
        "it does not say that PrivateDiff's is the milder one too, so that the table gives no sign of a second-order "
        "gain over it",
        note="The text says no more than the table shows, PrivateDiff ahead in all three columns, by a little in the "
        "third. One run with one seed, no noise level and no code: whether the numbers are right, and whether they "
        "say anything about the methods, cannot be decided from the paper.",
    )


def queries(outer: int, inner: int, period: int) -> Fraction:
    """Return how often u and v are released: ``outer``/``period`` refreshes and ``outer`` * ``inner`` increments of
    each.
    """
    return Fraction(2 * (outer // period + outer * inner))


def sensitivity(threshold: int, batch: int) -> Fraction:
    """Return the sensitivity of a mean of ``batch`` gradients clipped one by one, when one is replaced."""
    return Fraction(2 * threshold, batch)


@claim(
    "002:App D noise",
    Kind.CALIBRATION,
    location="Appendix D",
    epsilon=EPSILON,
    delta=DELTA,
    threshold=THRESHOLD,
    refresh=REFRESH,
    small=SMALL,
    steps=STEPS,
    inner=INNER,
    period=PERIOD,
)
def noise() -> Decision:
    """The noise used in the experiments, for the guarantee ({epsilon}, {delta}), C = {threshold}, batches of {refresh}
    and {small}, T = {steps}, K = {inner} and q = {period}, gives that guarantee.
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


@claim("002:Remark3", Kind.REMARK, location="Remark 3")
def first_such_method() -> Decision:
    """This is the first first-order method for private second-order stationary points in ERM that matches the best
    known rates.
    """
    return unresolved(
        Cited("a statement about the literature, not about the algorithm", "Remark 3"),
        note="A claim of priority: no computation decides it. The result that it speaks of is for the empirical risk, "
        "Theorem 1, and the rate it matches there that of Theorem 2 too; both are false as printed (see their claims).",
    )
